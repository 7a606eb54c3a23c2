//! The two ends that a message goes between when nothing else is there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fixture_words::ServerInstance;
use crate::gate::{Agent, AgentGone, Permit, Upstream, UpstreamFault};
use crate::session::Instance;

/// An agent or an upstream in this process: writes down what reaches it.
#[derive(Debug, Default)]
pub(super) struct End {
    lines: Mutex<Vec<(ServerInstance, String)>>,
    /// The instance of the server that what is sent goes to.
    here: Mutex<Instance>,
}

impl End {
    /// What has reached it since it was last asked.
    pub(super) fn take(&self) -> Vec<String> {
        let lines = std::mem::take(&mut *self.lines());
        lines.into_iter().map(|(_, line)| line).collect()
    }

    /// The first line of those that went to the instance of the server that is spoken to now.
    pub(super) fn take_from_here(&self) -> Option<String> {
        let here = self.here();
        let mut lines = self.lines();
        let place = lines.iter().position(|(to, _)| *to == here)?;
        Some(lines.remove(place).1)
    }

    /// The destination of the first untaken line.
    pub(super) fn reached(&self) -> Option<ServerInstance> {
        self.lines().first().map(|(to, _)| *to)
    }

    fn lines(&self) -> MutexGuard<'_, Vec<(ServerInstance, String)>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn here(&self) -> ServerInstance {
        ServerInstance::of(*self.here.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take_in(&self, permit: Permit) {
        let to = self.here();
        self.lines().push((to, permit.into_line()));
    }
}

impl Upstream for End {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        self.take_in(permit);
        Ok(())
    }

    fn isolate(&self, to: Instance) -> Result<(), UpstreamFault> {
        *self.here.lock().unwrap_or_else(PoisonError::into_inner) = to;
        Ok(())
    }
}

impl Agent for End {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        self.take_in(permit);
        Ok(())
    }
}
