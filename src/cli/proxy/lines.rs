//! The two peers of a gate on stdio, as the gate sees them.

use std::time::Duration;

use tokio::time::timeout;

use crate::agent::stdio::AgentWriter;
use crate::gate::{Agent, AgentGone, Permit, Upstream, UpstreamFault};
use crate::upstream::ChildSender;

/// The supervised server.
#[derive(Debug)]
pub(super) struct Servers(pub(super) ChildSender);

/// The agent on our own standard streams.
#[derive(Debug)]
pub(super) struct Agents(pub(super) AgentWriter);

/// How long a message may wait for a server whose queue is full. Messages come one after the other:
/// while one waits, the gate hears neither the agent's next one nor that it has gone.
const STALLED: Duration = Duration::from_secs(5);

impl Upstream for Servers {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        match timeout(STALLED, self.0.send(permit.into_line())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(UpstreamFault::Down),
            Err(_) => Err(UpstreamFault::Stalled),
        }
    }

    fn handshake_completed(&self) {
        self.0.handshake_completed();
    }

    fn restart(&self) {
        self.0.restart();
    }
}

impl Agent for Agents {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        self.0.send(permit.into_line()).await.map_err(|_| AgentGone)
    }
}
