//! Many tests at once, and the choice of some.

use super::*;

const POLICIES: &str = r#"
@id("even")
permit (principal, action == Mcp::Action::"call_tool", resource is Mcp::Tool)
when { resource.name like "even*" };
"#;

/// Every other of so many tests fails.
fn many(tests: usize) -> String {
    let test = |number: usize| {
        let kind = if number.is_multiple_of(2) {
            "even"
        } else {
            "odd"
        };
        format!("[[test]]\nname = '{number}'\ncall = '{kind}-{number}'\nexpect = 'allow'\n")
    };
    (0..tests).map(test).collect()
}

#[test]
fn reports_are_in_the_order_of_the_files_whoever_is_done_first() {
    let pack = Pack::new(POLICIES, &many(500));
    pack.write("tests/a.toml", &many(300));
    let progress = Progress::default();
    let report = run_telling(&settings(&[pack.path()]), &progress).unwrap();
    assert_eq!(progress.seen(), (800, 800));
    let names = |suite: usize| {
        let tests = report.suites[suite].tests.iter();
        tests.map(|test| (test.name.clone(), test.outcome == TestOutcome::Passed))
    };
    let expected = |tests: usize| (0..tests).map(|it| (it.to_string(), it.is_multiple_of(2)));
    assert!(names(0).eq(expected(300)));
    assert!(names(1).eq(expected(500)));
    assert_eq!((report.summary.passed, report.summary.failed), (400, 400));
    let document = |report: &Report| serde_json::to_string(report).unwrap();
    assert_eq!(document(&report), document(&pack.run().unwrap()));
}

/// The tests that a filter leaves, as `suite/name[cell]`.
fn filtered(filter: &str) -> Vec<String> {
    let pack = Pack::new(
        POLICIES,
        "suite = 'the first suite'\n[agents]\nalice = {}\nbob = {}\n\
         [[test]]\nname = 'one'\ncall = 'x'\nexpect = 'deny'\n\
         [[test]]\nname = 'two'\nagents = ['alice', 'bob']\ncall = ['even', 'y']\nexpect = 'deny'\n",
    );
    pack.write(
        "tests/z.toml",
        "[agents]\nbob = {}\n[[test]]\nname = 'three'\nagent = 'bob'\ncall = 'x'\nexpect = 'deny'\n",
    );
    let settings = Settings {
        filter: Some(filter.to_owned()),
        ..settings(&[pack.path()])
    };
    let report = match run(&settings) {
        Ok(report) => report,
        Err(not_run) => return not_run.diagnostics().map(ToString::to_string).collect(),
    };
    assert_eq!(report.summary.tests + report.summary.left_out, 6);
    let suites = report.suites.iter();
    let told = suites.flat_map(|suite| {
        let tests = suite.tests.iter();
        tests.map(|test| {
            let cell = test.cell.as_deref().unwrap_or_default();
            format!("{}/{}[{cell}]", suite.suite, test.name)
        })
    });
    told.collect()
}

#[test]
fn a_filter_finds_suites_tests_agents_and_cells() {
    assert_eq!(filtered("one"), ["the first suite/one[]"]);
    assert_eq!(filtered("first").len(), 5);
    assert_eq!(
        filtered("bob"),
        [
            "the first suite/two[bob, even]",
            "the first suite/two[bob, y]",
            "z/three[]"
        ]
    );
    assert_eq!(
        filtered(", even"),
        [
            "the first suite/two[alice, even]",
            "the first suite/two[bob, even]"
        ]
    );
    assert_eq!(
        filtered("unmatched"),
        ["the tests cannot run: 1 problem found"]
    );
}

#[test]
fn what_is_watched_is_what_results_depend_on() {
    let pack = Pack::new(POLICIES, &many(1));
    let settings = settings(&[&pack.path().join("tests/tests.toml")]);
    let watched = watched(&settings);
    assert_eq!(
        watched,
        [pack.path().to_owned(), pack.path().join("tests/tests.toml")]
    );
}
