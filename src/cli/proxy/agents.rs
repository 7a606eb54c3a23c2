//! The agent, however it reaches the gate, as the gate and a conversation see it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::agent::http::{Brought, Inbound, Router, Streams};
use crate::agent::stdio::{AgentInput, AgentWriter};
use crate::gate::{Agent, AgentGone, Permit, Source};
use crate::mailbox;
use crate::unified::{InboxMessage, UnifiedSession};
use crate::wire::{DiscardReason, LineFrame, LineReader, Stream};

/// The sending half of an agent's connection.
#[derive(Debug, Clone)]
pub(super) enum Outbox {
    Stdio(AgentWriter),
    Http(Streams),
}

/// The agent of one conversation: what delivers.
#[derive(Debug, Clone)]
pub(super) enum ConversationAgent {
    Direct(Outbox),
    /// An agent with a conversation with each of several servers; this is the one with the server of this number.
    Unified(Arc<UnifiedSession<Outbox>>, usize),
}

/// The same: what it sends.
pub(super) enum Inbox {
    Stdio(LineReader<AgentInput>),
    Http {
        inbox: mailbox::Receiver<Box<Inbound>>,
        /// The frame that was told last.
        frame: Bytes,
    },
    /// Messages that the endpoint of all servers routes to one.
    Unified {
        inbox: mailbox::Receiver<Box<InboxMessage>>,
        frame: Bytes,
        end: AgentEnd,
    },
}

/// The meaning of the end of an agent's input.
#[derive(Debug, Clone, Copy)]
pub(super) enum AgentEnd {
    /// It still takes what was under way.
    Closed,
    Gone,
}

/// What came of an agent.
#[derive(Debug)]
pub(super) enum Arrived<'i> {
    /// From somewhere, and what headers say of it.
    Frame(Source, &'i [u8]),
    /// A message that was thrown away.
    Unread(Stream, DiscardReason),
    /// It does not wait any more for what this stream would bring.
    HungUp(Stream),
    /// It has no stream open for this `ping`.
    Unheard(u64),
    /// It sends no more, and still takes what was under way.
    Closed,
    /// It sends no more and takes nothing.
    Gone,
}

impl Outbox {
    /// What this agent sends is routed where it is read.
    pub(super) fn route_by(&self, unified: &Arc<UnifiedSession<Self>>) {
        match self {
            Self::Stdio(_) => {}
            Self::Http(streams) => streams.route_by(router(unified)),
        }
    }
}

impl Agent for Outbox {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        match self {
            Self::Stdio(writer) => writer.send(permit.into_line()).await.map_err(|_| AgentGone),
            Self::Http(streams) => streams.deliver(permit).await,
        }
    }

    fn release(&self, stream: Stream) {
        match self {
            Self::Stdio(_) => {}
            Self::Http(streams) => streams.close(stream),
        }
    }

    /// On standard streams the session is the process: its agent is told of each request that there
    /// is none any more.
    fn end(&self) {
        match self {
            Self::Stdio(_) => {}
            Self::Http(streams) => streams.end(),
        }
    }

    /// Over HTTP its inbox tells.
    fn has_gone(&self) -> bool {
        match self {
            Self::Stdio(writer) => writer.has_gone(),
            Self::Http(_) => false,
        }
    }
}

impl Agent for ConversationAgent {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        match self {
            Self::Direct(agent) => agent.deliver(permit).await,
            Self::Unified(unified, server) => Box::pin(unified.deliver(*server, permit)).await,
        }
    }

    fn release(&self, stream: Stream) {
        match self {
            Self::Direct(agent) => agent.release(stream),
            Self::Unified(unified, _) => unified.agent().release(stream),
        }
    }

    fn end(&self) {
        match self {
            Self::Direct(agent) => agent.end(),
            // The agent has others.
            Self::Unified(unified, server) => unified.close(*server),
        }
    }

    fn has_gone(&self) -> bool {
        match self {
            Self::Direct(agent) => agent.has_gone(),
            Self::Unified(unified, _) => unified.agent().has_gone(),
        }
    }
}

impl Inbox {
    /// Takes nothing more: what the agent sends now is refused.
    pub(super) fn close(&mut self) {
        match self {
            Self::Stdio(_) => {}
            Self::Http { inbox, .. } => inbox.close(),
            Self::Unified { inbox, .. } => inbox.close(),
        }
    }

    /// What comes next. Cancel-safe.
    ///
    /// # Errors
    /// When the agent cannot be read.
    pub(super) async fn next(&mut self) -> io::Result<Arrived<'_>> {
        match self {
            // Boxed: a session over HTTP holds no room for it.
            Self::Stdio(lines) => Ok(match Box::pin(lines.next()).await? {
                Some(LineFrame::Line(frame)) => Arrived::Frame(Source::on(Stream::MAIN), frame),
                // Of an agent's lines the second is not told.
                Some(LineFrame::Unread(why) | LineFrame::Answered(_, why)) => {
                    Arrived::Unread(Stream::MAIN, why)
                }
                None => Arrived::Closed,
            }),
            Self::Http { inbox, frame } => Ok(match told(inbox, frame).await {
                Some(Inbound::Frame {
                    stream,
                    bytes,
                    brought,
                }) => {
                    *frame = bytes;
                    Arrived::Frame(source(stream, brought), frame)
                }
                Some(Inbound::HungUp { stream }) => Arrived::HungUp(stream),
                Some(Inbound::Unheard { minted }) => Arrived::Unheard(minted),
                None => Arrived::Gone,
            }),
            Self::Unified { inbox, frame, end } => {
                // As below.
                *frame = Bytes::new();
                Ok(match inbox.recv().await.map(|inward| *inward) {
                    Some(InboxMessage::Frame(source, bytes)) => {
                        *frame = bytes;
                        Arrived::Frame(source, frame)
                    }
                    Some(InboxMessage::HungUp(stream)) => Arrived::HungUp(stream),
                    Some(InboxMessage::Unheard(minted)) => Arrived::Unheard(minted),
                    None => match end {
                        AgentEnd::Closed => Arrived::Closed,
                        AgentEnd::Gone => Arrived::Gone,
                    },
                })
            }
        }
    }
}

/// Where a frame is from.
fn source(stream: Stream, brought: Brought) -> Source {
    let Brought {
        peer,
        trace,
        carrier,
    } = brought;
    Source {
        stream,
        peer: Some(peer),
        trace,
        carrier,
    }
}

/// Routes what an agent sends in the task that has read it: it need not wait for a task of its own in between. Leaves
/// what no server gets to the inbox.
fn router(unified: &Arc<UnifiedSession<Outbox>>) -> Router {
    let unified = Arc::downgrade(unified);
    Router::new(move |inbound| {
        let Some(unified) = unified.upgrade() else {
            return Some(inbound);
        };
        match inbound {
            Inbound::Frame {
                stream,
                bytes,
                brought,
            } => {
                let routed = unified.route(source(stream, brought.clone()), &bytes);
                routed.err().map(|_| Inbound::Frame {
                    stream,
                    bytes,
                    brought,
                })
            }
            Inbound::HungUp { stream } => {
                unified.hung_up(stream);
                None
            }
            Inbound::Unheard { minted } => {
                unified.unheard(minted);
                None
            }
        }
    })
}

/// What comes next. The frame before is released first: it may be part of a large buffer.
async fn told(inbox: &mut mailbox::Receiver<Box<Inbound>>, frame: &mut Bytes) -> Option<Inbound> {
    *frame = Bytes::new();
    inbox.recv().await.map(|inbound| *inbound)
}
