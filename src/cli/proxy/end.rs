//! How conversations end.

use std::fmt;

use crate::gate::{AgentGone, UpstreamFault};
use crate::shutdown::ShutdownCause;

use super::super::exit::Exit;

/// Why a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The agent closed its end, and everything it asked was answered.
    AgentClosed,
    /// A signal, or the agent went away before it was answered.
    Stopped(ShutdownCause),
    /// The server cannot be brought back.
    UpstreamGone(String),
    /// New policies do not leave the agent this server.
    NotPermitted,
    /// Nothing could be recorded, so nothing may happen.
    AuditFault,
}

impl End {
    /// The fault that requests get which still wait.
    pub(super) fn why(&self) -> UpstreamFault {
        match self {
            Self::Stopped(ShutdownCause::ServerRemoved) => UpstreamFault::Removed,
            Self::AgentClosed | Self::Stopped(_) | Self::NotPermitted => UpstreamFault::SessionOver,
            Self::UpstreamGone(_) | Self::AuditFault => UpstreamFault::Died,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::AgentClosed | Self::Stopped(_) | Self::NotPermitted => Exit::Success,
            Self::UpstreamGone(_) | Self::AuditFault => Exit::Unrecoverable,
        }
    }
}

impl From<AgentGone> for End {
    fn from(_: AgentGone) -> Self {
        Self::Stopped(ShutdownCause::AgentGone)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AgentClosed => f.write_str("the agent closed its end"),
            Self::Stopped(ShutdownCause::Signal) => f.write_str("a signal"),
            Self::Stopped(ShutdownCause::AgentGone) => f.write_str("the agent has gone"),
            Self::Stopped(ShutdownCause::UpstreamGone) => f.write_str("the server has gone"),
            Self::Stopped(ShutdownCause::ServerRemoved) => f.write_str("the server was removed"),
            Self::UpstreamGone(reason) => f.write_str(reason),
            Self::NotPermitted => {
                f.write_str("`agents.toml` does not leave the agent this server any more")
            }
            Self::AuditFault => f.write_str("the audit cannot be written"),
        }
    }
}
