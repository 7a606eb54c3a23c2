//! The text of a configuration as errors may show it: structure, but no secrets.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// The text with every character replaced that is not known to be harmless, by `*` as a rule.
///
/// Reports end up in terminals, journals and build logs, so a value is shown only when its field
/// cannot hold a secret; comments, unknown keys' values and whatever the parser could not read
/// are not. The length of what is hidden shows, which keeps the places of labels right.
pub(super) struct ConcealedText {
    /// The files that it was read from, in order.
    pieces: Vec<TextPiece>,
    text: String,
}

/// Where a piece of the text begins, and the file that reports name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextPiece {
    pub(super) start: usize,
    pub(super) name: String,
}

/// What of a text is known to be harmless, besides punctuation.
pub(super) struct VisibleText<'w> {
    /// The vocabulary of the format, wherever it stands outside of strings.
    pub(super) words: &'w BTreeSet<&'static str>,
    /// The insides of strings, which are hidden whatever they hold, …
    pub(super) strings: &'w [Range<usize>],
    /// … and the places that are shown nevertheless.
    pub(super) places: &'w [Range<usize>],
}

impl ConcealedText {
    pub(super) fn new(pieces: &[TextPiece], text: &str, visible: &VisibleText<'_>) -> Self {
        let mut harmless: Vec<bool> = text.bytes().map(is_structure).collect();
        let vocabulary = word_ranges(text).filter(|word| {
            text.get(word.clone())
                .is_some_and(|word| visible.words.contains(word))
        });
        let mut mark = |place: Range<usize>, value| {
            if let Some(bytes) = harmless.get_mut(place) {
                bytes.fill(value);
            }
        };
        vocabulary.for_each(|place| mark(place, true));
        visible
            .strings
            .iter()
            .for_each(|place| mark(place.clone(), false));
        references(text)
            .chain(visible.places.iter().cloned())
            .for_each(|place| mark(place, true));
        let show = |(at, c)| {
            if harmless.get(at) == Some(&true) {
                c
            } else {
                stand_in(c)
            }
        };
        Self {
            pieces: pieces.to_vec(),
            text: text.char_indices().map(show).collect(),
        }
    }

    /// What may be shown of a line that a place is on, and where it stands: file and line, from 1.
    pub(super) fn line(&self, offset: usize) -> Option<(&str, usize, &str)> {
        let (file, line, _) = self.position(offset)?;
        let start = line_start(self.text.get(..offset)?);
        let text = self.text.get(start..)?.lines().next().unwrap_or_default();
        Some((file, line.saturating_add(1), text))
    }

    /// The file of a byte, and its line and column there (in characters), both from 0.
    fn position(&self, offset: usize) -> Option<(&str, usize, usize)> {
        let mut pieces = self.pieces.iter().rev();
        let piece = pieces.find(|piece| piece.start <= offset);
        let (start, name) = piece.map_or((0, ""), |piece| (piece.start, &piece.name));
        let before = self.text.get(start..offset)?;
        let line = before.matches('\n').count();
        let column = before.get(line_start(before)..)?.chars().count();
        Some((name, line, column))
    }
}

/// Shows only the lines that a label is on: neighbours add nothing once their values are hidden.
impl SourceCode for ConcealedText {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let mut start = span.offset();
        let mut end = start
            .checked_add(span.len())
            .ok_or(MietteError::OutOfBounds)?;
        if context_lines_before > 0 || context_lines_after > 0 {
            // Without context, the reporter asks where the span is, not how its lines look.
            start = line_start(self.text.get(..start).ok_or(MietteError::OutOfBounds)?);
            let after = self.text.get(end..).ok_or(MietteError::OutOfBounds)?;
            end = end.saturating_add(after.find('\n').unwrap_or(after.len()));
        }
        let contents = self.text.get(start..end).ok_or(MietteError::OutOfBounds)?;
        let (name, line, column) = self.position(start).ok_or(MietteError::OutOfBounds)?;
        Ok(Box::new(MietteSpanContents::new_named(
            name.to_owned(),
            contents.as_bytes(),
            SourceSpan::from(start..end),
            line,
            column,
            contents.matches('\n').count().saturating_add(1),
        )))
    }
}

impl fmt::Debug for ConcealedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snippets({:?})", self.pieces)
    }
}

fn line_start(before: &str) -> usize {
    before
        .rfind('\n')
        .map_or(0, |newline| newline.saturating_add(1))
}

fn is_structure(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"[]{}=,.\"'#".contains(&byte)
}

/// Each `${NAME}`, which names a secret at most. The rest of its string stays hidden.
fn references(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("${").filter_map(|(start, _)| {
        let after = text.get(start.saturating_add(2)..)?;
        let (name, _) = after.split_once('}')?;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| start..start.saturating_add(name.len()).saturating_add(3))
    })
}

/// A character of the same length in UTF-8, so that byte ranges stay right.
fn stand_in(c: char) -> char {
    match c.len_utf8() {
        1 => '*',
        2 => '·',
        3 => '•',
        _ => '🔒',
    }
}

/// Maximal runs of the characters of a bare key.
fn word_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_separator = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let mut next = 0_usize;
    text.split_inclusive(is_separator).map(move |piece| {
        let start = next;
        next = next.saturating_add(piece.len());
        start..start.saturating_add(piece.trim_end_matches(is_separator).len())
    })
}
