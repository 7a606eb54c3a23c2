//! From what happened to what is reported.

use toml::Spanned;

use super::super::compare;
use super::super::fixture::{Expect, Test};
use super::super::got::{At, Broken, Got};
use super::super::load::Suite;
use super::{
    Actual, DecidingPolicy, Expected, Outcome, Report, SCHEMA, SuiteReport, Summary, TestOutcome,
    TestReport, hint,
};
use crate::policy::{PolicyId, PolicySnapshot};

impl Report {
    pub(in super::super) fn new(suites: Vec<SuiteReport>, left_out: usize) -> Self {
        let tests = || suites.iter().flat_map(|suite| &suite.tests);
        let failed = tests()
            .filter(|test| test.outcome == TestOutcome::Failed)
            .count();
        let summary = Summary {
            suites: suites.len(),
            tests: tests().count(),
            passed: tests().count() - failed,
            failed,
            left_out,
        };
        Self {
            schema: SCHEMA,
            outcome: if failed == 0 {
                Outcome::Passed
            } else {
                Outcome::Failed
            },
            summary,
            suites,
            problems: Vec::new(),
        }
    }
}

impl SuiteReport {
    pub(in super::super) fn new(suite: &Suite, tests: Vec<TestReport>) -> Self {
        Self {
            suite: suite.fixture.suite.clone(),
            file: suite.fixture.source.name().to_owned(),
            policies: suite.pack.as_ref().map(|pack| pack.display().to_string()),
            revision: suite.policies.current().revision().as_str().to_owned(),
            tests,
        }
    }
}

impl TestReport {
    pub(in super::super) fn new(
        test: &Test,
        got: Result<Got, Broken>,
        snapshot: &PolicySnapshot,
    ) -> Self {
        let (problems, hint, got) = match got {
            Ok(got) => {
                let problems = compare::problems(&test.expect, &got);
                let hint = hint::hint(test, &got).filter(|_| !problems.is_empty());
                (problems, hint, Some(Actual::new(got, snapshot)))
            }
            Err(broken) => (vec![broken.to_string()], None, None),
        };
        Self {
            name: test.name.clone(),
            line: test.line,
            agent: test.agent.id.clone(),
            outcome: if problems.is_empty() {
                TestOutcome::Passed
            } else {
                TestOutcome::Failed
            },
            expected: Expected::new(&test.expect),
            got,
            problems,
            hint,
        }
    }
}

impl Expected {
    fn new(expect: &Expect) -> Self {
        let plain =
            |texts: &[Spanned<String>]| texts.iter().map(|text| text.get_ref().clone()).collect();
        Self {
            decision: expect.decision,
            because: plain(&expect.because),
            code: expect.code.clone(),
            advice: expect.advice.clone(),
            reason: expect.reason.clone(),
            errors: expect.errors.clone(),
            visible: expect.visible.as_deref().map(plain),
            hidden: plain(&expect.hidden),
        }
    }
}

impl Actual {
    fn new(got: Got, snapshot: &PolicySnapshot) -> Self {
        Self {
            decision: got.decision,
            at: match got.at {
                At::Message => None,
                At::Handshake => Some("handshake"),
            },
            policies: got
                .policies
                .iter()
                .map(|id| DecidingPolicy::new(id, snapshot))
                .collect(),
            code: got.code,
            advice: got.advice,
            reason: got.reason,
            stage: got.stage,
            text: got.text,
            error: got.fault,
            visible: got.shown,
        }
    }
}

impl DecidingPolicy {
    fn new(id: &str, snapshot: &PolicySnapshot) -> Self {
        let source = snapshot.policy_source(&PolicyId::new(id));
        let line = source.map(|(origin, _)| origin.line);
        Self {
            id: id.to_owned(),
            file: source.map(|(origin, _)| origin.file.clone()),
            line: line.filter(|line| *line > 0),
            text: source.map_or("", |(_, text)| text).into(),
        }
    }
}
