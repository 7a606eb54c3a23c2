//! What a text has to hold for a pattern to match in it, taken from the pattern itself.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::guard::keywords::SHORTEST;

/// Strings, of which every match holds one.
pub(super) type RequiredStrings = BTreeSet<String>;

/// So many strings at most are looked for in the place of one part of a pattern.
const MOST: usize = 64;

/// So many characters at most are told apart in the place of one.
const MOST_CHARS: usize = 4;

/// Sets, of each of which every match holds one string; those that are likely to be rare come first.
pub(super) fn required(pattern: &Hir) -> Vec<RequiredStrings> {
    let mut found: Vec<RequiredStrings> = all(pattern)
        .into_iter()
        .map(|it| fewest(&it))
        .filter(is_of_use)
        .collect();
    found.sort_by(|one, other| likelihood(one).total_cmp(&likelihood(other)));
    found
}

fn all(pattern: &Hir) -> Vec<RequiredStrings> {
    if let Some(every) = spelt(pattern) {
        return vec![every];
    }
    match pattern.kind() {
        HirKind::Empty
        | HirKind::Look(_)
        | HirKind::Literal(_)
        | HirKind::Class(_)
        | HirKind::Repetition(Repetition { min: 0, .. }) => Vec::new(),
        HirKind::Repetition(Repetition { sub, .. }) => all(sub),
        HirKind::Capture(capture) => all(&capture.sub),
        HirKind::Concat(parts) => of_all(parts),
        HirKind::Alternation(choices) => {
            let best = choices.iter().map(|it| required(it).into_iter().next());
            let best: Option<Vec<RequiredStrings>> = best.collect();
            let either = best.map(|sets| sets.into_iter().flatten().collect());
            either.into_iter().collect()
        }
    }
}

/// Parts that follow each other and of which every string is known make longer ones.
fn of_all(parts: &[Hir]) -> Vec<RequiredStrings> {
    let mut found = Vec::new();
    let mut run = nothing();
    for part in parts {
        let longer = spelt(part).map(|next| (joined(&run, &next), next));
        match longer {
            Some((Some(longer), _)) => run = longer,
            Some((None, next)) => found.push(std::mem::replace(&mut run, next)),
            None => {
                found.push(std::mem::replace(&mut run, nothing()));
                found.extend(all(part));
            }
        }
    }
    found.push(run);
    found
}

/// Every string that it matches, if there are not too many.
fn spelt(pattern: &Hir) -> Option<RequiredStrings> {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(nothing()),
        HirKind::Literal(it) => str::from_utf8(&it.0).ok().map(alone),
        HirKind::Class(Class::Unicode(class)) => {
            let chars = class.ranges().iter().flat_map(|it| it.start()..=it.end());
            let few: Vec<char> = chars.take(MOST_CHARS + 1).collect();
            let strings = few.iter().flat_map(|it| alone(&it.to_string()));
            (few.len() <= MOST_CHARS).then(|| strings.collect())
        }
        HirKind::Class(Class::Bytes(_)) => None,
        HirKind::Repetition(Repetition { min, max, sub, .. }) => {
            let sub = spelt(sub)?;
            let mut power = nothing();
            let mut found = RequiredStrings::new();
            for times in 0..=(*max)? {
                if times >= *min {
                    found.extend(power.iter().cloned());
                }
                if times < (*max)? {
                    power = joined(&power, &sub)?;
                }
            }
            (found.len() <= MOST).then_some(found)
        }
        HirKind::Capture(capture) => spelt(&capture.sub),
        HirKind::Concat(parts) => parts
            .iter()
            .try_fold(nothing(), |run, part| joined(&run, &spelt(part)?)),
        HirKind::Alternation(choices) => {
            let sets: Option<Vec<RequiredStrings>> = choices.iter().map(spelt).collect();
            let every: RequiredStrings = sets?.into_iter().flatten().collect();
            (every.len() <= MOST).then_some(every)
        }
    }
}

/// The string that is in every text.
fn nothing() -> RequiredStrings {
    alone("")
}

/// As it is looked for: a line end is a blank.
fn alone(string: &str) -> RequiredStrings {
    [string.replace('\n', " ")].into()
}

fn joined(heads: &RequiredStrings, tails: &RequiredStrings) -> Option<RequiredStrings> {
    let pairs = heads
        .iter()
        .flat_map(|head| tails.iter().map(move |tail| [&**head, &**tail].concat()));
    (heads.len() * tails.len() <= MOST).then(|| pairs.collect())
}

/// Without strings that hold another one.
fn fewest(of: &RequiredStrings) -> RequiredStrings {
    let holds_another = |one: &String| {
        of.iter()
            .any(|other| other != one && one.contains(&**other))
    };
    of.iter()
        .filter(|one| !holds_another(one))
        .cloned()
        .collect()
}

fn is_of_use(of: &RequiredStrings) -> bool {
    of.iter().all(|it| it.len() >= SHORTEST)
}

/// Roughly: each letter more makes a string rarer.
fn likelihood(of: &RequiredStrings) -> f64 {
    let likely = |it: &String| 0.15_f64.powi(i32::try_from(it.len()).unwrap_or(i32::MAX));
    of.iter().map(likely).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expected: &[&[&str]]) {
        let found = required(&regex_syntax::parse(pattern).unwrap());
        let expected: Vec<RequiredStrings> = expected
            .iter()
            .map(|set| set.iter().map(|it| (*it).to_owned()).collect())
            .collect();
        assert_eq!(found, expected, "{pattern}");
    }

    #[test]
    fn what_every_match_holds_is_known_from_the_pattern() {
        check("secret", &[&["secret"]]);
        check(
            r"\b(keep|kept) secrets?\b",
            &[&["keep secret", "kept secret"]],
        );
        check(
            "files?( or|\\n)folders",
            &[&[
                "file folders",
                "file orfolders",
                "files folders",
                "files orfolders",
            ]],
        );
        check(
            "send.{0,9}(files|messages).{0,9}away",
            &[&["files", "messages"], &["send"], &["away"]],
        );
        check("(long one|.{3}other)", &[&["long one", "other"]]);
        check("ab[c\n]d", &[&["ab d", "abcd"]]);
        check("(abc){2,3}x", &[&["abcabcx"]]);
        check("(abcd){2,}", &[&["abcd"]]);
    }

    #[test]
    fn what_some_match_lacks_or_is_short_is_not_looked_for() {
        check("(abc)?", &[]);
        check("(abc)*", &[]);
        check("a.b", &[]);
        check("(long one|.{3})", &[]);
        check("(long one|ab)", &[]);
        check("[a-z]{9}", &[]);
    }
}
