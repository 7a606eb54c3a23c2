//! What an HTTP request says of the message that it carries.

use std::sync::Arc;

use super::{AgentToken, MirroredHeaders, TraceState, WorkIds};

/// What is said of a message beside its text: by headers, as far as it is not compared with the text at once,
/// and by the text that a bridge has translated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransportHeaders {
    /// Of the arguments of a call, where they have to say what it says.
    pub repeated: Option<MirroredHeaders>,
    /// Of the trace that they name.
    pub state: Option<TraceState>,
    /// Names of the work that it belongs to.
    pub work: Option<Arc<WorkIds>>,
    /// The same by the token that was checked.
    pub proven: Option<Arc<WorkIds>>,
    /// That token, if its audiences name a server which may have it.
    pub token: Option<AgentToken>,
    /// How its sender calls itself, in a session that a bridge holds for several.
    pub client: Option<ClientName>,
}

/// How a client calls itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientName {
    pub name: Arc<str>,
    pub version: Arc<str>,
}
