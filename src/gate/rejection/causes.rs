//! The causes for which the path, or several features, reject a message. Those of one feature stand with it.

use std::borrow::Cow;
use std::time::Duration;

use crate::audit::AuditFault;
use crate::mcp::revisions;
use crate::policy::CanonicalPathError;
use crate::session::{OutOfOrder, StoreFault, Unanswered};
use crate::wire::{Fragment, JsonErrorKind, KnownMethod, ParamsError, WireError, WireErrorKind};

use crate::gate::faults::{NO_MEMORY, UpstreamFault};
use crate::gate::stage::Stage;

use super::{
    DENIED, INTERNAL, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Property, Rejection,
    UNSUPPORTED_VERSION,
};

impl Rejection {
    /// A server's answer to the gate itself is of no use.
    pub(in crate::gate) fn useless_reply(problem: &str) -> Self {
        UpstreamFault::BadReply(problem.to_owned()).into()
    }

    /// The agent's model works for the server, and the message could change something.
    pub(in crate::gate) fn blocked_during_sampling() -> Self {
        let text = "the agent's model works for the server, and nothing that changes something passes \
                    until it has answered";
        Self::new(Stage::Guard, "blocked_during_sampling", DENIED, text)
            .with_reason_in_answer()
            .with_properties(&[Property::KeepsConsent])
    }
}

impl Rejection {
    /// The gate could not ask for itself, for this reason.
    pub(in crate::gate) fn why_unanswered(&self) -> Unanswered {
        let why = self.to_string().into();
        if self.has(Property::NoToken) {
            Unanswered::NoToken(why)
        } else {
            Unanswered::Otherwise(why)
        }
    }
}

impl From<WireError> for Rejection {
    fn from(error: WireError) -> Self {
        let (reason, limit) = (error.reason_code(), limit(&error));
        Self::new(
            Stage::Decode,
            reason,
            error.code().into(),
            format!("{error}{limit}"),
        )
        .with_problem_for_requesters(format!("{reason}{limit}"))
    }
}

impl From<ParamsError> for Rejection {
    fn from(error: ParamsError) -> Self {
        Self::invalid_params(Stage::Understand, "invalid_params", error)
    }
}

impl From<OutOfOrder> for Rejection {
    fn from(error: OutOfOrder) -> Self {
        let reason = "unexpected_message";
        Self::new(Stage::Identify, reason, INVALID_REQUEST, error.to_string())
    }
}

impl From<UpstreamFault> for Rejection {
    fn from(fault: UpstreamFault) -> Self {
        let (stage, reason) = match fault {
            UpstreamFault::TimedOut(_) => (Stage::Forward, "timeout"),
            UpstreamFault::BadReply(_) | UpstreamFault::Status(_) => {
                (Stage::Inspect, "invalid_upstream_response")
            }
            UpstreamFault::Down
            | UpstreamFault::Stalled
            | UpstreamFault::Died
            | UpstreamFault::Unreachable(_)
            | UpstreamFault::Undiscovered(_)
            | UpstreamFault::Unlisted
            | UpstreamFault::Left
            | UpstreamFault::SessionOver => (Stage::Forward, "upstream"),
            UpstreamFault::NoToken(_) => (Stage::Forward, "token_exchange_failed"),
            UpstreamFault::Removed => (Stage::Forward, "server_removed"),
        };
        let lacks_token = matches!(fault, UpstreamFault::NoToken(_));
        let properties: &'static [Property] = if fault.shows_a_broken_server() {
            &[Property::BrokenServer]
        } else if lacks_token {
            &[Property::NoToken]
        } else {
            &[]
        };
        let rejection = Self::new(stage, reason, INTERNAL, fault.to_string())
            .with_same_answer_for_requesters()
            .into_error()
            .with_properties(properties);
        if !lacks_token {
            return rejection;
        }
        rejection
            .with_text_for_agents("the gate got no token for the server in exchange for yours")
            .with_reason_in_answer()
    }
}

impl From<AuditFault> for Rejection {
    fn from(fault: AuditFault) -> Self {
        let text = format!("the audit could not be written: {fault}");
        Self::new(Stage::Record, "audit_fault", INTERNAL, text)
            .with_text_for_agents("the gate cannot record this message")
            .with_same_answer_for_requesters()
            .into_error()
    }
}

impl From<StoreFault> for Rejection {
    fn from(fault: StoreFault) -> Self {
        let text = format!("it cannot be told, or not be kept, what the session has read: {fault}");
        Self::new(Stage::Decide, "session_store_unavailable", INTERNAL, text)
            .with_text_for_agents("the gate cannot judge this message")
            .with_properties(&[Property::KeepsConsent])
            .into_error()
    }
}

impl From<CanonicalPathError> for Rejection {
    fn from(error: CanonicalPathError) -> Self {
        match error {
            CanonicalPathError::Link(_) => {
                Self::invalid_params(Stage::Oblige, "symlink_blocked", error)
            }
            CanonicalPathError::Unclear(_)
            | CanonicalPathError::Undeclared
            | CanonicalPathError::TooManyPaths
            | CanonicalPathError::LongPath(_)
            | CanonicalPathError::Astray(_)
            | CanonicalPathError::Name
            | CanonicalPathError::NoUri { .. } => {
                Self::invalid_params(Stage::Oblige, "uncanonical", error)
            }
        }
    }
}

impl Rejection {
    /// What the sender has to mend.
    pub(in crate::gate) fn invalid_params(
        stage: Stage,
        reason: &'static str,
        problem: impl std::fmt::Display,
    ) -> Self {
        let text = format!("invalid params: {problem}");
        Self::new(stage, reason, INVALID_PARAMS, text)
    }

    /// A reply of the server that is none.
    pub(in crate::gate) fn bad_reply(problem: &str) -> Self {
        UpstreamFault::BadReply(problem.to_owned()).into()
    }

    /// A revision that the gate does not know.
    pub(in crate::gate) fn unsupported_version(requested: &str) -> Self {
        let text = "unsupported protocol version";
        Self::new(
            Stage::Identify,
            "unsupported_version",
            UNSUPPORTED_VERSION,
            text,
        )
        .with_text_for_agents("Unsupported protocol version")
        .with_data(versions(requested, revisions::known()))
        .with_same_answer_for_requesters()
        .with_properties(&[Property::UnknownRevision])
    }

    /// The same before a server whose sessions a bridge holds.
    pub fn other_stateless_version(requested: &str) -> Self {
        let supported = [revisions::FIRST_STATELESS].into_iter();
        Self::unsupported_version(requested).with_data(versions(requested, supported))
    }

    pub fn unknown_method(name: &str) -> Self {
        let text = format!("method not found: {name}");
        Self::new(Stage::Understand, "unknown_method", METHOD_NOT_FOUND, text)
    }

    pub(in crate::gate) fn wrong_shape(method: KnownMethod) -> Self {
        let name = method.name();
        if method.is_request() {
            let text = format!("`{name}` must be sent as a request");
            Self::new(Stage::Understand, "not_a_request", INVALID_REQUEST, text)
        } else {
            let text = format!("`{name}` must be sent as a notification");
            let reason = "not_a_notification";
            Self::new(Stage::Understand, reason, INVALID_REQUEST, text)
        }
    }

    pub fn reused_id() -> Self {
        let text = "a request with this id is already in flight";
        let reason = "duplicate_request_id";
        Self::new(Stage::Identify, reason, INVALID_REQUEST, text)
            .with_properties(&[Property::ReusedId])
    }

    pub(in crate::gate) fn not_cancellable(method: &str) -> Self {
        let text = format!("a `{method}` must not be cancelled");
        Self::new(Stage::Understand, "not_cancellable", INVALID_PARAMS, text)
    }

    pub(in crate::gate) fn too_long(most: usize) -> Self {
        let text = format!("message longer than {most} bytes");
        Self::new(Stage::Decode, "too_long", INVALID_REQUEST, text)
    }

    pub(in crate::gate) fn no_memory() -> Self {
        Self::new(Stage::Decode, "no_memory", INTERNAL, NO_MEMORY)
            .with_problem_for_requesters(NO_MEMORY)
            .with_properties(&[Property::KeepsConsent])
    }

    pub fn too_many(most: usize) -> Self {
        let text = format!("too many requests in flight: at most {most}");
        Self::new(Stage::Identify, "too_many_in_flight", INTERNAL, text)
    }

    /// The session counts as having read everything, since all places are taken.
    pub(in crate::gate) fn no_room() -> Self {
        let reason = "session_store_full";
        let text = "the session store is full, so the gate cannot tell what this session has read";
        Self::new(Stage::Decide, reason, DENIED, text)
            .with_reason_in_answer()
            .with_properties(&[Property::KeepsConsent])
    }

    pub fn stray() -> Self {
        let text = "it belongs to nothing that was asked for";
        Self::new(Stage::Identify, "stray", INVALID_REQUEST, text)
    }

    /// A request whose name belongs to no server of the endpoint of all.
    pub fn unrouted(method: &str, name: &str) -> Self {
        let problem =
            format!("`{method}` of {name:?}, which belongs to no server of this endpoint");
        Self::invalid_params(Stage::Identify, "unrouted", problem)
            .with_text_for_agents("Invalid params: there is nothing of this name")
    }

    /// A request that does not say what it is about.
    pub fn without_subject(method: &str) -> Self {
        let problem = format!("`{method}` lacks the name of what it is about");
        Self::invalid_params(Stage::Understand, "invalid_params", problem)
    }

    /// The same of a tool, which is answered like every unknown one.
    pub fn unrouted_tool(name: &str) -> Self {
        Self::unknown_tool(name, "unrouted")
    }

    /// A cursor that this list was not given.
    pub fn unknown_cursor() -> Self {
        let problem = "`cursor` was not given for this list; begin it anew";
        Self::invalid_params(Stage::Understand, "unknown_cursor", problem)
    }

    /// A `requestState` that its agent was not given for this request.
    pub(in crate::gate) fn foreign_state() -> Self {
        let problem = "`requestState` was not given for this request";
        Self::invalid_params(Stage::Decide, "request_state_mismatch", problem)
    }

    pub(in crate::gate) fn not_negotiated(what: &str) -> Self {
        let text = format!("the upstream did not negotiate `{what}`");
        Self::new(Stage::Understand, "not_negotiated", METHOD_NOT_FOUND, text)
    }

    pub(in crate::gate) fn undeclared(what: &str) -> Self {
        let problem = format!("the agent has not declared `{what}`");
        Self::invalid_params(Stage::Understand, "not_negotiated", problem)
    }

    pub(in crate::gate) fn too_many_uris(most: usize) -> Self {
        let problem = format!("they name more than {most} resources");
        Self::invalid_params(Stage::Understand, "too_many_resources", problem)
    }

    pub fn cancelled() -> Self {
        let text = "cancelled by the one who asked";
        Self::new(Stage::Forward, "cancelled", INTERNAL, text)
            .into_error()
            .with_properties(&[Property::Cancelled])
    }

    /// A request was cancelled before it was sent.
    pub(in crate::gate) fn cancelled_in_time(waiting_for: &str) -> Self {
        let text = format!(
            "the request that it cancels was still waiting for {waiting_for}, and had not been sent"
        );
        Self::new(Stage::Identify, "cancelled_before_send", INTERNAL, text)
    }

    pub(in crate::gate) fn unanswered(allowed: Duration) -> Self {
        let text = format!("the agent did not answer within {} ms", allowed.as_millis());
        Self::new(Stage::Forward, "timeout", INTERNAL, text).into_error()
    }

    /// A secret of the gate's own configuration stands where nothing can stand for it.
    pub(in crate::gate) fn secret() -> Self {
        let text = "it holds a secret of the gate's own configuration";
        Self::new(Stage::Oblige, "secret", INTERNAL, text)
    }

    /// A policy permits a connection only if a message is edited.
    pub(in crate::gate) fn unfit_obligation() -> Self {
        let text = "a policy permits the connection with an obligation that is about messages";
        Self::new(Stage::Decide, "obligation_not_applicable", DENIED, text)
    }

    pub(in crate::gate) fn panicked() -> Self {
        let text = "the gate failed to judge it";
        Self::new(Stage::Decide, "panic", INTERNAL, text).into_error()
    }

    /// Programs read the record's name and the reason in the answer.
    pub(in crate::gate) fn with_reason_in_answer(self) -> Self {
        let reason = Fragment::string(self.reason());
        self.with_reference().with_data([("reason", reason)])
    }
}

/// The members that tell an agent which revisions it may ask for instead.
pub(in crate::gate) fn versions<'v>(
    requested: &str,
    supported: impl Iterator<Item = &'v str>,
) -> [(&'static str, Fragment); 2] {
    let supported = Fragment::array(supported.map(Fragment::string));
    [
        ("supported", supported),
        ("requested", Fragment::string(requested)),
    ]
}

/// Which limit of the configuration a frame is beyond, with its value.
fn limit(error: &WireError) -> Cow<'static, str> {
    let WireErrorKind::Json(kind) = &error.kind else {
        return Cow::Borrowed("");
    };
    // What is too long is no message yet: its reader tells.
    if let JsonErrorKind::TooManyNodes { limit } = kind {
        format!(" (`limits.max_nodes` is {limit})").into()
    } else if let JsonErrorKind::TooDeep { limit } = kind {
        format!(" (`limits.max_depth` is {limit})").into()
    } else {
        Cow::Borrowed("")
    }
}
