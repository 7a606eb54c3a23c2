//! Roots that an agent tells its server, for whoever is asked whether the server may know them.

use crate::session::Session;
use crate::wire::{KnownMethod, Side, Value};

use crate::gate::classified::{Identified, Role};
use crate::gate::guises::roots_of;

/// Remembers what an agent says of its roots, as an answer or among the answers that a request brings,
/// and forgets it when they change. Of agents that know nothing of each other it is not told whose they
/// are.
pub(in crate::gate) fn note_roots(identified: &Identified<'_>, session: &Session) {
    if identified.from == Side::Upstream || session.is_shared() {
        return;
    }
    let message = identified.message;
    let asking = &mut session.state().waiting.asking;
    match &identified.role {
        Role::Reply(taken) if taken.exchange.method == KnownMethod::RootsList => {
            asking.tells_roots(uris_of(message.result()));
        }
        Role::Notification {
            method: KnownMethod::RootsListChanged,
        } => asking.tells_roots(Vec::new()),
        Role::Request { .. } => {
            let answers = message.params().and_then(|it| it.get("inputResponses"));
            let mut answers = answers.into_iter().flat_map(Value::entries);
            if let Some((_, answer)) = answers.find(|(_, it)| it.get("roots").is_some()) {
                asking.tells_roots(uris_of(Some(answer)));
            }
        }
        Role::Reply(_) | Role::Notification { .. } => {}
    }
}

fn uris_of(answer: Option<Value<'_>>) -> Vec<String> {
    let uris = roots_of(answer).filter_map(Value::as_str);
    uris.map(std::borrow::Cow::into_owned).collect()
}
