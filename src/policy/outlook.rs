//! What can be said of a message of which only a part is known.

use super::action::ActionName;
use super::facts::{Principal, Resource, Server};

/// A question about whoever and whatever is known to have asked it. Its context is not known but for
/// what stands here: no argument, and of the session no more than its level.
#[derive(Debug, Clone)]
pub struct OpenQuestion<'a> {
    pub principal: Principal<'a>,
    pub action: ActionName,
    pub resource: Resource<'a>,
    pub server: &'a Server,
    /// How the agent is connected.
    pub transport: Option<&'a str>,
    /// How sensitive what the session has read is; of the session nothing else is known.
    pub level: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub now_ms: Option<i64>,
    /// `context.method`.
    pub method: Option<&'a str>,
    /// Whether what the client says of itself is known too.
    pub client: ClientIs,
}

/// Whether what a client says of itself is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientIs {
    Known,
    Unknown,
}

/// What rules say of an open question.
///
/// Nothing here is said too surely: what is `Always` or `Never` is so in every context, and
/// `Sometimes` may be either of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Outlook {
    /// Some rule permits it.
    pub permitted: Chance,
    /// Some rule forbids it, or fails, which denies it as well.
    pub forbidden: Chance,
}

/// In which contexts something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Chance {
    #[default]
    Never,
    Sometimes,
    Always,
}

impl Outlook {
    /// No rule has anything to say.
    pub const SILENT: Self = Self {
        permitted: Chance::Never,
        forbidden: Chance::Never,
    };
    /// Everything is possible.
    pub const OPEN: Self = Self {
        permitted: Chance::Sometimes,
        forbidden: Chance::Sometimes,
    };

    /// What two engines, or two rules, say together.
    pub fn and(self, other: Self) -> Self {
        Self {
            permitted: self.permitted.max(other.permitted),
            forbidden: self.forbidden.max(other.forbidden),
        }
    }

    /// Whether the message is allowed, if that is the same in every context.
    pub fn settled(self) -> Option<bool> {
        if self.forbidden == Chance::Always || self.permitted == Chance::Never {
            Some(false)
        } else if self.permitted == Chance::Always && self.forbidden == Chance::Never {
            Some(true)
        } else {
            None
        }
    }
}
