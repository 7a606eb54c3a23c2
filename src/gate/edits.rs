//! What filters want changed in a message.

use crate::wire::{Fragment, Value};

/// An item that a list does not show, and why.
#[derive(Debug)]
pub(super) struct Removal<'m> {
    pub(super) item: Value<'m>,
    /// Where it was (RFC 6901).
    pub(super) pointer: String,
    pub(super) because: String,
}

/// A hint that says something else from here on, and why.
#[derive(Debug)]
pub(super) struct Rewrite<'m> {
    pub(super) value: Value<'m>,
    pub(super) with: Fragment,
    /// Where it stands (RFC 6901).
    pub(super) pointer: &'static str,
    pub(super) because: &'static str,
}
