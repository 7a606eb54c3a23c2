//! The two ends that a message goes between when nothing else is there.

use std::sync::{Mutex, PoisonError};

use crate::gate::{Agent, AgentGone, Permit, Upstream, UpstreamFault};

/// An agent or an upstream in this process: writes down what reaches it.
#[derive(Debug, Default)]
pub(super) struct End(Mutex<Vec<String>>);

impl End {
    /// What has reached it since it was last asked.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take_in(&self, permit: Permit) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(permit.into_line());
    }
}

impl Upstream for End {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        self.take_in(permit);
        Ok(())
    }
}

impl Agent for End {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        self.take_in(permit);
        Ok(())
    }
}
