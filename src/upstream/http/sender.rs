//! The half that sends, and what both halves know.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::gate::{Abandoned, Carried, Passage, Permit, Upstream, UpstreamFault};
use crate::mailbox::{self, mailbox};
use crate::once::Once;

use super::failure::Loss;
use super::headers;
use super::http_event::HttpEvent;
use super::life::Life;
use super::parts::Parts;
use super::sending::{Parcel, Queued};
use super::settings::HttpSettings;

/// Messages that wait to be sent; further ones wait with whoever sends them.
const QUEUED: usize = 8;

/// Events that wait to be read. Each may be a whole message.
const EVENTS: usize = 4;

/// What waits to be sent.
type Queue = mailbox::Sender<Box<Queued>>;

/// The half that sends; clones speak in the same conversation.
#[derive(Debug, Clone)]
pub struct HttpSender {
    conversation: Arc<Conversation>,
}

/// What both halves know.
#[derive(Debug)]
pub(super) struct Conversation {
    parts: Arc<Parts>,
    present: Mutex<Option<Present>>,
    stopping: Once<()>,
    handshaken: AtomicBool,
}

#[derive(Debug, Clone)]
struct Present {
    life: Arc<Life>,
    queue: Queue,
}

impl HttpSender {
    pub(super) fn new(conversation: Arc<Conversation>) -> Self {
        Self { conversation }
    }

    /// Queues one message that nobody judged: for whoever speaks for nobody but itself, as `tools lock`
    /// does. A gate sends by [`Upstream::send`], with a permit.
    pub async fn send_unjudged(&self, passage: Passage, line: String) -> Result<(), UpstreamFault> {
        self.carry(passage, line).await
    }

    /// The same for a message that was judged. What becomes of it is begun before this returns.
    pub fn sending(
        &self,
        permit: Permit,
    ) -> impl Future<Output = Result<(), UpstreamFault>> + Send + use<> {
        let passage = permit.passage().clone();
        self.carry(passage, permit.into_line())
    }

    /// Queues one message. Waits while the queue is full. A future that is dropped has sent the
    /// whole message or nothing.
    ///
    /// That it was queued does not mean that it arrives: what becomes of a request is an event, and
    /// a notification that the server does not accept is only logged.
    pub(super) fn carry(
        &self,
        passage: Passage,
        line: String,
    ) -> impl Future<Output = Result<(), UpstreamFault>> + Send + use<> {
        let begun = self.begin(passage, line);
        async move {
            match begun? {
                (queue, Some(queued)) => queue.send(queued).await.map_err(|_| UpstreamFault::Down),
                (_, None) => Ok(()),
            }
        }
    }

    /// Sends a message, or yields it with the queue that it belongs in.
    fn begin(
        &self,
        passage: Passage,
        line: String,
    ) -> Result<(Queue, Option<Box<Queued>>), UpstreamFault> {
        let Some(Present { life, queue }) = self.conversation.present().clone() else {
            return Err(UpstreamFault::Down);
        };
        let Passage {
            carried,
            trace,
            proof,
            ..
        } = passage;
        let open = match &carried {
            Carried::Request { id, .. } => Some(life.open(*id, headers::era(&carried))),
            Carried::Notification { .. } | Carried::Reply { .. } => None,
        };
        let parcel = Parcel {
            carried,
            line,
            trace,
            proof,
            open,
        };
        Ok((queue, life.take(parcel)?))
    }

    /// Waits until the server has taken, or refused, what was queued so far and is no request.
    pub async fn flushed(&self) {
        let present = self.conversation.present().clone();
        if let Some(Present { life, .. }) = present {
            life.emptied().await;
        }
    }

    /// Closes all streams and ends the session at the server, which has `notice_timeout` for it.
    /// There is no other session after it.
    pub async fn stop(&self) {
        self.conversation.stopping.set(());
        let present = self.conversation.present().take();
        if let Some(Present { life, .. }) = present {
            life.end(Loss::Unfit);
            life.delete().await;
        }
    }

    /// Closes all streams and tells the server nothing. There is no other session after it.
    pub fn kill(&self) {
        self.conversation.stopping.set(());
        if let Some(Present { life, .. }) = self.conversation.present().take() {
            life.end(Loss::Unfit);
        }
    }
}

impl Upstream for HttpSender {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        self.sending(permit).await
    }

    fn abandon(&self, minted: u64) -> Abandoned {
        match self.conversation.present().as_ref() {
            Some(present) => present.life.abandon(minted),
            None => Abandoned::Closed,
        }
    }

    /// From now on a session that is lost is begun anew for as long as it takes.
    fn handshake_completed(&self) {
        self.conversation.handshaken.store(true, Ordering::Relaxed);
        self.conversation.parts.reachability.shaken();
    }

    /// The session is ended at the server, and another one may begin after a delay.
    fn restart(&self) {
        if let Some(present) = self.conversation.present().as_ref() {
            present.life.end(Loss::Unfit);
        }
    }
}

impl Conversation {
    pub(super) fn new(parts: Arc<Parts>) -> Self {
        Self {
            parts,
            present: Mutex::default(),
            stopping: Once::default(),
            handshaken: AtomicBool::new(false),
        }
    }

    /// Begins another life; its events end when it does.
    pub(super) fn begin(&self) -> (Arc<Life>, mailbox::Receiver<HttpEvent>) {
        let (queue, queued) = mailbox(QUEUED);
        let (events, received) = mailbox(EVENTS);
        let life = Arc::new(Life::new(Arc::clone(&self.parts), events));
        // Held until the life is known, so that `stop` either prevents it or finds it.
        let mut present = self.present();
        if self.is_stopping() {
            life.end(Loss::Unfit);
        }
        tokio::spawn(Arc::clone(&life).run(queued));
        *present = Some(Present {
            life: Arc::clone(&life),
            queue,
        });
        (life, received)
    }

    pub(super) fn settings(&self) -> &HttpSettings {
        &self.parts.settings
    }

    /// Nothing is sent until another life begins.
    pub(super) fn lost(&self) {
        *self.present() = None;
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.get().is_some()
    }

    pub(super) async fn stop_ordered(&self) {
        self.stopping.wait().await;
    }

    pub(super) fn was_handshaken(&self) -> bool {
        self.handshaken.load(Ordering::Relaxed)
    }

    fn present(&self) -> MutexGuard<'_, Option<Present>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
