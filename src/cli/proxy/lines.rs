//! The two peers of a gate on stdio, as the gate sees them.

use crate::agent::stdio::AgentWriter;
use crate::gate::{Agent, AgentGone, Permit, Upstream, UpstreamFault};
use crate::upstream::ChildSender;

/// The supervised server.
#[derive(Debug)]
pub(super) struct Servers(pub(super) ChildSender);

/// The agent on our own standard streams.
#[derive(Debug)]
pub(super) struct Agents(pub(super) AgentWriter);

impl Upstream for Servers {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        self.0
            .send(permit.into_line())
            .await
            .map_err(|_| UpstreamFault::Down)
    }

    fn handshake_completed(&self) {
        self.0.handshake_completed();
    }
}

impl Agent for Agents {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        self.0.send(permit.into_line()).await.map_err(|_| AgentGone)
    }
}
