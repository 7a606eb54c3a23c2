//! What was expected against what became of the message.

use toml::Spanned;

use super::fixture::{Decision, Expect};
use super::got::Got;

/// Every way in which an expectation is not met, in a sentence each.
pub(super) fn problems(expect: &Expect, got: &Got) -> Vec<String> {
    let mut problems = Vec::new();
    faults(expect, got, &mut problems);
    if expect.decision != got.decision {
        let (expected, got) = (expect.decision.word(), got.decision.word());
        problems.push(format!("expected {expected}, got {got}"));
        // What else differs follows from that.
        return problems;
    }
    for id in expect.because.iter().map(Spanned::get_ref) {
        if !got.policies.contains(id) {
            problems.push(format!("`{id}` is not among the policies that decided"));
        }
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
    if got.decision == Decision::Allow {
        lists(expect, got, &mut problems);
    }
    problems
}

/// A fault denies, but a test that expects a denial does not mean this one.
fn faults(expect: &Expect, got: &Got, problems: &mut Vec<String>) {
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

fn lists(expect: &Expect, got: &Got, problems: &mut Vec<String>) {
    let shown = got.shown.as_deref().unwrap_or_default();
    let is_shown = |name: &&Spanned<String>| shown.contains(name.get_ref());
    if let Some(visible) = &expect.visible {
        let missing = visible.iter().filter(|name| !is_shown(name));
        problems.extend(missing.map(|name| format!("`{}` is not shown", name.get_ref())));
        let expected = |name: &&String| visible.iter().any(|other| other.get_ref() == *name);
        let surplus = shown.iter().filter(|name| !expected(name));
        problems.extend(surplus.map(|name| format!("`{name}` is shown, and not in `visible`")));
    }
    let wrong = expect.hidden.iter().filter(is_shown);
    problems.extend(wrong.map(|name| format!("`{}` is shown, and in `hidden`", name.get_ref())));
}
