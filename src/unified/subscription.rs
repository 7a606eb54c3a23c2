//! Subscriptions at several servers (`subscriptions/listen`, since 2026-07-28).

use super::open_requests::Outcome;
use super::session::UnifiedSession;
use super::subscribed_names::{FOLLOWED, own_followed, subscription_of};
use crate::gate::{Agent, Permit, Rejection};
use crate::wire::{Id, KnownMethod, Message, Stream, Value};

impl<A: Agent> UnifiedSession<A> {
    /// Each list of names in a subscription, and whose they are.
    pub(super) fn followed<'m>(
        &self,
        message: &'m Message,
        method: KnownMethod,
    ) -> Result<Vec<Followed<'m>>, Rejection> {
        let mut followed = Vec::new();
        if method != KnownMethod::SubscriptionsListen {
            return Ok(followed);
        }
        for key in FOLLOWED {
            let list = message
                .params()
                .and_then(|it| it.at(&["notifications", key]));
            let Some(list) = list else { continue };
            let mut names = Vec::new();
            for item in list.items() {
                let shown = item.as_str().unwrap_or_default();
                let own = own_followed(key, &shown, &self.names());
                names.push(own.ok_or_else(|| Rejection::unrouted(method.name(), &shown))?);
            }
            followed.push((list, names));
        }
        Ok(followed)
    }

    /// The server has taken its part of a subscription.
    pub(super) fn acknowledged(&self, server: usize, message: Message, permit: Permit) -> Outcome {
        let mut state = self.state();
        let stream = permit.passage().stream;
        let key = subscription_of(&message).map(|id| self.key(stream, &id));
        let mut outcome = Outcome::default();
        if let Some(fan_out) = key.and_then(|key| state.fan_out(&key)) {
            fan_out.acknowledge(server, message, permit);
            outcome.permits = fan_out.acknowledgement(&self.names());
        }
        outcome
    }

    /// A server ends its part of what it was asked with others: the agent learns of it with the last one. `None`
    /// if the message is not that.
    pub(super) fn left(
        &self,
        server: usize,
        stream: Stream,
        id: &Id,
        permit: &Permit,
    ) -> Option<Outcome> {
        let key = self.key(stream, id);
        let mut state = self.state();
        // A question of the server's may have the same id.
        state
            .requests
            .get(&key)
            .filter(|it| it.method == KnownMethod::SubscriptionsListen)?;
        let fan_out = state.fan_out(&key)?;
        let mut outcome = Outcome::default();
        fan_out.lose(server);
        if fan_out.open.is_empty() {
            state.requests.remove(&key);
            let carried = permit.passage().carried.clone();
            outcome
                .permits
                .push(permit.translated(permit.line().to_owned(), carried));
        } else {
            outcome.permits = fan_out.acknowledgement(&self.names());
        }
        Some(outcome)
    }
}

/// A list in a subscription, and the names in it: whose they are, and what they are called there.
pub(super) type Followed<'m> = (Value<'m>, Vec<(usize, String)>);
