//! How far the protocol has come, and in which era.
//!
//! Up to revision `2025-11-25` a session starts with `initialize`; from `2026-07-28` on each
//! request says in `_meta` what it speaks (basic/lifecycle of either revision). An endpoint may
//! serve both at once, so the era belongs to a message, not to the process.

use std::fmt;
use std::sync::Arc;

use crate::wire::KnownMethod;

/// The handshake of sessions before `2026-07-28`.
#[derive(Debug, Default)]
pub enum Lifecycle {
    /// Nothing but `ping` and `initialize` has a meaning yet.
    #[default]
    New,
    /// `initialize` is under way.
    Initializing(Handshake),
    /// The upstream has answered it.
    Ready(Handshake),
}

/// What was said at `initialize`.
#[derive(Debug, Clone)]
pub struct Handshake {
    /// The `params` of the agent's request, as JSON text: a restarted upstream is told the same.
    pub params: Arc<str>,
    /// The negotiated revision; before the reply, the one that the agent asked for.
    pub spoken: Spoken,
}

/// What one side of a conversation said of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spoken {
    /// The protocol revision.
    pub version: Arc<str>,
    /// Whether the agent answers `sampling/createMessage`.
    pub sampling: bool,
    /// Whether the agent answers `elicitation/create` with a form.
    pub elicitation: bool,
    /// Whether it lets servers send its user to a page.
    pub pages: Extension,
    /// Whether the agent answers `roots/list`.
    pub roots: bool,
    /// Whether the agent knows tasks as an extension (`io.modelcontextprotocol/tasks`).
    pub tasks: Extension,
    /// Whether it has asked for log messages with this request (from `2026-07-28` on).
    pub logs: Extension,
    pub within: Within,
}

/// What an agent has said that it knows of what servers may ask it for (2025-11-25).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Within {
    /// `tools` and `toolChoice` of samples (`sampling.tools`).
    pub sample_tools: Extension,
    /// Samples as tasks (`tasks.requests.sampling.createMessage`).
    pub sample_tasks: Extension,
    /// Forms and pages as tasks (`tasks.requests.elicitation.create`).
    pub elicit_tasks: Extension,
    /// Tasks of its own at all (`tasks`).
    pub tasks: Extension,
    /// Lists of them (`tasks.list`).
    pub task_lists: Extension,
    /// The end of one on request (`tasks.cancel`).
    pub task_ends: Extension,
}

/// Whether an agent has said that it knows an extension of the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extension {
    #[default]
    Undeclared,
    Declared,
}

/// The era of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Era {
    /// Before `2026-07-28`: what was agreed on at `initialize` holds.
    Legacy(Spoken),
    /// From `2026-07-28` on: the message says itself what it speaks.
    Stateless(Spoken),
}

/// Whether the gate asks the upstream what it speaks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Probe {
    #[default]
    Idle,
    Running,
    /// It could not be asked; why, for those that waited.
    Failed(Unanswered),
}

/// Why the upstream did not answer what the gate asked for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The gate had no token for it.
    NoToken(Arc<str>),
    Otherwise(Arc<str>),
}

/// A message that has no place where the handshake stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutOfOrder {
    #[error("the session has not been initialized: send `initialize` first")]
    NotInitialized,
    #[error("the session has been initialized already")]
    AlreadyInitialized,
    /// Of a notification, which nobody waits for.
    #[error("it is not known yet whether the server needs a session: send a request first")]
    Undiscovered,
}

impl Unanswered {
    pub fn into_text(self) -> Arc<str> {
        match self {
            Self::NoToken(why) | Self::Otherwise(why) => why,
        }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken(why) | Self::Otherwise(why) => f.write_str(why),
        }
    }
}

impl Probe {
    /// Whether the question is to be asked now: it is not under way.
    pub fn begin(&mut self) -> bool {
        let begins = *self != Self::Running;
        *self = Self::Running;
        begins
    }

    /// What waited has been answered; whoever comes next may have it asked again.
    pub fn retry(&mut self) {
        if matches!(self, Self::Failed(_)) {
            *self = Self::Idle;
        }
    }
}

impl Era {
    pub fn spoken(&self) -> &Spoken {
        match self {
            Self::Legacy(spoken) | Self::Stateless(spoken) => spoken,
        }
    }
}

impl Lifecycle {
    /// The era of an agent's message that does not say what it speaks itself.
    ///
    /// # Errors
    /// [`OutOfOrder`] for everything but `ping` and `initialize` before the handshake, and for a
    /// second `initialize`.
    pub fn legacy(&self, method: KnownMethod) -> Result<Era, OutOfOrder> {
        match (self, method) {
            (Self::New, KnownMethod::Initialize | KnownMethod::Ping) => {
                Ok(Era::Legacy(Spoken::default()))
            }
            (Self::New, _) => Err(OutOfOrder::NotInitialized),
            (Self::Initializing(_) | Self::Ready(_), KnownMethod::Initialize) => {
                Err(OutOfOrder::AlreadyInitialized)
            }
            (Self::Initializing(handshake) | Self::Ready(handshake), _) => {
                Ok(Era::Legacy(handshake.spoken.clone()))
            }
        }
    }

    /// What the agent said it can do, if the handshake has begun.
    pub fn handshake(&self) -> Option<&Handshake> {
        match self {
            Self::New => None,
            Self::Initializing(handshake) | Self::Ready(handshake) => Some(handshake),
        }
    }

    /// The upstream accepted the handshake and chose a revision.
    pub fn complete(&mut self, version: &str) {
        if let Self::Initializing(handshake) = self {
            let spoken = Spoken {
                version: version.into(),
                ..handshake.spoken.clone()
            };
            *self = Self::Ready(Handshake {
                params: Arc::clone(&handshake.params),
                spoken,
            });
        }
    }

    /// The upstream refused the handshake: the agent may try another one.
    pub fn abandon(&mut self) {
        if matches!(self, Self::Initializing(_)) {
            *self = Self::New;
        }
    }
}
