//! Which policies judge, and which tests run.

use super::*;
use std::sync::Arc;

use crate::loading;
use crate::policy::{ClaimType, ConfiguredClaims, TokenGrants};

const POLICIES: &str = r#"
@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read_file");
"#;

const TESTS: &str = "
[[test]]
name = 'reading is allowed'
call = 'read_file'
expect = 'allow'
[[test]]
name = 'writing is not'
call = 'write_file'
expect = 'deny'
";

fn under(dir: Option<&Path>, allow: Option<&[&str]>, paths: &[&Path]) -> Settings {
    Settings {
        configured: Some(ConfiguredPolicies {
            file: "gate.toml".into(),
            policies: loading::Settings {
                dir: dir.map(Path::to_owned),
                allow: allow.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
                ..loading::Settings::default()
            },
            servers: vec![ConfiguredServer::only(
                "configured".to_owned(),
                default_gate(),
            )],
            unified: None,
        }),
        ..settings(paths)
    }
}

fn codes(not_run: &NotRun) -> Vec<&'static str> {
    let fixtures = not_run.fixtures.iter().flat_map(|errors| &errors.problems);
    let policies = not_run.policies.iter().flat_map(|errors| &errors.problems);
    fixtures
        .map(|problem| problem.code)
        .chain(policies.map(|problem| problem.code))
        .collect()
}

#[test]
fn a_configuration_brings_its_policies_and_the_tests_beside_them() {
    let pack = Pack::new(POLICIES, TESTS);
    let report = run(&under(Some(pack.path()), None, &[])).unwrap();
    assert_eq!(
        (report.outcome, report.summary.tests),
        (RunOutcome::Passed, 2)
    );
}

#[test]
fn a_configuration_judges_fixtures_of_elsewhere() {
    let pack = Pack::new(POLICIES, TESTS);
    let other = Pack::new("", TESTS);
    let report = run(&under(Some(pack.path()), None, &[other.path()])).unwrap();
    assert_eq!(report.outcome, RunOutcome::Passed);
    // The allowlist permits what the test expects to be denied.
    let report = run(&under(
        None,
        Some(&["read_file", "write_file"]),
        &[pack.path()],
    ))
    .unwrap();
    assert_eq!((report.summary.passed, report.summary.failed), (1, 1));
}

#[test]
fn a_configuration_names_the_upstream_unless_the_fixture_does() {
    let policies = r#"
        @id("call") permit (principal, action == Mcp::Action::"call_tool", resource is Mcp::Tool)
        when { resource.server == Mcp::Server::"configured" };
    "#;
    let test = "[[test]]\nname = 'x'\ncall = 'a'\nexpect = ";
    let check = |head: &str, expect: &str| {
        let pack = Pack::new(policies, &format!("{head}{test}'{expect}'"));
        let report = run(&under(Some(pack.path()), None, &[])).unwrap();
        assert_eq!(report.outcome, RunOutcome::Passed, "{head}");
    };
    check("", "allow");
    check("server = 'other'\n", "deny");
}

#[test]
fn an_agent_has_the_claims_that_its_test_gives_it_and_the_configuration_names() {
    let policies = r#"
        @id("tools") permit (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource)
        when {
          principal.claims.hasTag("tools") && principal.claims.getTag("tools") has strings &&
          principal.claims.getTag("tools").strings.contains(resource.name)
        };
    "#;
    let tests = |claims: &str| {
        format!(
            "[agents]\nada = {{ claims = {{ {claims} }} }}\nbob = {{}}\n\
             [[test]]\nname = 'her token names it'\nagent = 'ada'\ncall = 'a'\nexpect = 'allow'\n\
             [[test]]\nname = 'and nothing else'\nagent = 'ada'\ncall = 'b'\nexpect = 'deny'\n\
             [[test]]\nname = 'his names none'\nagent = 'bob'\ncall = 'a'\nexpect = 'deny'\n"
        )
    };
    let types = [("tools", ClaimType::Strings), ("quota", ClaimType::Long)];
    let configured = ConfiguredClaims {
        types: types.map(|(name, of)| (name.to_owned(), of)).into(),
        ..ConfiguredClaims::default()
    };
    let run = |claims: &str, configured: Option<&ConfiguredClaims>| {
        let pack = Pack::new(policies, &tests(claims));
        let mut settings = under(Some(pack.path()), None, &[]);
        let judging = settings.configured.as_mut().unwrap();
        judging.policies.claims = configured.cloned().map(Arc::new);
        run(&settings)
    };
    let all = "tools = ['a'], quota = 7";
    for configured in [Some(&configured), None] {
        let report = run(all, configured).unwrap();
        assert_eq!((report.summary.passed, report.summary.tests), (3, 3));
    }
    let wrong = |claims: &str, expected: &str| {
        let not_run = run(claims, Some(&configured)).unwrap_err();
        assert_eq!(codes(&not_run), [expected], "{claims}");
    };
    wrong("tolls = ['a']", "test::claim");
    wrong("tools = 'a'", "test::claim");
    wrong("tools = 1.5", "test::type");
    let other = ConfiguredClaims::default();
    let not_run = run("", Some(&other)).unwrap_err();
    assert_eq!(codes(&not_run), ["policy::claim"]);
}

#[test]
fn two_allowlists_that_differ_are_no_guess() {
    let tests = |names: &str| format!("allow = [{names}]\n{TESTS}");
    let check = |names: &str, codes_expected: &[&str]| {
        let pack = Pack::new(POLICIES, &tests(names));
        let result = run(&under(Some(pack.path()), Some(&["a", "b"]), &[]));
        assert_eq!(
            result.err().map_or(vec![], |not_run| codes(&not_run)),
            codes_expected
        );
    };
    check("'b', 'a'", &[]);
    check("'a'", &["test::conflict"]);
}

#[test]
fn a_configuration_without_tests_says_where_they_could_be() {
    let pack = Pack::new(POLICIES, TESTS);
    fs::remove_dir_all(pack.path().join("tests")).unwrap();
    for dir in [Some(pack.path()), None] {
        let not_run = run(&under(dir, Some(&["a"]), &[])).unwrap_err();
        assert_eq!(codes(&not_run), ["test::nothing_found"]);
    }
}

#[test]
fn a_filter_leaves_tests_out_and_never_all_of_them() {
    let pack = Pack::new(POLICIES, TESTS);
    let filtered = |text: &str| {
        let settings = settings(&[pack.path()]);
        run(&Settings {
            filter: Some(text.to_owned()),
            ..settings
        })
    };
    let report = filtered("writing").unwrap();
    assert_eq!((report.summary.tests, report.summary.left_out), (1, 1));
    assert_eq!(report.suites[0].tests[0].name, "writing is not");
    assert_eq!(
        codes(&filtered("Writing").unwrap_err()),
        ["test::nothing_found"]
    );
}

#[test]
fn policies_that_are_not_valid_are_told_once_and_beside_what_is_wrong_with_fixtures() {
    let pack = Pack::new("permit (principal, action, resource) when { 1 };", TESTS);
    pack.write("tests/other.toml", TESTS);
    pack.write("tests/third.toml", "allow = ['x']\nsuit = 1\n");
    let not_run = pack.run().unwrap_err();
    assert_eq!(not_run.outcome(), RunOutcome::PoliciesInvalid);
    let mut codes = codes(&not_run);
    codes.dedup();
    assert_eq!(
        codes,
        ["test::required", "test::unknown_key", "policy::type"]
    );
}

#[test]
fn tests_without_policies_test_nothing() {
    let pack = Pack::new("", TESTS);
    assert_eq!(codes(&pack.run().unwrap_err()), ["test::no_policies"]);
    let nowhere = [pack.path().join("nowhere")];
    let not_run = run(&settings(&nowhere.each_ref().map(PathBuf::as_path))).unwrap_err();
    assert_eq!(codes(&not_run), ["test::unreadable"]);
}

#[test]
fn what_the_tests_own_upstream_cannot_say_is_no_denial() {
    let name = "x".repeat(1000);
    let check = |test: &str| {
        let tests = format!("tools = ['{name}']\n[[test]]\nname = 'x'\n{test}");
        let pack = Pack::new("@id(\"all\") permit (principal, action, resource);", &tests);
        let mut settings = settings(&[pack.path()]);
        settings.gate.from_upstream.max_bytes = 1024;
        let report = run(&settings).unwrap();
        let judged = &report.suites[0].tests[0];
        assert_eq!(judged.outcome, TestOutcome::Failed);
        assert!(judged.got.is_none());
        let problem = judged.problems[0].as_str();
        assert!(
            problem.starts_with("the message could not be judged: "),
            "{problem}"
        );
    };
    check(&format!("call = '{name}'\nexpect = 'deny'"));
    check("list = 'tools'\nexpect = 'deny'");
}

#[test]
fn a_capability_that_no_token_grants_is_no_test() {
    let policies = r#"@id("tools") permit (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource);"#;
    let tests = "[agents]\nada = { capabilities = ['fs'] }\n\
                 [[test]]\nname = 'a'\nagent = 'ada'\ncall = 'a'\nexpect = 'allow'\n";
    let check = |grants: Option<TokenGrants>, expected: &[&str]| {
        let pack = Pack::new(policies, tests);
        let mut settings = under(Some(pack.path()), None, &[]);
        let judging = settings.configured.as_mut().unwrap();
        let claims = grants.map(|grants| ConfiguredClaims {
            grants,
            ..ConfiguredClaims::default()
        });
        judging.policies.claims = claims.map(Arc::new);
        let found = run(&settings);
        let codes = found.as_ref().err().map(|not_run| codes(not_run));
        assert_eq!(codes.unwrap_or_default(), expected, "{grants:?}");
    };
    check(Some(TokenGrants::Nothing), &["test::claim"]);
    check(Some(TokenGrants::Capabilities), &[]);
    check(None, &[]);
}
