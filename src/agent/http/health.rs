//! What `GET /health` says, on every listener: one word, so that whoever asks without a token learns
//! nothing else.

use std::sync::Arc;

/// Whether messages can be answered, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Health {
    Ready,
    /// Nobody has shaken hands with the server since it could be reached.
    Starting,
    /// The server is there, and shakes no hands.
    NoHandshake,
    /// The server cannot be reached, or cannot be started.
    UpstreamDown,
    /// The keys that agents' tokens are signed with are not at hand.
    KeysUnavailable,
    /// Records cannot be written, so that calls are refused.
    AuditFault,
    /// The gate takes nothing new.
    Stopping,
}

/// Asked for each `GET /health`. Must return at once.
pub type AskHealth = Arc<dyn Fn() -> Health + Send + Sync>;

impl Health {
    pub const ALL: [Self; 7] = [
        Self::Ready,
        Self::Starting,
        Self::NoHandshake,
        Self::UpstreamDown,
        Self::KeysUnavailable,
        Self::AuditFault,
        Self::Stopping,
    ];

    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::Ready => 200,
            Self::Starting
            | Self::NoHandshake
            | Self::UpstreamDown
            | Self::KeysUnavailable
            | Self::AuditFault
            | Self::Stopping => 503,
        }
    }

    /// A stable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ok",
            Self::Starting => "starting",
            Self::NoHandshake => "upstream_handshake_failed",
            Self::UpstreamDown => "upstream_down",
            Self::KeysUnavailable => "jwks_unavailable",
            Self::AuditFault => "audit_fault",
            Self::Stopping => "stopping",
        }
    }

    /// The body of the answer.
    pub fn document(self) -> String {
        format!(r#"{{"status":"{}"}}"#, self.word())
    }
}
