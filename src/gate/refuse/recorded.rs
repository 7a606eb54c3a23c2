//! What records say of a refusal.

use crate::audit;
use crate::gate::asking::Unaskable;
use crate::gate::faults::UpstreamFault;
use crate::gate::names::Misleading;
use crate::gate::outside::Outside;
use crate::gate::schemas::Unfit;
use crate::gate::stage::Stage;
use crate::policy::{CanonicalPathError, Denial, DenialCause};

use super::told::denial_code;
use super::{Hidden, Refusal};

impl Refusal {
    /// A stable word for the cause, in records.
    pub fn code(&self) -> &str {
        match self {
            Self::Wire(error) => error.reason_code(),
            Self::Params(_) => "invalid_params",
            Self::OutOfOrder(_) => "unexpected_message",
            Self::UnsupportedVersion { .. } => "unsupported_version",
            Self::NeedsSession { .. } => "needs_session",
            Self::UnknownMethod(_) => "unknown_method",
            Self::WrongShape(method) if method.is_request() => "not_a_request",
            Self::WrongShape(_) => "not_a_notification",
            Self::ReusedId => "duplicate_request_id",
            Self::NotCancellable(_) => "not_cancellable",
            Self::TooLong(_) => "too_long",
            Self::NoMemory => "no_memory",
            Self::TooMany(_) => "too_many_in_flight",
            Self::TooOften { .. } => "rate_limited",
            Self::Spent { .. } => "session_quota_exceeded",
            Self::NoRoom => "session_store_full",
            Self::Ended { .. } => "session_ended",
            Self::WhileSampling => "blocked_during_sampling",
            Self::Unaskable(Unaskable::Secret(_)) => "elicitation_requests_secret",
            Self::Unaskable(Unaskable::Form(_)) => "form",
            Self::Unaskable(Unaskable::Page(_)) => "elicitation_url_not_allowed",
            Self::UnknownTool {
                cause: Hidden::NotListed,
                ..
            } => "not_listed",
            Self::UnknownTool {
                cause: Hidden::Misleading(Misleading::NotAscii),
                ..
            } => "not_ascii",
            Self::UnknownTool {
                cause: Hidden::Misleading(Misleading::LooksLike(_)),
                ..
            } => "look_alike",
            Self::Stray => "stray",
            Self::Left => "left",
            Self::UnknownTool {
                cause: Hidden::NotOffered,
                ..
            } => "unknown_tool",
            Self::UnknownTool {
                cause: Hidden::Denied(denial),
                ..
            } => denial_code(denial),
            Self::Denied { denial, outside } => {
                let outside = outside.as_deref().map(Outside::code);
                outside.unwrap_or_else(|| denial_code(denial))
            }
            Self::Unconsented { why, .. } => why.code(),
            Self::ForeignState => "request_state_mismatch",
            Self::UnknownCursor => "unknown_cursor",
            Self::UnknownTask => "unknown_task",
            Self::NotKept => "result_expired",
            Self::MissingCapability => "missing_capability",
            Self::NotNegotiated(_) | Self::Undeclared(_) => "not_negotiated",
            Self::Upstream(UpstreamFault::TimedOut(_)) | Self::Unanswered(_) => "timeout",
            Self::Upstream(UpstreamFault::BadReply(_) | UpstreamFault::Status(_)) => {
                "invalid_upstream_response"
            }
            Self::Upstream(_) => "upstream",
            Self::Cancelled => "cancelled",
            Self::Audit(_) => "audit_fault",
            Self::CancelledInTime(_) => "cancelled_before_send",
            Self::TooManyUris(_) => "too_many_resources",
            Self::ArgumentsTooWide(_) => "arguments_too_wide",
            Self::Secret => "secret",
            Self::BadResult(_) => "result",
            Self::Uncanonical(CanonicalPathError::Link(_)) => "symlink_blocked",
            Self::Uncanonical(_) | Self::NoUri(_) => "uncanonical",
            Self::Unfit(Unfit::Arguments(_)) => "arguments",
            Self::Unfit(Unfit::Names(_)) => "ambiguous_argument",
            Self::Unfit(Unfit::Secret(_)) => "secret_outbound",
            Self::Unfit(Unfit::Schema(_) | Unfit::NotKept) => "schema",
            Self::Panicked => "panic",
            Self::Unheld(_) => "session_store_unavailable",
            Self::Unrepeated(unrepeated) => unrepeated.how.code(),
            Self::Unbridged(_) => "unbridged",
        }
    }

    /// Whether somebody was refused, or something failed.
    pub fn decision(&self) -> audit::Decision {
        let engine = self
            .denial()
            .is_some_and(|it| matches!(it.cause, DenialCause::Fault(_)));
        if engine
            || matches!(
                self,
                Self::Upstream(_)
                    | Self::Unanswered(_)
                    | Self::Cancelled
                    | Self::Panicked
                    | Self::Unheld(_)
                    | Self::Audit(_)
            )
        {
            audit::Decision::Error
        } else {
            audit::Decision::Block
        }
    }

    /// The policies that decided, if policy did.
    pub fn denial(&self) -> Option<&Denial> {
        if let Self::UnknownTool {
            cause: Hidden::Denied(denial),
            ..
        }
        | Self::Denied { denial, .. }
        | Self::Unconsented { denial, .. } = self
        {
            Some(denial)
        } else {
            None
        }
    }

    /// The step that refused.
    pub fn stage(&self) -> Stage {
        match self {
            Self::Wire(_) | Self::TooLong(_) | Self::NoMemory => Stage::Decode,
            Self::OutOfOrder(_)
            | Self::UnsupportedVersion { .. }
            | Self::NeedsSession { .. }
            | Self::ReusedId
            | Self::TooMany(_)
            | Self::Ended { .. }
            | Self::CancelledInTime(_)
            | Self::Left
            | Self::Stray => Stage::Identify,
            Self::Params(_)
            | Self::ArgumentsTooWide(_)
            | Self::TooManyUris(_)
            | Self::UnknownMethod(_)
            | Self::WrongShape(_)
            | Self::NotCancellable(_)
            | Self::UnknownCursor
            | Self::UnknownTask
            | Self::NotKept
            | Self::MissingCapability
            | Self::NotNegotiated(_)
            | Self::Undeclared(_) => Stage::Understand,
            Self::UnknownTool { .. }
            | Self::Denied { .. }
            | Self::Unconsented { .. }
            | Self::ForeignState
            | Self::Unheld(_)
            | Self::NoRoom
            | Self::Panicked => Stage::Decide,
            Self::TooOften { .. } | Self::Spent { .. } => Stage::Limit,
            Self::Unfit(_)
            | Self::BadResult(_)
            | Self::WhileSampling
            | Self::Unrepeated(_)
            | Self::Unaskable(_) => Stage::Guard,
            Self::Secret | Self::Uncanonical(_) | Self::NoUri(_) => Stage::Oblige,
            Self::Audit(_) => Stage::Record,
            Self::Upstream(UpstreamFault::BadReply(_) | UpstreamFault::Status(_)) => Stage::Inspect,
            Self::Upstream(_) | Self::Unanswered(_) | Self::Cancelled => Stage::Forward,
            Self::Unbridged(_) => Stage::Bridge,
        }
    }
}
