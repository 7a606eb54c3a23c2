//! Where a change stands, as a comment beside it may mean it.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::excuses::line_of;
use crate::policy::{Mutant, MutantKind, PolicyOutline};

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
    pub(super) fn of(mutant: &Mutant, outline: &PolicyOutline) -> Self {
        let text = &*outline.source;
        let whole = matches!(mutant.kind, MutantKind::Policy | MutantKind::Effect);
        let around =
            |part: &&Range<usize>| part.start <= mutant.span.start && mutant.span.end <= part.end;
        let parts = outline.parts.iter().map(|part| &part.span);
        let smallest = parts.filter(around).min_by_key(|part| part.len());
        let place = smallest.filter(|_| !whole).unwrap_or(&outline.span).clone();
        // A policy is named anywhere before what its head asks, an element by itself as well.
        let lines = if whole {
            let head = outline
                .parts
                .first()
                .map_or(place.start, |part| part.span.start);
            line_of(text, place.start)..=line_of(text, head)
        } else {
            let own = line_of(text, mutant.span.start);
            own..=own
        };
        Self {
            file: Arc::clone(&mutant.file),
            kind: mutant.kind,
            lines,
            part: line_of(text, place.start),
            place,
        }
    }

    /// Whether a comment about a line of a file means it.
    pub(super) fn is_on(&self, file: &str, line: usize, kind: MutantKind) -> bool {
        let here = self.lines.contains(&line) || self.part == line;
        *self.file == *file && self.kind == kind && here
    }
}
