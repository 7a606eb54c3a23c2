//! What tests have seen of policies.

use super::reports::{check_valid, strict};
use super::*;

const POLICIES: &str = r#"@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read")
when { principal.trust > 0 || context.raw_arguments.hasTag("/path") };

@id("no-secrets")
forbid (principal, action == Mcp::Action::"call_tool", resource)
when { context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path") has string }
unless {
  !(context.raw_arguments.getTag("/path").string like "*secret*" || context.raw_arguments.getTag("/path").string like "*key*")
};

@id("never")
permit (principal in Mcp::Role::"guest", action == Mcp::Action::"get_prompt", resource);

@id("hide")
forbid (principal, action == Mcp::Action::"list_tool", resource == Mcp::Tool::"hidden");

@id("open")
permit (principal, action == Mcp::Action::"call_tool", resource in Mcp::Permission::"read");
"#;

const TESTS: &str = r#"
tools = ["read", "hidden"]

[[test]]
name = "a secret"
call = "read"
args = { path = "secret" }
expect = "deny"

[[test]]
name = "a list"
list = "tools"
listed = ["read"]
"#;

fn covered(pack: &Pack, least: WantedCoverage) -> Report {
    let mut settings = settings(&[pack.path()]);
    settings.coverage = least;
    run(&settings).unwrap()
}

#[test]
fn people_see_what_no_test_has_seen_and_what_would_show_it() {
    let pack = Pack::new(POLICIES, TESTS);
    pack.write(
        "tools.toml",
        "[tools.read]\npermission = \"read\"\n[tools.unseen]\npermission = \"read\"\n",
    );
    let report = covered(&pack, WantedCoverage::Told);
    check_valid(&strict(), &report);
    let mut text = Vec::new();
    report.write(&mut text, Paint::Plain).unwrap();
    insta::assert_snapshot!(pack.nameless(&String::from_utf8(text).unwrap()));
    assert_eq!(report.outcome, RunOutcome::Passed);
}

#[test]
fn a_threshold_that_is_not_reached_fails_and_a_failed_test_fails_first() {
    let permit = "@id('x') permit (principal, action == Mcp::Action::'call_tool', resource == Mcp::Tool::'x');".replace('\'', "\"");
    let check = |expect: &str, least: u8, expected: RunOutcome| {
        let tests = format!("[[test]]\nname = 'x'\ncall = 'y'\nexpect = '{expect}'\n");
        let pack = Pack::new(&permit, &tests);
        let report = covered(&pack, WantedCoverage::AtLeast(least));
        assert_eq!(report.outcome, expected, "{expect} {least}");
    };
    check("deny", 0, RunOutcome::Passed);
    check("deny", 1, RunOutcome::CoverageTooLow);
    check("allow", 1, RunOutcome::Failed);
}

#[test]
fn everything_seen_is_a_hundred_of_a_hundred() {
    let policies = r#"@id("x") permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"x")
        when { context.raw_arguments.hasTag("/a") };"#;
    let tests = "[[test]]\nname = 'x'\ncall = 'x'\nargs.a = 1\nexpect = 'allow'\n[[test]]\nname = 'y'\ncall = 'x'\nexpect = 'deny'\n";
    let pack = Pack::new(policies, tests);
    let report = covered(&pack, WantedCoverage::AtLeast(100));
    let [coverage] = &report.coverage[..] else {
        panic!("{report:?}")
    };
    assert_eq!(
        (coverage.percent, coverage.covered, coverage.total),
        (100, 3, 3)
    );
    assert_eq!(report.outcome, RunOutcome::Passed);
}

#[test]
fn each_branch_of_an_if_has_to_be_seen_and_a_constant_only_asked() {
    let policies = r#"@id("x") permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"x")
        when { if context.raw_arguments.hasTag("/a") then true else context.raw_arguments.hasTag("/b") };"#;
    let test = |args: &str, expected: &str| {
        format!(
            "[[test]]\nname = '{args}'\ncall = 'x'\nargs = {{ {args} }}\nexpect = '{expected}'\n"
        )
    };
    let check = |tests: &[String], covered: usize| {
        let pack = Pack::new(policies, &tests.concat());
        let report = covered_of(&pack);
        assert_eq!((report.covered, report.total), (covered, 7), "{report:#?}");
    };
    let [then, other, neither] = [
        test("a = 1", "allow"),
        test("b = 1", "allow"),
        test("c = 1", "deny"),
    ];
    check(std::slice::from_ref(&then), 4);
    check(std::slice::from_ref(&other), 3);
    check(&[then.clone(), other.clone()], 6);
    check(&[then, other, neither], 7);
}

fn covered_of(pack: &Pack) -> crate::policy_tests::Coverage {
    let mut report = covered(pack, WantedCoverage::Told);
    report.coverage.pop().unwrap()
}

#[test]
fn an_excuse_is_for_changes_and_not_for_coverage() {
    let policies = r#"@id("x") permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"x")
        // no test can tell (condition, negation): for later
        when { context.raw_arguments.hasTag("/a") };"#;
    let tests = "[[test]]\nname = 'x'\ncall = 'x'\nargs.a = 1\nexpect = 'allow'\n";
    let report = covered_of(&Pack::new(policies, tests));
    assert_eq!((report.covered, report.total), (2, 3));
}

#[test]
fn the_suites_of_a_pack_are_seen_together_and_those_of_others_apart() {
    let [one, other] = [0, 1].map(|_| Pack::new(POLICIES, TESTS));
    let prompt = "[agents]\na = { roles = ['guest'] }\n[[test]]\nname = 'p'\nagent = 'a'\nsend = { method = 'prompts/get', params = { name = 'x' } }\nexpect = 'allow'\n";
    one.write("tests/more.toml", prompt);
    let mut settings = settings(&[one.path(), other.path()]);
    settings.coverage = WantedCoverage::Told;
    let report = run(&settings).unwrap();
    let seen: Vec<CoverageLevel> = report
        .coverage
        .iter()
        .flat_map(|pack| pack.rules.iter().filter(|rule| rule.id == "never"))
        .map(|rule| rule.seen)
        .collect();
    assert_eq!(seen, [CoverageLevel::Decided, CoverageLevel::Never]);
}

#[test]
fn an_allowlist_tells_which_of_its_tools_no_test_calls() {
    let pack = Pack::new(
        "",
        "allow = ['a', 'b']\n[[test]]\nname = 'x'\ncall = 'a'\nexpect = 'allow'\n",
    );
    let report = covered(&pack, WantedCoverage::AtLeast(100));
    let [coverage] = &report.coverage[..] else {
        panic!("{report:?}")
    };
    assert_eq!(coverage.untested_tools, ["b"]);
    assert_eq!(coverage.percent, 100);
}

#[test]
fn what_is_not_asked_for_is_not_told() {
    let report = Pack::new(POLICIES, TESTS).run().unwrap();
    assert!(report.coverage.is_empty());
}

#[test]
fn each_rule_in_cel_counts_once() {
    let rule = |id: &str, tool: &str| {
        format!(
            "[[rule]]\nid = '{id}'\neffect = 'permit'\nactions = ['call_tool', 'list_tool']\nwhen = \"resource.name == '{tool}' && (principal.trust > 0 || 'a' in principal.roles)\"\n"
        )
    };
    let tests = "agents.a = { roles = ['a'] }\n[[test]]\nname = 'x'\nagent = 'a'\ncall = 'x'\nexpect = 'allow'\n";
    let pack = Pack::new("", tests);
    pack.write(
        "rules.cel.toml",
        &(rule("seen", "x") + &rule("unseen", "y")),
    );
    let report = covered(&pack, WantedCoverage::AtLeast(100));
    check_valid(&strict(), &report);
    let mut text = Vec::new();
    report.write(&mut text, Paint::Plain).unwrap();
    insta::assert_snapshot!(pack.nameless(&String::from_utf8(text).unwrap()));
    assert_eq!(report.outcome, RunOutcome::CoverageTooLow);
}

#[test]
fn each_reason_of_a_package_in_rego_counts_once() {
    let rules = r#"package mcp
decision := {"allow": true, "reasons": permits} if {
    count(permits) > 0
}
permits contains {"id": "read"} if {
    input.action in {"call_tool", "list_tool"}
    named(input.resource.name)
    trusted
}
permits contains {"id": "unseen"} if {
    input.action == "get_prompt"
    input.resource.name == "x"
}
trusted if "a" in input.principal.roles
named(name) if name == "x"
"#;
    let tests = "agents.a = { roles = ['a'] }\n[[test]]\nname = 'x'\nagent = 'a'\ncall = 'x'\nexpect = 'allow'\n";
    let pack = Pack::new("", tests);
    pack.write("rules.rego", rules);
    let report = covered(&pack, WantedCoverage::AtLeast(100));
    check_valid(&strict(), &report);
    let mut text = Vec::new();
    report.write(&mut text, Paint::Plain).unwrap();
    insta::assert_snapshot!(pack.nameless(&String::from_utf8(text).unwrap()));
    let [coverage] = &report.coverage[..] else {
        panic!("{report:?}")
    };
    let seen = coverage
        .rules
        .iter()
        .map(|rule| (rule.id.as_str(), rule.seen));
    let expected = [
        ("read", CoverageLevel::Decided),
        ("unseen", CoverageLevel::Never),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

#[test]
fn a_package_that_gives_no_reason_counts_as_one_rule() {
    let check = |name: &str, covered: usize| {
        let tests = "[[test]]\nname = 'x'\ncall = 'x'\nexpect = { decision = 'DECISION' }\n";
        let tests = tests.replace("DECISION", if covered > 0 { "allow" } else { "deny" });
        let pack = Pack::new("", &tests);
        let rule =
            format!("decision := {{\"allow\": true}} if input.resource.name == \"{name}\"\n");
        pack.write("a.rego", &format!("package mcp\n{rule}"));
        pack.write("b.rego", "package mcp\nother := 1\n");
        let report = covered_of(&pack);
        assert_eq!((report.covered, report.total), (covered, 1), "{report:#?}");
    };
    check("x", 1);
    check("y", 0);
}

#[test]
fn several_reasons_in_one_rule_count_each() {
    let rules = "package mcp\ndecision := {\"allow\": true, \"reasons\": [{\"id\": \"a\"}, {\"id\": \"b\"}]} if input.action == \"call_tool\"\n";
    let pack = Pack::new("", "[[test]]\nname = 'x'\ncall = 'x'\nexpect = 'allow'\n");
    pack.write("rules.rego", rules);
    let report = covered_of(&pack);
    assert_eq!((report.covered, report.total), (2, 2), "{report:#?}");
}

#[test]
fn of_a_list_the_rules_on_listing_are_seen() {
    let rules = "[[rule]]\nid = 'list'\neffect = 'permit'\nactions = ['list_tool']\nwhen = \"resource.name == 'x'\"\n";
    let check = |tools: &str, visible: &str, covered: usize| {
        let tests = format!(
            "tools = [{tools}]\n[[test]]\nname = 'l'\nlist = 'tools'\nlisted = [{visible}]\n"
        );
        let pack = Pack::new("", &tests);
        pack.write("rules.cel.toml", rules);
        let report = covered_of(&pack);
        assert_eq!((report.covered, report.total), (covered, 1), "{report:#?}");
    };
    check("'x'", "'x'", 1);
    check("'y'", "", 0);
    check("'x', 'y'", "'x'", 1);
}

#[test]
fn a_pack_that_has_lost_its_tests_is_an_error_where_coverage_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("a/p.cedar", POLICIES),
        ("a/tests/t.toml", TESTS),
        ("b/p.cedar", POLICIES),
        ("b/test/t.toml", TESTS),
    ] {
        let file = dir.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let check = |paths: &[&str], coverage, expected: &[&str]| {
        let paths: Vec<PathBuf> = paths.iter().map(|path| dir.path().join(path)).collect();
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let mut settings = settings(&paths);
        settings.coverage = coverage;
        let problems = match run(&settings) {
            Ok(_) => Vec::new(),
            Err(not_run) => not_run.fixtures.unwrap().problems,
        };
        let problems: Vec<_> = problems.iter().map(|it| it.message.as_str()).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|pack| {
                let pack = dir.path().join(pack);
                format!(
                    "`{}`: it has policies, and no test loads them",
                    pack.display()
                )
            })
            .collect();
        assert_eq!(problems, expected, "{paths:?} {coverage:?}");
    };
    check(&[""], WantedCoverage::AtLeast(1), &["b"]);
    check(&["a"], WantedCoverage::AtLeast(1), &[]);
    check(&["a/tests", ""], WantedCoverage::AtLeast(1), &["b"]);
    check(&["b/test", "a"], WantedCoverage::AtLeast(1), &[]);
    // It is tested from elsewhere.
    check(&["a", "b/test/t.toml"], WantedCoverage::AtLeast(1), &[]);
    check(&[""], WantedCoverage::Told, &[]);
}
