//! Requests that wait for their reply.
//!
//! The gate gives each request an id of its own before it passes it on, and puts the asker's id
//! back into the reply. An entry is spent once: whatever answers an id that is not here was never
//! asked, came twice, came too late, or has the wrong type (`1` is not `"1"`).

mod elsewhere;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::{Agent, PolicySnapshot, SessionSensitivity};
use crate::wire::{Id, KnownMethod, Stream};

use super::lifecycle::Spoken;
use super::parked::Parked;
use super::place::Instance;
use super::request::{About, Agreed, Asker, AuditIds, Reception};
use super::task::Task;
use super::trial::Opening;

/// Requests sent to one peer, by the ids that the gate minted for them.
#[derive(Debug, Default)]
pub struct PendingTable {
    last: u64,
    by_minted: HashMap<u64, Box<Exchange>>,
    by_asker: HashMap<Asker, u64>,
    /// Those that wait for another instance of the peer than the one that is spoken to, with that one.
    ///
    /// INVARIANT: each of them is in `by_minted` too.
    elsewhere: HashMap<u64, Instance>,
    /// The one of them that is answered just now.
    answering: Option<u64>,
    /// Those whose reply has come, and waits for a person.
    ///
    /// INVARIANT: each of them is in `by_minted` too.
    replied: HashSet<u64>,
    /// Those of which the peer has told some progress.
    progressed: HashSet<u64>,
}

/// What the gate remembers of a request until its reply.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Who asked, and under which id.
    pub origin: Origin,
    pub method: KnownMethod,
    pub received: Reception,
    /// The stream of the other side that it was sent on, if that is the agent's.
    pub sent_on: Stream,
    /// When the request has waited long enough; `None` for streams that live until cancelled.
    pub deadline: Option<Duration>,
    pub ids: AuditIds,
    pub about: About,
    pub asks: Asks,
    pub admission: Admission,
    /// The call that it is, if it may be made once more when the peer does not take it.
    pub again: Option<Arc<Parked>>,
}

impl Exchange {
    /// A request of the gate's own, which waits until then.
    pub fn own(
        origin: Origin,
        method: KnownMethod,
        snapshot: Arc<PolicySnapshot>,
        started: Duration,
        deadline: Duration,
    ) -> Self {
        Self {
            origin,
            method,
            received: Reception {
                started,
                stream: Stream::MAIN,
                peer: None,
            },
            sent_on: Stream::MAIN,
            deadline: Some(deadline),
            ids: AuditIds::default(),
            about: About::default(),
            asks: Asks::default(),
            admission: Admission {
                agent: None,
                snapshot,
                brings: Arc::default(),
                agreed: None,
            },
            again: None,
        }
    }
}

/// What a request says about its reply.
#[derive(Debug, Clone, Default)]
pub struct Asks {
    /// `/params/_meta/progressToken`, as JSON text in the one spelling of the gate's own.
    pub progress_token: Option<String>,
    /// Which page the request asks for, if it is for a list; `None` is the first.
    pub cursor: Option<String>,
    /// Of what it asks to hear, if it is a `subscriptions/listen`.
    pub news: News,
    /// What the asker said it can do (`2026-07-28`: on each request).
    pub spoken: Spoken,
    /// What it has to do with tasks.
    pub task: Task,
}

/// As whom and under what a request passed; its reply is judged under the same.
#[derive(Debug, Clone)]
pub struct Admission {
    /// As whom the agent was judged that asked; none if the gate or the server asked.
    pub agent: Option<Arc<Agent>>,
    pub snapshot: Arc<PolicySnapshot>,
    /// What its result brings into the session, as was known when it was admitted.
    pub brings: Arc<SessionSensitivity>,
    /// What a person agreed to, if that is why it passed.
    pub agreed: Option<Agreed>,
}

/// Of what a `subscriptions/listen` asks to hear.
#[derive(Debug, Clone, Default)]
pub struct News {
    /// The kinds of news, by the notification that tells them.
    pub asked: Vec<KnownMethod>,
    /// All that was asked for, as JSON text as it was sent, until the server has said what it grants.
    pub filter: Option<Arc<str>>,
    /// The kinds that the server has granted.
    pub granted: Vec<KnownMethod>,
}

/// Who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The peer, under its own id.
    Peer(Asker),
    /// The gate: it needs to know what the upstream offers.
    Catalogue,
    /// The gate: it needs to know what the upstream speaks.
    Discovery,
    /// The gate: it tells a restarted upstream what the session had agreed on.
    Handshake,
    /// The gate: it needs to know whether the upstream can serve at all.
    Trial(Opening),
    /// The gate: the agent's client asks a person, about the question with this number.
    Consent(Arc<str>),
}

/// A request that may go out under an id of the gate's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted(pub u64);

/// The asker already waits for a reply under this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reused;

/// An entry that was spent.
#[derive(Debug)]
pub struct Taken {
    pub minted: u64,
    pub exchange: Exchange,
    /// For whom it waited.
    pub waits: Waits,
    /// Its reply had come, and waited for a person.
    pub has_replied: bool,
    /// Whoever asked has been told of progress by the peer.
    pub has_progressed: bool,
}

/// For which instance of the peer a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// The one that is spoken to.
    Here,
    /// Another one: the session has left it, or may go there.
    Elsewhere(Instance),
}

impl Origin {
    /// Whether the gate asked, on its own behalf.
    pub fn is_gate(&self) -> bool {
        matches!(
            self,
            Self::Catalogue | Self::Discovery | Self::Handshake | Self::Trial(_) | Self::Consent(_)
        )
    }
}

impl PendingTable {
    /// How many requests wait that came from this address.
    pub fn of_peer(&self, peer: Option<IpAddr>) -> usize {
        let waiting = self.by_minted.values();
        waiting
            .filter(|exchange| exchange.received.peer == peer)
            .count()
    }

    /// Admits a request and mints its id. Ids count up from 1 and are never used again.
    ///
    /// # Errors
    /// [`Reused`] when the asker has a request in flight under the same id.
    pub fn admit(&mut self, exchange: Exchange) -> Result<Admitted, Reused> {
        let minted = self.last.saturating_add(1);
        if let Origin::Peer(asker) = &exchange.origin {
            if self.by_asker.contains_key(asker) {
                return Err(Reused);
            }
            self.by_asker.insert(asker.clone(), minted);
        }
        self.last = minted;
        self.by_minted.insert(minted, Box::new(exchange));
        Ok(Admitted(minted))
    }

    /// Whether the asker waits for a reply.
    pub fn is_in_flight(&self, asker: &Asker) -> bool {
        self.by_asker.contains_key(asker)
    }

    /// Spends the entry that a reply names. Only an integer can: every minted id is one. No other
    /// server can answer what one was asked.
    pub fn take(&mut self, id: &Id) -> Option<Taken> {
        let minted = u64::try_from(id.as_integer()?).ok()?;
        let may_answer = match self.answering {
            Some(answering) => answering == minted,
            None => !self.elsewhere.contains_key(&minted),
        };
        if !may_answer || self.replied.contains(&minted) {
            return None;
        }
        self.take_minted(minted)
    }

    /// Spends the entry of a request that its asker wants no more, whoever may still answer it.
    pub fn end(&mut self, minted: u64) -> Option<Taken> {
        self.take_minted(minted)
    }

    /// The reply to a request that was spent waits for a person, and the request with it: for as long
    /// as that takes, which is no time of its own. Nothing else answers it.
    ///
    /// # Errors
    /// [`Reused`] when the asker has another in flight under the same id by now.
    pub fn wait_replied(&mut self, minted: u64, exchange: Exchange) -> Result<(), Reused> {
        if let Origin::Peer(asker) = &exchange.origin {
            if self.by_asker.contains_key(asker) {
                return Err(Reused);
            }
            self.by_asker.insert(asker.clone(), minted);
        }
        let deadline = None;
        self.by_minted.insert(
            minted,
            Box::new(Exchange {
                deadline,
                ..exchange
            }),
        );
        self.replied.insert(minted);
        Ok(())
    }

    /// Whether a request waits whose reply has come.
    pub fn has_replied(&self, minted: u64) -> bool {
        self.replied.contains(&minted)
    }

    /// Spends the entry of a request by the reply that has come and waited, and by no other.
    pub fn take_replied(&mut self, id: &Id) -> Option<Taken> {
        let minted = u64::try_from(id.as_integer()?).ok()?;
        let is_here = self.replied.contains(&minted) && !self.elsewhere.contains_key(&minted);
        is_here.then(|| self.take_minted(minted))?
    }

    /// The peer tells of progress under this token (JSON text). False if nobody has asked for that.
    pub fn progresses(&mut self, token: &str) -> bool {
        let minted: Vec<u64> = self
            .with_progress_token(token)
            .map(|(minted, _)| minted)
            .collect();
        self.progressed.extend(&minted);
        !minted.is_empty()
    }

    /// The requests that asked for progress under this token have until then, if their time has an end.
    pub fn extend(&mut self, token: &str, until: impl Fn(&Exchange) -> Duration) {
        let asked = self.by_minted.values_mut();
        for exchange in asked.filter(|it| it.asks.progress_token.as_deref() == Some(token)) {
            let until = until(exchange);
            exchange.deadline = exchange.deadline.map(|deadline| deadline.max(until));
        }
    }

    /// Spends what the peer asked, and not the gate, oldest first.
    pub fn take_of_peer(&mut self) -> Vec<Taken> {
        self.take_where(|_, exchange| !exchange.origin.is_gate())
    }

    /// Spends the entry that its asker names.
    pub fn take_by_asker(&mut self, asker: &Asker) -> Option<Taken> {
        let minted = *self.by_asker.get(asker)?;
        self.take_minted(minted)
    }

    /// Looks at the entry that its asker names, and the id that the gate minted for it.
    pub fn by_asker(&self, asker: &Asker) -> Option<(u64, &Exchange)> {
        let minted = *self.by_asker.get(asker)?;
        Some((minted, self.by_minted.get(&minted)?))
    }

    /// Whether the gate waits for the server that is spoken to, to agree to the session's handshake.
    pub fn repeats_handshake(&self) -> bool {
        let here = |minted: &u64| !self.elsewhere.contains_key(minted);
        let mut repeated = self.by_minted.iter();
        repeated.any(|(minted, exchange)| exchange.origin == Origin::Handshake && here(minted))
    }

    /// Looks at the entry under an id that the gate minted.
    pub fn by_minted(&self, id: &Id) -> Option<(u64, &Exchange)> {
        let minted = u64::try_from(id.as_integer()?).ok()?;
        Some((minted, self.by_minted.get(&minted)?))
    }

    /// Of what the request asks to hear for which the gate has minted this id.
    pub fn news_of(&mut self, minted: u64) -> Option<&mut News> {
        let exchange = self.by_minted.get_mut(&minted);
        exchange.map(|exchange| &mut exchange.asks.news)
    }

    /// Spends the entries whose replies would be waited for on this stream, oldest first.
    pub fn take_on(&mut self, stream: Stream) -> Vec<Taken> {
        self.take_where(|_, exchange| exchange.received.stream == stream)
    }

    /// The requests in flight, with the ids that the gate minted for them.
    pub fn in_flight(&self) -> impl Iterator<Item = (u64, &Exchange)> {
        self.by_minted
            .iter()
            .map(|(minted, exchange)| (*minted, &**exchange))
    }

    /// The requests that the peer works on, which a cancellation is for: it knows them and has not answered
    /// them, and they do not ask which revision it speaks.
    pub fn worked_on(&self) -> impl Iterator<Item = (u64, &Exchange)> {
        self.in_flight().filter(|(minted, exchange)| {
            let is_opening = exchange.method == KnownMethod::Initialize
                || matches!(exchange.origin, Origin::Discovery | Origin::Trial(_));
            !is_opening && !self.replied.contains(minted) && !self.elsewhere.contains_key(minted)
        })
    }

    /// The requests in flight that asked for progress under this token (JSON text).
    pub fn with_progress_token<'t>(
        &'t self,
        token: &'t str,
    ) -> impl Iterator<Item = (u64, &'t Exchange)> {
        self.in_flight()
            .filter(|(minted, _)| !self.elsewhere.contains_key(minted))
            .filter(move |(_, exchange)| exchange.asks.progress_token.as_deref() == Some(token))
    }

    /// Whether a request of this method is in flight.
    pub fn has_method(&self, method: KnownMethod) -> bool {
        self.by_minted
            .values()
            .any(|exchange| exchange.method == method)
    }

    /// Spends every entry whose deadline has come, oldest first.
    pub fn take_expired(&mut self, now: Duration) -> Vec<Taken> {
        let due = |exchange: &Exchange| exchange.deadline.is_some_and(|deadline| deadline <= now);
        self.take_where(|_, exchange| due(exchange))
    }

    /// Spends every entry, oldest first.
    pub fn take_all(&mut self) -> Vec<Taken> {
        self.take_where(|_, _| true)
    }

    pub fn next_deadline(&self) -> Option<Duration> {
        self.by_minted
            .values()
            .filter_map(|exchange| exchange.deadline)
            .min()
    }

    pub fn len(&self) -> usize {
        self.by_minted.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_minted.is_empty()
    }

    /// Whether nothing is to be finished: streams that live until they are cancelled never are.
    pub fn is_quiet(&self) -> bool {
        self.by_minted
            .values()
            .all(|exchange| exchange.deadline.is_none())
    }

    fn take_where(&mut self, wanted: impl Fn(u64, &Exchange) -> bool) -> Vec<Taken> {
        let mut minted: Vec<u64> = self
            .by_minted
            .iter()
            .filter(|(minted, exchange)| wanted(**minted, exchange))
            .map(|(minted, _)| *minted)
            .collect();
        minted.sort_unstable();
        minted
            .into_iter()
            .filter_map(|minted| self.take_minted(minted))
            .collect()
    }

    fn take_minted(&mut self, minted: u64) -> Option<Taken> {
        let exchange = self.by_minted.remove(&minted)?;
        if let Origin::Peer(asker) = &exchange.origin {
            self.by_asker.remove(asker);
        }
        let has_replied = self.replied.remove(&minted);
        let has_progressed = self.progressed.remove(&minted);
        let waits = self
            .elsewhere
            .remove(&minted)
            .map_or(Waits::Here, Waits::Elsewhere);
        Some(Taken {
            minted,
            exchange: *exchange,
            waits,
            has_replied,
            has_progressed,
        })
    }
}
