//! Carries out what an allowance obliges to. The only code that edits a message.

use crate::audit;
use crate::policy::Obligation;
use crate::wire::{Edits, Message, Value};

use super::decide::{Allowed, Permit};
use super::route::Route;

/// A message as it will be sent, and what was changed in it for the audit.
#[derive(Debug)]
pub(super) struct Obliged {
    pub(super) permit: Permit,
    pub(super) edits: Vec<audit::Edit>,
    pub(super) obligations: Vec<String>,
}

/// An item that a list does not show, and why.
#[derive(Debug)]
pub(super) struct Removal<'m> {
    pub(super) item: Value<'m>,
    /// Where it was (RFC 6901).
    pub(super) pointer: String,
    pub(super) because: String,
}

/// Applies obligations, removals and ids to a message, in that order, and seals it.
pub(super) fn oblige<'m>(
    message: &'m Message,
    allowed: Allowed,
    removals: Vec<Removal<'m>>,
    route: &mut Route<'m>,
) -> Obliged {
    let mut edits: Edits<'m> = message.edits();
    let mut notes = Vec::with_capacity(removals.len());
    let mut obligations = Vec::new();
    for obligation in allowed
        .allowances
        .iter()
        .flat_map(|allowance| &allowance.obligations)
    {
        match obligation {
            // A note for the audit changes nothing in the message.
            Obligation::Annotate(note) => obligations.push(note.to_string()),
        }
    }
    for removal in removals {
        edits.remove(removal.item);
        notes.push(audit::Edit {
            pointer: removal.pointer.into(),
            change: audit::Change::Removed,
            because: Some(removal.because.into()),
        });
    }
    for (value, id) in route.ids.drain(..) {
        edits.replace(value, id);
    }
    Obliged {
        permit: allowed.seal(edits),
        edits: notes,
        obligations,
    }
}
