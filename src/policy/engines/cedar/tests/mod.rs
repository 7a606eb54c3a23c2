mod claims;
mod closed;
mod diagnostics;
mod edges;
mod fast_paths;
mod laws;
mod listing;
mod meaning;
mod several;
mod traces;
mod typed;

use super::*;
use crate::policy::fixture::told;
use crate::policy::{CheckBasis, PolicySnapshot, PolicySource};

/// A policy set in force, warnings allowed.
fn snapshot(text: &str) -> PolicySnapshot {
    let cedar = Cedar {
        warnings: WarningMode::Allow,
        ..Cedar::default()
    };
    let compiled = cedar.compile(&[source(text)]).unwrap_or_else(|errors| {
        let problems: Vec<String> = errors.problems.iter().map(ToString::to_string).collect();
        panic!("{text}\n{}", problems.join("\n"))
    });
    PolicySnapshot::new(vec![compiled.engine], vec![source(text)], compiled.policies)
        .without_sampling_terms()
}

/// A policy set in force that was never checked for types, to see what the evaluator then does.
fn unchecked(text: &str) -> PolicySnapshot {
    let words = Vocabulary::get().unwrap();
    let source = source(text);
    let sources = [source.clone()];
    let (drafts, _) = compile::parse(&words, &sources);
    let output = compile::index(&words, drafts, vec![]);
    let engine = CedarEngine::new(
        words,
        &Cedar::default(),
        output.rules,
        &sources,
        CheckedPolicies::default(),
    )
    .unwrap();
    PolicySnapshot::new(vec![Box::new(engine)], vec![source], output.policies)
        .without_sampling_terms()
}

/// `code: message` of each problem, warnings counted as errors.
fn problems(texts: &[&str]) -> Vec<String> {
    match Cedar::default().compile(&numbered(texts)) {
        Ok(_) => vec![],
        Err(errors) => errors
            .problems
            .iter()
            .map(|problem| format!("{}: {}", problem.code, problem.message))
            .collect(),
    }
}

fn numbered(texts: &[&str]) -> Vec<PolicySource> {
    let named = texts
        .iter()
        .enumerate()
        .map(|(number, text)| PolicySource::new(format!("{number}.cedar"), *text));
    named.collect()
}

fn source(text: &str) -> PolicySource {
    PolicySource::new("t.cedar", text)
}

fn judged(text: &str, facts: &Facts<'_>) -> String {
    told(&snapshot(text).judge(facts))
}
