//! What a server says to a model when a session begins, or when it is discovered.

use crate::policy::{Pinning, PolicySnapshot};
use crate::wire::{KnownMethod, Value};

use super::classified::Role;
use super::drift::Drift;
use super::edits::Removal;
use super::pin::Pins;
use super::query::Understood;

/// The instructions of a result, if they are not those that were approved, or seen first.
pub(super) fn unapproved<'m>(
    understood: &Understood<'m>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
) -> Option<(Removal<'m>, Drift<'m>)> {
    let Role::Reply(taken) = &understood.identified.role else {
        return None;
    };
    let opens = may_come_with(taken.exchange.method);
    let result = understood.identified.message.result().filter(|_| opens)?;
    let given = result.get("instructions")?;
    if is_approved(given, snapshot, pins) {
        return None;
    }
    let removal = Removal {
        item: given,
        pointer: "/result/instructions".to_owned(),
        because: "not the instructions that were approved".to_owned(),
    };
    Some((removal, Drift::of_instructions(given)))
}

/// Whether the result of this method may have instructions.
pub(super) fn may_come_with(method: KnownMethod) -> bool {
    matches!(method, KnownMethod::Initialize | KnownMethod::Discover)
}

fn is_approved(given: Value<'_>, snapshot: &PolicySnapshot, pins: Pins<'_>) -> bool {
    let lock = snapshot.lock();
    let text = given.as_str();
    match (lock.mode(), lock.words()) {
        (Pinning::Off, _) | (Pinning::Enforce | Pinning::Locked, None) => true,
        (Pinning::Enforce | Pinning::Locked | Pinning::TrustOnFirstUse, Some(words)) => {
            text.is_some() && text.as_deref() == words.instructions().map(|it| &**it)
        }
        (Pinning::TrustOnFirstUse, None) => {
            text.is_some_and(|text| pins.seen.has_same_instructions(&text))
        }
    }
}
