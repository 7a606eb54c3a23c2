use proptest::prelude::*;

use super::super::super::fixture::{World, check_lists_only_a, told, tool};
use super::*;
use crate::policy::{
    Decision, DenialCause, EngineFault, ExposedTools, Leaf, OnDeny, PartValue as Outcome, PolicyId,
    PolicySnapshot,
};

#[test]
fn a_rule_decides() {
    let when = "resource.name == 'read' && context.arguments.path.startsWith('/srv/')";
    let with = |path| World::new().with(&[("/path", path)]);
    assert_eq!(judged(&permit(when), &with("/srv/a")), "allow p");
    assert_eq!(judged(&permit(when), &with("/etc/a")), "nothing");
    // What is not there is an error, until the rule asks for it.
    assert_eq!(judged(&permit(when), &World::new()), "fault");
    let asked = format!("has(context.arguments.path) && {when}");
    assert_eq!(judged(&permit(&asked), &World::new()), "nothing");
}

#[test]
fn a_forbid_beats_a_permit_and_silence_is_no_opinion() {
    check_rules(
        &[("permit", None), ("forbid", Some("false"))],
        "allow permit0",
    );
    check_rules(
        &[("permit", None), ("forbid", Some("true"))],
        "deny forbid1",
    );
    check_rules(&[("permit", None), ("forbid", None)], "deny forbid1");
    check_rules(&[("permit", Some("false"))], "nothing");
    assert_eq!(judged("", &World::new()), "nothing");
}

#[test]
fn an_error_is_a_fault_whatever_the_other_rules_say() {
    for bad in [
        "context.arguments.no",
        "context.arguments.no == 1",
        "1 / (context.targets.bytes - 0) == 1",
        "resource.level + 9223372036854775807 + 1 > 0",
        "resource.name < 1",
        "resource.level",
        "resource.name",
        "null",
        "true && 5",
        "resource.name[0] == 'r'",
        "int(resource.name) == 1",
        "[1][1] == 1",
        "resource.name.size() + 'x' == 'y'",
    ] {
        check_rules(&[("permit", Some(bad))], "fault");
        check_rules(&[("permit", None), ("forbid", Some(bad))], "fault");
        check_rules(&[("forbid", None), ("permit", Some(bad))], "fault");
    }
}

#[test]
fn an_error_beside_a_value_that_decides_is_still_an_error() {
    let bad = "context.arguments.no";
    for (when, expected) in [
        (format!("{bad} || true"), "fault"),
        (format!("{bad} && false"), "fault"),
        (format!("true || {bad}"), "allow permit0"),
        (format!("false && {bad}"), "nothing"),
        (format!("[1, 2].exists(x, x == 2 || {bad})"), "fault"),
        (
            format!("[1, 2].exists(x, x == 1 || {bad})"),
            "allow permit0",
        ),
        (format!("[1, 2].all(x, x == 2 && {bad})"), "nothing"),
        (format!("[1, 2].all(x, {bad} && x == 2)"), "fault"),
    ] {
        check_rules(&[("permit", Some(&when))], expected);
    }
}

#[test]
fn consent_lifts_a_denial_only_if_each_rule_requires_it() {
    let rule =
        |id: &str, more: &str| format!("[[rule]]\nid = \"{id}\"\neffect = \"forbid\"\n{more}\n");
    let asks = rule("a", "requires_consent = true");
    for (rules, expected) in [
        (asks.clone(), Some(OnDeny::AskConsent)),
        (rule("a", "requires_consent = false"), None),
        (asks + &rule("b", ""), None),
    ] {
        let tool = tool("read");
        let decision = snapshot(&rules).unwrap().judge(&World::new().call(&tool));
        let Decision::Deny(denial) = decision else {
            panic!("{rules}: {decision:?}")
        };
        assert_eq!(denial.remedy(), expected, "{rules}");
    }
    let permit = "[[rule]]\nid = \"p\"\neffect = \"permit\"\n";
    check_refused(
        &format!("{permit}requires_consent = true\n"),
        "policy::rule",
        "`requires_consent` on a `permit` has no effect",
    );
    for old in ["on_deny = \"ask_consent\"", "requires_consent = \"yes\""] {
        assert!(snapshot(&rule("a", old)).is_err(), "{old}");
    }
}

#[test]
fn rules_apply_to_the_actions_and_groups_that_they_name() {
    for (actions, expected) in [
        ("[\"call_tool\"]", "allow p"),
        ("[\"use\"]", "allow p"),
        ("[\"any\"]", "allow p"),
        ("[\"list_tool\", \"call_tool\"]", "allow p"),
        ("[\"list_tool\"]", "nothing"),
        ("[\"server_request\", \"lifecycle\"]", "nothing"),
    ] {
        let rules = format!("[[rule]]\nid = \"p\"\neffect = \"permit\"\nactions = {actions}\n");
        assert_eq!(judged(&rules, &World::new()), expected, "{actions}");
    }
}

#[test]
fn macros_and_functions_mean_what_cel_says() {
    for when in [
        "[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2)",
        "[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].exists_one(x, x == 2)",
        "[1, 2, 3].filter(x, x > 1) == [2, 3]",
        "[1, 2, 3].map(x, x * 2) == [2, 4, 6]",
        "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
        "[[1], [2]].map(x, x.map(y, y + 1)) == [[2], [3]]",
        "{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])",
        "'b' in {'a': 1, 'b': 2} && {'a': 1}['a'] == 1 && {'a': 1}.a == 1",
        "'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
        "'abc'.size() == 3 && size([1, 2]) == 2 && size({'a': 1}) == 1",
        "'read-42'.matches('^[a-z]+-[0-9]+$') && !'x'.matches('y')",
        "resource.name.matches(r'^re\\w+$')",
        "1 == 1.0 && 1 < 1.5 && 2.5 > 2",
        "resource.level == 0 ? true : false",
        "string(1) == '1' && int('7') == 7 && double('1.5') == 1.5",
        "type(1) == int && type('a') == string",
        "principal.type == 'Agent' && resource.type == 'Tool' && action == 'call_tool'",
        "'use' in actionGroups && context.env.transport == 'stdio'",
        "context.env.now >= '2026-11-01' && context.env.nowMs > 0",
        "!(resource.name in ['write']) || -1 == 1",
    ] {
        check_rules(&[("permit", Some(when))], "allow permit0");
    }
}

#[test]
fn two_million_steps_are_refused_within_the_budget() {
    let list = format!("[{}]", vec!["1"; 130].join(","));
    for when in [
        // 130³ turns.
        format!("{list}.all(a, {list}.all(b, {list}.all(c, a + b + c > 0)))"),
        format!("{list}.map(a, {list}.map(b, {list}.map(c, a))).size() > 0"),
        format!("{list}.filter(a, {list}.filter(b, {list}.exists_one(c, c == 2)) == [1]) == []"),
        // A list, and a text, that grow eightfold nine times.
        format!(
            "[[1]]{}.size() > 0",
            ".map(a, a + a + a + a + a + a + a + a)".repeat(9)
        ),
        format!(
            "['a']{}.size() > 0",
            ".map(a, a + a + a + a + a + a + a + a)".repeat(9)
        ),
        // The whole of a large argument, at every turn.
        format!("{list}.all(a, {list}.all(b, context.arguments == context.arguments))"),
        format!("{list}.all(a, {list}.all(b, !context.arguments.text.contains('b')))"),
        format!("{list}.map(a, {list}.map(b, context.arguments)).size() > 0"),
        format!("{list}.map(a, {list}.map(b, {{'k': context.arguments}})).size() > 0"),
        format!("{list}.all(a, {list}.all(b, size(context.arguments.text) > a))"),
        format!("{list}.all(a, {list}.all(b, context.arguments.text.matches('^a*$')))"),
    ] {
        let text = "a".repeat(100_000);
        let world = World::new().with(&[("/text", &text)]);
        let Decision::Deny(denial) = snapshot(&permit(&when))
            .unwrap()
            .judge(&world.call(&tool("t")))
        else {
            panic!("{when:.80}: allowed");
        };
        let DenialCause::Fault(fault) = denial.cause else {
            panic!("{when:.80}: {:?}", denial.cause);
        };
        assert!(fault.problem.contains("more than 100000 steps"), "{fault}");
    }
}

#[test]
fn ordinary_rules_are_far_from_the_budget() {
    let paths: Vec<String> = (0..200)
        .map(|number| format!("/srv/file{number}"))
        .collect();
    let mut world = World::new();
    let leaf = |(index, path): (usize, &String)| {
        (format!("/paths/{index}"), Leaf::String(path.clone().into()))
    };
    world.arguments.0.extend(paths.iter().enumerate().map(leaf));
    let items = paths.iter().map(|path| path.clone().into()).collect();
    world
        .arguments
        .0
        .push(("/paths".to_owned(), Leaf::Strings(items)));
    let when = "context.arguments.paths.all(p, p.startsWith('/srv/') && !p.contains('..'))";
    assert_eq!(judged(&permit(when), &world), "allow p");
}

/// On a test's thread, whose stack is a sixteenth of the gate's.
#[test]
fn the_deepest_that_is_accepted_can_be_evaluated() {
    for when in [
        format!("{}true{}", "(".repeat(24), ")".repeat(24)),
        format!("{}1{} == [1]", "[".repeat(22), "]".repeat(22)),
        format!("1{} > 1", " + 1".repeat(22)),
        format!("true{}", " && true".repeat(250)),
        format!("{}true", "!".repeat(23)),
        format!("{}true{}", "[1].all(x, ".repeat(11), ")".repeat(11)),
        format!("{}true{}", "[1].map(x, ".repeat(7), ")".repeat(7)),
    ] {
        let snapshot = snapshot(&permit(&when)).unwrap();
        let decision = snapshot.judge(&World::new().call(&tool("t")));
        assert_eq!(
            format!("{decision:?}").matches("levels").count(),
            0,
            "{when}"
        );
    }
}

#[test]
fn what_would_overflow_a_stack_or_take_long_is_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{1: ", "}"), ("size(", ")")] {
        let when = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        check_refused(&permit(&when), "policy::too_deep", "longer than");
        let when = format!("{}1{}", open.repeat(25), close.repeat(25));
        check_refused(&permit(&when), "policy::too_deep", "brackets in each other");
    }
    let deep = format!("1{} > 0", " + 1".repeat(60));
    check_refused(&permit(&deep), "policy::rule", "levels deep");
    let deep = format!("resource{} == 1", ".name".repeat(60));
    check_refused(&permit(&deep), "policy::rule", "levels deep");
    let deep = format!("{}true", "!".repeat(1025));
    check_refused(&permit(&deep), "policy::too_deep", "words and operators");
    check_refused(&"[".repeat(100_000), "policy::syntax", "");
    check_refused(
        &format!("a = {}", "[".repeat(100_000)),
        "policy::syntax",
        "",
    );
    check_refused(
        &permit(&"x".repeat(10 << 20)),
        "policy::too_deep",
        "longer than",
    );
}

#[test]
fn each_obligation_has_its_key() {
    let rule = "[[rule]]\nid = \"a\"\neffect = \"permit\"\nobligation_annotate = \"seen\"\n\
                obligation_canonical = \"paths uris\"\nobligation_strip_meta = [\"b\"]\n";
    let tool = tool("read");
    let Decision::Allow(allowance) = snapshot(rule).unwrap().judge(&World::new().call(&tool))
    else {
        panic!("denied");
    };
    let told = allowance.obligations.iter().map(ToString::to_string);
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "annotate: seen",
            "strip_meta: b",
            "canonical: paths",
            "canonical: uris"
        ]
    );
    let urls = rule.replace("paths", "urls");
    check_refused(&urls, "policy::rule", "`urls uris` is not known here");
    let forbid = "[[rule]]\nid = \"a\"\neffect = \"forbid\"\nobligation_canonical = \"paths\"\n";
    check_refused(forbid, "policy::rule", "would never be carried out");
}

#[test]
fn mistakes_are_told_all_at_once_with_their_place() {
    let rules = r#"
other = 1

[[rule]]
id = "a"
effect = "allow"
wen = "true"

[[rule]]
effect = "permit"
actions = ["call_tol"]
when = "resource.lvel == 1 && prinicpal.trust > 0"

[[rule]]
id = "b"
effect = "forbid"
obligation_annotate = "x"
when = "now() == 1 && 'a'.matches(resource.name) && 'a'.matches('(')"

[[rule]]
id = "c"
effect = "permit"
when = "resource.name =="

[[rule]]
id = "d"
effect = "permit"

[[rule]]
id = "d"
effect = "permit"

[[rule]]
id = ""
effect = 1
actions = []
when = true
"#;
    let problems = snapshot(rules).map(|_| ()).unwrap_err().problems;
    let told: Vec<String> = problems
        .iter()
        .map(|problem| {
            let place = problem
                .labels
                .first()
                .map_or(0, miette::LabeledSpan::offset);
            let line = rules.get(..place).unwrap_or_default().matches('\n').count();
            let help = problem.help.as_deref().unwrap_or("-");
            format!("{line} {} {} [{help:.60}]", problem.code, problem.message)
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn odd_texts_are_plain_strings() {
    let rules = "[[rule]]\nid = \"it's \\\"odd\\\" \\n \u{202e}\"\neffect = \"permit\"\n\
                 when = '''context.arguments[\"a/b\"] == \"\\\"\\n\u{202e}\"'''\n";
    let world = World::new().with(&[("/a~1b", "\"\n\u{202e}")]);
    assert_eq!(judged(rules, &world), "allow it's \"odd\" \n \u{202e}");
    check_refused(&permit("\u{202e}"), "policy::syntax", "");
    check_refused(&permit("'"), "policy::syntax", "");
}

#[test]
fn a_list_shows_what_rules_for_lists_permit() {
    let rules = r#"
[[rule]]
id = "a"
effect = "permit"
actions = ["list_tool"]
when = "resource.name != 'd'"

[[rule]]
id = "b"
effect = "forbid"
actions = ["list_tool"]
when = "resource.name == 'b' || resource.name == 'c' && context.env.session.calls / 0 == 1"

[[rule]]
id = "d"
effect = "permit"
actions = ["call_tool"]
"#;
    let snapshot = snapshot(rules).unwrap();
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
        judged(&permit("context.arguments.n >= 100"), &world)
    };
    assert_eq!(number("100"), "allow p");
    assert_eq!(number("1e2"), "allow p");
    assert_eq!(number("99.5"), "nothing");
    assert_eq!(number("9223372036854775808"), "fault");
    assert_eq!(number("1e999"), "fault");
}

#[test]
fn what_is_left_open_is_said() {
    let rules = r#"
[[rule]]
id = "a"
effect = "permit"
actions = ["call_tool", "sample"]
when = "resource.id == 'x'"

[[rule]]
id = "b"
effect = "permit"

[[rule]]
id = "c"
effect = "forbid"
actions = ["list_roots"]
"#;
    let compiled = Cel::default().compile(&[source(rules)]).unwrap();
    assert_eq!(compiled.surfaces.tools, ExposedTools::ByPolicy);
    let closed: Vec<&str> = compiled
        .surfaces
        .closed
        .iter()
        .map(|it| it.as_str())
        .collect();
    assert_eq!(closed, ["list_roots"]);
    assert_eq!(compiled.surfaces.open.len(), 19);
}

fn permit(when: &str) -> String {
    format!("[[rule]]\nid = \"p\"\neffect = \"permit\"\nwhen = '''\n{when}'''\n")
}

/// Rules that are called by their effect and their place.
fn check_rules(rules: &[(&str, Option<&str>)], expected: &str) {
    let rules = rules.iter().enumerate().map(|(number, (effect, when))| {
        let when = when.map_or(String::new(), |when| format!("when = '''{when}'''"));
        format!("[[rule]]\nid = \"{effect}{number}\"\neffect = \"{effect}\"\n{when}\n\n")
    });
    let rules: String = rules.collect();
    assert_eq!(judged(&rules, &World::new()), expected, "{rules}");
}

fn check_refused(rules: &str, code: &str, says: &str) {
    let problems = snapshot(rules).map(|_| ()).unwrap_err().problems;
    let found = problems
        .iter()
        .any(|problem| problem.code == code && problem.message.contains(says));
    assert!(found, "{rules:.120}: {problems:.600?}");
}

fn judged(rules: &str, world: &World) -> String {
    let tool = tool("read");
    told(&snapshot(rules).unwrap().judge(&world.call(&tool)))
}

fn source(rules: &str) -> PolicySource {
    PolicySource::new("t.cel.toml", rules)
}

fn snapshot(rules: &str) -> Result<PolicySnapshot, PolicyErrors> {
    let compiled = Cel::default().compile(&[source(rules)])?;
    Ok(PolicySnapshot::new(
        vec![compiled.engine],
        vec![],
        compiled.policies,
    ))
}

#[test]
fn a_name_that_no_document_has_is_refused_however_it_is_looked_up() {
    let check = |when: &str, says: Option<&str>| {
        let text = format!(
            "[[rule]]\nid = \"r\"\neffect = \"permit\"\nwhen = '{}'\n",
            when.replace('\'', "\"")
        );
        let compiled = Cel::default().compile(&[PolicySource::new("r.cel.toml", text.clone())]);
        let help = compiled.err().map(|errors| {
            let help = errors
                .problems
                .into_iter()
                .filter_map(|problem| problem.help);
            help.collect::<Vec<_>>().join("; ")
        });
        assert_eq!(help.as_deref(), says, "{text}");
    };
    let targets = Some("did you mean `targets`?");
    check("context.tragets.outside", targets);
    check("context['tragets'].outside", targets);
    check("has(context.tragets)", targets);
    check("has(context.tragets.hosts) && true", targets);
    check("context.tragets.hosts.all(host, host == 'a')", targets);
    check(
        "principal['rolls'].exists(role, role == 'a')",
        Some("did you mean `roles`?"),
    );
    check("context['targets']['outside']", None);
    check("context.arguments['tragets'] == 1", None);
    check("context.arguments[action] == 1", None);
}

fn traced(rules: &str, world: &World) -> Trace {
    let tool = tool("read");
    let mut traces = snapshot(rules).unwrap().trace(&world.call(&tool));
    traces.pop().unwrap()
}

#[test]
fn each_rule_about_the_action_is_traced_with_its_place() {
    let rules = format!(
        "[[rule]]\nid = 'ping'\neffect = 'permit'\nactions = ['ping']\n{}\n[[rule]]\nid = 'b'\neffect = 'forbid'\nwhen = 'context.arguments.no'\n",
        permit("resource.name == 'no'")
    );
    let told: Vec<(String, Outcome, String)> = traced(&rules, &World::new())
        .policies
        .into_iter()
        .map(|it| {
            let outline = &it.outline;
            let text = outline.source.get(outline.span.clone()).unwrap();
            (outline.origin.to_string(), it.value, text.to_owned())
        })
        .collect();
    let [first, second] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((&*first.0, &first.1), ("t.cel.toml:5", &Outcome::False));
    assert_eq!(
        second.2,
        "[[rule]]\nid = 'b'\neffect = 'forbid'\nwhen = 'context.arguments.no'"
    );
    assert!(
        matches!(&second.1, Outcome::Failed(why) if why.contains("No such key")),
        "{second:?}"
    );
}

#[test]
fn steps_that_all_rules_used_up_together_are_a_fault_of_none() {
    let list = vec!["'x'"; 40].join(", ");
    let when = format!(
        "[{list}].all(a, [{list}].all(b, [{list}].all(c, [{list}].all(d, a == b || c == d))))"
    );
    let trace = traced(&permit(&when), &World::new());
    assert!(trace.fault.is_some() && trace.policies.is_empty());
}

/// Conditions that hold, do not, fail, are no booleans, or take long.
fn expression() -> impl Strategy<Value = String> {
    let leaves = [
        "true",
        "false",
        "resource.name == 'read'",
        "!action.contains('list')",
        "context.arguments.no",
        "has(context.arguments.no)",
        "resource.level",
        "[1, 2].exists(x, x > 1 && x < 3 || x == 9)",
        "'a && b'.matches('b$')",
        "!resource.hints.readOnly == true",
    ];
    let leaves: Vec<String> = leaves.into_iter().map(str::to_owned).collect();
    proptest::sample::select(leaves).prop_recursive(4, 12, 3, |inner| {
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} && {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) || !({b})")),
            three.prop_map(|(a, b, c)| format!("({a}) ? ({b}) : {c}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_a_rule_in_cel_comes_to_is_the_verdict(when in expression()) {
        let rules = permit(&when);
        let verdict = judged(&rules, &World::new());
        let trace = traced(&rules, &World::new());
        let expected = match trace.policies.first().map(|it| &it.value) {
            Some(Outcome::True) => "allow p",
            Some(Outcome::False) => "nothing",
            Some(Outcome::Failed(_)) | None => "fault",
        };
        prop_assert_eq!(verdict, expected);
    }
}

fn fault_of(rules: &str) -> EngineFault {
    let tool = tool("t");
    let decision = snapshot(rules).unwrap().judge(&World::new().call(&tool));
    let Decision::Deny(denial) = decision else {
        panic!("{rules:.200}: allowed");
    };
    let DenialCause::Fault(fault) = denial.cause else {
        panic!("{rules:.200}: {:?}", denial.cause);
    };
    fault
}

#[test]
fn of_several_rules_that_fail_the_same_one_is_named_in_any_order() {
    let rule = |id| permit("context.arguments.no").replace("\"p\"", &format!("\"{id}\""));
    for ids in [["a", "b"], ["b", "a"]] {
        let fault = fault_of(&ids.map(rule).concat());
        assert_eq!(fault.policy, Some(PolicyId::new("a")), "{ids:?}");
    }
}

#[test]
fn rules_behind_the_one_that_used_up_all_steps_do_not_count() {
    let list = format!("[{}]", vec!["1"; 130].join(","));
    let long = format!("{list}.all(a, {list}.all(b, {list}.all(c, a + b + c > 0)))");
    let rule = |id: &str, when: &str| permit(when).replace("\"p\"", &format!("\"{id}\""));
    for rules in [
        [rule("a", &long), rule("b", "true")],
        [rule("a", "true"), rule("b", &long)],
    ] {
        let fault = fault_of(&rules.concat());
        assert_eq!(fault.policy, None);
        assert!(fault.problem.contains("more than 100000 steps"), "{fault}");
    }
}

/// An error quotes the message that it is about.
#[test]
fn a_long_error_is_cut() {
    let name = "x".repeat(300);
    let fault = fault_of(&permit(&format!("context.arguments['{name}'] == 1")));
    assert_eq!(fault.problem.chars().count(), 201);
    assert!(fault.problem.ends_with("x…"), "{fault}");
}
