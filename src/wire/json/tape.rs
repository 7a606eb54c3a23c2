//! The flat tape: one node per value, in document order.

use std::fmt;
use std::ops::Range;

/// What a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// Whether a string token can be borrowed as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Escapes {
    None,
    Some,
    /// At least one `\uD800`…`\uDFFF` without its other half: no Unicode text.
    LoneSurrogate,
}

/// One value. Positions are bytes of the compact text; `u32` because a tape is read far more often
/// than it is made, and 20 bytes a node is what a small message's tape has to fit the cache with.
#[derive(Debug, Clone, Copy)]
pub(super) struct TapeNode {
    /// Where the key's opening quote is; equal to `start` when the value has no key.
    pub(super) key: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The index of the first node after this value's subtree.
    /// While a container is still open during the scan: the index of its parent.
    pub(super) next: u32,
    pub(super) kind: JsonKind,
    pub(super) escapes: Escapes,
    pub(super) key_escapes: Escapes,
}

impl TapeNode {
    /// The value of an empty tape. INVARIANT: `scan` returns at least one node, so no caller receives it;
    /// it exists because the path of a message must not panic.
    pub(super) const NULL: TapeNode = TapeNode {
        key: 0,
        start: 0,
        end: 0,
        next: 1,
        kind: JsonKind::Null,
        escapes: Escapes::None,
        key_escapes: Escapes::None,
    };

    pub(super) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The key and its value, or the value alone.
    pub(super) fn member_range(&self) -> Range<usize> {
        self.key as usize..self.end as usize
    }

    /// What stands between the key's quotes. The compact text of a member is `"key":value`.
    pub(super) fn key_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        if self.key == self.start {
            return None;
        }
        text.get(self.key as usize + 1..(self.start as usize).saturating_sub(2))
    }
}

/// Cuts one token out of a text.
/// INVARIANT: all ranges come from the scan of this very text and lie on token borders, which are
/// character borders; the empty string is never seen.
pub(super) fn slice(text: &str, range: Range<usize>) -> &str {
    debug_assert!(
        text.get(range.clone()).is_some(),
        "a token lies in its text"
    );
    text.get(range).unwrap_or_default()
}
