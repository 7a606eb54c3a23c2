//! JSON-RPC and MCP as bytes and names: one strict decoder in front of every peer.
//!
//! `LineReader` and `SseDecoder` cut frames, and `LineWriter` sends them whole. `Message::decode`
//! reads one frame and refuses whatever two peers could read differently,
//! `KnownMethod::check_params` checks the members that the protocol gives meaning to, and `Edits`
//! changes a message without touching the rest of its text. What is forwarded is the compact text
//! of the very tokens that were judged.

mod actors;
mod agent_token;
mod definition;
mod envelope;
mod error;
mod extensions;
mod folding;
mod header_value;
mod id;
mod json;
mod line_writer;
mod lines;
mod listed_method;
mod message;
mod method;
mod mirrored_headers;
mod mirrors;
mod params;
mod params_table;
mod shape;
mod skim;
mod sse;
mod stream;
mod trace;
mod trace_state;
mod transport_headers;
mod work_ids;

pub use actors::{ActorsError, MAX_ACTORS, actors};
pub use agent_token::AgentToken;
pub use definition::Definition;
pub use envelope::IDENTITY_MEMBER;
pub use error::{Likeness, ShapeProblem, WireError, WireErrorKind};
pub use extensions::{Extensions, ListedProblem, ListedType, blurred, name_of_extension};
pub use folding::folded_name;
pub use header_value::{header_value, of_header_value};
pub use id::{Id, IdProblem, MAX_ID_BYTES, MAX_ID_INTEGER};
pub use json::{
    Document, Edits, Fragment, JsonError, JsonErrorKind, JsonKind, Limits, Value, input_offsets,
    pointer_step,
};
pub(crate) use line_writer::{End, LineWriter, WriterClosed};
pub use lines::{DiscardReason, LineFrame, LineReader};
pub use listed_method::{ListedMethod, MOST_METHODS};
pub use message::{Message, seems};
pub use method::{Era, KnownMethod, MAX_METHOD_BYTES, Method, MethodProblem};
pub use mirrored_headers::{MirrorMismatch, MirrorMismatchKind, MirroredHeaders, MirroredValue};
pub use mirrors::{AnnotationError, Mirror, Mirrors};
pub use params::{ParamsError, ParamsProblem};
pub use shape::{Outcome, Shape};
pub use sse::{EventKind, MAX_EVENT_ID_BYTES, SseDecoder, SseEvent};
pub use stream::{ArrivalForm, Stream};
pub use trace::{Sampled, Span, SpanId, TraceContext, TraceId};
pub use trace_state::{OutgoingTrace, TraceState};
pub use transport_headers::{ClientName, TransportHeaders};
pub use work_ids::WorkIds;

/// Who sent the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Agent,
    Upstream,
}

#[cfg(test)]
mod tests;
