//! The agent, as the gate sees it from the other end of the bridge.

use crate::gate::{Agent, AgentGone, Lends, Permit, Source, TakenOver};
use crate::wire::{Id, Stream};

use super::outward::Outward;
use super::shared::Bridge;

/// An agent with a bridge before it, or without one.
#[derive(Debug)]
pub struct Bridged<A> {
    agent: A,
    bridge: Option<Bridge>,
}

impl<A> Bridged<A> {
    pub fn new(agent: A, bridge: Option<Bridge>) -> Self {
        Self { agent, bridge }
    }

    pub fn bridge(&self) -> Option<&Bridge> {
        self.bridge.as_ref()
    }

    pub fn inner(&self) -> &A {
        &self.agent
    }
}

impl<A: Agent> Agent for Bridged<A> {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        let Some(bridge) = &self.bridge else {
            return self.agent.deliver(permit).await;
        };
        match bridge.translate(permit) {
            Outward::AsItIs(permit) => self.agent.deliver(permit).await,
            Outward::Instead(permits) => {
                for permit in permits {
                    self.agent.deliver(permit).await?;
                }
                Ok(())
            }
        }
    }

    fn release(&self, stream: Stream) {
        self.agent.release(stream);
    }

    fn end(&self) {
        self.agent.end();
    }

    fn has_gone(&self) -> bool {
        self.agent.has_gone()
    }

    fn lends(&self) -> Lends {
        self.bridge.as_ref().map_or(Lends::Nothing, Bridge::lends)
    }

    fn is_bridged(&self) -> bool {
        self.bridge.as_ref().is_some_and(Bridge::is_between)
    }

    fn opens_sessions(&self) -> bool {
        self.bridge.is_some()
    }

    fn take_over(&self, source: Source, frame: &[u8]) -> TakenOver {
        let bridge = self.bridge.as_ref();
        bridge.map_or(TakenOver::No, |bridge| bridge.take_over(source, frame))
    }

    fn take_over_discovery(&self, id: &Id, stream: Stream) -> TakenOver {
        let bridge = self.bridge.as_ref();
        bridge.map_or(TakenOver::No, |bridge| {
            bridge.take_over_discovery(id, stream)
        })
    }
}
