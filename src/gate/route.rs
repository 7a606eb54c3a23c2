//! Ids out and ids back: what an allowed message changes in the tables of its session, and which of
//! its fields must name the other side's ids.

use crate::mcp::meta;
use crate::session::{
    Admitted, Asker, Exchange, Extension, Origin, PendingTable, Session, State, Taken,
};
use crate::wire::{Fragment, Id, KnownMethod, OutgoingTrace, Side, Stream, Value};

use super::classified::{Identified, Role, asker, is_call};
use super::logs;
use super::passage::Passage;
use super::query::Understood;
use super::rejection::Rejection;
use super::subscribed::is_for;
use super::takeover::is_in_session_of_bridge;

/// The changes that carry a message across.
#[derive(Debug, Default)]
pub(super) struct Route<'m> {
    /// Fields that name an id, and the id that the other side knows.
    pub(super) ids: Vec<(Value<'m>, Fragment)>,
    /// The stream of the receiver's that the message belongs on.
    stream: Stream,
    /// The entry that the message opened.
    pub(super) opened: Option<Admitted>,
    /// It is one more call of the session.
    ///
    /// INVARIANT: nothing is awaited between the decision and here, so that no two calls are judged
    /// by the same count.
    pub(super) counted: bool,
    /// Something was taken out of the message, or says something else than it did.
    pub(super) is_edited: bool,
    /// The request that the message ends once it is recorded. Until then it waits as before: a
    /// cancellation may still be refused.
    pub(super) ends: Option<Ended>,
}

/// A request that a cancellation names: who it was sent to, and its id there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    to: Side,
    minted: u64,
}

impl Ended {
    /// The id that the gate minted for it.
    pub(super) fn minted(&self) -> u64 {
        self.minted
    }
}

/// What became of a message that did not leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undone {
    /// Its sender is still to be told.
    Yes,
    /// Its sender has been told already.
    Settled,
}

/// A progress token as JSON text. Peers decode strings and write them as they like: what was
/// `"\u0061"` comes back as `"a"`.
pub(super) fn token_text(token: Value<'_>) -> String {
    match token.as_str() {
        Some(decoded) => Fragment::string(&decoded).into_string(),
        None => token.text().to_owned(),
    }
}

/// Settles the ids of an allowed message.
pub(super) fn route<'m>(
    understood: &Understood<'m>,
    session: &Session,
    exchange: impl FnOnce(&Asker, KnownMethod) -> Exchange,
) -> Result<Route<'m>, Rejection> {
    let mut state = session.state();
    let state = &mut *state;
    let identified = &understood.identified;
    let mut route = Route {
        stream: belongs_on(identified, session, state)?,
        ..Route::default()
    };
    match &identified.role {
        Role::Request { asker, method } => {
            let mut exchange = exchange(asker, *method);
            exchange.sent_on = route.stream;
            if session.is_shared() && identified.from == Side::Agent {
                let client = identified
                    .message
                    .meta()
                    .and_then(|it| it.get(meta::CLIENT));
                let peer = identified.scene.peer;
                state
                    .agent_side
                    .company
                    .meets(client.map(Value::text), peer);
            }
            session.arm(state, exchange.deadline);
            let table = match identified.from {
                Side::Agent => &mut state.waiting.to_upstream,
                Side::Upstream => &mut state.waiting.to_agent,
            };
            let admitted = table.admit(exchange).map_err(|_| Rejection::reused_id())?;
            route.rename(
                identified.message.id_value(),
                Fragment::unsigned(admitted.0),
            );
            route.opened = Some(admitted);
            if is_call(*method) && identified.from == Side::Agent {
                route.count(state);
            }
        }
        Role::Notification {
            method: KnownMethod::Extension(_),
        } if identified.from == Side::Agent => route.count(state),
        Role::Notification {
            method: KnownMethod::Cancelled,
        } => {
            route.cancel(identified, session, state)?;
        }
        Role::Notification {
            method: KnownMethod::Progress,
        } => {
            let asked = match identified.from {
                Side::Agent => &mut state.waiting.to_agent,
                Side::Upstream => &mut state.waiting.to_upstream,
            };
            if !told_of(identified).is_some_and(|token| asked.progresses(&token)) {
                return Err(Rejection::stray());
            }
        }
        // Which resources the agent may follow is policy's business; which it does is ours.
        Role::Notification {
            method: KnownMethod::ResourceUpdated,
        } => {
            let params = identified.message.params();
            let uri = params.and_then(|params| params.get("uri")?.as_str());
            let follows = uri.is_some_and(|uri| state.agent_side.followed.hears_of(&uri));
            let streams = &state.waiting.to_upstream;
            if !follows && !streams.has_method(KnownMethod::SubscriptionsListen) {
                return Err(Rejection::stray());
            }
        }
        // Only of a page that the user was sent to.
        Role::Notification {
            method: KnownMethod::ElicitationComplete,
        } => {
            let params = identified.message.params();
            let id = params.and_then(|params| params.get("elicitationId")?.as_str());
            if !id.is_some_and(|id| state.agent_side.announced.has(&id)) {
                return Err(Rejection::stray());
            }
        }
        Role::Notification { .. } => {}
        Role::Reply(taken) => {
            if let Origin::Peer(asker) = &taken.exchange.origin {
                route.rename(identified.message.id_value(), asker.id.to_fragment());
            }
        }
    }
    if identified.from == Side::Upstream {
        route.subscription(understood, state)?;
        if method_of(identified) == Some(KnownMethod::LogMessage)
            && !logs::are_heard(identified, state, route.stream)
        {
            return Err(Rejection::stray());
        }
        let tells = matches!(identified.role, Role::Notification { .. });
        let is_heard = is_in_session_of_bridge(state) && tells_of_list(identified);
        if session.is_shared() && tells && route.stream == Stream::MAIN && !is_heard {
            // Nobody can be listening.
            return Err(Rejection::stray());
        }
    }
    Ok(route)
}

/// The stream of the receiver's that a message belongs on.
///
/// # Errors
/// [`Rejection`] when it belongs to a request that has ended, among agents that know nothing of
/// each other.
pub(super) fn belongs_on(
    identified: &Identified<'_>,
    session: &Session,
    state: &State,
) -> Result<Stream, Rejection> {
    let method = match (identified.from, &identified.role) {
        (Side::Agent, _) => return Ok(Stream::MAIN),
        (Side::Upstream, Role::Reply(taken)) => return Ok(taken.exchange.received.stream),
        (Side::Upstream, Role::Request { method, .. } | Role::Notification { method }) => *method,
    };
    let asked = &state.waiting.to_upstream;
    let waiting = || {
        let all = asked.in_flight();
        all.filter(|(_, asking)| {
            asking.received.stream != Stream::MAIN && asking.deadline.is_some()
        })
    };
    let token = told_of(identified).unwrap_or_default();
    let related = match (identified.stream, method) {
        (Stream::MAIN | Stream::UNTOLD, KnownMethod::Progress) => {
            session.in_progress(state, &token)
        }
        // What is told of a list or a resource belongs to no request.
        (Stream::UNTOLD, KnownMethod::LogMessage) if is_alone(session, state) => {
            let asked = |it: &(u64, &Exchange)| it.1.asks.spoken.logs == Extension::Declared;
            waiting().filter(asked).max_by_key(|it| it.0).map(|it| it.1)
        }
        (Stream::UNTOLD, KnownMethod::Extension(_)) if is_alone(session, state) => {
            waiting().max_by_key(|it| it.0).map(|it| it.1)
        }
        (Stream::UNTOLD, KnownMethod::LogMessage | KnownMethod::Extension(_)) => {
            session.related(state, waiting())
        }
        (Stream::UNTOLD, _) if identified.is_request() => session.related(state, waiting()),
        (Stream::MAIN | Stream::UNTOLD, _) => None,
        (stream, _) => {
            let opened_by = asked.by_minted(&Id::integer(stream.number()));
            match opened_by {
                Some((_, exchange)) => Some(exchange),
                None if session.is_shared() => return Err(Rejection::stray()),
                None => None,
            }
        }
    };
    match related {
        Some(exchange) => Ok(exchange.received.stream),
        // A bridge answers in a session that it holds.
        None if is_in_session_of_bridge(state) => Ok(Stream::MAIN),
        None if session.is_shared() && identified.is_request() => Err(Rejection::stray()),
        None => Ok(Stream::MAIN),
    }
}

/// Whether one agent alone speaks where many could: then everything is its own.
fn is_alone(session: &Session, state: &State) -> bool {
    session.is_shared() && state.agent_side.company.is_one()
}

/// Whether it tells that a list has changed, which a bridge passes to all who listen.
fn tells_of_list(identified: &Identified<'_>) -> bool {
    matches!(
        method_of(identified),
        Some(
            KnownMethod::ToolsListChanged
                | KnownMethod::PromptsListChanged
                | KnownMethod::ResourcesListChanged
        )
    )
}

fn method_of(identified: &Identified<'_>) -> Option<KnownMethod> {
    match &identified.role {
        Role::Request { method, .. } | Role::Notification { method } => Some(*method),
        Role::Reply(_) => None,
    }
}

/// Whether news that names no subscription may be told: on a stream that was opened to hear of it, if
/// that was asked for.
fn unnamed(understood: &Understood<'_>, state: &State) -> Result<(), Rejection> {
    let identified = &understood.identified;
    let Role::Notification { method } = identified.role else {
        return Ok(());
    };
    let opened_by = state
        .waiting
        .to_upstream
        .by_minted(&Id::integer(identified.stream.number()));
    match opened_by {
        Some((_, exchange))
            if exchange.method == KnownMethod::SubscriptionsListen
                && !matches!(identified.stream, Stream::MAIN | Stream::UNTOLD)
                && !is_for(&exchange.asks.news.asked, method) =>
        {
            Err(Rejection::stray())
        }
        Some(_) | None => Ok(()),
    }
}

/// The token (JSON text) of the progress that a notification tells of.
pub(super) fn told_of(identified: &Identified<'_>) -> Option<String> {
    let params = identified.message.params();
    let token = params.and_then(|params| params.get("progressToken"));
    token.map(token_text)
}

impl<'m> Route<'m> {
    /// What whoever carries the message must know of it, and how a request goes on with its trace.
    pub(super) fn passage(
        &self,
        understood: &Understood<'_>,
        onward: Option<OutgoingTrace>,
    ) -> Passage {
        Passage {
            trace: onward.filter(|_| understood.identified.is_request()),
            ..Passage::of(understood, self.stream, self.opened, self.ends.as_ref())
        }
    }

    fn count(&mut self, state: &mut State) {
        state.security.calls = state.security.calls.saturating_add(1);
        self.counted = true;
    }

    /// The message did not leave after all: nobody waits for its reply.
    pub(super) fn undo(&mut self, from: Side, state: &mut State) -> Undone {
        if std::mem::take(&mut self.counted) {
            state.security.calls = state.security.calls.saturating_sub(1);
        }
        let Some(Admitted(minted)) = self.opened else {
            return Undone::Yes;
        };
        match sent_to(other(from), state).end(minted) {
            Some(_) => Undone::Yes,
            None => Undone::Settled,
        }
    }

    /// Whether the request that the message is has not been ended meanwhile.
    pub(super) fn still_waits(&self, from: Side, state: &mut State) -> bool {
        self.opened.is_none_or(|Admitted(minted)| {
            let table = sent_to(other(from), state);
            table.by_minted(&Id::integer(minted)).is_some()
        })
    }

    /// Ends the request that the message cancels, unless it has just ended otherwise.
    pub(super) fn end(&mut self, state: &mut State) -> Option<Taken> {
        let Ended { to, minted } = self.ends.take()?;
        sent_to(to, state).end(minted)
    }

    fn rename(&mut self, value: Option<Value<'m>>, id: Fragment) {
        self.ids.extend(value.map(|value| (value, id)));
    }

    /// A cancellation ends the request that it names, whichever side it comes from.
    fn cancel(
        &mut self,
        identified: &Identified<'m>,
        session: &Session,
        state: &mut State,
    ) -> Result<(), Rejection> {
        let from = identified.from;
        let params = identified.message.params();
        let named = params.and_then(|params| params.get("requestId"));
        let (Some(value), Some(id)) = (named, named.and_then(Id::read)) else {
            return Err(Rejection::stray());
        };
        let asker = asker(session, from, &id, identified.stream);
        if let Some((minted, exchange)) = sent_to(other(from), state).by_asker(&asker) {
            // MCP (all revisions with a handshake), basic/utilities/cancellation: the client must
            // not cancel `initialize`.
            if exchange.method == KnownMethod::Initialize {
                return Err(Rejection::not_cancellable("initialize"));
            }
            self.ids.push((value, Fragment::unsigned(minted)));
            let to = other(from);
            self.ends = Some(Ended { to, minted });
            return Ok(());
        }
        // MCP 2026-07-28: a server ends a subscription by cancelling the id that opened it.
        let streaming = state.waiting.to_upstream.by_minted(&id);
        if let (Side::Upstream, Some((minted, stream))) = (from, streaming)
            && stream.method == KnownMethod::SubscriptionsListen
            && let Origin::Peer(asker) = &stream.origin
        {
            self.ids.push((value, asker.id.to_fragment()));
            self.stream = stream.received.stream;
            self.ends = Some(Ended { to: from, minted });
            return Ok(());
        }
        if state
            .waiting
            .asking
            .cancel(from, |waiting| waiting.asker == asker)
        {
            session.bell().notify_one();
            return Err(Rejection::cancelled_in_time("a person"));
        }
        let parked = state
            .waiting
            .parked
            .iter_mut()
            .find(|parked| parked.asker == asker);
        match (from, parked) {
            (Side::Agent, Some(parked)) => {
                parked.cancelled = true;
                Err(Rejection::cancelled_in_time(
                    "what the upstream tells of itself",
                ))
            }
            (Side::Agent | Side::Upstream, _) => Err(Rejection::stray()),
        }
    }

    fn subscription(
        &mut self,
        understood: &Understood<'m>,
        state: &State,
    ) -> Result<(), Rejection> {
        let message = understood.identified.message;
        let Some(named) = message.meta().and_then(|meta| meta.get(meta::SUBSCRIPTION)) else {
            return unnamed(understood, state);
        };
        let opened_by = match &understood.identified.role {
            // The stream's own final result: its entry has just been taken.
            Role::Reply(taken) => Some(&taken.exchange),
            Role::Request { .. } | Role::Notification { .. } => Id::read(named)
                .and_then(|id| state.waiting.to_upstream.by_minted(&id))
                .map(|(_, exchange)| exchange),
        };
        if let (Some(stream), Role::Notification { method }) =
            (opened_by, &understood.identified.role)
            && !is_for(&stream.asks.news.asked, *method)
        {
            return Err(Rejection::stray());
        }
        match opened_by.map(|exchange| (&exchange.origin, exchange.received.stream)) {
            Some((Origin::Peer(asker), stream)) => {
                self.ids.push((named, asker.id.to_fragment()));
                self.stream = stream;
                Ok(())
            }
            Some((
                Origin::Catalogue
                | Origin::Discovery
                | Origin::Handshake
                | Origin::Trial(_)
                | Origin::Consent(_),
                _,
            ))
            | None => Err(Rejection::stray()),
        }
    }
}

/// The requests that wait for a reply of this side's.
fn sent_to(side: Side, state: &mut State) -> &mut PendingTable {
    match side {
        Side::Agent => &mut state.waiting.to_agent,
        Side::Upstream => &mut state.waiting.to_upstream,
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Agent => Side::Upstream,
        Side::Upstream => Side::Agent,
    }
}
