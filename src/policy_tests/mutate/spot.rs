//! Where a change stands, as a comment beside it may mean it.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::excuses::line_of;
use crate::policy::{Mutant, MutantKind};

/// Where a change stands.
#[derive(Debug)]
pub(super) struct Spot {
    file: Arc<str>,
    kind: MutantKind,
    /// From 1.
    lines: RangeInclusive<usize>,
    /// Where the part begins that is changed.
    part: usize,
    /// The part that is changed, in bytes: changes of one kind and one place are of one thing.
    pub(super) place: Range<usize>,
}

impl Spot {
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
    pub(super) fn is_on(&self, file: &str, line: usize, kind: MutantKind) -> bool {
        let here = self.lines.contains(&line) || self.part == line;
        *self.file == *file && self.kind == kind && here
    }
}
