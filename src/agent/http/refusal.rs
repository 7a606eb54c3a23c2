//! What is refused before it was a message, and how it is answered.

use super::caller::Endpoint;
use std::net::IpAddr;

use crate::identity::Challenge;
use crate::inward::{HandshakeFault, Misframed};
use crate::wire::{Id, WireError};

use super::field_names::SESSION;

/// A request that got no further than HTTP, for whoever keeps records. Nothing in it was written by
/// the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRefusal {
    /// The HTTP status that it was answered with; 400 too where a TLS handshake failed and there was no answer.
    pub status: u16,
    /// A stable word.
    pub code: &'static str,
    /// What the peer was told, and for operators which paths there are.
    pub why: String,
    pub peer: IpAddr,
    pub from: Origin,
}

/// What was known of a request by the time that it was refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    pub endpoint: Option<Endpoint>,
    /// Who sent it.
    pub subject: Option<String>,
}

/// Why a request is refused. Text goes to the peer; it quotes nothing of the peer's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("{0}")]
    Misframed(Misframed),
    #[error(transparent)]
    Handshake(HandshakeFault),
    #[error(
        "there must be exactly one `Host`: a host with a valid port or none, and no other in the target"
    )]
    HostMissing,
    #[error("this host is not served here")]
    Host,
    #[error("requests from this origin are not taken")]
    Origin,
    #[error("there is nothing at this path")]
    Path,
    /// Answered like [`Self::Path`].
    #[error("there is nothing at this path")]
    NotForAgent,
    #[error("only {0} can be done here")]
    Method(&'static str),
    #[error(transparent)]
    Challenge(Challenge),
    #[error("`{0}` stands twice")]
    Repeated(&'static str),
    #[error("`{0}` cannot be read")]
    Unreadable(&'static str),
    #[error("`Accept` must name `{0}`")]
    Accept(&'static str),
    #[error("the body must be `application/json`")]
    ContentType,
    #[error("an encoded body is not taken")]
    ContentEncoding,
    #[error("the body must come with its length, or in chunks")]
    Length,
    #[error("a message may have at most {0} bytes")]
    TooLarge(usize),
    #[error("the body took too long")]
    BodyLate,
    #[error("the body ended too soon, or did not come in proper chunks")]
    BodyBroken,
    #[error("{0}")]
    Undecodable(WireError),
    #[error("`Mcp-Session-Id` is missing; a session begins with `initialize`")]
    SessionMissing,
    #[error("there is no such session; begin anew with `initialize`")]
    SessionUnknown,
    #[error("`MCP-Protocol-Version` names no revision with sessions that is spoken here")]
    ProtocolVersion,
    #[error("`{0}` is missing")]
    HeaderMissing(&'static str),
    #[error("`{0}` is not what the body says")]
    HeaderMismatch(&'static str),
    #[error("`params._meta` lacks `{0}`")]
    MetaMissing(&'static str),
    #[error("this revision has no sessions; ask `server/discover`")]
    NoSessions,
    #[error("a reply cannot be sent without a session")]
    StatelessReply,
    #[error("there are too many sessions")]
    TooManySessions,
    #[error("this agent has too many sessions")]
    TooManyOfAgent,
    #[error("sessions begin too often; try again in a minute")]
    SessionsTooOften,
    #[error("there are too many connections")]
    TooManyConnections,
    #[error("there are too many streams")]
    TooManyStreams,
    #[error("too much is being sent at once")]
    TooManyBodies,
    #[error("the gate has no memory for this just now (`limits.max_memory`); try again later")]
    NoMemory,
    #[error("`Last-Event-ID` names nothing that is still known")]
    EventId,
    #[error("the session has ended")]
    Ended,
    #[error("the gate takes nothing more")]
    Closed,
}

/// MCP 2026-07-28, basic/transports: a header and the body disagree.
const HEADER_MISMATCH: i32 = -32020;

impl Refused {
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Misframed(misframed) => misframed.status(),
            Self::Host | Self::Origin => 403,
            Self::Path
            | Self::NotForAgent
            | Self::SessionUnknown
            | Self::Ended
            | Self::NoSessions => 404,
            Self::Method(_) => 405,
            Self::Challenge(challenge) => challenge.status(),
            Self::Accept(_) => 406,
            Self::BodyLate => 408,
            Self::Length => 411,
            Self::TooLarge(_) => 413,
            Self::ContentType | Self::ContentEncoding => 415,
            Self::SessionsTooOften => 429,
            Self::Handshake(_)
            | Self::HostMissing
            | Self::Repeated(_)
            | Self::Unreadable(_)
            | Self::BodyBroken
            | Self::Undecodable(_)
            | Self::SessionMissing
            | Self::ProtocolVersion
            | Self::HeaderMissing(_)
            | Self::HeaderMismatch(_)
            | Self::MetaMissing(_)
            | Self::StatelessReply
            | Self::EventId => 400,
            Self::TooManySessions
            | Self::TooManyOfAgent
            | Self::TooManyConnections
            | Self::TooManyStreams
            | Self::TooManyBodies
            | Self::NoMemory
            | Self::Closed => 503,
        }
    }

    /// A stable word for records and tests.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Misframed(misframed) => misframed.code(),
            Self::Handshake(fault) => fault.code(),
            Self::HostMissing => "host_missing",
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Path => "path",
            Self::NotForAgent => "server_not_permitted",
            Self::Method(_) => "http_method",
            Self::Challenge(challenge) => challenge.code(),
            Self::Repeated(_) => "header_repeated",
            Self::Unreadable(_) => "header_unreadable",
            Self::Accept(_) => "accept",
            Self::ContentType => "content_type",
            Self::ContentEncoding => "content_encoding",
            Self::Length => "length_required",
            Self::TooLarge(_) => "too_large",
            Self::BodyLate => "body_timeout",
            Self::BodyBroken => "body_aborted",
            Self::Undecodable(error) => error.reason_code(),
            Self::SessionMissing => "session_missing",
            Self::SessionUnknown => "session_unknown",
            Self::ProtocolVersion => "protocol_version",
            Self::HeaderMissing(_) => "header_missing",
            Self::HeaderMismatch(_) => "header_mismatch",
            Self::MetaMissing(_) => "meta_missing",
            Self::NoSessions => "no_sessions",
            Self::StatelessReply => "stateless_reply",
            Self::TooManySessions => "too_many_sessions",
            Self::TooManyOfAgent => "too_many_sessions_of_agent",
            Self::SessionsTooOften => "sessions_too_often",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyStreams => "too_many_streams",
            Self::TooManyBodies => "too_many_uploads",
            Self::NoMemory => "no_memory",
            Self::EventId => "event_id",
            Self::Ended => "ended",
            Self::Closed => "closed",
        }
    }

    /// The JSON-RPC code of the body; -32600 where the protocol names none.
    pub(super) fn rpc_code(&self) -> i32 {
        match self {
            Self::Undecodable(error) => error.code(),
            Self::HeaderMissing(_) | Self::HeaderMismatch(_) => HEADER_MISMATCH,
            Self::Repeated(name) | Self::Unreadable(name) if is_mirrored(name) => HEADER_MISMATCH,
            Self::NoSessions => -32601,
            Self::MetaMissing(_) => -32602,
            Self::Ended | Self::Closed => -32603,
            Self::Misframed(_)
            | Self::Handshake(_)
            | Self::HostMissing
            | Self::Host
            | Self::Origin
            | Self::Path
            | Self::NotForAgent
            | Self::Method(_)
            | Self::Challenge(_)
            | Self::Repeated(_)
            | Self::Unreadable(_)
            | Self::Accept(_)
            | Self::ContentType
            | Self::ContentEncoding
            | Self::Length
            | Self::TooLarge(_)
            | Self::BodyLate
            | Self::BodyBroken
            | Self::SessionMissing
            | Self::SessionUnknown
            | Self::ProtocolVersion
            | Self::StatelessReply
            | Self::SessionsTooOften
            | Self::TooManySessions
            | Self::TooManyOfAgent
            | Self::TooManyConnections
            | Self::TooManyStreams
            | Self::TooManyBodies
            | Self::NoMemory
            | Self::EventId => -32600,
        }
    }

    /// Whether the rest of the request is of no use, so that the connection is closed.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(
            self,
            Self::Misframed(_)
                | Self::Handshake(_)
                | Self::HostMissing
                | Self::Length
                | Self::TooLarge(_)
                | Self::BodyLate
                | Self::BodyBroken
                | Self::TooManyBodies
                | Self::NoMemory
                | Self::Closed
        )
    }
}

/// A header that repeats a part of the body.
fn is_mirrored(name: &str) -> bool {
    name.get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("mcp-"))
        && name != SESSION
}

/// A refusal, and the id to answer with if the message was read that far.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) refused: Refused,
    pub(super) id: Option<Id>,
}

impl From<Refused> for Rejection {
    fn from(refused: Refused) -> Self {
        Self { refused, id: None }
    }
}
