//! What a package has lost. A rule holds if any of its bodies does, so each that is gone opens what
//! it closed, and no name has to be missing.

use std::collections::BTreeMap;

use super::functions::{Segment, segments};
use super::tokens::{RegoToken, tokens};
use crate::policy::PolicySource;

/// Bodies that are gone, and rules at the end of a file that look as if they were cut.
pub(super) fn lost(old: &[PolicySource], new: &[PolicySource]) -> Vec<String> {
    let (then, now) = (words(old), words(new));
    let mut left: BTreeMap<RequiredPart<'_>, usize> = BTreeMap::new();
    for part in now.iter().flat_map(|(_, tokens)| parts(tokens)) {
        let count = left.entry(part).or_default();
        *count = count.saturating_add(1);
    }
    let mut lost = Vec::new();
    for (source, tokens) in &then {
        for part in parts(tokens) {
            match left.get_mut(&part).filter(|count| **count > 0) {
                Some(count) => *count = count.saturating_sub(1),
                None => lost.push(format!(
                    "`{}`: {} is in force and is not there",
                    source.name,
                    part.told()
                )),
            }
        }
    }
    let then: Vec<Segment<'_>> = then.iter().flat_map(|(_, it)| segments(it)).collect();
    let ends = now.iter().filter_map(|(source, tokens)| {
        let end = segments(tokens).pop()?;
        is_cut(source, &end, &then).then(|| {
            let name = end.name;
            format!("`{}`: the rule `{name}` at its end may be cut", source.name)
        })
    });
    lost.extend(ends);
    lost
}

type Words<'s> = (&'s PolicySource, Vec<RegoToken<'s>>);

fn words(sources: &[PolicySource]) -> Vec<Words<'_>> {
    let sources = sources.iter();
    sources
        .map(|source| (source, tokens(&source.text)))
        .collect()
}

/// What must be there as often as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RequiredPart<'t> {
    /// Also one after `else`.
    Body(&'t str),
    Default(&'t str),
}

impl RequiredPart<'_> {
    fn told(self) -> String {
        match self {
            Self::Body(name) => format!("a body of the rule `{name}`"),
            Self::Default(name) => format!("the default of the rule `{name}`"),
        }
    }
}

fn parts<'t>(tokens: &'t [RegoToken<'t>]) -> Vec<RequiredPart<'t>> {
    let mut parts = Vec::new();
    for Segment { name, tokens } in segments(tokens) {
        if ["package", "import"].contains(&name) {
            continue;
        }
        if tokens.first().is_some_and(|first| first.is("default")) {
            parts.push(RequiredPart::Default(name));
            continue;
        }
        let bodies = further_bodies(tokens).saturating_add(1);
        parts.extend(std::iter::repeat_n(RequiredPart::Body(name), bodies));
    }
    parts
}

/// Those after `else`, and those that begin where another one ends.
fn further_bodies(tokens: &[RegoToken<'_>]) -> usize {
    let mut depth = 0_usize;
    let mut bodies = 0_usize;
    let mut before: Option<&RegoToken<'_>> = None;
    for token in tokens {
        let follows = token.is("{") && before.is_some_and(|before| before.is("}"));
        if depth == 0 && (token.is("else") || follows) {
            bodies = bodies.saturating_add(1);
        }
        if ["(", "[", "{"].iter().any(|sign| token.is(sign)) {
            depth = depth.saturating_add(1);
        } else if [")", "]", "}"].iter().any(|sign| token.is(sign)) {
            depth = depth.saturating_sub(1);
        }
        before = Some(token);
    }
    bodies
}

/// Whether the last rule of a file, unless it was there in the same words, is the beginning of one
/// that was, or stands on a line that has no end.
fn is_cut(source: &PolicySource, last: &Segment<'_>, then: &[Segment<'_>]) -> bool {
    let words = |rule: &Segment<'_>| -> Vec<String> {
        let tokens = rule.tokens.iter();
        tokens.map(|token| token.text.to_owned()).collect()
    };
    let now = words(last);
    let then: Vec<_> = then.iter().map(words).collect();
    if then.contains(&now) {
        return false;
    }
    let begins = then.iter().any(|then| then.starts_with(&now));
    let end = last.tokens.last().map_or(0, |it| it.at + it.text.len());
    let rest = source.text.get(end..).unwrap_or_default();
    begins || !rest.contains('\n')
}
