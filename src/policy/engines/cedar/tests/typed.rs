//! Calls of tools whose arguments have types.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::scope_actions::narrowed;
use super::super::typed::{RecordReads, value};
use super::laws::{OwnedFacts, any_scene, authorized, whole_request_in};
use super::*;
use crate::policy::fixture::{World, tool};
use crate::policy::leaves::Leaves;
use crate::policy::{
    AgentFacts, Arguments, DefinitionFingerprint, Leaf, ListFacts, Lock, LockedTool, Member,
    MismatchKind, PolicyOrigin, Presence, Principal, RecordShape, Resource, Scalar, ServerKey,
    Tristate, UseTime, ValueShape,
};

fn member(pointer: &str, presence: Presence, shape: ValueShape) -> Member {
    Member {
        name: pointer.rsplit('/').next().unwrap().to_owned(),
        pointer: pointer.to_owned(),
        presence,
        shape,
    }
}

/// `a` and `b` take the same things; `open` has no types.
fn lock() -> Arc<Lock> {
    use Presence::{Nullable, Optional, Required};
    let one = |scalar| ValueShape::One(scalar);
    let inner = RecordShape {
        members: vec![
            member("/opts/deep", Optional, one(Scalar::String)),
            member("/opts/depth", Required, one(Scalar::Integer)),
        ],
        untyped: vec![],
    };
    let place = |pointer: &str| {
        let latitude = member(&format!("{pointer}/lat"), Required, one(Scalar::Number));
        let inner = RecordShape {
            members: vec![latitude],
            untyped: vec![],
        };
        member(pointer, Optional, ValueShape::Record(inner))
    };
    let record = RecordShape {
        members: vec![
            member("/amount", Optional, one(Scalar::Number)),
            member("/flag", Nullable, one(Scalar::Boolean)),
            place("/from"),
            member("/n", Optional, one(Scalar::Integer)),
            member("/numbers", Optional, ValueShape::Many(Scalar::Integer)),
            member("/opts", Optional, ValueShape::Record(inner)),
            member("/path", Required, one(Scalar::String)),
            member("/tags", Optional, ValueShape::Many(Scalar::String)),
            place("/to"),
        ],
        untyped: vec![],
    };
    let tool = |arguments: Result<RecordShape, String>| LockedTool {
        fingerprint: DefinitionFingerprint::of("{}", "{}"),
        definition: "{}".into(),
        arguments,
        origin: PolicyOrigin {
            file: "tools.lock".into(),
            line: 4,
        },
    };
    let tools = [
        ("a", Ok(record.clone())),
        ("b", Ok(record)),
        ("odd \"name\"/\u{202e}::x", Ok(RecordShape::default())),
        ("open", Err("its `inputSchema` is a riddle".to_owned())),
    ];
    let tools = tools.map(|(name, arguments)| (name.to_owned(), tool(arguments)));
    Arc::new(Lock::new(BTreeMap::from(tools)))
}

fn cedar() -> Cedar {
    Cedar {
        lock: lock(),
        warnings: WarningMode::Allow,
        ..Cedar::default()
    }
}

fn snapshot(text: &str) -> PolicySnapshot {
    let compiled = cedar().compile(&[source(text)]).unwrap_or_else(|errors| {
        panic!("{text}\n{:?}", errors.problems);
    });
    PolicySnapshot::new(vec![compiled.engine], vec![source(text)], compiled.policies)
        .with_lock(lock())
}

fn problems(text: &str) -> Vec<String> {
    let found = cedar().compile(&[source(text)]);
    let problems = found.err().map(|errors| errors.problems);
    let told = |problem: PolicyProblem| {
        format!("{} | {}", problem.message, problem.help.unwrap_or_default())
    };
    problems.into_iter().flatten().map(told).collect()
}

fn world(arguments: &[(&str, Leaf<'static>)]) -> World {
    let mut world = World::new();
    world.arguments = Arguments(
        arguments
            .iter()
            .map(|(pointer, leaf)| ((*pointer).to_owned(), leaf.clone()))
            .collect(),
    );
    world
}

fn text(text: &'static str) -> Leaf<'static> {
    Leaf::String(text.into())
}

fn judged(policies: &str, called: &str, arguments: &[(&str, Leaf<'static>)]) -> String {
    told(&snapshot(policies).judge(&world(arguments).call(&tool(called))))
}

/// Of the arguments of other tools than the one that it names, a policy knows nothing.
#[test]
fn a_policy_on_one_tool_is_checked_against_the_arguments_of_that_tool() {
    let check = |scope: &str, condition: &str, expected: usize| {
        let policy = format!(
            "@id(\"x\") permit (principal, action in Mcp::Action::\"call_tool\", {scope})\
             when {{ context has arguments && {condition} }};"
        );
        let found = problems(&policy);
        assert_eq!(found.len(), expected, "{policy}: {found:#?}");
    };
    let path = "context.arguments.path == \"/x\"";
    check("resource == Mcp::Tool::\"a\"", path, 0);
    check(
        "resource == Mcp::Tool::\"a\"",
        "context.arguments.pth == \"/x\"",
        1,
    );
    check(
        "resource == Mcp::Tool::\"a\"",
        "context.arguments.path == 1",
        1,
    );
    // What takes no `path` may be meant.
    check("resource", path, 1);
    check("resource is Mcp::Tool", path, 1);
    let either = "[Mcp::Tool::\"a\", Mcp::Tool::\"b\"].contains(resource) && ";
    check("resource", &format!("{either}{path}"), 1);
    check("resource == Mcp::Tool::\"open\"", path, 1);

    let policy = "@id(\"x\") permit (principal, action in Mcp::Action::\"call_tool\", \
                  resource == Mcp::Tool::\"a\") \
                  when { context has arguments && context.arguments.path == \"/x\" };";
    let path = [("/path", text("/x"))];
    assert_eq!(judged(policy, "a", &path), "allow x");
    assert_eq!(judged(policy, "b", &path), judged("", "b", &path));
    assert_eq!(judged(policy, "open", &path), judged("", "open", &path));
}

const GUARD: &str = r#"
@id("all") permit(principal, action in Mcp::Action::"call_tool", resource);
@id("guard") forbid(principal, action == Mcp::Action::"call_tool/a", resource)
unless { context.arguments.path like "/srv/*" };
"#;

#[test]
fn a_typed_argument_is_compared_without_asking_whether_it_is_there() {
    let check = |called, path: &'static str, expected: &str| {
        assert_eq!(judged(GUARD, called, &[("/path", text(path))]), expected);
    };
    check("a", "/srv/x", "allow all");
    check("a", "/etc/x", "deny guard");
    // What is scoped to one tool is nothing to another.
    check("b", "/etc/x", "allow all");
    check("open", "/etc/x", "allow all");
    check("unknown", "/etc/x", "allow all");
}

#[test]
fn arguments_that_do_not_fit_are_refused_whatever_policies_say() {
    let everything = r#"@id("all") permit(principal, action, resource);"#;
    let check = |arguments: &[(&str, Leaf<'static>)], says: &str| {
        for policies in [GUARD, everything] {
            let world = world(arguments);
            let decision = snapshot(policies).judge(&world.call(&tool("a")));
            assert_eq!(told(&decision), "deny lock.arguments", "{arguments:?}");
            let reason = &decision.reasons()[0];
            assert_eq!(reason.advice.as_deref(), Some(says));
            assert_eq!(reason.origin.to_string(), "tools.lock:4");
            // A tool without types takes anything.
            let decision = snapshot(policies).judge(&world.call(&tool("open")));
            assert_eq!(told(&decision), "allow all");
        }
    };
    let path = || ("/path", text("/srv/x"));
    check(
        &[],
        "argument `/path` is missing, and `tools.lock` requires it",
    );
    check(
        &[("", Leaf::EmptyObject)],
        "argument `/path` is missing, and `tools.lock` requires it",
    );
    check(
        &[("/path", Leaf::Null)],
        "argument `/path` is not a string, as `tools.lock` says",
    );
    check(
        &[("/path", Leaf::Number("1"))],
        "argument `/path` is not a string, as `tools.lock` says",
    );
    check(
        &[("/path/s", text("/srv/x"))],
        "argument `/path` is not a string, as `tools.lock` says",
    );
    check(
        &[("/path", Leaf::EmptyArray)],
        "argument `/path` is not a string, as `tools.lock` says",
    );
    check(
        &[path(), ("/n", Leaf::Number("1.5"))],
        "argument `/n` is not an integer within 64 bits, as `tools.lock` says",
    );
    check(
        &[path(), ("/n", Leaf::Number("9223372036854775808"))],
        "argument `/n` is not an integer within 64 bits, as `tools.lock` says",
    );
    check(
        &[path(), ("/n", Leaf::Null)],
        "argument `/n` is not an integer within 64 bits, as `tools.lock` says",
    );
    check(
        &[path(), ("/flag", text("true"))],
        "argument `/flag` is not a boolean, as `tools.lock` says",
    );
    check(
        &[path(), ("/amount", text("1"))],
        "argument `/amount` is not a number, as `tools.lock` says",
    );
    check(
        &[path(), ("/tags", text("x"))],
        "argument `/tags` is not an array, as `tools.lock` says",
    );
    // An object with the keys of an array is none.
    check(
        &[path(), ("/tags/0", text("x"))],
        "argument `/tags` is not an array, as `tools.lock` says",
    );
    check(
        &[
            path(),
            ("/tags", Leaf::Array),
            ("/tags/0", text("x")),
            ("/tags/1", Leaf::Null),
        ],
        "argument `/tags/1` is not a string, as `tools.lock` says",
    );
    check(
        &[
            path(),
            ("/numbers", Leaf::Array),
            ("/numbers/0/x", Leaf::Number("1")),
        ],
        "argument `/numbers/0/x` is not an integer within 64 bits, as `tools.lock` says",
    );
    check(
        &[
            path(),
            ("/opts", Leaf::Array),
            ("/opts/0", Leaf::Number("1")),
        ],
        "argument `/opts` is not an object, as `tools.lock` says",
    );
    check(
        &[path(), ("/opts/deep", text("x"))],
        "argument `/opts/depth` is missing, and `tools.lock` requires it",
    );
    check(
        &[path(), ("/opts", Leaf::EmptyObject)],
        "argument `/opts/depth` is missing, and `tools.lock` requires it",
    );
}

#[test]
fn whatever_else_is_sent_is_seen_by_its_tag_only() {
    let policies = r#"
    @id("all") permit(principal, action in Mcp::Action::"call_tool", resource);
    @id("extra") forbid(principal, action in Mcp::Action::"call_tool", resource)
    when { context.raw_arguments.hasTag("/extra") };"#;
    let path = || ("/path", text("x"));
    assert_eq!(judged(policies, "a", &[path()]), "allow all");
    assert_eq!(
        judged(policies, "a", &[path(), ("/extra", Leaf::Null)]),
        "deny extra"
    );
}

#[test]
fn every_kind_of_argument_has_a_value() {
    let arguments = [
        ("/amount", Leaf::Number("2.5")),
        ("/flag", Leaf::Bool(true)),
        ("/n", Leaf::Number("70e-1")),
        ("/numbers", Leaf::Array),
        ("/numbers/0", Leaf::Number("1")),
        ("/numbers/1", Leaf::Number("2")),
        ("/opts/depth", Leaf::Number("3")),
        ("/path", text("/srv/x")),
        ("/tags", Leaf::Strings(vec!["x".into(), "y".into()])),
        ("/tags/0", text("x")),
        ("/tags/1", text("y")),
    ];
    let holds = |condition: &str| {
        let policy = format!(
            r#"@id("p") permit(principal, action == Mcp::Action::"call_tool/a", resource)
               when {{ context.arguments has n && context.arguments has amount
                    && context.arguments has flag && context.arguments has numbers
                    && context.arguments has opts && context.arguments has tags && {condition} }};"#
        );
        judged(&policy, "a", &arguments)
    };
    for condition in [
        "context.arguments.n == 7",
        r#"context.arguments.amount.lessThan(decimal("2.6"))"#,
        "context.arguments.flag",
        "context.arguments.numbers.containsAll([1, 2])",
        "context.arguments.opts.depth + 1 == 4",
        "!(context.arguments.opts has deep)",
        r#"context.arguments.tags == ["y", "x"]"#,
        r#"["x", "y", "z"].containsAll(context.arguments.tags)"#,
        r#"["/srv/x"].contains(context.arguments.path)"#,
        r#"context.arguments.path == context.raw_arguments.getTag("/path").string"#,
    ] {
        let condition = condition.replace(
            r#"context.raw_arguments.getTag("/path").string"#,
            r#"(if context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path") has string then context.raw_arguments.getTag("/path").string else "")"#,
        );
        assert_eq!(holds(&condition), "allow p", "{condition}");
        assert_eq!(holds(&format!("!({condition})")), "nothing", "{condition}");
    }
}

#[test]
fn a_number_that_cannot_be_compared_exactly_is_refused_where_a_policy_asks_for_it() {
    let asks = r#"
    @id("all") permit(principal, action in Mcp::Action::"call_tool", resource);
    @id("much") forbid(principal, action == Mcp::Action::"call_tool/a", resource)
    when { context.arguments has amount && context.arguments.amount.greaterThan(decimal("5.0")) };"#;
    let call = |policies, amount| {
        judged(
            policies,
            "a",
            &[("/path", text("x")), ("/amount", Leaf::Number(amount))],
        )
    };
    assert_eq!(call(asks, "4.5"), "allow all");
    assert_eq!(call(asks, "1e1"), "deny much");
    assert_eq!(call(asks, "5.00001"), "deny lock.arguments");
    assert_eq!(call(asks, "1e300"), "deny lock.arguments");
    // No policy reads them, so coordinates of six decimals pass.
    let other = r#"@id("all") permit(principal, action in Mcp::Action::"call_tool", resource)
    when { context has arguments && context.targets.bytes + 1 > 0 };
    @id("p") forbid(principal, action == Mcp::Action::"call_tool/a", resource)
    when { context.arguments.path like "/etc/*" && context.targets.bytes + 1 > 0 };"#;
    assert_eq!(call(other, "5.00001"), "allow all");
}

#[test]
fn a_number_inside_what_is_compared_as_a_whole_has_to_be_exact() {
    let call = |condition: &str, from, to| {
        let policies = format!(
            r#"@id("all") permit(principal, action in Mcp::Action::"call_tool", resource);
            @id("same") forbid(principal, action == Mcp::Action::"call_tool/a", resource)
            when {{ context.arguments has from && context.arguments has to }}
            when {{ {condition} }};"#
        );
        let arguments = [
            ("/path", text("x")),
            ("/from/lat", Leaf::Number(from)),
            ("/to/lat", Leaf::Number(to)),
        ];
        judged(&policies, "a", &arguments)
    };
    for condition in [
        "context.arguments.from == context.arguments.to",
        "!(context.arguments.from != context.arguments.to)",
        "[context.arguments.from].contains(context.arguments.to)",
        "[context.arguments.from] == [context.arguments.to]",
        "[context.arguments.from].containsAll([context.arguments.to])",
        "[context.arguments.from].containsAny([context.arguments.to])",
        "{place: context.arguments.from} == {place: context.arguments.to}",
        "{all: context.arguments}.all has from && \
         {all: context.arguments}.all.from == context.arguments.to",
        "{all: context}.all.arguments has from && \
         {all: context}.all.arguments.from == context.arguments.to",
        "(if principal.trust > 5 then context.arguments.to else context.arguments.from) == \
         context.arguments.to",
        "[context.arguments].contains(context.arguments) && \
         context.arguments.from == context.arguments.to",
    ] {
        assert_eq!(call(condition, "52.1", "52.1"), "deny same", "{condition}");
        assert_eq!(call(condition, "52.1", "4.9"), "allow all", "{condition}");
        for (from, to) in [
            ("52.123456", "4.987654"),
            ("52.123456", "0.0"),
            ("0", "1e300"),
        ] {
            let got = call(condition, from, to);
            assert_eq!(got, "deny lock.arguments", "{condition} {from} {to}");
        }
    }
    // Whether it is there is no look at what is in it.
    let other = "context.targets.bytes + 1 > 99";
    assert_eq!(call(other, "52.1", "4.987654"), "allow all");
}

#[test]
fn null_counts_as_missing_where_the_schema_allows_it() {
    let policy = r#"@id("p") permit(principal, action == Mcp::Action::"call_tool/a", resource)
    when { !(context.arguments has flag) };"#;
    let flag = |leaf| judged(policy, "a", &[("/path", text("x")), ("/flag", leaf)]);
    assert_eq!(flag(Leaf::Null), "allow p");
    assert_eq!(flag(Leaf::Bool(false)), "nothing");
}

#[test]
fn a_mistake_about_arguments_or_tools_is_told_with_what_was_meant() {
    let check = |scope: &str, condition: &str, says: &[&str]| {
        let text = format!("forbid(principal, {scope}, resource) when {{ {condition} }};");
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        for part in says {
            assert!(found[0].contains(part), "{text}: {found:?}");
        }
    };
    let a = r#"action == Mcp::Action::"call_tool/a""#;
    check(
        a,
        r#"context.arguments.pth like "x""#,
        &["`arguments.pth`", "did you mean `path`?"],
    );
    check(a, "context.arguments.path > 1", &["expected"]);
    check(a, "context.arguments.n > 1", &["context.arguments has n"]);
    check(
        a,
        "context.arguments.opts.depth > 1",
        &["context.arguments has opts"],
    );
    check(
        r#"action == Mcp::Action::"call_tool/opem""#,
        "true",
        &[
            "unrecognized action",
            r#"did you mean `Mcp::Action::"call_tool"#,
        ],
    );
    check(
        r#"action == Mcp::Action::"call_tool/open""#,
        "true",
        &["gives no types to its arguments: its `inputSchema` is a riddle"],
    );
    let unscoped = r#"forbid(principal, action in Mcp::Action::"call_tool", resource)
        when { context.arguments.path like "x" };"#;
    let missing = "attribute `arguments` in context for Mcp::Action::\"call_tool\" not found";
    assert!(
        problems(unscoped)
            .iter()
            .any(|problem| problem.starts_with(missing))
    );
    for exact in [
        ("action == Mcp::Action::\"call_tool\"", "true"),
        ("action", "action == Mcp::Action::\"call_tool\""),
        ("action", "[Mcp::Action::\"call_tool\"].contains(action)"),
        ("action", "!(Mcp::Action::\"call_tool\" == action)"),
    ] {
        check(
            exact.0,
            exact.1,
            &["write `action in Mcp::Action::\"call_tool\"`"],
        );
    }
    let fine = r#"forbid(principal, action in [Mcp::Action::"call_tool", Mcp::Action::"list_tool"], resource)
        when { action in [Mcp::Action::"call_tool"] };"#;
    assert_eq!(problems(fine), [] as [&str; 0]);
    // Without a lock `==` means what it says.
    let exact = r#"forbid(principal, action == Mcp::Action::"call_tool", resource);"#;
    assert!(Cedar::default().compile(&[source(exact)]).is_ok());
    let errors = Cedar::default()
        .compile(&[source(
            "permit(principal, action == Mcp::Action::\"call_tool/a\", resource);",
        )])
        .unwrap_err();
    let help = errors.problems[0].help.as_deref().unwrap();
    assert!(help.contains("mcp-protector tools lock"), "{help}");
}

#[test]
fn what_was_checked_against_other_types_is_checked_again() {
    let wrong = r#"@id("p") permit(principal, action == Mcp::Action::"call_tool/a", resource)
        when { context.arguments.nothing == 1 };"#;
    let compile = |checked_under: Arc<Lock>| {
        let told = CheckedPolicies::new(&checked_under, [wrong.into()].into());
        let cedar = Cedar {
            checked: vec![told],
            ..cedar()
        };
        cedar.compile(&[source(wrong)])
    };
    assert!(compile(lock()).is_ok());
    assert!(compile(Arc::default()).is_err());
}

#[test]
fn what_can_never_be_is_told_with_what_was_meant() {
    let check = |resource: &str, condition: &str, says: &str| {
        let policy = format!(
            r#"@id("p") permit(principal, action == Mcp::Action::"call_tool/a", {resource})
            when {{ {condition} }};"#
        );
        let cedar = Cedar {
            lock: lock(),
            ..Cedar::default()
        };
        let problems = cedar.compile(&[source(&policy)]).unwrap_err().problems;
        for problem in &problems {
            let help = problem.help.as_deref().unwrap_or_default();
            assert!(help.contains(says), "{policy}\n{problem}: {help}");
        }
    };
    let any = |condition: &str, says: &str| check("resource", condition, says);
    any(
        "context.arguments has falg",
        "nothing has an attribute `falg`; did you mean `flag`?",
    );
    any(
        "context.args.hasTag(\"/path\")",
        "it is `context.raw_arguments` now",
    );
    any("context.touch.outside", "it is `context.targets` now");
    any(
        "context has tagets && context.tagets.outside",
        "did you mean `targets`?",
    );
    any("principal has truts", "did you mean `trust`?");
    any("context.arguments has opts.detph", "did you mean `depth`?");
    any("context.arguments has zzzzzzzzzz", "policy schema");
    let contains = "`context.targets.roots.contains(Mcp::Root::\"…\")`";
    any("resource in context.targets.roots", contains);
    any("Mcp::Root::\"w\" in context.targets.roots", contains);
    any("context.targets.roots in [Mcp::Root::\"w\"]", contains);
    any("context.targets.roots == Mcp::Root::\"w\"", contains);
    any(
        "context.targets.roots.contains(\"w\")",
        "roots are entities",
    );
    any(
        "context.targets.roots.contains(resource)",
        "tools lie in no root",
    );
    any("resource in Mcp::Root::\"w\"", "tools lie in no root");
    any(
        "resource in [Mcp::Root::\"w\", Mcp::Root::\"v\"]",
        "tools lie in no root",
    );
    check(
        "resource in Mcp::Root::\"w\"",
        "true",
        "tools lie in no root",
    );
}

#[test]
fn any_name_of_a_tool_is_an_action() {
    let policy = r#"@id("p") permit(principal,
        action == Mcp::Action::"call_tool/odd \"name\"/\u{202e}::x", resource);"#;
    let compiled = Cedar {
        lock: lock(),
        warnings: WarningMode::Allow,
        ..Cedar::default()
    };
    assert!(compiled.compile(&[source(policy)]).is_ok());
    assert_eq!(judged(policy, "odd \"name\"/\u{202e}::x", &[]), "allow p");
    assert_eq!(judged(policy, "a", &[("/path", text("x"))]), "nothing");
}

#[test]
fn policies_may_ask_whether_a_call_has_types() {
    let policy = r#"@id("p") permit(principal, action in Mcp::Action::"call_tool", resource)
    when { context has arguments && context.arguments has path && context.arguments.path == "x" };"#;
    assert_eq!(judged(policy, "a", &[("/path", text("x"))]), "allow p");
    assert_eq!(judged(policy, "a", &[("/path", text("y"))]), "nothing");
    assert_eq!(judged(policy, "open", &[("/path", text("x"))]), "nothing");
}

#[test]
fn a_list_shows_what_could_be_called_with_some_arguments() {
    let check = |policies: &str, expected: [bool; 3]| {
        let world = World::new();
        let tools = ["a", "b", "open"].map(tool);
        let facts = ListFacts {
            principal: Principal::Agent(&world.agent),
            env: world.env(),
            uses: UseTime::Now,
        };
        let shown = snapshot(policies).visible(&facts, &tools.each_ref().map(Resource::Tool));
        assert_eq!(shown, expected, "{policies}");
    };
    let all = r#"permit(principal, action in Mcp::Action::"call_tool", resource);"#;
    let with = |more: &str| format!("{all}\n{more}");
    check(all, [true, true, true]);
    check(
        r#"permit(principal, action == Mcp::Action::"call_tool/a", resource)
           when { context.arguments.path like "/srv/*" };"#,
        [true, false, false],
    );
    check(
        &with(
            r#"forbid(principal, action == Mcp::Action::"call_tool/a", resource)
                 unless { context.arguments.path like "/srv/*" };"#,
        ),
        [true, true, true],
    );
    check(
        &with(r#"forbid(principal, action == Mcp::Action::"call_tool/a", resource);"#),
        [false, true, true],
    );
    check(
        &with(
            r#"forbid(principal, action in Mcp::Action::"call_tool", resource)
                 when { action in [Mcp::Action::"call_tool/b"] };"#,
        ),
        [true, false, true],
    );
    check(
        &with(
            r#"forbid(principal, action == Mcp::Action::"call_tool/b", resource)
                 when { principal.trust < 5 };"#,
        ),
        [true, false, true],
    );
    // Only Cedar's evaluator can tell.
    check(
        &with(
            r#"forbid(principal, action == Mcp::Action::"call_tool/b", resource)
                 when { resource.level * 2 < 1 };"#,
        ),
        [true, false, true],
    );
}

#[test]
fn what_is_open_names_the_tools_that_have_rules_of_their_own() {
    let check = |policies: &str, expected: &str| {
        let surfaces = cedar().compile(&[source(policies)]).unwrap().surfaces;
        let told = surfaces.to_string();
        assert!(
            told.starts_with(&format!("tools: {expected};")),
            "{policies}: {told}"
        );
    };
    let a = r#"permit(principal, action == Mcp::Action::"call_tool/a", resource);"#;
    check(a, "a");
    check(
        &format!(
            "{a}\n{}",
            r#"permit(principal, action in [Mcp::Action::"call_tool/b"], resource);"#
        ),
        "a, b",
    );
    check(
        &format!(
            "{a}\n{}",
            r#"permit(principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"x");"#
        ),
        "a, x",
    );
    check(
        &format!(
            "{a}\n{}",
            r#"forbid(principal, action == Mcp::Action::"call_tool/a", resource);"#
        ),
        "none",
    );
    check(
        &format!(
            "{a}\n{}",
            r#"forbid(principal, action in Mcp::Action::"call_tool", resource);"#
        ),
        "none",
    );
}

fn fitting() -> impl Strategy<Value = Arguments<'static>> {
    let name = || prop::sample::select(vec!["a", "b", "fs", ""]);
    let number = || prop::sample::select(vec!["0", "3", "-7e2", "9223372036854775807"]);
    let names = prop::collection::vec(name(), 0..3);
    (
        name(),
        prop::option::of(number()),
        prop::option::of(prop::sample::select(vec!["1.5", "0", "-2.25"])),
        prop::option::of(prop::option::of(any::<bool>())),
        prop::option::of(names),
        prop::option::of((number(), prop::option::of(name()))),
        prop::option::of(prop::collection::vec(number(), 0..3)),
    )
        .prop_map(|(path, n, amount, flag, tags, opts, numbers)| {
            let mut leaves = vec![("/path".to_owned(), text(path))];
            let mut put = |pointer: &str, leaf| leaves.push((pointer.to_owned(), leaf));
            if let Some(n) = n {
                put("/n", Leaf::Number(n));
            }
            if let Some(amount) = amount {
                put("/amount", Leaf::Number(amount));
            }
            if let Some(flag) = flag {
                put("/flag", flag.map_or(Leaf::Null, Leaf::Bool));
            }
            if let Some((depth, deep)) = opts {
                put("/opts/depth", Leaf::Number(depth));
                if let Some(deep) = deep {
                    put("/opts/deep", text(deep));
                }
            }
            if let Some(tags) = tags {
                for (index, tag) in tags.iter().enumerate() {
                    put(&format!("/tags/{index}"), text(tag));
                }
                let strings = tags.into_iter().map(Into::into).collect::<Vec<_>>();
                let empty = strings.is_empty();
                put(
                    "/tags",
                    if empty {
                        Leaf::EmptyArray
                    } else {
                        Leaf::Strings(strings)
                    },
                );
            }
            if let Some(numbers) = numbers {
                for (index, number) in numbers.iter().enumerate() {
                    put(&format!("/numbers/{index}"), Leaf::Number(number));
                }
                put(
                    "/numbers",
                    if numbers.is_empty() {
                        Leaf::EmptyArray
                    } else {
                        Leaf::Array
                    },
                );
            }
            Arguments(leaves)
        })
}

fn calls() -> impl Strategy<Value = OwnedFacts> {
    let name = prop::sample::select(vec!["a", "b", "open", "c"]);
    (any_scene(), fitting(), name).prop_map(|(mut scene, arguments, name)| {
        name.clone_into(&mut scene.tool.name);
        scene.world.arguments = arguments;
        scene.action = usize::MAX;
        scene
    })
}

fn any_policies() -> impl Strategy<Value = String> {
    let effect = prop::sample::select(vec!["permit", "forbid"]);
    let typed = vec![
        r#"action == Mcp::Action::"call_tool/a""#,
        r#"action in [Mcp::Action::"call_tool/b", Mcp::Action::"call_tool/a"]"#,
    ];
    let any = vec![
        r#"action in Mcp::Action::"call_tool""#,
        "action",
        r#"action in Mcp::Action::"use""#,
    ];
    let policy = prop_oneof![
        (
            effect.clone(),
            prop::sample::select(typed),
            any_condition(true)
        ),
        (effect, prop::sample::select(any), any_condition(false)),
    ];
    prop::collection::vec(policy, 0..6).prop_map(|policies| {
        let numbered = policies.into_iter().enumerate();
        let texts = numbered.map(|(number, (effect, scope, condition))| {
            format!(
                "@id(\"{number}\") {effect}(principal, {scope}, resource) when {{ {condition} }};"
            )
        });
        texts.collect::<Vec<_>>().join("\n")
    })
}

fn any_condition(typed: bool) -> BoxedStrategy<String> {
    let mut atoms = vec![
        "true",
        "false",
        r#"action in Mcp::Action::"call_tool""#,
        r#"action in [Mcp::Action::"call_tool/a", Mcp::Action::"list_tool"]"#,
        r#"action == Mcp::Action::"call_tool/b""#,
        "context.env.session.untrusted",
        "context.env.session.level + 1 > 2",
        "resource is Mcp::Tool && resource.pin.known",
        r#"resource == Mcp::Tool::"a""#,
    ];
    if typed {
        atoms.extend([
            r#"context.arguments.path == "a""#,
            r#"context.arguments.path like "f*""#,
            "context.arguments has n && context.arguments.n > 1",
            "context.arguments has n && context.arguments.n + 1 > 0",
            "!(context.arguments has flag)",
            "context.arguments has flag && context.arguments.flag",
            r#"context.arguments has tags && context.arguments.tags.contains("a")"#,
            r#"context.arguments has tags && ["a", "b"].containsAll(context.arguments.tags)"#,
            "context.arguments has opts && context.arguments.opts.depth <= 3",
            r#"context.arguments has opts && context.arguments.opts has deep && context.arguments.opts.deep == "fs""#,
            r#"context.arguments has amount && context.arguments.amount.lessThan(decimal("1.0"))"#,
            "context.arguments has numbers && context.arguments.numbers.contains(3)",
            "context has arguments",
            r#"["a", "b"].contains(context.arguments.path)"#,
            r#"context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path") has string && context.raw_arguments.getTag("/path").string == context.arguments.path"#,
        ]);
    }
    let atom = prop::sample::select(atoms).prop_map(|atom| format!("({atom})"));
    atom.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} && {other})")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} || {other})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(test, one, other)| format!("(if {test} then {one} else {other})")),
            inner.prop_map(|one| format!("!{one}")),
        ]
    })
    .boxed()
}

#[test]
fn what_was_read_for_one_lock_is_not_taken_for_another() {
    let with = |name: &str, arguments: RecordShape| {
        let tool = LockedTool {
            fingerprint: DefinitionFingerprint::of("{}", "{}"),
            definition: "{}".into(),
            arguments: Ok(arguments),
            origin: PolicyOrigin {
                file: "tools.lock".into(),
                line: 4,
            },
        };
        Lock::new(BTreeMap::from([(name.to_owned(), tool)]))
    };
    let typed = RecordShape {
        members: vec![member(
            "/path",
            Presence::Required,
            ValueShape::One(Scalar::String),
        )],
        untyped: vec![],
    };
    let locks = [
        Lock::default(),
        lock().as_ref().clone(),
        with("a", RecordShape::default()),
        with("a", typed.clone()),
        with("b", typed),
    ];
    for (place, asked) in locks.iter().enumerate() {
        let words = Vocabulary::with(asked).unwrap();
        let fits = locks.iter().map(|other| words.is_of(other));
        let fits: Vec<bool> = fits.collect();
        assert!(
            fits.iter()
                .enumerate()
                .all(|(other, fits)| *fits == (other == place))
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Fast paths for typed arguments, rules by tool and omitted facts change no decision.
    #[test]
    fn cedars_own_authorizer_decides_the_same_of_typed_calls(
        text in any_policies(), scene in calls(),
    ) {
        let words = Vocabulary::with(&lock()).unwrap();
        let asked = whole_request_in(&words, &scene.facts(), &ToolGroups::default());
        let ours = told(&snapshot(&text).judge(&scene.facts()));
        prop_assert_eq!(ours, authorized(&text, asked));
    }

    /// The requests are what the schema says: the record of a call is its tool's.
    #[test]
    fn the_schema_accepts_every_typed_call(scene in calls()) {
        let words = Vocabulary::with(&lock()).unwrap();
        let (request, _) = whole_request_in(&words, &scene.facts(), &ToolGroups::default());
        let request: &cedar_policy_core::ast::Request = request.as_ref();
        let facts = scene.facts();
        let subject = subjects::Subject::of_resource(&words, &ToolGroups::default(), facts.env.server, facts.resource);
        let verb = subject.schema_action(&words, facts.action.name());
        prop_assert_eq!(placeholder::check(&words, verb, request.context().unwrap()), Ok(()));
    }

    /// What is certain of a call before its session is known is so in this session.
    #[test]
    fn what_is_certain_of_a_call_with_its_arguments_is_so(text in any_policies(), scene in calls()) {
        let (ours, facts) = (snapshot(&text), scene.facts());
        let outlook = ours.outlook_of(&facts, &of_call(&facts));
        if let Some(allowed) = outlook.settled() {
            prop_assert_eq!(ours.judge(&facts).is_allow(), allowed);
        }
    }

    /// A tool that is not shown has no call that is permitted, unless listing it is forbidden or fails.
    #[test]
    fn a_call_that_is_permitted_is_of_a_tool_that_is_shown(
        text in any_policies(), scene in calls(),
    ) {
        let ours = snapshot(&text);
        let facts = scene.facts();
        let list = ListFacts { principal: facts.principal, env: facts.env.clone(), uses: UseTime::Now };
        let listing = Facts { action: crate::policy::Action::ListTool, ..facts.clone() };
        // What must not be listed, or fails when it is asked, is not shown.
        let listed = told(&ours.judge(&listing));
        let hides = listed.starts_with("deny") || listed.starts_with("fault");
        if ours.judge(&facts).is_allow() && !hides {
            prop_assert_eq!(ours.visible(&list, &[facts.resource]), [true]);
        }
    }
}

/// A call of which nothing but its sender and its tool are known.
fn of_call<'a>(facts: &Facts<'a>) -> PartialRequest<'a> {
    PartialRequest {
        principal: facts.principal,
        action: ActionName::CallTool,
        resource: facts.resource,
        server: facts.env.server,
        transport: None,
        level: None,
        datasets: None,
        now_ms: None,
        message: None,
        agent: AgentFacts::Known,
    }
}

#[test]
fn known_arguments_settle_what_open_ones_leave_open() {
    let check = |called: &str, condition: &str, arguments: &[(&str, Leaf<'static>)], expected| {
        let action = match called {
            "a" => r#"== Mcp::Action::"call_tool/a""#,
            _ => r#"in Mcp::Action::"call_tool""#,
        };
        let text = format!(
            "permit(principal, action {action}, resource == Mcp::Tool::\"{called}\")
             when {{ {condition} }};"
        );
        let (world, called) = (world(arguments), tool(called));
        let (ours, facts) = (snapshot(&text), world.call(&called));
        let open = of_call(&facts);
        assert_eq!(ours.outlook(&open).settled(), None, "{text}");
        let known = PartialRequest {
            message: Some(&facts.action),
            ..open
        };
        assert_eq!(ours.outlook(&known).settled(), expected, "{text}");
    };
    let path = r#"context.arguments.path like "/srv/*""#;
    check("a", path, &[("/path", text("/srv/x"))], Some(true));
    check("a", path, &[("/path", text("/etc"))], Some(false));
    let session = format!("{path} && context.env.session.calls < 3");
    check("a", &session, &[("/path", text("/srv/x"))], None);
    check("a", &session, &[("/path", text("/etc"))], Some(false));
    // Neither fits a context: what they would come to is not known.
    check(
        "a",
        path,
        &[("/path", text("/srv/x")), ("/path", text("/etc"))],
        None,
    );
    check("a", path, &[("/path", Leaf::EmptyArray)], None);
    let tag = r#"context.raw_arguments.hasTag("/path")"#;
    check("open", tag, &[("/path", text("/srv/x"))], Some(true));
    check("open", tag, &[("/other", text("/srv/x"))], Some(false));
    // Only the gate that got the results knew what the arguments repeat.
    let copied = "context.targets.copiedFrom.isEmpty()";
    check("open", copied, &[("/path", text("/srv/x"))], None);
    let size = "context.targets.bytes >= 0";
    check("open", size, &[("/path", text("/srv/x"))], Some(true));
    check(
        "open",
        tag,
        &[("/path", text("a")), ("/path", text("b"))],
        None,
    );
}

#[test]
fn known_arguments_that_do_not_fit_are_denied_for_certain() {
    let ours = snapshot(r#"permit(principal, action in Mcp::Action::"call_tool", resource);"#);
    let (world, called) = (world(&[]), tool("a"));
    let facts = world.call(&called);
    let outlook = ours.outlook_of(&facts, &of_call(&facts));
    assert_eq!(outlook, PartialDecision::DENIED);
}

#[test]
fn a_policy_that_is_not_about_the_calls_of_one_locked_tool_is_checked_as_it_is() {
    for (action, resource, condition) in [
        // No types are known of this one.
        (
            "action in [Mcp::Action::\"call_tool\"]",
            "resource == Mcp::Tool::\"open\"",
            "!(context has arguments)",
        ),
        (
            "action == Mcp::Action::\"call_tool/a\"",
            "resource == Mcp::Tool::\"a\"",
            "context.arguments.path == \"x\"",
        ),
        (
            "action",
            "resource == Mcp::Prompt::\"a\"",
            "!(action == Mcp::Action::\"call_tool/a\")",
        ),
        (
            "action in [Mcp::Action::\"call_tool\", Mcp::Action::\"ping\"]",
            "resource == Mcp::Tool::\"a\"",
            "action == Mcp::Action::\"call_tool/a\"",
        ),
    ] {
        let text = format!("permit(principal, {action}, {resource}) when {{ {condition} }};");
        assert_eq!(problems(&text), [""; 0], "{text}");
    }
    let misspelt = r#"permit(principal, action == Mcp::Action::"call_tool/a", resource == Mcp::Tool::"a")
                      when { context.arguments.pth == "x" };"#;
    assert!(problems(misspelt).concat().contains("path"));
}

#[test]
fn leaves_that_are_not_what_the_record_says_are_a_misfit() {
    let check = |shape, leaves: &[(&str, Leaf<'static>)], expected: MismatchKind| {
        let record = RecordShape {
            members: vec![member("/x", Presence::Required, shape)],
            untyped: vec![],
        };
        let world = world(leaves);
        let leaves = Leaves::of(Some(&world.arguments)).unwrap();
        let misfit = value(&record, &leaves, RecordReads::AtAll).unwrap_err();
        assert_eq!((&*misfit.pointer, misfit.problem), ("/x", expected));
    };
    let other = MismatchKind::IsNot("what it was checked to be");
    let one = |scalar| ValueShape::One(scalar);
    check(one(Scalar::String), &[], MismatchKind::Missing);
    for leaf in [
        Leaf::Strings(vec!["a".into()]),
        Leaf::EmptyArray,
        Leaf::EmptyObject,
        Leaf::Array,
    ] {
        check(one(Scalar::String), &[("/x", leaf)], other);
    }
    check(one(Scalar::Integer), &[("/x", Leaf::Number("1.5"))], other);
    check(
        ValueShape::Many(Scalar::String),
        &[("/x", Leaf::Bool(true))],
        other,
    );
    check(
        ValueShape::Many(Scalar::Integer),
        &[("/x", Leaf::Array), ("/x/0", Leaf::Null)],
        other,
    );
}

/// A call may be refused for its arguments, which is not known before.
#[test]
fn the_call_of_a_locked_tool_is_never_certain_to_be_allowed() {
    let rules = snapshot("permit(principal, action, resource);");
    let world = World::new();
    for (name, forbidden) in [("a", Tristate::Sometimes), ("open", Tristate::Never)] {
        let outlook =
            rules.outlook(&world.question(ActionName::CallTool, Resource::Tool(&tool(name))));
        assert_eq!(outlook.permitted, Tristate::Always);
        assert_eq!(outlook.forbidden, forbidden, "{name}");
    }
}

#[test]
fn a_condition_on_another_action_holds_for_no_call_of_a_locked_tool() {
    let check = |action: &str, expected: &str| {
        let policy = format!(
            "@id(\"p\") permit(principal, action, resource) when {{ action == Mcp::Action::\"{action}\" }};"
        );
        assert_eq!(judged(&policy, "a", &[("/path", text("x"))]), expected);
    };
    check("list_tool", "nothing");
    check("call_tool/b", "nothing");
    check("call_tool/a", "allow p");
}

#[test]
fn a_policy_without_a_condition_is_checked_for_the_calls_of_its_tool_alone() {
    let words = Vocabulary::with(&lock()).unwrap();
    let text =
        r#"permit(principal, action in [Mcp::Action::"call_tool"], resource == Mcp::Tool::"a");"#;
    let policy: cedar_policy::Policy = text.parse().unwrap();
    let narrowed = narrowed(&words, &policy, None).to_string();
    assert!(
        narrowed.contains(r#"Mcp::Action::"call_tool/a""#),
        "{narrowed}"
    );
    assert!(!narrowed.contains("call_tool/b"), "{narrowed}");
}

#[test]
fn a_servers_own_policy_is_checked_for_the_calls_of_its_tools_alone() {
    let lock = lock();
    let tools = lock.tools().filter(|(name, _)| ["a", "b"].contains(name));
    let at = [("a", "crm/a"), ("b", "mail/b")];
    let tools = tools.map(|(name, tool)| {
        let (_, id) = at.iter().find(|(own, _)| *own == name).unwrap();
        ((*id).to_owned(), tool.clone())
    });
    let words = Vocabulary::with(&Lock::new(tools.collect())).unwrap();
    let text = r#"permit(principal, action in [Mcp::Action::"call_tool"], resource);"#;
    let policy: cedar_policy::Policy = text.parse().unwrap();
    let crm = ServerKey::of("crm");
    let of_crm = narrowed(&words, &policy, crm.as_ref()).to_string();
    assert!(of_crm.contains("call_tool/crm/a"), "{of_crm}");
    assert!(!of_crm.contains("call_tool/mail/b"), "{of_crm}");
    assert_eq!(narrowed(&words, &policy, None), policy);
}

/// Another server may have a tool of any name.
#[test]
fn a_call_is_that_of_a_locked_tool_only_by_the_id_of_its_tool() {
    let check = |key: Option<&str>, name: &str, expected: bool| {
        let locked = lock().tool("a").unwrap().clone();
        let lock = Lock::new([("crm/a".to_owned(), locked)].into());
        let words = Vocabulary::with(&lock).unwrap();
        let server = crate::policy::Server {
            key: key.and_then(crate::policy::ServerKey::of),
            ..crate::policy::Server::default()
        };
        let tool = tool(name);
        let groups = ToolGroups::default();
        let resource = Resource::Tool(&tool);
        let subject = subjects::Subject::of_resource(&words, &groups, &server, resource);
        let action = subject.schema_action(&words, ActionName::CallTool);
        assert_eq!(action.call().is_some(), expected, "{name}");
        let listed = subject.schema_action(&words, ActionName::ListTool);
        assert_eq!(listed.call(), None, "{name}");
    };
    check(Some("crm"), "a", true);
    check(Some("crm"), "crm/a", false);
    check(None, "a", false);
    check(None, "crm/a", true);
}
