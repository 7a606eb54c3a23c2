//! Partial evaluation: decisions about a request before all of its context is known.

use super::action::{Action, ActionName};
use super::facts::{Principal, Resource, Server};

/// A request of which only these fields are known, and of the session only its level.
#[derive(Debug, Clone)]
pub struct PartialRequest<'a> {
    pub principal: Principal<'a>,
    pub action: ActionName,
    pub resource: Resource<'a>,
    pub server: &'a Server,
    /// How the agent is connected.
    pub transport: Option<&'a str>,
    /// How sensitive what the session has read is; of the session nothing is known but this and the next.
    pub level: Option<i64>,
    /// The data sets that it has read.
    pub datasets: Option<&'a [String]>,
    /// Milliseconds since the Unix epoch.
    pub now_ms: Option<i64>,
    /// What the message holds, such as its arguments and what they reach for.
    pub message: Option<&'a Action<'a>>,
    /// What is known of the agent beside its name, its user and its roles.
    pub agent: AgentFacts,
}

/// What is known of an agent beside its name, its user and its roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentFacts {
    Known,
    /// Neither what its client says of itself nor what its token claims.
    OfRecord,
    /// Nor which capabilities its token grants.
    OfRecordWithoutGrants,
}

/// What rules say of an open question.
///
/// Nothing here is said too surely: what is `Always` or `Never` is so in every context, and
/// `Sometimes` may be either of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct PartialDecision {
    /// Some rule permits it.
    pub permitted: Tristate,
    /// Some rule forbids it, or fails, which denies it as well.
    pub forbidden: Tristate,
}

/// In which contexts something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tristate {
    #[default]
    Never,
    Sometimes,
    Always,
}

impl PartialDecision {
    /// No rule has anything to say.
    pub const SILENT: Self = Self {
        permitted: Tristate::Never,
        forbidden: Tristate::Never,
    };
    /// Everything is possible.
    pub const OPEN: Self = Self {
        permitted: Tristate::Sometimes,
        forbidden: Tristate::Sometimes,
    };

    /// It is denied, whatever else there is.
    pub const DENIED: Self = Self {
        permitted: Tristate::Never,
        forbidden: Tristate::Always,
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
        if self.forbidden == Tristate::Always || self.permitted == Tristate::Never {
            Some(false)
        } else if self.permitted == Tristate::Always && self.forbidden == Tristate::Never {
            Some(true)
        } else {
            None
        }
    }
}
