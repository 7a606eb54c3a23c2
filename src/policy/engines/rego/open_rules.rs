//! Decisions that allow whatever is asked, by their words alone.

use std::collections::BTreeSet;

use super::super::is_rego;
use super::functions::{Segment, segments};
use super::tokens::{RegoToken, TokenKind, tokens};
use crate::policy::PolicySource;
use crate::policy::engines::open_rule::OpenRule;

/// One value of a rule, and on which condition it is that.
struct Clause<'t> {
    value: &'t [RegoToken<'t>],
    condition: Option<&'t [RegoToken<'t>]>,
}

/// Values of `decision` that allow without a condition. Only an evaluation could find the others.
pub(in crate::policy::engines) fn open_permits(sources: &[PolicySource]) -> Vec<OpenRule<'_>> {
    let files = sources.iter().filter(|source| is_rego(&source.name));
    let files: Vec<_> = files.map(|it| (it, tokens(&it.text))).collect();
    let rules: Vec<_> = files
        .iter()
        .flat_map(|(source, tokens)| segments(tokens).into_iter().map(move |it| (*source, it)))
        .collect();
    let constants = rules.iter().filter(|(_, rule)| is_constant(rule));
    let constants: BTreeSet<&str> = constants.map(|(_, rule)| rule.name).collect();
    let is_true = |tokens: &[RegoToken<'_>]| match tokens {
        [one] => one.is("true") || one.kind == TokenKind::Word && constants.contains(one.text),
        _ => false,
    };
    let mut found = Vec::new();
    for (source, rule) in rules.iter().filter(|(_, rule)| rule.name == "decision") {
        for clause in clauses(rule.tokens) {
            let has = |key| member(clause.value, key).is_some_and(is_true);
            let ends = (clause.value.first(), clause.value.last());
            if let (true, true, false, (Some(first), Some(last))) =
                (clause.always(), has("allow"), has("deny"), ends)
            {
                found.push(OpenRule {
                    source,
                    place: first.at..last.at + last.text.len(),
                });
            }
        }
    }
    found
}

/// `name := true`, also as a default.
fn is_constant(rule: &Segment<'_>) -> bool {
    let all = clauses(rule.tokens);
    let is_true = |clause: &Clause<'_>| matches!(clause.value, [one] if one.is("true"));
    all.iter().any(|clause| clause.always() && is_true(clause))
}

/// What a rule and its `else` come to.
fn clauses<'t>(tokens: &'t [RegoToken<'t>]) -> Vec<Clause<'t>> {
    let flat = outside(tokens);
    let is_else = |at: &&usize| tokens.get(**at).is_some_and(|token| token.is("else"));
    let starts: Vec<usize> = [0]
        .into_iter()
        .chain(flat.iter().filter(is_else).copied())
        .collect();
    let ends = starts.iter().copied().skip(1).chain([tokens.len()]);
    let pieces = starts.iter().copied().zip(ends);
    let clause = |(start, end): (usize, usize)| {
        let within = |word: &[&str]| {
            let mut flat = flat.iter().copied().filter(|at| (start..end).contains(at));
            flat.find(|at| {
                tokens
                    .get(*at)
                    .is_some_and(|it| word.iter().any(|word| it.is(word)))
            })
        };
        let condition = within(&["if"]);
        let value = within(&[":=", "="])?;
        Some(Clause {
            value: tokens.get(value + 1..condition.unwrap_or(end))?,
            condition: condition.and_then(|at| tokens.get(at + 1..end)),
        })
    };
    pieces.filter_map(clause).collect()
}

impl Clause<'_> {
    fn always(&self) -> bool {
        match self.condition {
            None => true,
            Some([one]) => one.is("true"),
            Some([open, one, close]) => open.is("{") && one.is("true") && close.is("}"),
            Some(_) => false,
        }
    }
}

/// The value of a key of an object that is written out.
fn member<'t>(object: &'t [RegoToken<'t>], key: &str) -> Option<&'t [RegoToken<'t>]> {
    let [open, inside @ .., close] = object else {
        return None;
    };
    if !open.is("{") || !close.is("}") {
        return None;
    }
    let flat = outside(inside);
    let commas: Vec<usize> = flat
        .into_iter()
        .filter(|at| inside.get(*at).is_some_and(|token| token.is(",")))
        .collect();
    let starts = [0].into_iter().chain(commas.iter().map(|at| at + 1));
    let ends = commas.iter().copied().chain([inside.len()]);
    let mut members = starts
        .zip(ends)
        .filter_map(|(start, end)| inside.get(start..end));
    members.find_map(|member| match member {
        [name, colon, value @ ..] if colon.is(":") => {
            (name.plain_string() == Some(key)).then_some(value)
        }
        _ => None,
    })
}

/// The places of what stands in no brackets.
fn outside(tokens: &[RegoToken<'_>]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::Sign && matches!(token.text, ")" | "]" | "}") {
            depth = depth.saturating_sub(1);
        } else if token.kind == TokenKind::Sign && matches!(token.text, "(" | "[" | "{") {
            depth += 1;
        } else if depth == 0 {
            found.push(at);
        }
    }
    found
}
