//! Whatever goes wrong denies.

use std::borrow::Cow;

use super::super::inspect::MAX_DEPTH;
use super::*;
use crate::policy::fixture::{World, told, tool};
use crate::policy::{Arguments, Decision, Denial, DenialCause, FaultKind, Leaf, Obligation, Tool};

const PERMIT: &str = "@id(\"p\") permit(principal, action, resource);";

/// Cedar alone would answer each of these with Allow (threats: F3).
#[test]
fn a_forbid_that_cannot_be_evaluated_denies() {
    let path = |leaf: Leaf<'static>| World {
        arguments: Arguments(vec![("/path".to_owned(), leaf)]),
        ..World::new()
    };
    let guard = r#"context.raw_arguments.getTag("/path").string like "/etc/*""#;
    check_fault(guard, &World::new());
    check_fault(guard, &path(Leaf::Strings(vec!["/etc/passwd".into()])));
    check_fault(guard, &path(Leaf::Number("1")));
    check_fault(guard, &World::new().with(&[("/Path", "/etc/passwd")]));
    let mut large = World::new();
    large.targets.bytes = 2;
    check_fault("context.targets.bytes * 9223372036854775807 > 0", &large);
    check_fault("principal.blocked", &World::new());
    check_fault(r#"Mcp::Tool::"ghost".level > 0"#, &World::new());
    check_fault(r"context.env.transport > 1", &World::new());
    check_fault(r#"ip("::ffff:127.0.0.1").isLoopback()"#, &World::new());
    let mut late = World::new();
    late.consent.at_ms = Some(i64::MIN);
    check_fault(
        r#"context.env.now.durationSince(context.env.consent.at) > duration("1h")"#,
        &late,
    );
}

#[test]
fn a_permit_that_cannot_be_evaluated_denies_too() {
    let text = r#"@id("a") permit(principal, action, resource);
        @id("b") permit(principal, action == Mcp::Action::"call_tool", resource)
        when { context.targets.bytes * 9223372036854775807 > 0 };"#;
    let mut world = World::new();
    assert_eq!(judged(text, &world.call(&tool("t"))), "allow a");
    world.targets.bytes = 2;
    assert_eq!(judged(text, &world.call(&tool("t"))), "fault");
}

#[test]
fn the_same_policy_is_blamed_whatever_the_order() {
    let call = r#"action == Mcp::Action::"call_tool""#;
    let fails = "when { context.targets.bytes * 9223372036854775807 > 0 };";
    let one = format!(r#"@id("x") permit(principal, {call}, resource) {fails}"#);
    let other = format!(r#"@id("y") forbid(principal, {call}, resource) {fails}"#);
    let mut world = World::new();
    world.targets.bytes = 2;
    for text in [format!("{one}{other}"), format!("{other}{one}")] {
        assert_eq!(
            blamed(&snapshot(&text).judge(&world.call(&tool("t")))),
            Some("x".to_owned())
        );
    }
}

/// The same conditions are refused when they are loaded, so that only overflow is left for later.
#[test]
fn what_could_fail_is_refused_when_loaded() {
    for condition in [
        r#"context.raw_arguments.getTag("/path").string like "/etc/*""#,
        r#"context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path").string like "/etc/*""#,
        "principal.blocked",
        r#"Mcp::Tool::"ghost".level > 0"#,
        r#"(if principal.trust > 0 then resource else Mcp::Tool::"ghost").level > 0"#,
        r#"{ a: Mcp::Tool::"ghost" }.a.level > 0"#,
        r#"{ a: { b: Mcp::Tool::"ghost" } }.a.b.level > 0"#,
        r#"(if principal.trust > 0 then { a: Mcp::Tool::"ghost" } else { a: resource }).a.level > 0"#,
        r#"Mcp::Tool::"ghost" has server.name"#,
        r#"Mcp::Tool::"ghost" in Mcp::ToolGroup::"allow""#,
        r#"Mcp::Tool::"ghost" has level"#,
        r"context.env.transport > 1",
        r"context.env.peer.isLoopback()",
        r"context.env.consent.at < context.env.now",
        "context.arguments has path",
        "resource.nope == 1",
    ] {
        let text = |condition: &str| {
            format!(
                r#"forbid(principal, action == Mcp::Action::"call_tool", resource) when {{ {condition} }};"#
            )
        };
        assert_eq!(problems(&[&text("true")]), Vec::<String>::new());
        let problems = problems(&[&text(condition)]);
        // No slip of the text: what is refused could fail.
        let is_known = |it: &String| {
            let codes = ["policy::type", "policy::literal_lookup"];
            codes.iter().any(|code| it.starts_with(code))
        };
        assert!(
            !problems.is_empty() && problems.iter().all(is_known),
            "{condition}: {problems:?}"
        );
    }
}

/// No member of the arguments is ever more than its text (threats: F4).
#[test]
fn escapes_of_cedars_json_are_plain_arguments() {
    let text = r#"
        @id("p") permit(principal, action == Mcp::Action::"call_tool", resource);
        @id("url") forbid(principal, action == Mcp::Action::"call_tool", resource)
        unless { context.raw_arguments.hasTag("/url") && context.raw_arguments.getTag("/url") has string
                 && context.raw_arguments.getTag("/url").string like "https://docs.example.com/*" };"#;
    let ok = World::new().with(&[("/url", "https://docs.example.com/a")]);
    assert_eq!(judged(text, &ok.call(&tool("fetch"))), "allow p");
    for arguments in [
        vec![
            ("/url/__entity/type", "Mcp::Tool"),
            ("/url/__entity/id", "fetch"),
        ],
        vec![("/url/__extn/fn", "ip"), ("/url/__extn/arg", "127.0.0.1")],
        vec![("/__entity/type", "Mcp::Tool"), ("/__entity/id", "fetch")],
        vec![("/url", r#"{"__entity":{"type":"Mcp::Tool","id":"fetch"}}"#)],
        vec![("/url", r#"Mcp::Tool::"fetch""#)],
        vec![("", "https://docs.example.com/a")],
        vec![],
    ] {
        let world = World::new().with(&arguments);
        assert_eq!(
            judged(text, &world.call(&tool("fetch"))),
            "deny url",
            "{arguments:?}"
        );
    }
}

/// A tool without hints has the worst value of each hint.
#[test]
fn a_tool_that_nobody_knows_is_judged_by_its_worst_case() {
    let text = format!(
        r#"{PERMIT} @id("d") forbid(principal, action == Mcp::Action::"call_tool", resource)
        when {{ resource.hints.destructive && resource.hints.openWorld }} unless {{ resource.pin.known }};"#
    );
    assert_eq!(judged(&text, &World::new().call(&tool("ghost"))), "deny d");
}

#[test]
fn overflow_within_validated_policies_names_the_policy() {
    let text = format!(
        r#"{PERMIT} @id("sum") forbid(principal, action == Mcp::Action::"call_tool", resource)
        when {{ context.targets.bytes + context.env.session.calls > 1000 }};"#
    );
    let mut world = World::new();
    assert_eq!(judged(&text, &world.call(&tool("t"))), "allow p");
    world.targets.bytes = i64::MAX;
    world.session.calls = 1;
    let decision = snapshot(&text).judge(&world.call(&tool("t")));
    assert_eq!(blamed(&decision), Some("sum".to_owned()));
}

/// 150 of these end a process whose stack is 2 MiB (threats: F5).
#[test]
fn text_that_nests_too_deep_is_refused() {
    for (open, close) in [
        ("(", ")"),
        ("!(", ")"),
        ("[", "].isEmpty()"),
        ("if true then ", " else false"),
        ("-", ""),
    ] {
        for depth in [150, 100_000] {
            let condition = open.repeat(depth) + "true" + &close.repeat(depth);
            let text = format!("permit(principal, action, resource) when {{ {condition} }};");
            let problems = problems(&[&text]);
            assert!(
                problems
                    .iter()
                    .any(|text| text.starts_with("policy::too_deep")),
                "{problems:?}"
            );
        }
    }
}

#[test]
fn chains_that_make_deep_trees_are_refused() {
    for link in [
        " && principal.trust == 0",
        " || principal.trust == 0",
        " + 1",
    ] {
        for length in [257, 50_000] {
            check_too_deep(&("principal.trust".to_owned() + &link.repeat(length)));
        }
    }
    check_too_deep(&format!("principal.trust{} == 1", " + 1".repeat(MAX_DEPTH)));
    check_too_deep(&"true } when { ".repeat(50_000));
}

/// The worst that the scanner lets through must not end the process: the rest refuses it.
#[test]
fn the_deepest_text_that_is_parsed_ends_in_an_answer() {
    let nested = |operators: [&str; 2]| {
        (0..nesting::MAX_NESTING - 1).fold("true".to_owned(), |inner, level| {
            let link = format!(" {} principal.trust == 0", operators[level % 2]);
            format!("({inner}){}", link.repeat(nesting::MAX_CHAIN))
        })
    };
    let answer = |condition: &str| {
        let text =
            format!("permit(principal is Mcp::Agent, action, resource) when {{ {condition} }};");
        assert_eq!(nesting::check(&text), Ok(()));
        problems(&[&text])
    };
    assert!(answer(&nested(["&&", "||"]))[0].starts_with("policy::too_deep"));
    // One chain of 16,000, and what the checker makes of it.
    let _ = answer(&nested(["&&", "&&"]));
}

/// What is accepted is decided alike on the stack of any worker.
#[test]
fn the_deepest_condition_is_evaluated_on_two_mebibytes() {
    let sum = |length: usize| {
        let sum = "principal.trust".to_owned() + &" + 0".repeat(length);
        format!(
            "@id(\"p\") permit(principal is Mcp::Agent, action == Mcp::Action::\"call_tool\", resource)
             when {{ {sum} == 0 }};"
        )
    };
    let chain = " || principal.trust == 5".repeat(nesting::MAX_CHAIN - 2);
    let chain = sum(1)
        .replace("when {", "when { false".to_owned().as_str())
        .replace("false", &format!("(false{chain}) || "));
    let deepest = (1..MAX_DEPTH)
        .rev()
        .map(sum)
        .find(|text| Cedar::default().compile(&[source(text)]).is_ok());
    for text in [deepest.unwrap(), chain] {
        let snapshot = snapshot(&text);
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        let decide = move || told(&snapshot.judge(&World::new().call(&tool("t"))));
        assert_eq!(
            thread.spawn(decide).unwrap().join().unwrap(),
            "allow p",
            "{text:.200}"
        );
    }
}

#[test]
fn text_of_any_kind_ends_in_an_answer() {
    use proptest::prelude::*;
    let word = prop_oneof![
        Just("permit(principal, action, resource)"),
        Just("forbid"),
        Just(" when {"),
        Just("};"),
        Just("("),
        Just(")"),
        Just("["),
        Just("\""),
        Just("//"),
        Just("\n"),
        Just("!"),
        Just("-"),
        Just(" if true then "),
        Just(" else "),
        Just("context.env"),
        Just(".now"),
        Just(" && "),
        Just("@id"),
        Just("?principal"),
        Just("é"),
    ];
    proptest!(|(words in prop::collection::vec(word, 0..60))| {
        let _ = Cedar::default().compile(&[source(&words.concat())]);
    });
}

#[test]
fn obligations_come_with_the_permits_that_were_used() {
    let text = r#"
        @id("a") @obligation_annotate("one") permit(principal, action, resource);
        @id("b") @obligation_annotate("two") permit(principal, action, resource) when { principal.trust > 5 };"#;
    let Decision::Allow(allowance) = snapshot(text).judge(&World::new().call(&tool("t"))) else {
        panic!("denied")
    };
    assert_eq!(allowance.obligations, [Obligation::Annotate("one".into())]);
}

#[test]
fn numbers_that_cedar_cannot_hold_are_compared_by_their_size() {
    let text = r#"
        @id("p") permit(principal, action == Mcp::Action::"call_tool", resource);
        @id("small") forbid(principal, action == Mcp::Action::"call_tool", resource)
        unless { context.raw_arguments.hasTag("/n") && context.raw_arguments.getTag("/n") has decimal
                 && context.raw_arguments.getTag("/n").decimal.lessThan(decimal("10.0")) };"#;
    let judge = |number: &'static str| {
        let world = World {
            arguments: Arguments(vec![("/n".to_owned(), Leaf::Number(number))]),
            ..World::new()
        };
        judged(text, &world.call(&tool("t")))
    };
    for small in [
        "1",
        "9.9999",
        "-4",
        "0.5e1",
        "9.99981",
        "-18446744073709551616",
    ] {
        assert_eq!(judge(small), "allow p", "{small}");
    }
    // What is rounded is rounded away from zero.
    for other in ["10", "10.5", "9.99999", "1e300"] {
        assert_eq!(judge(other), "deny small", "{other}");
    }
}

#[test]
fn no_number_passes_a_rule_by_being_too_large_or_too_fine_for_it() {
    let check = |attribute: &str, compared: &str, number: &'static str, expected: &str| {
        let text = format!(
            r#"@id("p") permit(principal, action == Mcp::Action::"call_tool", resource);
            @id("bound") forbid(principal, action == Mcp::Action::"call_tool", resource)
            when {{ context.raw_arguments.hasTag("/n") && context.raw_arguments.getTag("/n") has {attribute}
                   && context.raw_arguments.getTag("/n").{attribute}{compared} }};"#
        );
        let world = World {
            arguments: Arguments(vec![("/n".to_owned(), Leaf::Number(number))]),
            ..World::new()
        };
        let decided = judged(&text, &world.call(&tool("t")));
        assert_eq!(decided, expected, "{attribute}{compared} {number}");
    };
    for number in [
        "101",
        "9223372036854775808",
        "1e23",
        "1e999",
        "101.00000000000000000001",
    ] {
        check("long", " > 100", number, "deny bound");
        check("long", " >= 101", number, "deny bound");
        check(
            "decimal",
            ".greaterThan(decimal(\"100.0\"))",
            number,
            "deny bound",
        );
        check("long", " < -100", number, "allow p");
    }
    for number in ["-101", "-9223372036854775809", "-1e23", "-1e999"] {
        check("long", " < -100", number, "deny bound");
        check(
            "decimal",
            ".lessThan(decimal(\"-100.0\"))",
            number,
            "deny bound",
        );
        check("long", " > 100", number, "allow p");
    }
    check(
        "decimal",
        ".greaterThan(decimal(\"100.0\"))",
        "100.00001",
        "deny bound",
    );
    check(
        "decimal",
        ".greaterThan(decimal(\"100.0\"))",
        "99.99999",
        "allow p",
    );
    // A fraction is no integer.
    check("long", " > 100", "100.5", "allow p");
    // What is beyond 64 bits has their end, which is the one number that it is taken for.
    check("long", " == 9223372036854775807", "1e23", "deny bound");
}

#[test]
fn arguments_with_one_pointer_twice_are_a_fault() {
    let text = format!(
        r#"{PERMIT} forbid(principal, action == Mcp::Action::"call_tool", resource)
        when {{ context.raw_arguments.hasTag("/secret") }};"#
    );
    let world = World::new().with(&[("/a", "x"), ("/a", "y")]);
    assert_eq!(judged(&text, &world.call(&tool("t"))), "fault");
}

fn check_too_deep(condition: &str) {
    let text = format!("permit(principal, action, resource) when {{ {condition} }};");
    let problems = problems(&[&text]);
    assert!(
        problems
            .iter()
            .any(|text| text.starts_with("policy::too_deep")),
        "{problems:?}"
    );
}

fn check_fault(condition: &str, world: &World) {
    let text = format!(
        r#"{PERMIT} @id("guard") forbid(principal, action, resource) when {{ {condition} }};"#
    );
    let decision = unchecked(&text).judge(&world.call(&Tool {
        name: "t".to_owned(),
        ..tool("t")
    }));
    assert_eq!(blamed(&decision), Some("guard".to_owned()), "{condition}");
}

/// The policy whose evaluation failed, if that is why it was denied.
fn blamed(decision: &Decision) -> Option<String> {
    let Decision::Deny(Denial {
        cause: DenialCause::Fault(fault),
        ..
    }) = decision
    else {
        return None;
    };
    let policy = fault
        .policy
        .as_ref()
        .filter(|_| fault.kind == FaultKind::Evaluation);
    policy.map(ToString::to_string)
}

#[test]
fn every_kind_of_leaf_is_what_the_schema_says() {
    let leaves = [
        ("/s", Leaf::String(Cow::Borrowed("x")), "string == \"x\""),
        ("/i", Leaf::Number("7.0"), "long == 7"),
        ("/t", Leaf::Number("1e400"), "text == \"1e400\""),
        ("/b", Leaf::Bool(true), "bool"),
        ("/z", Leaf::Null, "isNull"),
        (
            "/m",
            Leaf::Strings(vec!["a".into(), "b".into()]),
            "strings == [\"a\", \"b\"]",
        ),
        ("/e", Leaf::EmptyArray, "strings.isEmpty()"),
    ];
    for (pointer, leaf, test) in leaves {
        let attribute = test.split([' ', '.']).next().unwrap();
        let text = format!(
            r#"@id("p") permit(principal, action == Mcp::Action::"call_tool", resource)
            when {{ context.raw_arguments.hasTag("{pointer}") && context.raw_arguments.getTag("{pointer}") has {attribute}
                   && context.raw_arguments.getTag("{pointer}").{test} }};"#
        );
        let world = World {
            arguments: Arguments(vec![(pointer.to_owned(), leaf)]),
            ..World::new()
        };
        assert_eq!(
            judged(&text, &world.call(&tool("t"))),
            "allow p",
            "{pointer}"
        );
    }
}
