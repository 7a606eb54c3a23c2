use std::fmt::Write as _;

use super::super::super::fixture::{World, check_lists_only_a, told as outcome, tool};
use super::evaluation::told;
use super::*;
use crate::policy::{Decision, DenialCause, Leaf, OnDeny, PolicyId, PolicySnapshot};

const READ: &str = r#"package mcp

decision := {"allow": true, "reasons": [{"id": "read"}]} if {
	input.action == "call_tool"
	input.resource.name == "read"
	startswith(input.context.arguments.path, "/srv/")
}
"#;

#[test]
fn a_rule_decides() {
    let world = World::new().with(&[("/path", "/srv/a")]);
    assert_eq!(judged(READ, &world), "allow read");
    let world = World::new().with(&[("/path", "/etc/a")]);
    assert_eq!(judged(READ, &world), "nothing");
}

#[test]
fn what_is_undefined_is_no_opinion() {
    assert_eq!(judged(READ, &World::new()), "nothing");
    check(
        "{\"allow\": true} if input.resource.mime == \"text/plain\"",
        "nothing",
    );
    check("{\"allow\": false}", "nothing");
}

#[test]
fn a_deny_beats_an_allow() {
    check("{\"allow\": true, \"deny\": true}", "deny t.rego:1");
    check("{\"allow\": false, \"deny\": true}", "deny t.rego:1");
    check("{\"allow\": true, \"deny\": false}", "allow t.rego:1");
}

#[test]
fn an_answer_of_another_shape_is_a_fault() {
    for answer in [
        "true",
        "\"allow\"",
        "[]",
        "null",
        "{}",
        "{\"deny\": true}",
        "{\"allow\": 1}",
        "{\"allow\": \"true\"}",
        "{\"allow\": null}",
        "{\"allow\": true, \"deny\": 0}",
        "{\"allow\": true, \"denny\": true}",
        "{\"allow\": true, 1: true}",
        "{\"allow\": true, \"reasons\": {}}",
        "{\"allow\": true, \"reasons\": [\"read\"]}",
        "{\"allow\": true, \"reasons\": [{}]}",
        "{\"allow\": true, \"reasons\": [{\"id\": 1}]}",
        "{\"allow\": true, \"reasons\": [{\"id\": input.resource.name}]}",
        "{\"allow\": true, \"reasons\": [{\"id\": \"a\", \"more\": \"b\"}]}",
        "{\"allow\": true, \"reasons\": [{\"id\": \"a\", \"advice\": 7}]}",
        "{\"allow\": false, \"deny\": true, \"reasons\": [{\"id\": \"a\", \"on_deny\": \"ask_consent\"}]}",
        "{\"allow\": false, \"deny\": true, \"reasons\": [{\"id\": \"a\", \"requires_consent\": \"true\"}]}",
        "{\"allow\": true, \"obligations\": [\"log\"]}",
        "{\"allow\": true, \"obligations\": [{}]}",
        "{\"allow\": true, \"obligations\": [{\"annotate\": \"\"}]}",
        "{\"allow\": true, \"obligations\": [{\"redact\": \"/a\"}]}",
        "{\"allow\": true, \"obligations\": [{\"canonical\": \"paths uris\"}]}",
    ] {
        check(answer, "fault");
    }
}

#[test]
fn consent_lifts_a_denial_only_if_each_reason_requires_it() {
    let check = |reasons: &str, expected: Option<OnDeny>| {
        let text = program(&format!(
            "{{\"allow\": false, \"deny\": true, \"reasons\": [{reasons}]}}"
        ));
        let tool = tool("read");
        let decision = snapshot(&text).unwrap().judge(&World::new().call(&tool));
        let Decision::Deny(denial) = decision else {
            panic!("{reasons}: {decision:?}")
        };
        assert_eq!(denial.remedy(), expected, "{reasons}");
    };
    let asks = "{\"id\": \"a\", \"requires_consent\": true}";
    check(asks, Some(OnDeny::AskConsent));
    check("{\"id\": \"a\", \"requires_consent\": false}", None);
    check(&format!("{asks}, {{\"id\": \"b\"}}"), None);
}

#[test]
fn an_error_is_a_fault_even_behind_a_not() {
    for condition in [
        "not to_number(input.resource.name) == 5",
        "not startswith(input.context.targets.bytes, \"x\")",
        "not 1 / (input.context.targets.bytes - 0) == 3",
    ] {
        check(&format!("{{\"allow\": true}} if {condition}"), "fault");
    }
    let conflict = "{\"allow\": true} if input.action != \"\"\n\
                    decision := {\"allow\": false} if input.resource.name == \"read\"";
    check(conflict, "fault");
}

#[test]
fn reasons_carry_code_and_advice_and_notes() {
    let text = "package mcp\n\n\
        decision := {\"allow\": true, \"reasons\": r, \"obligations\": {{\"annotate\": \"seen\"}}}\n\n\
        r contains {\"id\": \"one\", \"code\": \"c\", \"advice\": \"a\"}\n\n\
        r contains {\"id\": \"two\"}\n";
    let tool = tool("read");
    let Decision::Allow(allowance) = snapshot(text).unwrap().judge(&World::new().call(&tool))
    else {
        panic!("denied");
    };
    let told: Vec<String> = allowance
        .reasons
        .iter()
        .map(|reason| format!("{} {} {:?}", reason.policy, reason.origin, reason.code))
        .collect();
    assert_eq!(told, ["one t.rego:5 Some(\"c\")", "two t.rego:7 None"]);
    assert_eq!(allowance.obligations.len(), 1);
}

#[test]
fn each_obligation_has_its_member() {
    let text = "package mcp\n\n\
        decision := {\"allow\": true, \"obligations\": \
        [{\"annotate\": \"seen\"}, {\"canonical\": \"paths\"}, {\"canonical\": \"uris\"}, {\"strip_meta\": \"a\"}]}\n";
    let tool = tool("read");
    let Decision::Allow(allowance) = snapshot(text).unwrap().judge(&World::new().call(&tool))
    else {
        panic!("denied");
    };
    let told = allowance.obligations.iter().map(ToString::to_string);
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "annotate: seen",
            "strip_meta: a",
            "canonical: paths",
            "canonical: uris"
        ]
    );
}

#[test]
fn all_files_are_one_package_and_each_id_has_its_text() {
    let sources = [
        source(
            "a.rego",
            "package mcp\n\ndecision := {\"allow\": yes, \"reasons\": why}\n",
        ),
        source(
            "b.rego",
            "# first\npackage mcp\n\ndefault yes := false\nyes if count(why) > 0\n\n\
             why contains {\"id\": \"b\"} if input.resource.name == \"read\"\n",
        ),
    ];
    let compiled = Rego::new(ToolGroups::default()).compile(&sources).unwrap();
    let told: Vec<(&str, String, &str)> = compiled
        .policies
        .iter()
        .map(|policy| (policy.id.as_str(), policy.origin.to_string(), &*policy.text))
        .collect();
    let text = "why contains {\"id\": \"b\"} if input.resource.name == \"read\"";
    assert_eq!(told[0].0, "a.rego:1");
    assert_eq!(told[1].0, "b.rego:2");
    assert_eq!(told[2], ("b", "b.rego:7".to_owned(), text));
    let snapshot = PolicySnapshot::new(vec![compiled.engine], vec![], compiled.policies);
    let tool = tool("read");
    assert_eq!(
        outcome(&snapshot.judge(&World::new().call(&tool))),
        "allow b"
    );
    assert!(snapshot.policy_source(&PolicyId::new("b")).is_some());
}

/// A program that counts a hundred million combinations.
const RUNAWAY: &str = "{\"allow\": count([1 | some a in l; some b in l; some c in l; some d in l; \
     some e in l; some f in l; some g in l; some h in l]) >= 0}\n\
     l := [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";

#[test]
fn a_program_that_runs_away_is_tried_with_few_questions_at_load() {
    let limit = Duration::from_millis(5);
    let sources = [source("t.rego", &program(RUNAWAY))];
    let (engine, _, _) = compile::compile(&sources, limit).unwrap();
    assert_eq!(compile::sample_faults(&engine, limit).len(), 4);
    let sources = [source("t.rego", &program("{\"allow\": true}"))];
    let (engine, _, _) = compile::compile(&sources, PATIENT).unwrap();
    assert_eq!(compile::sample_faults(&engine, PATIENT), [""; 0]);
}

#[test]
fn a_program_that_runs_away_is_stopped_and_denies() {
    let world = World::new();
    let tool = tool("read");
    let kind = Rego {
        limit: LIMIT,
        ..Rego::new(ToolGroups::default())
    };
    let engine = kind
        .compile(&[source("t.rego", &program(RUNAWAY))])
        .unwrap()
        .engine;
    let snapshot = PolicySnapshot::new(vec![engine], vec![], vec![]);
    let Decision::Deny(denial) = snapshot.judge(&world.call(&tool)) else {
        panic!("allowed")
    };
    let DenialCause::Fault(fault) = denial.cause else {
        panic!("{:?}", denial.cause)
    };
    assert!(fault.problem.contains("time limit"), "{fault}");
}

#[test]
fn functions_that_are_impure_or_amplify_are_refused_by_name() {
    for (name, _) in functions::REFUSED {
        let says = format!("`{name}` is refused");
        check_refused(
            &program(&format!("{{\"allow\": {name}(1, 2) == 1}}")),
            "policy::function",
            &says,
        );
    }
    for (call, says) in [
        (
            "startwith(\"a\", \"b\")",
            "there is no function `startwith`",
        ),
        (
            "data.rand.intn(1, 2)",
            "there is no function `data.rand.intn`",
        ),
        ("numbers[\"range\"](1, 2)", "called by its plain name"),
        ("rand[\"intn\"] (1, 2)", "called by its plain name"),
        ("rand\n.intn\n(1, 2)", "`rand.intn` is refused"),
        ("rand.#\nintn(1, 2)", "`rand.intn` is refused"),
    ] {
        check_refused(
            &program(&format!("{{\"allow\": {call} == 1}}")),
            "policy::function",
            says,
        );
    }
}

#[test]
fn every_function_that_is_allowed_is_one_of_the_interpreter() {
    let mut missing = Vec::new();
    for name in functions::ALLOWED {
        let mut engine = Engine::new();
        let text = format!("package mcp\ndecision := {name}(1)");
        engine.add_policy("t".to_owned(), text).unwrap();
        let error = engine.eval_rule(ENTRY.to_owned()).err();
        if error.is_some_and(|error| error.to_string().contains("could not find function")) {
            missing.push(name);
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn recursion_is_refused_whoever_calls_whom() {
    for (rules, name) in [
        ("f(x) := f(x)\nx := f(1)", "f"),
        ("a if b\nb if a", "a"),
        ("a := data.mcp.b\nb := data.mcp.a", "a"),
        ("a := data[\"mcp\"].b\nb := data.mcp[\"a\"]", "a"),
        (
            "f(x) := y if { y := g(x) }\ng(x) := y if {\n\ty := f(x)\n}",
            "f",
        ),
    ] {
        let says = format!("the rule `{name}` leads back to itself");
        check_refused(
            &program(&format!("{{\"allow\": true}}\n{rules}")),
            "policy::recursion",
            &says,
        );
    }
    let mut row = "a0 := 1\n".to_owned();
    for number in 1..60 {
        writeln!(row, "a{number} := a{}", number - 1).unwrap();
    }
    check_refused(
        &program(&format!("{{\"allow\": a59 == 1}}\n{row}")),
        "policy::recursion",
        "over more than",
    );
    for whole in [
        "data.mcp",
        "data",
        "data[input.action]",
        "data.mcp[input.action]",
    ] {
        let text = program(&format!("{{\"allow\": count({whole}) > 0}}"));
        check_refused(&text, "policy::rule", "without the name of a rule");
    }
    // What is below the input is no rule, whatever it is called.
    check(
        "{\"allow\": level} if input.resource.level == 0\nlevel if input.resource.level == 0",
        "allow t.rego:1",
    );
}

#[test]
fn what_would_take_long_or_overflow_a_stack_is_refused() {
    for (open, close) in [
        ("[", "]"),
        ("{", "}"),
        ("(", ")"),
        ("{1: ", "}"),
        ("[1 | ", "]"),
        ("abs(", ")"),
    ] {
        for depth in [11, 30, 100_000 / open.len()] {
            let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let code = if depth > 100 && text.len() > limits::MAX_BYTES {
                "policy::too_long"
            } else {
                "policy::too_deep"
            };
            check_refused(
                &program(&format!("{{\"allow\": {text} == 1}}")),
                code,
                "more than",
            );
        }
    }
    let many = format!("{}1{}, ", "[".repeat(8), "]".repeat(8)).repeat(200);
    check_refused(
        &program(&format!("{{\"allow\": [{many}] == 1}}")),
        "policy::too_deep",
        "for the length",
    );
    for chain in [" + 1", ".a", " | {1}"] {
        let text = format!("{{\"allow\": input{} == 1}}", chain.repeat(60));
        check_refused(&program(&text), "policy::too_deep", "operators and dots");
        let text = format!(
            "{{\"allow\": input{} == 1}}",
            format!("\n{}", chain.trim()).repeat(60)
        );
        check_refused(&program(&text), "policy::too_deep", "operators and dots");
    }
    check_refused(&"x".repeat(10 << 20), "policy::too_long", "more than");
}

/// On a test's thread, whose stack is a sixteenth of the gate's.
#[test]
fn the_deepest_that_is_accepted_can_be_evaluated() {
    let nested = format!("{}1{}", "[".repeat(9), "]".repeat(9));
    let chain = " + 1".repeat(45);
    let mut row = "a0 := 1\n".to_owned();
    for number in 1..22 {
        writeln!(row, "a{number} := a{} {}", number - 1, " + 1".repeat(40)).unwrap();
    }
    check(
        &format!("{{\"allow\": true}} if {{ 1{chain} > 1; {nested} != 1; a21 > 1 }}\n{row}"),
        "allow t.rego:1",
    );
}

#[test]
fn mistakes_have_their_place() {
    for (text, code, says) in [
        ("", "policy::rule", "does not begin with `package mcp`"),
        (
            "package other\ndecision := 1",
            "policy::rule",
            "does not begin",
        ),
        (
            "package mcp.more\ndecision := 1",
            "policy::rule",
            "does not begin",
        ),
        (
            "package mcp\nother := 1",
            "policy::rule",
            "not a valid rule path",
        ),
        (
            "package mcp\ndecision := {",
            "policy::syntax",
            "expecting expression",
        ),
        (
            "package mcp\ndecision := \"\u{202e}\n\"",
            "policy::syntax",
            "invalid character",
        ),
        (
            "package mcp\ndecision := {\"allow\": someone}",
            "policy::rule",
            "someone is unsafe",
        ),
        ("package mcp\n\ndecision := \u{202e}", "policy::syntax", ""),
    ] {
        check_refused(text, code, says);
    }
}

#[test]
fn odd_names_are_plain_strings() {
    let id = "it's \u{202e} odd";
    let text = program(&format!(
        "{{\"allow\": true, \"reasons\": [{{\"id\": \"{id}\"}}]}}"
    ));
    assert_eq!(judged(&text, &World::new()), format!("allow {id}"));
    let world = World::new().with(&[("/a~1b", "\"\n\u{202e}")]);
    let text = program("{\"allow\": input.context.arguments[\"a/b\"] == \"\\\"\\n\u{202e}\"}");
    assert_eq!(judged(&text, &world), "allow t.rego:1");
}

#[test]
fn a_list_shows_what_the_package_answers_for_it() {
    let text = program(
        "{\"allow\": true} if { input.action == \"list_tool\"; input.resource.name == \"a\" }\n\
         else := {\"allow\": true, \"deny\": true} if input.resource.name == \"b\"\n\
         else := 7 if input.resource.name == \"c\"\n\
         else := {\"allow\": true} if input.action == \"call_tool\"",
    );
    let snapshot = snapshot(&text).unwrap();
    check_lists_only_a(&snapshot);
}

#[test]
fn numbers_that_cannot_be_told_deny() {
    let number = |text: &'static str| {
        let mut world = World::new();
        world
            .arguments
            .0
            .push(("/n".to_owned(), Leaf::Number(text)));
        judged(
            &program("{\"allow\": input.context.arguments.n >= 100}"),
            &world,
        )
    };
    assert_eq!(number("100"), "allow t.rego:1");
    assert_eq!(number("1e2"), "allow t.rego:1");
    assert_eq!(number("99.5"), "nothing");
    assert_eq!(number("9223372036854775808"), "fault");
    assert_eq!(number("1e999"), "fault");
}

fn program(decision: &str) -> String {
    format!("package mcp\n\ndecision := {decision}\n")
}

#[test]
fn a_name_that_no_input_has_is_refused_with_what_was_meant() {
    let program = |condition: &str| {
        format!("package mcp\n\ndecision := {{\"allow\": true}} if {{ {condition} }}\n")
    };
    let check = |condition: &str, says: &str| {
        let text = program(condition);
        let problems = snapshot(&text).map(|_| ()).unwrap_err().problems;
        let [problem] = problems.as_slice() else {
            panic!("{text}\n{problems:?}");
        };
        assert_eq!(problem.code, "policy::name", "{text}");
        let told = format!("{problem} ({})", problem.help.as_deref().unwrap());
        assert!(told.contains(says), "{text}\n{told}");
    };
    check(
        "count(input.context.tragets.hosts) == 0",
        "nothing is called `tragets` here (did you mean `targets`?)",
    );
    check(
        "not input.context.tragets.outside",
        "did you mean `targets`?",
    );
    check(
        "input.context.targets.hosst[_] == \"a\"",
        "did you mean `hosts`?",
    );
    check(
        "input[\"context\"][\"tragets\"].outside",
        "did you mean `targets`?",
    );
    check("input.contxt.targets.outside", "did you mean `context`?");
    check(
        "some x in input.principal.rolls; x == \"a\"",
        "did you mean `roles`?",
    );
    check("input.resource.zzzzzzzzzz == 1", "known here: ");
    let fine = |condition: &str| {
        let text = program(condition);
        assert!(snapshot(&text).is_ok(), "{text}");
    };
    fine("input.context.arguments.tragets.anything == 1");
    fine("input.context.targets.hosts[0] == \"a\"");
    fine("some key; input.context[key] == 1");
    fine("x := {\"input\": {\"tragets\": 1}}; x.input.tragets == 1");
    fine("# input.tragets\n input.action == \"input.tragets\"");
    fine("input.principal.client.name == \"a\"");
}

fn check(decision: &str, expected: &str) {
    let world = World::new();
    assert_eq!(judged(&program(decision), &world), expected, "{decision}");
}

fn check_refused(text: &str, code: &str, says: &str) {
    let problems = snapshot(text).map(|_| text.len()).unwrap_err().problems;
    let found = problems
        .iter()
        .any(|problem| problem.code == code && problem.message.contains(says));
    assert!(found, "{text:.120}: {problems:.600?}");
}

fn judged(text: &str, world: &World) -> String {
    let tool = tool("read");
    outcome(&snapshot(text).unwrap().judge(&world.call(&tool)))
}

fn source(name: &str, text: &str) -> PolicySource {
    PolicySource::new(name, text)
}

fn snapshot(text: &str) -> Result<PolicySnapshot, PolicyErrors> {
    let compiled = Rego::new(ToolGroups::default()).compile(&[source("t.rego", text)])?;
    Ok(PolicySnapshot::new(
        vec![compiled.engine],
        vec![],
        compiled.policies,
    ))
}

#[test]
fn obligations_of_another_shape_are_a_fault() {
    for obligations in [
        "1",
        "{}",
        "[{\"annotate\": 1}]",
        "[{\"strip_meta\": [\"a\"]}]",
        "[{\"add_label\": \"\"}]",
        "[{\"raise_sensitivity\": \"public\"}]",
        "[{\"add_label\": \"a\", \"annotate\": \"b\"}]",
    ] {
        check(
            &format!("{{\"allow\": true, \"obligations\": {obligations}}}"),
            "fault",
        );
    }
}

#[test]
fn a_package_raises_a_session_and_labels_it() {
    let text = program(
        "{\"allow\": true, \"obligations\": [{\"add_label\": \"pii\"}, {\"raise_sensitivity\": \"secret\"}]}",
    );
    let tool = tool("read");
    let Decision::Allow(allowance) = snapshot(&text).unwrap().judge(&World::new().call(&tool))
    else {
        panic!("denied");
    };
    let told = allowance.obligations.iter().map(ToString::to_string);
    assert_eq!(told.collect::<Vec<_>>(), ["label: pii", "raise: secret"]);
}

#[test]
fn a_message_of_the_interpreter_is_one_line_of_a_bounded_length() {
    for (problem, expected) in [
        (
            "--> t.rego:3:1\n  |\nerror: no such rule\nmore",
            "t.rego:3:1: no such rule",
        ),
        ("error: no such rule", "no such rule"),
        ("no such rule", "no such rule"),
        ("error: ", "error: "),
        ("", ""),
    ] {
        assert_eq!(told(problem), expected);
    }
    assert_eq!(told(&"x".repeat(1000)).len(), 300);
}

#[test]
fn an_engine_shows_what_may_be_listed_and_no_policy_in_its_debug_form() {
    let kind = Rego::new(ToolGroups::default());
    let sources = [source("t.rego", READ)];
    let engine = kind.compile(&sources).unwrap().engine;
    assert_eq!(engine.shows(), ListMode::WhatMayBeListed);
    assert_eq!(format!("{engine:?}"), "RegoEngine { .. }");
    assert_eq!(kind.lost(&sources, &sources), [""; 0]);
    let cut = [source("t.rego", "package mcp\n")];
    assert_ne!(kind.lost(&sources, &cut), [""; 0]);
}
