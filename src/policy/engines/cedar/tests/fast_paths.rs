//! Which conditions are told at a glance. That the answers are Cedar's own is a law (`laws.rs`).

use super::super::fact_values::{ContextFacts, FactView};
use super::super::fast_path::FastPath;
use super::super::possible_values::PossibleValues;
use super::super::schema_action::SchemaAction;
use super::super::subjects::Subject;
use super::*;
use crate::policy::fixture::{World, tool};
use crate::policy::leaves::Leaves;
use crate::policy::{Arguments, Leaf};

#[test]
fn plain_conditions_need_no_evaluator() {
    for condition in [
        "true",
        "principal is Mcp::Agent",
        r#"principal == Mcp::Agent::"a1""#,
        r#"!(principal in [Mcp::Role::"x", Mcp::Role::"y"])"#,
        r#"action in [Mcp::Action::"call_tool", Mcp::Action::"lifecycle"]"#,
        r#"resource in Mcp::Server::"files""#,
        r#"resource.name == "read" && resource.level < 1"#,
        "resource.hints.destructive && !resource.pin.known",
        "resource.hints.destructive == true",
        r#"context.env.transport == "stdio""#,
        "context.env.session.level >= 0 && !context.env.session.untrusted",
        r#"!context.env.session.labels.contains("pii")"#,
        r#"["read", "write"].contains(resource.name)"#,
        r#"[Mcp::Tool::"read", Mcp::Tool::"write"].contains(resource)"#,
        r#"["a"].containsAll(context.targets.hosts)"#,
        r#"!context.targets.hosts.containsAll(["a"])"#,
        "context.targets.hosts.isEmpty() && context.targets.roots.isEmpty()",
        "principal.capabilities.containsAll(resource.capabilities)",
        "context.targets.hosts.containsAll(context.env.session.labels)",
        r#"!principal.capabilities.contains(Mcp::Capability::"net")"#,
        r#"[Mcp::Root::"a", Mcp::Root::"b"].containsAll(context.targets.roots)"#,
        r#"!context.targets.roots.contains(Mcp::Root::"a")"#,
        "context.targets.bytes <= 10 && !context.targets.outside",
        r#"context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path") has string"#,
        r#"context.raw_arguments.getTag("/path").string like "/srv/*""#,
        r#"context.raw_arguments.getTag("/path").string == "/srv/x""#,
        r#"context.raw_arguments.getTag("/depth").long > 2"#,
        r#"!context.raw_arguments.hasTag("/none")"#,
        r#"if context.targets.outside then false else context.raw_arguments.hasTag("/path")"#,
        // Decided before what is unclear.
        r#"context.raw_arguments.hasTag("/path") || context.env has peer"#,
        r#"!(context.raw_arguments.hasTag("/none") && context.env has peer)"#,
    ] {
        assert_eq!(glance(condition), Some(true), "{condition}");
        assert_eq!(
            glance(&format!("!({condition})")),
            Some(false),
            "{condition}"
        );
    }
}

#[test]
fn what_could_fail_or_is_not_plain_is_left_to_cedar() {
    for condition in [
        "context.env has peer",
        r#"context.env has peer || context.raw_arguments.hasTag("/path")"#,
        r#"context.env has peer && context.raw_arguments.hasTag("/none")"#,
        // No such leaf, or no such attribute of it: Cedar fails.
        r#"context.raw_arguments.getTag("/none").string == "x""#,
        r#"context.raw_arguments.getTag("/path").long == 1"#,
        r#"context.raw_arguments.getTag("/depth").string like "*""#,
        r#"context.raw_arguments.getTag("/depth") has decimal"#,
        r#"context.raw_arguments.getTag("/path") == context.raw_arguments.getTag("/depth")"#,
        // Types that do not fit, which a checked policy never has.
        r#"context.raw_arguments.getTag("/path").string == 1"#,
        "context.env.session.level",
        r#"context.env.session.level < "x""#,
        r#""x" < context.env.session.level"#,
        r#"context.env.session.level <= "x""#,
        r#""x" == context.raw_arguments.getTag("/none").string"#,
        r#"context.raw_arguments.getTag("/none") has string"#,
        r#"context.raw_arguments.getTag("/depth").decimal == decimal("3.0")"#,
        r#"context.env.transport.contains("x")"#,
        "context.env.session.level + 1 > 0",
        "principal == resource",
        r#"Mcp::Tool::"read".contains(resource)"#,
        r#"["a", 1].contains(resource.name)"#,
        r#"[resource.name].contains("a")"#,
        r#"["a"].contains(1)"#,
        r#"[Mcp::Tool::"read", "read"].contains(resource)"#,
        r#"context.targets.hosts.containsAll("a")"#,
        "context.targets.hosts.containsAll(context.targets.roots)",
        r#"context.targets.roots.contains("a")"#,
        r#"context.targets.roots.contains(Mcp::Capability::"a")"#,
        r#"[Mcp::Root::"a", Mcp::Capability::"a"].containsAll(context.targets.roots)"#,
        r#"[Mcp::Tool::"a"].containsAll(context.targets.roots)"#,
        r#"context.targets.roots == [Mcp::Root::"a"]"#,
        // An entity is no set, which a checked policy never compares.
        r#"action == [Mcp::Action::"call_tool"]"#,
        "action == principal",
        "action in resource",
        "context.env is Mcp::Agent",
        "(if resource.pin.known then context.targets.hosts else context.targets.hosts).isEmpty()",
        r#"principal == [Mcp::Agent::"a1"]"#,
        r#"resource.server in Mcp::ServerGroup::"x""#,
        r#"context.env.now > datetime("1970-01-01")"#,
    ] {
        assert_eq!(glance(condition), None, "{condition}");
    }
}

#[test]
fn what_an_open_context_decides_may_come_to_either() {
    let certain = PossibleValues::exactly;
    for (condition, expected) in [
        (
            r#"resource.name == "read" && principal is Mcp::Agent"#,
            Some(certain(true)),
        ),
        (
            r#"context.raw_arguments.hasTag("/path")"#,
            Some(PossibleValues::EITHER),
        ),
        (
            r#"context.raw_arguments.getTag("/path").string like "*""#,
            Some(PossibleValues::EITHER),
        ),
        ("context has arguments", Some(PossibleValues::EITHER)),
        ("context.arguments.path == 1", Some(PossibleValues::EITHER)),
        (
            r#"context.env.transport == "stdio""#,
            Some(PossibleValues::EITHER),
        ),
        ("!context.targets.outside", Some(PossibleValues::EITHER)),
        (
            "context.targets.hosts.isEmpty()",
            Some(PossibleValues::EITHER),
        ),
        (
            "resource.level < context.env.session.level",
            Some(PossibleValues::EITHER),
        ),
        // What is known decides.
        (
            r#"context.targets.outside && resource.name == "x""#,
            Some(certain(false)),
        ),
        (
            r#"context.targets.outside || resource.name == "read""#,
            Some(certain(true)),
        ),
        (
            "if context.targets.outside then true else principal is Mcp::Agent",
            Some(certain(true)),
        ),
        (
            r#"resource.name == "x" && context.env has peer"#,
            Some(certain(false)),
        ),
        // Cedar must tell, and may fail.
        ("context.env has peer", None),
        ("context.targets.outside && context.env has peer", None),
        (
            "if context.targets.outside then context.env has peer else true",
            None,
        ),
        (
            "if context.targets.outside then true else context.env has peer",
            None,
        ),
        ("resource.uri == context.env.transport", None),
        ("context.env.transport == resource.uri", None),
        ("context.targets.bytes + 1 > 0", None),
    ] {
        assert_eq!(look(condition, false), expected, "{condition}");
    }
}

#[test]
fn leaves_are_found_among_many_and_may_not_repeat() {
    let leaf = |name: &str| (name.to_owned(), Leaf::Null);
    let names: Vec<String> = (0..100).map(|number| format!("/{number}")).collect();
    let arguments = Arguments(names.iter().map(|name| leaf(name)).collect());
    let leaves = Leaves::of(Some(&arguments)).unwrap();
    assert!(names.iter().all(|name| leaves.get(name).is_some()));
    assert!(leaves.get("/100").is_none());
    assert!(Leaves::of(Some(&Arguments(vec![leaf("/a"), leaf("/b"), leaf("/a")]))).is_none());
}

fn glance(condition: &str) -> Option<bool> {
    look(condition, true)?.certain()
}

fn look(condition: &str, known: bool) -> Option<PossibleValues> {
    let words = Vocabulary::get().unwrap();
    let glance = FastPath::of(&words, &condition.parse().unwrap());
    let mut world = World::new().with(&[("/path", "/srv/x")]);
    world
        .arguments
        .0
        .push(("/depth".to_owned(), Leaf::Number("3")));
    let tool = tool("read");
    let facts = world.call(&tool);
    glance.outcomes(&FactView {
        held: None,
        verb: SchemaAction::Named(facts.action.name()),
        record: None,
        principal: &Subject::of_principal(&words, facts.principal),
        resource: &Subject::of_resource(
            &words,
            &ToolGroups::default(),
            facts.env.server,
            facts.resource,
        ),
        who: facts.principal,
        what: facts.resource,
        context: known.then(|| ContextFacts {
            action: &facts.action,
            env: &facts.env,
            arguments: Leaves::of(facts.action.arguments()).unwrap(),
        }),
    })
}
