//! One conversation with the gate: what comes in, and the streams on which it is answered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::gate::AgentGone;
use crate::identity::Identity;
use crate::mailbox;
use crate::wire::Stream;

use super::caller::{Caller, Endpoint};
use super::channel::{Channel, Kept, Piece, Reader};
use super::inbound::{Brought, ConversationKind, Inbound, Router};
use super::refusal::Refused;
use super::settings::Settings;

/// A session, or all stateless requests of one identity.
#[derive(Debug)]
pub(super) struct Conversation {
    endpoint: Endpoint,
    pub(super) identity: Identity,
    pub(super) kind: ConversationKind,
    /// None once the conversation has ended: the gate then sees its inbox closed.
    inbox: Mutex<Option<mailbox::Sender<Box<Inbound>>>>,
    /// Gets what comes in before the inbox does.
    router: OnceLock<Router>,
    /// Streams that can still be written or read, by their numbers. The main one is always there.
    streams: Mutex<BTreeMap<Stream, Open>>,
    latest: AtomicU64,
    /// How many times the sweeper found nothing going on.
    quiet: AtomicU32,
    room: usize,
    patience: Duration,
    /// Its place among all conversations.
    _place: Place,
}

/// What a conversation takes of what there is, until it has ended.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) _own: OwnedSemaphorePermit,
    pub(super) _common: OwnedSemaphorePermit,
}

/// What comes on the stream of a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Everything,
    /// Whatever comes before the reply goes to the main stream: the answer cannot begin before the
    /// reply is known.
    ReplyOnly,
}

#[derive(Debug)]
struct Open {
    channel: Arc<Channel>,
    takes: Takes,
    /// Sweeps since it ended.
    age: u32,
}

/// The POST of one request. Dropped when its answer is through, or when nobody listens to it.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) stream: Stream,
    pub(super) reader: Reader,
    conversation: Arc<Conversation>,
}

/// How long a stream of an agent that shares its conversation may be full.
const SHARED_PATIENCE: Duration = Duration::from_millis(200);

/// How many streams that have ended are kept, and how many times the room of one they may take in
/// all; the latest one always fits.
const KEPT_STREAMS: usize = 32;
const KEPT_ROOMS: usize = 2;

impl Conversation {
    pub(super) fn is_of(&self, caller: Caller<'_>) -> bool {
        self.endpoint == caller.endpoint && self.identity == *caller.identity
    }

    pub(super) fn new(
        caller: Caller<'_>,
        kind: ConversationKind,
        inbox: mailbox::Sender<Box<Inbound>>,
        place: Place,
        settings: &Settings,
    ) -> Self {
        let main = Open::new(Kept::ForReplay, Takes::Everything, settings.stream_bytes);
        Self {
            endpoint: caller.endpoint,
            identity: caller.identity.clone(),
            kind,
            inbox: Mutex::new(Some(inbox)),
            router: OnceLock::new(),
            streams: Mutex::new(BTreeMap::from([(Stream::MAIN, main)])),
            latest: AtomicU64::new(0),
            quiet: AtomicU32::new(0),
            room: settings.stream_bytes,
            patience: match kind {
                ConversationKind::Session => settings.slow_reader,
                // Others share it: who does not read must not hold them up.
                ConversationKind::Stateless => settings.slow_reader.min(SHARED_PATIENCE),
            },
            _place: place,
        }
    }

    /// Brings a frame that is not answered on its own stream.
    pub(super) async fn tell(&self, bytes: Bytes, brought: Brought) -> Result<(), Refused> {
        let stream = self.number();
        self.send(Inbound::Frame {
            stream,
            bytes,
            brought,
        })
        .await
    }

    /// Brings a frame whose answer comes on its own stream.
    pub(super) async fn ask(
        self: &Arc<Self>,
        bytes: Bytes,
        takes: Takes,
        brought: Brought,
    ) -> Result<Post, Refused> {
        let stream = self.number();
        let kept = match self.kind {
            ConversationKind::Session => Kept::ForReplay,
            ConversationKind::Stateless => Kept::UntilRead,
        };
        let open = Open::new(kept, takes, self.room);
        let reader = open.channel.attach();
        self.streams().insert(stream, open);
        let post = Post {
            stream,
            reader,
            conversation: Arc::clone(self),
        };
        self.send(Inbound::Frame {
            stream,
            bytes,
            brought,
        })
        .await?;
        Ok(post)
    }

    /// Takes what was permitted to the agent. What belongs to a stream that is gone goes to nobody
    /// if it is a reply, and to the main stream if it is not.
    pub(super) async fn carry(
        &self,
        stream: Stream,
        piece: Piece,
        line: Bytes,
    ) -> Result<(), AgentGone> {
        let channel = self.to(stream, piece)?;
        let Some(channel) = channel else {
            tracing::debug!(stream = stream.number(), "the client closed the stream");
            return Ok(());
        };
        channel.push(piece, line, self.patience).await;
        if piece != Piece::Other {
            self.forget_oldest();
        }
        Ok(())
    }

    /// Whether somebody reads what belongs to no request, or to the request of this stream.
    pub(super) fn is_heard(&self, stream: Stream) -> Result<bool, AgentGone> {
        let channel = self.to(stream, Piece::Other)?;
        Ok(channel.is_some_and(|channel| channel.is_read()))
    }

    /// Where a message goes.
    fn to(&self, stream: Stream, piece: Piece) -> Result<Option<Arc<Channel>>, AgentGone> {
        let streams = self.streams();
        let main = streams.get(&Stream::MAIN);
        if main.is_none_or(|main| main.channel.has_ended()) {
            return Err(AgentGone);
        }
        let own = streams
            .get(&stream)
            .filter(|open| open.takes != Takes::ReplyOnly || piece != Piece::Other);
        let to = match (piece, self.kind) {
            (Piece::Other, ConversationKind::Session) => own.or(main),
            (Piece::Reply { .. }, _) | (Piece::Other, ConversationKind::Stateless) => own,
        };
        Ok(to.map(|open| Arc::clone(&open.channel)))
    }

    /// Ends a stream without a reply: its request was cancelled.
    pub(super) fn close(&self, stream: Stream) {
        if stream == Stream::MAIN {
            return;
        }
        let mut streams = self.streams();
        if let Some(open) = streams.get(&stream) {
            open.channel.end();
            if !open.channel.is_promised() {
                streams.remove(&stream);
            }
        }
    }

    /// Reads what belongs to no request. An earlier reader reads no more.
    pub(super) fn listen(&self) -> Result<Reader, Refused> {
        self.channel(Stream::MAIN)
            .map(|channel| channel.attach())
            .ok_or(Refused::SessionUnknown)
    }

    /// Reads a stream again after an event.
    pub(super) fn resume(&self, stream: Stream, after: u64) -> Result<Reader, Refused> {
        self.channel(stream)
            .filter(|channel| channel.is_promised())
            .and_then(|channel| channel.resume(after))
            .ok_or(Refused::EventId)
    }

    /// Nothing more is taken, and what belongs to no request is not told any more. What waits for a
    /// reply gets one of the gate's, which ends the conversation then.
    pub(super) fn take_leave(&self) {
        self.inbox().take();
        self.stop_listening();
    }

    /// The inbox is closed and every stream ends. Does nothing the second time.
    pub(super) fn end(&self) {
        self.inbox().take();
        for open in self.streams().values() {
            open.channel.end();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.inbox().as_ref().is_none_or(mailbox::Sender::is_closed)
    }

    /// Something happened that shows that somebody is there.
    pub(super) fn touch(&self) {
        self.quiet.store(0, Ordering::Relaxed);
    }

    /// The GET stream ends; those of requests go on.
    pub(super) fn stop_listening(&self) {
        if let Some(main) = self.channel(Stream::MAIN) {
            main.detach();
        }
    }

    /// One round of the sweeper: forgets streams that ended more than `replay` rounds ago, and tells
    /// for how many rounds nothing has been going on.
    pub(super) fn sweep(&self, replay: u32) -> u32 {
        let mut streams = self.streams();
        streams.retain(|stream, open| {
            if *stream == Stream::MAIN || !open.channel.has_ended() {
                return true;
            }
            open.age += 1;
            open.age <= replay
        });
        if streams.values().any(|open| open.channel.is_read()) {
            self.touch();
        }
        self.quiet.fetch_add(1, Ordering::Relaxed)
    }

    /// What has ended and is kept for those who come back takes bounded room, the latest first.
    fn forget_oldest(&self) {
        let mut streams = self.streams();
        let (mut count, mut bytes) = (0, 0);
        let mut gone = Vec::new();
        for (stream, open) in streams.iter().rev() {
            if *stream == Stream::MAIN || !open.channel.has_ended() {
                continue;
            }
            let Some(kept) = open.channel.unread_by_anybody() else {
                continue;
            };
            count += 1;
            bytes += kept;
            if count > KEPT_STREAMS || (count > 1 && bytes > KEPT_ROOMS * self.room) {
                gone.push(*stream);
            }
        }
        for stream in gone {
            streams.remove(&stream);
        }
    }

    fn channel(&self, stream: Stream) -> Option<Arc<Channel>> {
        let streams = self.streams();
        streams.get(&stream).map(|open| Arc::clone(&open.channel))
    }

    async fn send(&self, inbound: Inbound) -> Result<(), Refused> {
        self.touch();
        let Some(inbound) = self.without_router(inbound) else {
            return Ok(());
        };
        let inbox = self.inbox().clone();
        match inbox {
            Some(inbox) => inbox
                .send(Box::new(inbound))
                .await
                .map_err(|_| Refused::Ended),
            None => Err(Refused::Ended),
        }
    }

    /// Tells the gate what came of an agent that is not there. Called where nothing can wait.
    pub(super) fn notice(&self, inbound: Inbound) {
        let Some(inbound) = self.without_router(inbound) else {
            return;
        };
        let Some(inbox) = self.inbox().clone() else {
            return;
        };
        let told = inbox.try_send(Box::new(inbound));
        if let Err(mailbox::Unsent::Full(inbound)) = told
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { inbox.send(inbound).await });
        }
    }

    pub(super) fn route_by(&self, router: Router) {
        // The first one stays.
        let _ = self.router.set(router);
    }

    /// What the router has left to the inbox.
    fn without_router(&self, inbound: Inbound) -> Option<Inbound> {
        match self.router.get() {
            Some(router) => router.offer(inbound),
            None => Some(inbound),
        }
    }

    fn number(&self) -> Stream {
        Stream::numbered(self.latest.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn inbox(&self) -> MutexGuard<'_, Option<mailbox::Sender<Box<Inbound>>>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<Stream, Open>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn new(kept: Kept, takes: Takes, room: usize) -> Self {
        Self {
            channel: Channel::new(kept, room),
            takes,
            age: 0,
        }
    }
}

impl Post {
    pub(super) fn conversation(&self) -> &Arc<Conversation> {
        &self.conversation
    }
}

impl Drop for Post {
    /// MCP 2026-07-28: a closed connection cancels its request. Before, it means nothing, and who
    /// was told an event id may come back.
    fn drop(&mut self) {
        self.reader.release();
        let channel = self.reader.channel();
        if channel.is_promised() {
            if channel.has_ended() {
                self.conversation.forget_oldest();
            }
            return;
        }
        self.conversation.streams().remove(&self.stream);
        if self.conversation.kind == ConversationKind::Stateless && !channel.has_ended() {
            let stream = self.stream;
            self.conversation.notice(Inbound::HungUp { stream });
        }
    }
}
