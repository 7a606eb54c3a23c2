//! What an HTTP request says of the message that it carries.

use std::sync::Arc;

use super::{AgentToken, MirroredHeaders, TraceState, WorkIds};

/// What headers say of a message beside what is compared with its text at once. Empty on standard
/// streams.
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
}
