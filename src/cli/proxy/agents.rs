//! The agent, however it reaches the gate, as the gate and a conversation see it.

use std::io;

use crate::agent::stdio::{AgentInput, AgentWriter};
use crate::gate::{Agent, AgentGone, Permit};
use crate::wire::{Frame, LineReader, Stream};

/// The agent of one conversation: what delivers.
#[derive(Debug)]
pub(super) enum Outbox {
    Stdio(AgentWriter),
}

/// The same: what it sends.
pub(super) enum Inbox {
    Stdio(LineReader<AgentInput>),
}

/// What came of an agent.
#[derive(Debug)]
pub(super) enum Arrived<'i> {
    Frame(Stream, &'i [u8]),
    /// A message beyond its limit, which was thrown away.
    TooLong(Stream),
    /// It sends no more.
    Closed,
}

impl Agent for Outbox {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        match self {
            Self::Stdio(writer) => writer.send(permit.into_line()).await.map_err(|_| AgentGone),
        }
    }
}

impl Inbox {
    /// What comes next. Cancel-safe.
    ///
    /// # Errors
    /// When the agent cannot be read.
    pub(super) async fn next(&mut self) -> io::Result<Arrived<'_>> {
        match self {
            Self::Stdio(lines) => Ok(match lines.next().await? {
                Some(Frame::Line(frame)) => Arrived::Frame(Stream::MAIN, frame),
                Some(Frame::TooLong) => Arrived::TooLong(Stream::MAIN),
                None => Arrived::Closed,
            }),
        }
    }
}
