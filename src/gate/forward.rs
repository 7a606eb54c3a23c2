//! The two ways out of the gate. Both take a [`Permit`] and nothing else.

use std::future::{pending, ready};

use crate::session::Instance;
use crate::wire::{Id, Stream};

use super::arrival::{Lends, Source};
use super::faults::{AgentGone, UpstreamFault};
use super::permit::Permit;

/// The protected server, as the gate sees it. Its frames come back through
/// [`Gate::handle`](super::Gate::handle).
pub trait Upstream: Send + Sync + 'static {
    /// Sends one permitted message. Messages arrive in the order of the calls. One that waits for room
    /// may be sent later, by [`Self::unsent`].
    fn send(&self, permit: Permit) -> impl Future<Output = Result<(), UpstreamFault>> + Send;

    /// Sends what waits for room, and resolves with a request that will not be sent. Cancel-safe.
    fn unsent(&self) -> impl Future<Output = Unsent> + Send {
        pending()
    }

    /// Waits until what was sent and gets no answer has arrived, as far as that can be known.
    fn flushed(&self) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// Nobody waits for the reply to this request any more, by the id that the gate minted. Returns
    /// at once.
    fn abandon(&self, minted: u64) -> Abandoned {
        let _ = minted;
        Abandoned::Untold
    }

    /// Whether a message finds the server started. A message that is refused starts none.
    fn is_started(&self) -> bool {
        true
    }

    /// The upstream has answered the handshake: from here on a death is a restart, not a failure
    /// to start.
    fn handshake_completed(&self) {}

    /// The upstream cannot be used as it is: whoever supervises it ends it, and starts another after
    /// a delay. Returns at once; that it has died is told like any other death.
    fn restart(&self) {}

    /// From now on everything goes to this instance, which is narrower. Returns at once: what was not
    /// sent to another one by then is not sent to it.
    ///
    /// # Errors
    /// [`UpstreamFault`] when there is no such instance: then nothing is sent at all.
    fn isolate(&self, to: Instance) -> Result<(), UpstreamFault> {
        let _ = to;
        Err(UpstreamFault::Down)
    }

    /// Starts an instance that is not spoken to yet, so that it is there when the session comes.
    ///
    /// # Errors
    /// [`UpstreamFault`] when there is no such instance, or it cannot be started.
    fn warm(&self, instance: Instance) -> Result<(), UpstreamFault> {
        let _ = instance;
        Err(UpstreamFault::Down)
    }

    /// The same as `send` for an instance that was [warmed](Self::warm).
    ///
    /// # Errors
    /// As those of `send`.
    fn send_to(
        &self,
        instance: Instance,
        permit: Permit,
    ) -> impl Future<Output = Result<(), UpstreamFault>> + Send {
        let _ = (instance, permit);
        std::future::ready(Err(UpstreamFault::Down))
    }

    /// The session has left the instances before this one: nothing is sent to them, and no reply of theirs
    /// is awaited. Returns at once; may be called again.
    fn leave_below(&self, kept: Instance) {
        let _ = kept;
    }
}

/// Whether an upstream learns from a transport that nobody waits for its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abandoned {
    /// Its stream was closed: from `2026-07-28` on that is how a request is cancelled over HTTP.
    Closed,
    /// It must be told.
    Untold,
}

/// A request that was permitted, waited for room at a server, and will not be sent.
#[derive(Debug)]
pub struct Unsent {
    /// At which instance of the server.
    pub server: Instance,
    /// The id that the gate minted.
    pub request: u64,
    pub fault: UpstreamFault,
}

/// The agent, as the gate sees it.
pub trait Agent: Send + Sync + 'static {
    /// Delivers one permitted message. Messages arrive in the order of the calls.
    fn deliver(&self, permit: Permit) -> impl Future<Output = Result<(), AgentGone>> + Send;

    /// What was waited for on this stream was cancelled, and gets no reply. Returns at once.
    fn release(&self, stream: Stream) {
        let _ = stream;
    }

    /// The session goes on no more, and its agent has been told so. Returns at once; what was
    /// delivered before still arrives.
    fn end(&self) {}

    /// Whether it is known that nothing reaches it any more.
    fn has_gone(&self) -> bool {
        false
    }

    /// Whether whoever stands before the agent has it sample for the server.
    fn lends(&self) -> Lends {
        Lends::Nothing
    }

    /// Whether somebody stands before the agent who shows it what results ask.
    fn is_bridged(&self) -> bool {
        false
    }

    /// Whether somebody stands before the agent who opens a session for requests that belong to none.
    fn opens_sessions(&self) -> bool {
        false
    }

    /// Such a request, which its server does in a session only. Returns at once.
    fn take_over(&self, source: Source, frame: &[u8]) -> TakenOver {
        let _ = (source, frame);
        TakenOver::No
    }

    /// The same for the `server/discover` that the agent has sent under this id.
    fn take_over_discovery(&self, id: &Id, stream: Stream) -> TakenOver {
        let _ = (id, stream);
        TakenOver::No
    }
}

/// Whether a request comes again, in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenOver {
    Yes,
    No,
}
