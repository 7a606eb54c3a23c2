//! The texts and contents that replace those of a result that is too large.

use crate::audit;
use crate::guard::Preset;
use crate::wire::{Fragment, Value};

use crate::gate::shortening::{Output, Shortening};

/// What is said instead of a result that is too large.
#[derive(Debug, Default)]
pub(in crate::gate) struct Shorter<'m> {
    /// Texts.
    pub(in crate::gate) said: Vec<(Value<'m>, String)>,
    /// Structured content.
    pub(in crate::gate) replaced: Vec<(Value<'m>, Fragment)>,
    /// Blocks of which nothing is shown.
    pub(in crate::gate) removed: Vec<Value<'m>>,
    pub(in crate::gate) notes: Vec<Note>,
}

/// The note of one change for the audit.
#[derive(Debug)]
pub(in crate::gate) struct Note {
    /// Where it is (RFC 6901).
    pub(in crate::gate) pointer: String,
    /// How much there was.
    pub(in crate::gate) bytes: usize,
    pub(in crate::gate) op: audit::EditOp,
}

/// A block of content with a text.
pub(super) struct Block<'m> {
    pub(super) whole: Value<'m>,
    pub(super) text: Value<'m>,
    pub(super) place: String,
    pub(super) says: String,
}

/// How the answers of one tool are shortened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool<'s> {
    pub(super) shortening: Shortening<'s>,
    pub(super) preset: Preset,
    pub(super) output: Output<'s>,
}
