//! Something that happened in a conversation.

use std::time::Duration;

use crate::gate::UpstreamFault;
use crate::wire::{ArrivalForm, DiscardReason, Stream};

use super::failure::Loss;

/// Something that happened, in the order of its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpEvent {
    /// One message: the data of an event, or a body. It came on the stream of the request with that
    /// id, or on the main one.
    Frame {
        stream: Stream,
        form: ArrivalForm,
        bytes: Vec<u8>,
    },
    /// A message that was thrown away. On the stream of a request it is the last one.
    Unread { stream: Stream, why: DiscardReason },
    /// The request of this stream is not answered. Nothing comes on it any more.
    Failed {
        stream: Stream,
        fault: UpstreamFault,
    },
    /// The session is lost, with all that was not answered in it; what had come was delivered.
    Died {
        reason: Loss,
        will_restart_in: Option<Duration>,
    },
    /// Another session may begin: the server knows nothing of what was sent before.
    Restarted,
    /// There is no session any more and there will be none. Repeated by every further call.
    GaveUp { reason: HttpGiveUp },
}

/// Why no other session is begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpGiveUp {
    #[error("{tries} sessions ended without a completed handshake, the last because {last}")]
    NeverReady { tries: u32, last: Loss },
    #[error("the conversation was stopped")]
    Stopped,
}
