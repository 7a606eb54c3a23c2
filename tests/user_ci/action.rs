//! The action as a whole: annotations, reports, the summary and the verdict.

use std::fs;

use serde_json::Value;

use crate::user_ci::release::Release;
use crate::user_ci::runner::{Job, Runner};

const POLICIES: &str = r#"@id("read")
permit (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
"#;

const TESTS: &str = "[[test]]
name = 'reading is allowed'
call = 'read'
expect = 'allow'
";

/// A policy with a finding of a lint on its last line.
const SUSPICIOUS: &str = r#"@id("list")
permit (principal, action in Mcp::Action::"call_tool", resource is Mcp::Tool)
when { resource.hints.readOnly && resource.hints.readOnly };
"#;

fn repository(files: &[(&str, &str)]) -> Runner {
    let runner = Runner::new();
    runner.file("policies/p.cedar", POLICIES);
    runner.file("policies/tests/t.toml", TESTS);
    for (name, text) in files {
        runner.file(name, text);
    }
    runner
}

fn run(runner: &Runner, inputs: &[(&str, &str)]) -> Job {
    let release = Release::real();
    let mut all = vec![("releases", release.address.as_str())];
    all.extend(inputs);
    runner.run(&all)
}

/// The findings of the SARIF file, which keeps to the schema of SARIF.
fn findings(job: &Job) -> Vec<Value> {
    let schema = include_str!("../support/sarif/sarif-schema-2.1.0.json");
    let mut schema: Value = schema.parse().unwrap();
    // Their pattern is no regular expression by ECMA-262, and we write no language.
    for of in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][of]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern");
    }
    let log: Value = job.report("sarif").parse().unwrap();
    jsonschema::validate(&schema, &log).unwrap();
    log["runs"][0]["results"].as_array().unwrap().clone()
}

#[test]
fn policies_without_findings_pass_with_their_reports() {
    let runner = repository(&[]);
    let job = run(&runner, &[("paths", "policies")]);
    assert!(job.succeeded, "{}", job.log);
    assert!(findings(&job).is_empty());
    let tests = job.report("junit");
    assert!(tests.contains("reading is allowed"), "{tests}");
    assert!(!tests.contains("<failure"), "{tests}");
    assert!(!job.log.contains("::error"), "{}", job.log);
    assert!(
        job.summary.contains("policies: nothing found"),
        "{}",
        job.summary
    );
    assert!(
        job.summary.contains("1 passed, 0 failed"),
        "{}",
        job.summary
    );
    assert!(job.used.is_empty());
}

#[test]
fn a_finding_of_a_lint_fails_the_job_and_annotates_its_line() {
    let runner = repository(&[("policies/q.cedar", SUSPICIOUS)]);
    let job = run(&runner, &[("paths", "policies")]);
    assert!(!job.succeeded);
    let annotation = "::warning file=policies/q.cedar,line=3,";
    assert!(job.log.contains(annotation), "{}", job.log);
    let found = findings(&job);
    let place = &found[0]["locations"][0]["physicalLocation"];
    assert_eq!(found[0]["ruleId"], "lint::duplicate_condition", "{found:?}");
    assert_eq!(place["artifactLocation"]["uri"], "policies/q.cedar");
    assert_eq!(place["region"]["startLine"], 3);
    assert!(job.summary.contains("1 warning"), "{}", job.summary);
    // The tests have run beside it.
    assert!(job.report("junit").contains("reading is allowed"));
}

#[test]
fn a_failing_test_fails_the_job_with_its_report() {
    let failing = TESTS.replace("'allow'", "'deny'");
    let runner = repository(&[("policies/tests/t.toml", &failing)]);
    let job = run(&runner, &[("paths", "policies")]);
    assert!(!job.succeeded);
    let annotation = "::error file=policies/tests/t.toml,line=";
    assert!(job.log.contains(annotation), "{}", job.log);
    assert!(job.report("junit").contains("<failure"), "{}", job.log);
    assert!(
        job.summary.contains("0 passed, 1 failed"),
        "{}",
        job.summary
    );
    assert!(findings(&job).is_empty());
}

#[test]
fn findings_are_uploaded_before_they_fail_the_job() {
    let runner = repository(&[("policies/q.cedar", SUSPICIOUS)]);
    let inputs = [
        ("paths", "policies"),
        ("upload-sarif", "true"),
        ("category", "x"),
    ];
    let job = run(&runner, &inputs);
    assert!(!job.succeeded);
    let [(action, with)] = &job.used[..] else {
        panic!("{:?}", job.used);
    };
    assert!(action.starts_with("github/codeql-action/upload-sarif@"));
    assert_eq!(with["sarif_file"], job.output("sarif"));
    assert_eq!(with["category"], "x");
}

#[test]
fn several_packs_and_a_configuration_are_checked() {
    let gate = "upstream.command = ['no-such-program']\npolicy.dir = 'policies'\n";
    let runner = repository(&[
        ("gate.toml", gate),
        ("more packs/a/p.cedar", POLICIES),
        ("more packs/a/tests/t.toml", TESTS),
    ]);
    let job = run(&runner, &[("paths", "policies\n\nmore packs/a\r\n")]);
    assert!(job.succeeded, "{}", job.log);
    assert!(
        job.summary.contains("2 packs: nothing found"),
        "{}",
        job.summary
    );
    let job = run(&runner, &[("config", "gate.toml")]);
    assert!(job.succeeded, "{}", job.log);
    assert!(
        job.summary.contains("gate.toml: nothing found"),
        "{}",
        job.summary
    );
}

#[test]
fn what_cannot_be_checked_fails_the_job() {
    let check = |runner: &Runner, inputs: &[(&str, &str)], says: &str| {
        let job = run(runner, inputs);
        assert!(!job.succeeded, "{inputs:?}");
        assert!(job.log.contains(says), "{inputs:?}: {}", job.log);
    };
    let runner = repository(&[("broken/p.cedar", "permit (")]);
    check(&runner, &[], "there is nothing to check");
    check(&runner, &[("paths", "nowhere")], "nowhere");
    check(&runner, &[("config", "nowhere.toml")], "nowhere.toml");
    check(
        &runner,
        &[("paths", "broken")],
        "::error file=broken/p.cedar,line=1",
    );
    check(&runner, &[("paths", "-x")], "`-x`");
}

#[test]
fn text_of_inputs_is_neither_a_command_nor_an_option_nor_a_page() {
    let runner = repository(&[("<b>/p.cedar", POLICIES), ("<b>/tests/t.toml", TESTS)]);
    for path in [
        "$(touch made)",
        "policies; touch made",
        "`touch made`",
        "--help",
    ] {
        let job = run(&runner, &[("paths", path), ("config", "")]);
        assert!(!job.succeeded, "{path}: {}", job.log);
        assert!(
            !fs::exists(runner.workspace.join("made")).unwrap(),
            "{path}"
        );
    }
    let job = run(&runner, &[("paths", "<b>")]);
    assert!(
        job.summary.contains("&lt;b&gt;: nothing found"),
        "{}",
        job.summary
    );
}
