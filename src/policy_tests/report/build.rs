//! From what happened to what is reported.

use toml::Spanned;

use super::super::compare;
use super::super::fixture::{Decision, Expect, Sends, Test};
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
        let mut report = Self {
            name: test.name.clone(),
            line: test.line,
            agent: test.agent.id.clone(),
            outcome: TestOutcome::Failed,
            expected: Expected::new(&test.expect),
            got: None,
            problems: Vec::new(),
            shown: Vec::new(),
            hint: None,
        };
        let got = match got {
            Ok(got) => got,
            Err(broken) => {
                report.problems.push(broken.to_string());
                return report;
            }
        };
        report.problems = compare::problems(&test.expect, &got);
        if report.problems.is_empty() {
            report.outcome = TestOutcome::Passed;
        } else {
            report.hint = hint::hint(test, &got);
            report.shown = explaining(test, &got, snapshot);
        }
        report.got = Some(Actual::new(got, snapshot));
        report
    }
}

/// The policies that decided, and the one that could not be evaluated. That a list may be asked for
/// does not explain what is in it.
fn explaining(test: &Test, got: &Got, snapshot: &PolicySnapshot) -> Vec<DecidingPolicy> {
    let listed = matches!(test.sends, Sends::List(_)) && got.decision == Decision::Allow;
    let deciding = got.policies.iter().filter(|_| !listed).map(String::as_str);
    let at_fault = |id: &&str| {
        let fault = got.fault.as_deref().unwrap_or_default();
        fault.contains(&format!("policy `{id}`:"))
    };
    let faulty = snapshot
        .policies()
        .iter()
        .map(|policy| policy.id.as_str())
        .filter(at_fault);
    deciding
        .chain(faulty)
        .map(|id| DecidingPolicy::new(id, snapshot))
        .collect()
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
