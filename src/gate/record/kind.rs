//! What sort of record a message gets.

use crate::audit::Kind;
use crate::wire::{KnownMethod, Side};

pub(super) fn of_request(method: &str, from: Side) -> Kind {
    match (from, method) {
        (Side::Upstream, _) => Kind::ServerRequest,
        (Side::Agent, "tools/call") => Kind::ToolCall,
        (Side::Agent, "tools/list") => Kind::ToolsList,
        (Side::Agent, _) => Kind::Request,
    }
}

/// Of what came of a request.
pub(super) fn of_outcome(method: KnownMethod) -> Kind {
    if method == KnownMethod::ToolsCall {
        Kind::ToolResult
    } else {
        Kind::GateDecision
    }
}
