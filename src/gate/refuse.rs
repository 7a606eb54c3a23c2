//! Refusals, and what the refused party is told.
//!
//! One exhaustive match maps each cause to a JSON-RPC error. Codes: JSON-RPC 2.0 §5.1 and MCP's own
//! where the protocol has one; [`DENIED`] for what policy refuses, since a gate must not invent a
//! code in the reserved range (−32768…−32000).

mod recorded;
mod told;

use std::sync::Arc;
use std::time::Duration;

use crate::audit;
use crate::policy::{CanonicalPathError, Denial};
use crate::session::{OutOfOrder, StoreFault};
use crate::wire::{Fragment, KnownMethod, MirrorMismatch, ParamsError, Side, WireError};

use super::asking::Unaskable;
use super::consent::Unconsented;
use super::eras::Lack;
use super::faults::{NO_MEMORY, UpstreamFault};
use super::names::Misleading;
use super::outside::Outside;
use super::rates::Limit;
use super::schemas::Unfit;
use told::{
    denied, limited, needs_session, pointer_to_audit, tasks_extension, unconsented, versions,
};

/// The code of an answer that policy refused: an application code outside the reserved range.
pub const DENIED: i64 = 4030;
/// The code of an answer to what came too often, or beyond a budget. As above.
pub const RATE_LIMITED: i64 = 4290;

/// How records begin to say what a person has not agreed to, and nothing else.
pub const UNCONSENTED: &str = "denied by policy: ";

/// How records end to say that a tool is closed to an agent that does not see it.
pub const HIDDEN: &str = "; the agent is told that there is no such tool";

const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const INTERNAL: i64 = -32_603;
/// MCP 2026-07-28: basic/lifecycle, "Unsupported protocol versions".
const UNSUPPORTED_VERSION: i64 = -32_022;
/// MCP 2026-07-28: basic/lifecycle, "Missing required capabilities".
const MISSING_CAPABILITY: i64 = -32_021;
/// MCP 2026-07-28: basic/transports, "Server validation".
pub(super) const HEADER_MISMATCH: i64 = -32_020;

/// Why a message does not pass.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0}{limit}", limit = told::limit(.0))]
    Wire(#[from] WireError),
    #[error("invalid params: {0}")]
    Params(#[from] ParamsError),
    #[error("{0}")]
    OutOfOrder(#[from] OutOfOrder),
    #[error("unsupported protocol version")]
    UnsupportedVersion {
        requested: String,
        modern: Modern,
        /// What may be asked for instead; none if only the gate's own revisions are known.
        supported: Vec<String>,
    },
    #[error(
        "the server does not speak {requested}, and needs a session ({lack}): use an agent that begins \
         with `initialize`, or a server that speaks {requested}"
    )]
    NeedsSession {
        requested: String,
        method: KnownMethod,
        lack: Arc<Lack>,
    },
    #[error("method not found: {0}")]
    UnknownMethod(String),
    #[error("`{}` must be sent as a {}", .0.name(), if .0.is_request() { "request" } else { "notification" })]
    WrongShape(KnownMethod),
    #[error("a request with this id is already in flight")]
    ReusedId,
    #[error("a `{0}` must not be cancelled")]
    NotCancellable(&'static str),
    #[error("message longer than {0} bytes")]
    TooLong(usize),
    #[error("{NO_MEMORY}")]
    NoMemory,
    #[error("too many requests in flight: at most {0}")]
    TooMany(usize),
    /// Nothing of it was done: the same request may come again after that time.
    #[error("too many {}: retry after {retry_after_ms} ms", limit.counts())]
    TooOften { limit: Limit, retry_after_ms: i64 },
    #[error("the session has made all of its {most} calls{}", later(*retry_after_ms))]
    Spent {
        most: i64,
        /// Until it counts as another one, if it does so by itself.
        retry_after_ms: Option<i64>,
    },
    /// Who comes when all places are taken counts as having read everything.
    #[error("the session store is full, so the gate cannot tell what this session has read")]
    NoRoom,
    #[error("the session has ended, since `{tool}` failed for good: begin another one")]
    Ended { tool: String },
    #[error(
        "the agent's model works for the server, and nothing that changes something passes until it has answered"
    )]
    WhileSampling,
    #[error("{0}")]
    Unaskable(#[from] Unaskable),
    #[error("it belongs to nothing that was asked for")]
    Stray,
    #[error("the session has left the server that says it")]
    Left,
    /// The agent is told what it would be told if the tool did not exist.
    #[error("unknown tool: {name}")]
    UnknownTool { name: String, cause: Hidden },
    #[error("invalid params: `requestState` was not given for this request")]
    ForeignState,
    #[error("invalid params: `cursor` was not given for this list; begin it anew")]
    UnknownCursor,
    #[error("invalid params: there is no such task")]
    UnknownTask,
    #[error("no such result is kept for this agent, or not any more")]
    NotKept,
    #[error("this needs an agent that has said that it knows tasks")]
    MissingCapability,
    #[error("denied by policy")]
    Denied {
        denial: Denial,
        outside: Option<Box<Outside>>,
    },
    /// A person's consent would have lifted it.
    #[error("{}{why}", UNCONSENTED)]
    Unconsented { denial: Denial, why: Unconsented },
    #[error("the upstream did not negotiate `{0}`")]
    NotNegotiated(String),
    #[error("invalid params: the agent has not declared `{0}`")]
    Undeclared(&'static str),
    #[error("{0}")]
    Upstream(#[from] UpstreamFault),
    #[error("cancelled by the one who asked")]
    Cancelled,
    #[error("the audit could not be written: {0}")]
    Audit(#[from] audit::AuditFault),
    #[error("it cannot be told, or not be kept, what the session has read: {0}")]
    Unheld(#[from] StoreFault),
    #[error("the gate failed to judge it")]
    Panicked,
    #[error("invalid params: the JSON pointers of the arguments are longer than {0} bytes in all")]
    ArgumentsTooWide(usize),
    #[error("invalid params: they name more than {0} resources")]
    TooManyUris(usize),
    #[error("it holds a secret of the gate's own configuration")]
    Secret,
    #[error("the request that it cancels was still waiting for {0}, and had not been sent")]
    CancelledInTime(&'static str),
    #[error("the agent did not answer within {} ms", .0.as_millis())]
    Unanswered(Duration),
    #[error("invalid params: {0}")]
    Unfit(Unfit),
    /// It may pass only with paths in their one spelling, and has one that has none.
    #[error("invalid params: {0}")]
    Uncanonical(#[from] CanonicalPathError),
    /// The same where no policy asks for it, but the configuration.
    #[error("invalid params: {0}")]
    NoUri(CanonicalPathError),
    /// The one who waits is not told more than that: the words are the server's.
    #[error("{0}")]
    BadResult(String),
    /// A header does not say what the body says.
    #[error("{0}")]
    Unrepeated(#[from] MirrorMismatch),
    #[error("{0}")]
    Unbridged(#[from] Unbridged),
}

/// Why the bridge between the eras does not carry something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unbridged {
    #[error("the session has no `{0}`, which belongs to the server's revision")]
    Foreign(&'static str),
    #[error("in the words of the server's revision the message is larger than is accepted")]
    TooLarge,
    #[error("the server's answer cannot be told in the session's revision: {0}")]
    Answer(&'static str),
    #[error("the server asked for more input than {0} times")]
    Rounds(u32),
    #[error("the server asked for `{0}`, and the agent did not answer")]
    Unanswered(&'static str),
    #[error("the server does not tell of changes of this resource")]
    NotFollowed,
    #[error("the session follows {0} resources already, and no more are followed")]
    TooManyFollowed(usize),
}

/// Which era's error an unsupported version gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modern {
    Legacy,
    Stateless,
}

/// Why a tool is answered as if it did not exist.
#[derive(Debug)]
pub enum Hidden {
    NotOffered,
    /// It could be called, and must not be listed.
    NotListed,
    /// Its name could be taken for another.
    Misleading(Misleading),
    Denied(Denial),
}

/// The JSON-RPC error that answers a refusal.
#[derive(Debug)]
pub struct ErrorAnswer {
    pub code: i64,
    pub message: String,
    pub data: Option<Fragment>,
}

impl Refusal {
    /// A reply of the server that is none.
    pub(super) fn bad_reply(problem: &str) -> Self {
        UpstreamFault::BadReply(problem.to_owned()).into()
    }

    /// What the refused party is told. Never rule text: the audit has the reasons, and `reference`
    /// leads an operator to them.
    pub fn answer(&self, to: Side, reference: &str) -> ErrorAnswer {
        match to {
            Side::Agent => self.answer_agent(reference),
            Side::Upstream => self.answer_upstream(),
        }
    }

    /// By policy, wherever anything lies.
    pub(super) fn denied(denial: Denial) -> Self {
        Self::Denied {
            denial,
            outside: None,
        }
    }

    /// What the one who waits is told when the reply does not pass. What was wrong with the reply is
    /// no fault of the request; and its text, which was withheld, must not come by this way.
    pub fn answer_waiting(&self, to: Side, reference: &str) -> ErrorAnswer {
        let speaks_for_itself = matches!(
            self,
            Self::Denied { .. }
                | Self::Unconsented { .. }
                | Self::Upstream(_)
                | Self::Audit(_)
                | Self::UnsupportedVersion { .. }
                | Self::NeedsSession { .. }
        );
        if speaks_for_itself {
            return self.answer(to, reference);
        }
        let is_short = matches!(self, Self::NoMemory);
        let mut problem = if is_short { NO_MEMORY } else { self.code() }.to_owned();
        if let Self::Wire(error) = self {
            problem.push_str(&told::limit(error));
        }
        let (message, data) = match to {
            Side::Agent => (
                UpstreamFault::BadReply(problem).to_string(),
                Some(pointer_to_audit(reference, None)),
            ),
            Side::Upstream => (format!("the agent's answer was refused: {problem}"), None),
        };
        ErrorAnswer {
            code: INTERNAL,
            message,
            data,
        }
    }

    /// A server learns nothing of policies: what it may not ask, the agent does not know.
    fn answer_upstream(&self) -> ErrorAnswer {
        let unknown = Self::UnknownMethod(String::new());
        let is_hidden = matches!(
            self,
            Self::Denied { .. }
                | Self::Unconsented { .. }
                | Self::Ended { .. }
                | Self::Unaskable(Unaskable::Page(_))
        );
        let told = if is_hidden { &unknown } else { self };
        ErrorAnswer {
            code: told.rpc_code(),
            message: told.public_message(),
            data: None,
        }
    }

    fn answer_agent(&self, reference: &str) -> ErrorAnswer {
        if let Self::Denied { denial, outside } = self {
            return denied(denial, outside.as_deref(), reference);
        }
        if let Self::Unconsented { denial, why } = self {
            return unconsented(denial, why, reference);
        }
        let code = self.rpc_code();
        let data = if let Self::UnsupportedVersion {
            requested,
            supported,
            ..
        } = self
        {
            Some(versions(requested, supported))
        } else if let Self::NeedsSession {
            requested, lack, ..
        } = self
        {
            Some(needs_session(requested, lack))
        } else if let Some(data) = limited(self, reference) {
            Some(data)
        } else if matches!(self, Self::MissingCapability) {
            Some(tasks_extension())
        } else if let Self::Unrepeated(unrepeated) = self {
            let header = Fragment::string(&unrepeated.header);
            Some(Fragment::object([("header", header)]))
        } else {
            (code == INTERNAL).then(|| pointer_to_audit(reference, None))
        };
        ErrorAnswer {
            code,
            message: self.public_message(),
            data,
        }
    }

    fn rpc_code(&self) -> i64 {
        match self {
            Self::Wire(error) => i64::from(error.code()),
            // INVARIANT: an unknown tool has one answer whatever hides it, or a denial tells that
            // the tool exists.
            Self::Params(_)
            | Self::ArgumentsTooWide(_)
            | Self::TooManyUris(_)
            | Self::NotCancellable(_)
            | Self::ForeignState
            | Self::UnknownCursor
            | Self::UnknownTask
            | Self::NotKept
            | Self::Unfit(_)
            | Self::Undeclared(_)
            | Self::Unaskable(Unaskable::Secret(_) | Unaskable::Form(_))
            | Self::Uncanonical(_)
            | Self::NoUri(_)
            | Self::UnknownTool { .. }
            | Self::Unbridged(Unbridged::Foreign(_))
            | Self::UnsupportedVersion {
                modern: Modern::Legacy,
                ..
            } => INVALID_PARAMS,
            // A client that speaks both eras goes on with `initialize` after this error, whatever kit it
            // is made of; after the other one, not all do.
            Self::NeedsSession { method, .. } if *method == KnownMethod::Discover => {
                METHOD_NOT_FOUND
            }
            Self::NeedsSession { .. }
            | Self::UnsupportedVersion {
                modern: Modern::Stateless,
                ..
            } => UNSUPPORTED_VERSION,
            Self::MissingCapability => MISSING_CAPABILITY,
            Self::Unrepeated(_) => HEADER_MISMATCH,
            Self::UnknownMethod(_) | Self::NotNegotiated(_) => METHOD_NOT_FOUND,
            Self::OutOfOrder(_)
            | Self::ReusedId
            | Self::WrongShape(_)
            | Self::Stray
            | Self::Left
            | Self::TooLong(_) => INVALID_REQUEST,
            Self::Denied { .. }
            | Self::Unconsented { .. }
            | Self::Ended { .. }
            | Self::NoRoom
            | Self::WhileSampling
            | Self::Unaskable(Unaskable::Page(_)) => DENIED,
            Self::TooOften { .. } | Self::Spent { .. } => RATE_LIMITED,
            Self::TooMany(_)
            | Self::NoMemory
            | Self::Upstream(_)
            | Self::Cancelled
            | Self::CancelledInTime(_)
            | Self::Unanswered(_)
            | Self::Secret
            | Self::BadResult(_)
            | Self::Panicked
            | Self::Unheld(_)
            | Self::Unbridged(_)
            | Self::Audit(_) => INTERNAL,
        }
    }

    fn public_message(&self) -> String {
        if let Self::UnknownTool { name, .. } = self {
            return format!("Unknown tool: {name}");
        }
        let fixed = match self.rpc_code() {
            _ if matches!(self, Self::NeedsSession { .. }) => return self.to_string(),
            METHOD_NOT_FOUND => "Method not found",
            _ if matches!(self, Self::UnsupportedVersion { .. }) => "Unsupported protocol version",
            // What failed inside the gate is the operator's business.
            _ if matches!(self, Self::Audit(_)) => "the gate cannot record this message",
            _ if matches!(self, Self::Unheld(_)) => "the gate cannot judge this message",
            _ => return self.to_string(),
        };
        fixed.to_owned()
    }
}

fn later(retry_after_ms: Option<i64>) -> String {
    retry_after_ms.map_or_else(String::new, |after| format!(": retry after {after} ms"))
}
