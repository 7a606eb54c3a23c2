//! What was expected against what became of the message.

use toml::Spanned;

use super::actual::ActualOutcome;
use super::fixture::{Expect, TestStep};
use super::fixture_words::TestDecision;
use super::judge::MessageOutcome;
use super::suggest;

/// Every way in which what came of a step is not what was expected, in a sentence each.
pub(super) fn problems(step: &TestStep, came: &MessageOutcome) -> Vec<String> {
    let got = match &came.message {
        Ok(got) => got,
        Err(broken) => return vec![broken.to_string()],
    };
    let mut problems = differences(&step.expect, got);
    match (&step.received, &came.answer) {
        (Some(expect), Some(Ok(answer))) => {
            let of_answer = differences(expect, answer);
            problems.extend(
                of_answer
                    .iter()
                    .map(|problem| format!("the answer: {problem}")),
            );
        }
        (None, Some(Ok(answer))) if !answer.allowed() => problems.push(withheld(answer)),
        (Some(_), None) if got.allowed() => {
            let problem = "nothing is answered to it, which `received` does not expect";
            problems.push(problem.to_owned());
        }
        (_, Some(Err(broken))) => problems.push(format!("the answer: {broken}")),
        (_, None) | (None, Some(Ok(_))) => {}
    }
    problems
}

/// An answer that nothing was expected of is expected to arrive.
fn withheld(answer: &ActualOutcome) -> String {
    let reason = answer.reason.as_deref().unwrap_or("no reason");
    let by = match answer.policies.as_slice() {
        [] => String::new(),
        policies => format!(" by {}", suggest::list(policies)),
    };
    format!(
        "the answer was withheld{by} (`{reason}`), which is not expected: say so with `received`"
    )
}

/// Every way in which an expectation is not met.
fn differences(expect: &Expect, got: &ActualOutcome) -> Vec<String> {
    let mut problems = Vec::new();
    faults(expect, got, &mut problems);
    if expect.decision != got.decision {
        let (expected, got) = (expect.decision.word(), got.decision.word());
        problems.push(format!("expected {expected}, got {got}"));
        // What else differs follows from that.
        return problems;
    }
    for id in expect.policies.iter().map(Spanned::get_ref) {
        if !got.policies.contains(id) {
            problems.push(format!("`{id}` is not among the policies that decided"));
        }
    }
    if let Some(exactly) = &expect.policies_exact {
        let named = |id: &&String| exactly.iter().any(|other| other.get_ref() == *id);
        let missing = exactly
            .iter()
            .map(Spanned::get_ref)
            .filter(|id| !got.policies.contains(id));
        problems.extend(missing.map(|id| format!("`{id}` is not among the policies that decided")));
        let surplus = got.policies.iter().filter(|id| !named(id));
        problems
            .extend(surplus.map(|id| format!("`{id}` decided, and is not in `policies_exact`")));
    }
    if let Some(expected) = &expect.obligations {
        let missing = expected.iter().filter(|it| !got.obligations.contains(it));
        problems.extend(missing.map(|it| format!("the decision does not ask for `{it}`")));
        let surplus = got.obligations.iter().filter(|it| !expected.contains(it));
        problems.extend(
            surplus
                .map(|it| format!("the decision asks for `{it}`, which is not in `obligations`")),
        );
    }
    if let Some(expected) = &expect.edits {
        let missing = expected.iter().filter(|it| !got.edits.contains(it));
        problems.extend(missing.map(|it| format!("the gate did not change `{it}`")));
        let surplus = got.edits.iter().filter(|it| !expected.contains(it));
        problems
            .extend(surplus.map(|it| format!("the gate changed `{it}`, which is not in `edits`")));
    }
    if let Some(expected) = expect.upstream_receives
        && got.upstream_received != Some(expected)
    {
        let expected = expected.word();
        problems.push(match got.upstream_received {
            Some(other) => format!(
                "expected it at the {expected} server, got the {} one",
                other.word()
            ),
            None => format!("expected it at the {expected} server, and there are no two"),
        });
    }
    let words = [
        ("code", &expect.code, &got.code),
        ("advice", &expect.advice, &got.advice),
        ("reason", &expect.reason, &got.reason),
    ];
    for (key, expected, got) in words {
        if let Some(expected) = expected
            && got.as_ref() != Some(expected)
        {
            let got = got
                .as_ref()
                .map_or("none".to_owned(), |got| format!("`{got}`"));
            problems.push(format!("expected {key} `{expected}`, got {got}"));
        }
    }
    if got.decision == TestDecision::Allow {
        lists(expect, got, &mut problems);
    }
    problems
}

/// A fault denies, but a test that expects a denial does not mean this one.
fn faults(expect: &Expect, got: &ActualOutcome, problems: &mut Vec<String>) {
    match (&expect.errors, &got.fault) {
        (None, None) => {}
        (None, Some(fault)) => problems.push(format!("a policy could not be evaluated: {fault}")),
        (Some(_), None) => {
            problems
                .push("every policy could be evaluated, which `errors` does not expect".to_owned());
        }
        (Some(texts), Some(fault)) => {
            let missing = texts.iter().filter(|text| !fault.contains(text.as_str()));
            problems
                .extend(missing.map(|text| format!("the error does not hold `{text}`: {fault}")));
        }
    }
}

fn lists(expect: &Expect, got: &ActualOutcome, problems: &mut Vec<String>) {
    let shown = got.shown.as_deref().unwrap_or_default();
    let is_shown = |name: &&Spanned<String>| shown.contains(name.get_ref());
    if let Some(visible) = &expect.listed {
        let missing = visible.iter().filter(|name| !is_shown(name));
        problems.extend(missing.map(|name| format!("`{}` is not shown", name.get_ref())));
        let expected = |name: &&String| visible.iter().any(|other| other.get_ref() == *name);
        let surplus = shown.iter().filter(|name| !expected(name));
        problems.extend(surplus.map(|name| format!("`{name}` is shown, and not in `listed`")));
    }
    let wrong = expect.hidden.iter().filter(is_shown);
    problems.extend(wrong.map(|name| format!("`{}` is shown, and in `hidden`", name.get_ref())));
}
