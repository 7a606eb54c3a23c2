//! Comments in policies that say why no test can notice a change: a condition that only repeats what
//! another policy sees to, say.
//!
//! They stand where the reason holds, name the step that they are about, and cover that step at one
//! place. One that covers nothing is told, so that none outlives its reason.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::Arc;

use super::{Survivor, UnusedSuppression};
use crate::policy::engines::cedar::comments;
use crate::policy::{Mutant, MutantKind, PolicySource};

/// What an excuse begins with. The steps follow in parentheses, and behind a colon the reason.
const EXCUSE: &str = "no test can tell";

/// One comment.
pub(super) struct Suppression {
    file: Arc<str>,
    /// Where it stands, from 1.
    line: usize,
    /// The line that it is about: its own, or the next with a policy on it where it stands alone.
    about: usize,
    kinds: Vec<MutantKind>,
    reason: String,
    /// What is wrong with it as it is written.
    slip: Option<String>,
}

/// A change that makes a valid policy, and its survivor where no test notices it.
pub(super) struct TestedMutant {
    pub(super) spot: MutantLocation,
    pub(super) survivor: Option<Survivor>,
}

/// What excuses make of the changes that were tried.
#[derive(Default)]
pub(super) struct SortedMutants {
    pub(super) survivors: Vec<Survivor>,
    pub(super) excused: Vec<Survivor>,
    pub(super) needless: Vec<UnusedSuppression>,
}

/// All excuses of some files: those of the author's own policies.
pub(super) fn excuses(sources: &[PolicySource]) -> Vec<Suppression> {
    // Two servers may have the same files.
    let mut read = HashSet::new();
    let mut own: Vec<_> = sources.iter().filter(|source| is_own(source)).collect();
    own.retain(|source| read.insert(&source.name));
    own.into_iter().flat_map(of_source).collect()
}

/// Whether it holds policies in Cedar that an author wrote.
fn is_own(source: &PolicySource) -> bool {
    let name = &*source.name;
    let extension = Path::new(name).extension();
    !name.starts_with('<') && extension.is_some_and(|it| it == "cedar")
}

/// Gives each survivor its reason, if there is one.
pub(super) fn sort(excuses: &[Suppression], mut tried: Vec<TestedMutant>) -> SortedMutants {
    let mut sorted = SortedMutants::default();
    for excuse in excuses {
        for why in excuse.cover(&mut tried) {
            sorted.needless.push(UnusedSuppression {
                file: Arc::clone(&excuse.file),
                line: excuse.line,
                why,
            });
        }
    }
    for survivor in tried.into_iter().filter_map(|change| change.survivor) {
        if survivor.reason.is_some() {
            sorted.excused.push(survivor);
        } else {
            sorted.survivors.push(survivor);
        }
    }
    sorted
}

impl Suppression {
    /// Excuses the changes that it is about. What is wrong with it, for each of its steps.
    fn cover(&self, tried: &mut [TestedMutant]) -> Vec<String> {
        if let Some(slip) = &self.slip {
            return vec![slip.clone()];
        }
        let wrong = self.kinds.iter().filter_map(|kind| {
            let mut meant: Vec<&mut TestedMutant> = tried
                .iter_mut()
                .filter(|change| change.spot.is_on(&self.file, self.about, *kind))
                .collect();
            let first = meant.first().map(|change| change.spot.place.clone());
            let elsewhere = |change: &&mut TestedMutant| Some(&change.spot.place) != first.as_ref();
            let kind = kind.word();
            if meant.is_empty() {
                return Some(format!("no `{kind}` that could be changed begins there"));
            }
            if meant.iter().any(elsewhere) {
                return Some(format!(
                    "more than one `{kind}` could be meant: put each on a line of its own"
                ));
            }
            let mut survivors = meant
                .iter_mut()
                .filter_map(|change| change.survivor.as_mut())
                .peekable();
            if survivors.peek().is_none() {
                return Some(format!("a test notices every change of `{kind}`"));
            }
            for survivor in survivors {
                survivor.reason = Some(self.reason.clone());
            }
            None
        });
        wrong.collect()
    }
}

fn of_source(source: &PolicySource) -> Vec<Suppression> {
    let text = &*source.text;
    let comments = comments(text);
    let excuse = |span: &Range<usize>| {
        let written = text.get(span.clone())?.trim_start_matches('/').trim();
        let (kinds, reason) = read(written.strip_prefix(EXCUSE)?.trim_start())?;
        let line = line_of(text, span.start);
        let before = text.get(..span.start)?;
        let alone = before
            .rsplit('\n')
            .next()
            .is_none_or(|it| it.trim().is_empty());
        let (kinds, slip) = match kinds {
            Ok(kinds) if !reason.is_empty() => (kinds, None),
            Ok(kinds) => (kinds, Some("it gives no reason".to_owned())),
            Err(slip) => (Vec::new(), Some(slip)),
        };
        Some(Suppression {
            file: Arc::clone(&source.name),
            line,
            about: if alone {
                line_of(text, next_word(text, &comments, span.end))
            } else {
                line
            },
            kinds,
            reason: reason.to_owned(),
            slip,
        })
    };
    comments.iter().filter_map(excuse).collect()
}

/// The steps and the reason; `None` where the words are the beginning of something else.
fn read(rest: &str) -> Option<(Result<Vec<MutantKind>, String>, &str)> {
    if let Some(reason) = rest.strip_prefix(':') {
        let words = words();
        let slip = format!(
            "it names no step, as in `({})`; known: {words}",
            MutantKind::Condition.word()
        );
        return Some((Err(slip), reason.trim()));
    }
    let (named, reason) = rest.strip_prefix('(')?.split_once(')')?;
    let reason = reason.trim_start().strip_prefix(':')?.trim();
    let kinds = named.split(',').map(|word| {
        let word = word.trim();
        let mut all = MutantKind::ALL.into_iter();
        let known = all.find(|kind| kind.word() == word);
        known.ok_or_else(|| format!("no step is called `{word}`; known: {}", words()))
    });
    Some((kinds.collect(), reason))
}

fn words() -> String {
    MutantKind::ALL
        .map(|kind| format!("`{}`", kind.word()))
        .join(", ")
}

/// Where the first word of a policy behind a place stands, past white space and comments.
fn next_word(text: &str, comments: &[Range<usize>], from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += rest.len() - rest.trim_start().len();
        match comments.iter().find(|comment| comment.start == at) {
            Some(comment) => at = comment.end,
            None => return at,
        }
    }
}

/// From 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.bytes().take(at);
    1 + before.filter(|byte| *byte == b'\n').count()
}

/// Where a change stands.
#[derive(Debug)]
pub(super) struct MutantLocation {
    file: Arc<str>,
    kind: MutantKind,
    /// From 1.
    lines: RangeInclusive<usize>,
    /// Where the part begins that is changed.
    part: usize,
    /// The part that is changed, in bytes: changes of one kind and one place are of one thing.
    place: Range<usize>,
}

impl MutantLocation {
    pub(super) fn of(mutant: &Mutant) -> Self {
        let rule = &mutant.rule;
        let text = &*rule.source;
        let whole = matches!(mutant.kind, MutantKind::Policy | MutantKind::Effect);
        let place = if whole { &rule.span } else { &mutant.part };
        // A policy is named anywhere before what its head asks, an element by itself as well.
        let lines = if whole {
            line_of(text, place.start)..=line_of(text, rule.head)
        } else {
            let own = line_of(text, mutant.span.start);
            own..=own
        };
        Self {
            file: Arc::clone(&rule.file),
            kind: mutant.kind,
            lines,
            part: line_of(text, place.start),
            place: place.clone(),
        }
    }

    /// Whether a comment about a line of a file means it.
    fn is_on(&self, file: &str, line: usize, kind: MutantKind) -> bool {
        let here = self.lines.contains(&line) || self.part == line;
        *self.file == *file && self.kind == kind && here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The excuses of a text: the line of each, the line that it is about, its steps or what is
    /// wrong with it.
    fn check(text: &str, expected: &[(usize, usize, &str)]) {
        let source = PolicySource::new("p.cedar", text);
        let found = excuses(&[source.clone(), source]);
        let told = |excuse: &Suppression| {
            let kinds = excuse.kinds.iter().map(|kind| kind.word());
            kinds
                .chain(excuse.slip.as_deref())
                .collect::<Vec<_>>()
                .join("+")
        };
        let found: Vec<_> = found
            .iter()
            .map(|excuse| (excuse.line, excuse.about, told(excuse)))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(line, about, told)| (*line, *about, (*told).to_owned()))
            .collect();
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            let same = found.2.starts_with(&expected.2) && !expected.2.is_empty();
            assert!(
                same && (found.0, found.1) == (expected.0, expected.1),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn an_excuse_is_a_comment_that_names_a_step_and_a_reason() {
        check(
            "a // no test can tell (condition): r",
            &[(1, 1, "condition")],
        );
        check(
            "// no test can tell (condition, negation): r\n\n// more\n  b",
            &[(1, 4, "condition+negation")],
        );
        check("// no test can tell: r\nb", &[(1, 2, "it names no step")]);
        check(
            "// no test can tell (conditoin): r\nb",
            &[(1, 2, "no step is called `conditoin`")],
        );
        check(
            "// no test can tell (policy):\nb",
            &[(1, 2, "policy+it gives no reason")],
        );
        check(
            "a\r\n\t//no test can tell (bound): r\r\nb",
            &[(2, 3, "bound")],
        );
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        check("\"// no test can tell (policy): r\"", &[]);
        check("\"\\\"// no test can tell (policy): r\"", &[]);
        check("// see // no test can tell (policy): r", &[]);
        check("// no test can tell whether (policy): r", &[]);
    }
}
