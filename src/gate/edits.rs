//! What filters want changed in a message.

use crate::audit::Finding;
use crate::guard::text::HiddenKinds;
use crate::wire::{Fragment, Value};

use super::user_identity::ShownIdentity;

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

/// A string that says something else from here on.
#[derive(Debug)]
pub(super) struct Cleaned<'m> {
    pub(super) value: Value<'m>,
    pub(super) without: String,
    pub(super) removed: HiddenKinds,
}

/// The edits that filters ask for in one message, and their findings.
#[derive(Debug, Default)]
pub(super) struct EditPlan<'m> {
    pub(super) removals: Vec<Removal<'m>>,
    pub(super) rewrites: Vec<Rewrite<'m>>,
    pub(super) texts: Vec<Cleaned<'m>>,
    pub(super) findings: Vec<Finding>,
    /// What shows the server the user of the message.
    pub(super) user: ShownIdentity,
    /// The number of bytes beyond which the gate shortens a result; `None` if it shortens none.
    pub(super) shortened_over: Option<usize>,
}
