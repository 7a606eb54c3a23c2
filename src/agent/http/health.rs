//! What `GET /health` says, on every listener: one word, so that whoever asks without a token learns
//! nothing else.

use std::sync::Arc;

/// Whether messages can be answered, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Health {
    Ready,
    /// The server has not been reached yet.
    Starting,
    /// The server cannot be reached, or cannot be started.
    UpstreamDown,
    /// Records cannot be written, so that calls are refused.
    AuditFault,
    /// The gate takes nothing new.
    Stopping,
}

/// Asked for each `GET /health`. Must return at once.
pub type AskHealth = Arc<dyn Fn() -> Health + Send + Sync>;

impl Health {
    pub const ALL: [Self; 5] = [
        Self::Ready,
        Self::Starting,
        Self::UpstreamDown,
        Self::AuditFault,
        Self::Stopping,
    ];

    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::Ready => 200,
            Self::Starting | Self::UpstreamDown | Self::AuditFault | Self::Stopping => 503,
        }
    }

    /// A stable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ok",
            Self::Starting => "starting",
            Self::UpstreamDown => "upstream-down",
            Self::AuditFault => "audit-fault",
            Self::Stopping => "stopping",
        }
    }

    /// The body of the answer.
    pub fn document(self) -> String {
        format!(r#"{{"status":"{}"}}"#, self.word())
    }
}
