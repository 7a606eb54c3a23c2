//! What policies ask of the claims of an agent's token.

use super::*;
use crate::policy::fixture::{World, tool};
use crate::policy::{AgentFacts, ClaimType, ClaimValue, ConfiguredClaims, Tristate};

const TOOLS: &str = r#"@id("tools") permit (
  principal is Mcp::Agent,
  action in [Mcp::Action::"list_tool", Mcp::Action::"call_tool"],
  resource is Mcp::Tool
) when {
  principal.claims.hasTag("tools") && principal.claims.getTag("tools") has strings &&
  principal.claims.getTag("tools").strings.contains(resource.name)
};
"#;

fn world(claims: &[(&str, ClaimValue)]) -> World {
    let mut world = World::new();
    let claims = claims.iter().cloned();
    world.agent.claims = claims
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    world
}

fn set(items: &[&str]) -> ClaimValue {
    ClaimValue::set(items.iter().map(|&item| item.to_owned()).collect())
}

fn configured() -> ConfiguredClaims {
    let types = [
        ("tools", ClaimType::Strings),
        ("tier", ClaimType::String),
        ("quota", ClaimType::Long),
        ("admin", ClaimType::Bool),
    ];
    ConfiguredClaims {
        types: types.map(|(name, of)| (name.to_owned(), of)).into(),
        ..ConfiguredClaims::default()
    }
}

/// `code: message (help)` of each error of a policy on claims with this condition.
fn told(condition: &str) -> Vec<String> {
    let cedar = Cedar {
        claims: Some(Arc::new(configured())),
        warnings: WarningMode::Allow,
        ..Cedar::default()
    };
    let text = format!(
        r#"@id("t") permit (principal is Mcp::Agent, action, resource) when {{ {condition} }};"#
    );
    match cedar.compile(&[source(&text)]) {
        Ok(_) => Vec::new(),
        Err(errors) => {
            let told = errors.problems.iter().map(|problem| {
                assert_eq!(problem.labels.len(), 1, "{problem:?}");
                let help = problem.help.as_deref().unwrap_or_default();
                format!("{}: {} ({help})", problem.code, problem.message)
            });
            told.collect()
        }
    }
}

#[test]
fn a_policy_on_claims_permits_one_agent_and_denies_another() {
    let check = |world: &World, name: &str, expected: &str| {
        assert_eq!(judged(TOOLS, &world.call(&tool(name))), expected, "{name}");
    };
    let one = world(&[("tools", set(&["read", "list"]))]);
    check(&one, "read", "allow tools");
    check(&one, "write", "nothing");
    check(&world(&[("tools", set(&[]))]), "read", "nothing");
    check(&world(&[]), "read", "nothing");
    // What is not of the configured type never comes so far; it would mean nothing.
    let other = world(&[("tools", ClaimValue::String("read".to_owned()))]);
    check(&other, "read", "nothing");
}

#[test]
fn each_type_of_claim_has_its_attribute() {
    let claims = [
        ("tier", ClaimValue::String("gold".to_owned())),
        ("quota", ClaimValue::Long(7)),
        ("admin", ClaimValue::Bool(true)),
        ("tools", set(&["a", "b"])),
    ];
    let world = world(&claims);
    for (name, attribute, test) in [
        ("tier", "string", "== \"gold\""),
        ("quota", "long", "> 6"),
        ("admin", "bool", ""),
        ("tools", "strings", "== [\"b\", \"a\"]"),
    ] {
        let tag = format!(r#"principal.claims.getTag("{name}")"#);
        let condition = format!(
            r#"principal.claims.hasTag("{name}") && {tag} has {attribute} && {tag}.{attribute} {test}"#
        );
        assert_eq!(told(&condition), [""; 0], "{condition}");
        let text = format!(
            r#"@id("t") permit (principal is Mcp::Agent, action, resource) when {{ {condition} }};"#
        );
        assert_eq!(judged(&text, &world.call(&tool("a"))), "allow t", "{text}");
        assert_eq!(judged(&text, &World::new().call(&tool("a"))), "nothing");
    }
}

#[test]
fn a_claim_that_is_not_configured_or_has_another_type_is_told_with_what_was_meant() {
    let unknown = r#"principal.claims.hasTag("tolls")"#;
    assert_eq!(
        told(unknown),
        ["policy::claim: the configuration names no claim `tolls` (did you mean `tools`?)"]
    );
    let tag = r#"principal.claims.getTag("quota")"#;
    let text =
        format!(r#"principal.claims.hasTag("quota") && {tag} has string && {tag}.string == "7""#);
    assert_eq!(
        told(&text),
        [
            "policy::claim: the claim `quota` is `long`, not `string` (`listen.auth.claims` of the \
             configuration says so)"
        ]
    );
    // Only the token tells whether it has a claim of a name that the policy does not write.
    assert_eq!(
        told("resource is Mcp::Tool && principal.claims.hasTag(resource.name)"),
        [""; 0]
    );
    // Without a configuration any name may be one.
    let text = format!(
        r#"@id("t") permit (principal is Mcp::Agent, action, resource) when {{ {unknown} }};"#
    );
    assert_eq!(problems(&[&text]), [""; 0]);
}

#[test]
fn claims_are_not_proved_to_be_there_by_a_name_that_is_not_looked_for() {
    let text = r#"principal.claims.getTag("tier").string == "gold""#;
    assert!(
        told(text)
            .iter()
            .all(|problem| problem.starts_with("policy::type"))
    );
    assert!(!told(text).is_empty());
}

#[test]
fn what_a_record_does_not_hold_is_open() {
    let world = world(&[("tools", set(&["read"]))]);
    let tool = tool("read");
    let check = |text: &str, agent, permitted| {
        let facts = world.call(&tool);
        let mut question = world.question(facts.action.name(), facts.resource);
        question.agent = agent;
        let outlook = snapshot(text).outlook(&question);
        assert_eq!(outlook.permitted, permitted, "{text} {agent:?}");
    };
    check(TOOLS, AgentFacts::Known, Tristate::Always);
    check(TOOLS, AgentFacts::OfRecord, Tristate::Sometimes);
    let granted = r#"@id("t") permit (principal is Mcp::Agent, action, resource is Mcp::Tool)
        when { principal.capabilities.containsAll(resource.capabilities) };"#;
    check(granted, AgentFacts::OfRecord, Tristate::Always);
    check(
        granted,
        AgentFacts::OfRecordWithoutGrants,
        Tristate::Sometimes,
    );
}
