//! The protected server, however it is reached, as the gate and a conversation see it.

use std::time::Duration;

use tokio::time::timeout;

use crate::gate::{Permit, Upstream, UpstreamFault};
use crate::upstream::{self, ChildEvents, ChildSender};
use crate::wire::Stream;

/// The server of one conversation: what sends.
#[derive(Debug, Clone)]
pub(super) enum Server {
    Child(ChildSender),
}

/// The same: what it says, and what becomes of it.
#[derive(Debug)]
pub(super) enum ServerEvents {
    Child(ChildEvents),
}

/// Something that happened to a server, in order.
#[derive(Debug)]
pub(super) enum Occurrence<'e> {
    Frame(Stream, &'e [u8]),
    /// A message beyond its limit, which was thrown away.
    TooLong(Stream),
    /// It ended, or lost the session; whether it will be back.
    Died {
        how: String,
        will_restart_in: Option<Duration>,
    },
    /// It can be spoken to again, and knows nothing of what was sent before.
    Restarted,
    /// It will not be back.
    GaveUp(String),
}

/// How long a message may wait for a server whose queue is full. Messages come one after the other:
/// while one waits, the gate hears neither the agent's next one nor that it has gone.
const STALLED: Duration = Duration::from_secs(5);

impl Server {
    /// Ends it in good order: it may take as long as its settings say.
    pub(super) async fn stop(&self) {
        match self {
            Self::Child(child) => child.stop().await,
        }
    }

    pub(super) async fn kill(&self) {
        match self {
            Self::Child(child) => child.kill().await,
        }
    }
}

impl Upstream for Server {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        match self {
            Self::Child(child) => match timeout(STALLED, child.send(permit.into_line())).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(UpstreamFault::Down),
                Err(_) => Err(UpstreamFault::Stalled),
            },
        }
    }

    fn handshake_completed(&self) {
        match self {
            Self::Child(child) => child.handshake_completed(),
        }
    }

    fn restart(&self) {
        match self {
            Self::Child(child) => child.restart(),
        }
    }
}

impl ServerEvents {
    /// The next event. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Occurrence<'_> {
        match self {
            Self::Child(events) => events.next().await.into(),
        }
    }
}

impl<'e> From<upstream::Event<'e>> for Occurrence<'e> {
    fn from(event: upstream::Event<'e>) -> Self {
        match event {
            upstream::Event::Line(frame) => Self::Frame(Stream::UNTOLD, frame),
            upstream::Event::TooLong => Self::TooLong(Stream::UNTOLD),
            upstream::Event::Died {
                exit,
                will_restart_in,
            } => Self::Died {
                how: exit.to_string(),
                will_restart_in,
            },
            upstream::Event::Restarted => Self::Restarted,
            upstream::Event::GaveUp { reason } => Self::GaveUp(reason.to_string()),
        }
    }
}
