//! From what happened to what is reported.

use toml::Spanned;

use super::super::actual::{ActualOutcome, RejectedPart};
use super::super::fixture::{EndpointName, Expect, Plan, Sends, Test, TestStep};
use super::super::fixture_words::TestDecision;
use super::super::judge::MessageOutcome;
use super::super::load::Suite;
use super::super::{compare, listing};
use super::{
    Actual, DecidingPolicy, Expected, Report, RunOutcome, SCHEMA, StepReport, SuiteReport, Summary,
    TestOutcome, TestReport, hint,
};
use crate::loading;
use crate::policy::{PolicyId, PolicySnapshot};
use crate::wire::{Limits, Message, Side};

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
                RunOutcome::Passed
            } else {
                RunOutcome::Failed
            },
            summary,
            suites,
            coverage: Vec::new(),
            mutation: Vec::new(),
            problems: Vec::new(),
            least: 0,
            untried: false,
        }
    }
}

impl SuiteReport {
    pub(in super::super) fn new(suite: &Suite, tests: Vec<TestReport>) -> Self {
        Self {
            suite: suite.fixture.suite.clone(),
            file: suite.fixture.source.name().to_owned(),
            policies: suite.pack.as_deref().map(loading::source_name),
            revision: suite.policies.current().revision().as_str().to_owned(),
            tests,
        }
    }
}

impl TestReport {
    pub(in super::super) fn new(
        test: &Test,
        came: Vec<MessageOutcome>,
        snapshot: &PolicySnapshot,
    ) -> Self {
        let judged = test.steps().iter().zip(came);
        let mut steps: Vec<StepReport> = judged
            .map(|(step, came)| StepReport::new(step, came, snapshot))
            .collect();
        let mut report = Self::about(test);
        if let Plan::Conversation(_) = test.plan {
            let numbered = steps.iter().zip(1..);
            let problems = numbered.flat_map(|(step, number)| {
                let problems = step.problems.iter();
                let line = step.line;
                problems.map(move |problem| format!("step {number} (line {line}): {problem}"))
            });
            report.problems = problems.collect();
            report.steps = steps;
        } else if let Some(step) = steps.pop() {
            report.expected = Some(step.expected);
            report.got = step.got;
            report.problems = step.problems;
            report.shown = step.shown;
            report.hint = step.hint;
        }
        report.concluded()
    }

    /// A test that nothing was said of yet.
    pub(in super::super) fn about(test: &Test) -> Self {
        Self {
            name: test.name.clone(),
            cell: test.cell.clone(),
            line: test.line,
            agent: test.agent.id.clone(),
            outcome: TestOutcome::Failed,
            expected: None,
            got: None,
            problems: Vec::new(),
            steps: Vec::new(),
            replay: None,
            shown: Vec::new(),
            hint: None,
        }
    }

    pub(in super::super) fn concluded(mut self) -> Self {
        self.outcome = outcome(&self.problems);
        self
    }
}

impl StepReport {
    fn new(step: &TestStep, came: MessageOutcome, snapshot: &PolicySnapshot) -> Self {
        let problems = compare::problems(step, &came);
        let mut report = Self {
            line: step.line,
            sends: says(step),
            outcome: outcome(&problems),
            expected: Expected::of(step),
            got: None,
            problems,
            shown: Vec::new(),
            hint: None,
        };
        let Ok(got) = came.message else {
            return report;
        };
        let answer = came.answer.and_then(Result::ok);
        if report.outcome == TestOutcome::Failed {
            let of_answer = |problem: &String| problem.starts_with("the answer");
            if let (Some(answer), true) = (&answer, report.problems.iter().all(of_answer)) {
                let deciding = answer.policies.iter();
                report.shown = deciding
                    .map(|id| DecidingPolicy::new(id, snapshot))
                    .collect();
            } else {
                report.shown = explaining(step, &got, snapshot);
                report.hint = hint::hint(step, &got);
            }
        }
        let mut actual = Actual::new(got, snapshot);
        actual.received = answer.map(|answer| Box::new(Actual::new(answer, snapshot)));
        report.got = Some(actual);
        report
    }
}

fn outcome(problems: &[String]) -> TestOutcome {
    if problems.is_empty() {
        TestOutcome::Passed
    } else {
        TestOutcome::Failed
    }
}

/// What is sent, in a few words.
fn says(step: &TestStep) -> String {
    let sent = sent(&step.sends);
    let endpoint = step.endpoint.as_ref().map(Spanned::get_ref);
    match (step.server.get_ref(), endpoint) {
        (Some(server), _) => format!("at `{server}`: {sent}"),
        (None, Some(EndpointName::Unified)) => format!("at the endpoint: {sent}"),
        (None, Some(EndpointName::View(view))) => format!("in the view `{view}`: {sent}"),
        (None, None) => sent,
    }
}

fn sent(sends: &Sends) -> String {
    let (from, frame) = match sends {
        Sends::List(list) => return format!("list {}", list.member()),
        Sends::Connect(host) => return format!("the server: connect to `{}`", host.id()),
        Sends::Frame { from, frame } => (from, frame),
        Sends::Unrouted { frame, .. } => (&Side::Agent, frame),
    };
    let by = match from {
        Side::Agent => "",
        Side::Upstream => "the server: ",
    };
    let message = Message::decode(frame.as_bytes(), &Limits::default()).ok();
    let called = message.as_ref().and_then(listing::called_tool);
    let method = message.as_ref().and_then(Message::method);
    match (called, method) {
        (Some(tool), _) => format!("call `{tool}`"),
        (None, Some(method)) => format!("{by}send `{}`", method.name()),
        (None, None) => format!("{by}a raw frame"),
    }
}

/// The policies that decided, and the one that could not be evaluated. That a list may be asked for
/// does not explain what is in it.
fn explaining(
    step: &TestStep,
    got: &ActualOutcome,
    snapshot: &PolicySnapshot,
) -> Vec<DecidingPolicy> {
    let listed = matches!(step.sends, Sends::List(_)) && got.decision == TestDecision::Allow;
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
    fn of(step: &TestStep) -> Self {
        let mut expected = Self::new(&step.expect);
        let received = step.received.as_ref();
        expected.received = received.map(|expect| Box::new(Self::new(expect)));
        expected
    }

    fn new(expect: &Expect) -> Self {
        let plain =
            |texts: &[Spanned<String>]| texts.iter().map(|text| text.get_ref().clone()).collect();
        Self {
            decision: expect.decision,
            policies: plain(&expect.policies),
            policies_exact: expect.policies_exact.as_deref().map(plain),
            obligations: expect.obligations.clone(),
            edits: expect.edits.clone(),
            upstream_receives: expect.upstream_receives,
            code: expect.code.clone(),
            advice: expect.advice.clone(),
            reason: expect.reason.clone(),
            errors: expect.errors.clone(),
            listed: expect.listed.as_deref().map(plain),
            hidden: plain(&expect.hidden),
            received: None,
        }
    }
}

impl Actual {
    fn new(got: ActualOutcome, snapshot: &PolicySnapshot) -> Self {
        Self {
            decision: got.decision,
            at: match got.at {
                RejectedPart::Message => None,
                RejectedPart::Handshake => Some("handshake"),
                RejectedPart::Answer => Some("answer"),
            },
            policies: got
                .policies
                .iter()
                .map(|id| DecidingPolicy::new(id, snapshot))
                .collect(),
            obligations: got.obligations,
            edits: got.edits,
            upstream_received: got.upstream_received,
            code: got.code,
            advice: got.advice,
            reason: got.reason,
            stage: got.stage,
            text: got.text,
            error: got.fault,
            listed: got.shown,
            received: None,
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
