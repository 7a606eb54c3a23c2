//! The agent of one conversation, as the gate sees it.

use std::sync::Arc;

use bytes::Bytes;

use crate::gate::{Agent, AgentGone, Carried, Permit};
use crate::wire::{KnownMethod, Stream};

use super::channel::Piece;
use super::conversation::Conversation;
use super::inbound::{Inbound, Router};

/// Takes what is permitted to the agent to the stream that it belongs on. Clones are the same; with
/// the last one the conversation ends.
#[derive(Debug, Clone)]
pub struct Streams(Arc<Lease>);

#[derive(Debug)]
struct Lease(Arc<Conversation>);

impl Streams {
    pub(super) fn of(conversation: Arc<Conversation>) -> Self {
        Self(Arc::new(Lease(conversation)))
    }

    /// Ends the stream of a request that gets no reply, because it was cancelled. Does nothing to
    /// one that has ended.
    pub fn close(&self, stream: Stream) {
        self.0.0.close(stream);
    }

    /// Ends the conversation, as a DELETE does: from then on its session is unknown.
    pub fn end(&self) {
        self.0.0.take_leave();
    }

    /// From now on this router gets what the agent sends before the inbox does. It must not own these streams.
    pub fn route_by(&self, router: Router) {
        self.0.0.route_by(router);
    }

    /// Private, so that nothing but a [`Permit`] gets here.
    pub(super) async fn carry(
        &self,
        stream: Stream,
        piece: Piece,
        line: String,
    ) -> Result<(), AgentGone> {
        self.0.0.carry(stream, piece, Bytes::from(line)).await
    }
}

impl Agent for Streams {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        let passage = permit.passage();
        let stream = passage.stream;
        if let Carried::Request {
            id: minted,
            method: KnownMethod::Ping,
            ..
        } = passage.carried
            && !self.0.0.is_heard(stream)?
        {
            self.0.0.notice(Inbound::Unheard { minted });
            return Ok(());
        }
        let piece = match &passage.carried {
            Carried::Reply { error, form } => Piece::Reply {
                error: *error,
                form: *form,
            },
            Carried::Request { .. } | Carried::Notification { .. } => Piece::Other,
        };
        self.carry(stream, piece, permit.into_line()).await
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.end();
    }
}
