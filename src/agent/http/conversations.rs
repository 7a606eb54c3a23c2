//! All conversations of a listener: sessions by their id, stateless ones by their identity.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::identity::Identity;
use crate::mailbox::{self, mailbox};

use super::caller::{Caller, Endpoint};
use super::conversation::{Conversation, Place};
use super::inbound::{ConversationKind, Inbound};
use super::refusal::Refused;
use super::settings::Settings;
use super::shares::Shares;
use super::streams::Streams;

/// About what a conversation takes at its beginning, with its server.
const CONVERSATION: usize = 256 * 1024;

/// A conversation that has begun.
#[derive(Debug)]
pub struct Arrival {
    pub endpoint: Endpoint,
    pub identity: Identity,
    pub kind: ConversationKind,
    /// Closed when the conversation has ended: by a DELETE, after a while without anything, or
    /// because the listener has ended.
    pub inbox: mailbox::Receiver<Box<Inbound>>,
    /// What is permitted goes here. When the last clone is dropped the conversation has ended: a
    /// session is unknown from then on, and the next stateless request begins another one.
    pub streams: Streams,
    /// Whose connection began it.
    pub peer: IpAddr,
}

/// Messages that may wait for the gate, per conversation.
const INBOX: usize = 64;

/// Random bytes of a session id, as twice as many hexadecimal digits.
const ID_BYTES: usize = 24;

/// Rounds of the sweeper in the time that a conversation may be quiet.
const ROUNDS: u32 = 8;

/// How often conversations may begin: so many at once, and as many again within each minute.
#[derive(Debug)]
struct Starts {
    /// The time that one start takes of the minute.
    each: Duration,
    /// When as many may begin at once as ever.
    full_at: Mutex<Instant>,
}

impl Starts {
    const PERIOD: Duration = Duration::from_mins(1);

    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's timer; nothing is judged by it"
    )]
    fn of(most: u32) -> Self {
        Self {
            each: Self::PERIOD.checked_div(most).unwrap_or(Self::PERIOD),
            full_at: Mutex::new(Instant::now()),
        }
    }

    /// Whether one may begin now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's timer; nothing is judged by it"
    )]
    fn take(&self) -> bool {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let ahead = full_at.saturating_duration_since(now);
        let ahead = ahead.saturating_add(self.each);
        let may_begin = ahead <= Self::PERIOD;
        if may_begin && let Some(next) = now.checked_add(ahead) {
            *full_at = next;
        }
        may_begin
    }
}

type OfIdentities = HashMap<Identity, Arc<Conversation>>;

/// Finds conversations, begins and ends them.
#[derive(Debug)]
pub(super) struct Conversations {
    sessions: Mutex<HashMap<String, Arc<Conversation>>>,
    stateless: Mutex<HashMap<Endpoint, OfIdentities>>,
    places: Arc<Semaphore>,
    starts: Option<Starts>,
    pub(super) shares: Shares,
    arrivals: mpsc::Sender<Arrival>,
    settings: Arc<Settings>,
}

impl Conversations {
    pub(super) fn new(settings: Arc<Settings>, arrivals: mpsc::Sender<Arrival>) -> Self {
        let places = settings.max_sessions.min(Semaphore::MAX_PERMITS);
        Self {
            sessions: Mutex::default(),
            stateless: Mutex::default(),
            places: Arc::new(Semaphore::new(places)),
            starts: settings.starts_a_minute.map(Starts::of),
            shares: Shares::new(&settings),
            arrivals,
            settings,
        }
    }

    /// The session with this id, if it is this caller's. A stranger learns nothing: an id that
    /// was never given, one that has ended, another endpoint's and somebody else's are refused alike.
    pub(super) fn session(
        &self,
        id: &str,
        caller: Caller<'_>,
    ) -> Result<Arc<Conversation>, Refused> {
        let found = self.sessions().get(id).cloned();
        match found {
            Some(found) if found.is_of(caller) && !found.has_ended() => {
                found.touch();
                Ok(found)
            }
            Some(_) | None => Err(Refused::SessionUnknown),
        }
    }

    /// Begins a session that has no id yet.
    pub(super) async fn begin(
        &self,
        caller: Caller<'_>,
        peer: IpAddr,
    ) -> Result<Arc<Conversation>, Refused> {
        let (conversation, arrival) = self.open(caller, ConversationKind::Session, peer)?;
        self.announce(&conversation, arrival).await?;
        Ok(conversation)
    }

    /// Gives a session the id by which it is found.
    pub(super) fn admit(&self, conversation: &Arc<Conversation>) -> Result<String, Refused> {
        let mut bytes = [0_u8; ID_BYTES];
        // Without randomness an id could be guessed.
        getrandom::fill(&mut bytes).map_err(|_| Refused::Closed)?;
        let mut id = String::with_capacity(2 * ID_BYTES);
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(id, "{byte:02x}");
        }
        self.sessions().insert(id.clone(), Arc::clone(conversation));
        Ok(id)
    }

    /// Ends a session, if it is this caller's.
    pub(super) fn delete(&self, id: &str, caller: Caller<'_>) -> Result<(), Refused> {
        self.session(id, caller)?.take_leave();
        self.sessions().remove(id);
        Ok(())
    }

    /// The conversation of a caller's stateless requests, begun if there is none.
    pub(super) async fn stateless(
        &self,
        caller: Caller<'_>,
        peer: IpAddr,
    ) -> Result<Arc<Conversation>, Refused> {
        let (conversation, arrival) = {
            let mut table = self.stateless_table();
            let stateless = table.entry(caller.endpoint).or_default();
            if let Some(found) = stateless.get(caller.identity).filter(|it| !it.has_ended()) {
                found.touch();
                return Ok(Arc::clone(found));
            }
            // A place of its own must be free again before another is taken.
            stateless.remove(caller.identity);
            let (begun, arrival) = self.open(caller, ConversationKind::Stateless, peer)?;
            stateless.insert(caller.identity.clone(), Arc::clone(&begun));
            (begun, arrival)
        };
        self.announce(&conversation, arrival).await?;
        Ok(conversation)
    }

    /// The same, if there is one.
    pub(super) fn known_stateless(&self, caller: Caller<'_>) -> Option<Arc<Conversation>> {
        let table = self.stateless_table();
        let found = table.get(&caller.endpoint)?.get(caller.identity)?;
        (!found.has_ended()).then(|| Arc::clone(found))
    }

    /// How often [`Self::sweep`] is to be called.
    pub(super) fn round(&self) -> Duration {
        (self.settings.session_idle_timeout / ROUNDS).max(Duration::from_millis(10))
    }

    /// Ends what has been quiet for too long, and forgets what has ended.
    pub(super) fn sweep(&self) {
        let round = self.round();
        let replay = self
            .settings
            .replay_for
            .as_nanos()
            .div_ceil(round.as_nanos());
        let replay = u32::try_from(replay).unwrap_or(u32::MAX);
        let stays = |conversation: &Conversation| {
            if conversation.sweep(replay) >= ROUNDS {
                conversation.end();
            }
            !conversation.has_ended()
        };
        self.sessions().retain(|_, it| stays(it));
        for stateless in self.stateless_table().values_mut() {
            stateless.retain(|_, it| stays(it));
        }
    }

    /// Ends the streams that would never end by themselves.
    pub(super) fn stop_listening(&self) {
        for conversation in self.all() {
            conversation.stop_listening();
        }
    }

    pub(super) fn end_all(&self) {
        for conversation in self.all() {
            conversation.end();
        }
        self.sessions().clear();
        self.stateless_table().clear();
    }

    fn all(&self) -> Vec<Arc<Conversation>> {
        let mut all: Vec<_> = self.sessions().values().cloned().collect();
        let table = self.stateless_table();
        all.extend(table.values().flat_map(HashMap::values).cloned());
        all
    }

    fn open(
        &self,
        caller: Caller<'_>,
        kind: ConversationKind,
        peer: IpAddr,
    ) -> Result<(Arc<Conversation>, Arrival), Refused> {
        let room = self.settings.memory.room(CONVERSATION, 0);
        let _room = room.ok_or(Refused::NoMemory)?;
        // What is held keeps the share, so that what the agent takes next is counted with this.
        let own = self.shares.sessions(caller.identity).try_acquire_owned();
        let own = own.map_err(|_| Refused::TooManyOfAgent)?;
        let common = Arc::clone(&self.places).try_acquire_owned();
        let common = common.map_err(|_| Refused::TooManySessions)?;
        if !self.starts.as_ref().is_none_or(Starts::take) {
            return Err(Refused::SessionsTooOften);
        }
        let place = Place {
            _own: own,
            _common: common,
        };
        let (sender, inbox) = mailbox(INBOX);
        let conversation = Conversation::new(caller, kind, sender, place, &self.settings);
        let conversation = Arc::new(conversation);
        let arrival = Arrival {
            endpoint: caller.endpoint,
            identity: caller.identity.clone(),
            kind,
            inbox,
            streams: Streams::of(Arc::clone(&conversation)),
            peer,
        };
        Ok((conversation, arrival))
    }

    async fn announce(
        &self,
        conversation: &Arc<Conversation>,
        arrival: Arrival,
    ) -> Result<(), Refused> {
        self.arrivals.send(arrival).await.map_err(|_| {
            conversation.end();
            Refused::Closed
        })
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Conversation>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stateless_table(&self) -> MutexGuard<'_, HashMap<Endpoint, OfIdentities>> {
        self.stateless
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
