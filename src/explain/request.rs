//! What is to be explained.

use crate::policy::Lock;
use crate::wire::{Fragment, Side};

use super::record::RecordedMessage;

/// What is to be explained.
#[derive(Debug, Clone)]
pub enum ExplainRequest {
    /// A message that somebody might send.
    Message(HypotheticalMessage),
    /// What a gate has written down of one.
    Recorded(Box<RecordedMessage>),
}

/// A message that somebody might send.
#[derive(Debug, Clone)]
pub enum HypotheticalMessage {
    /// A tool and its arguments, as JSON text.
    Call { tool: String, arguments: String },
    /// A resource, by its URI.
    Read(String),
    /// A prompt and its arguments, as JSON text.
    Prompt { name: String, arguments: String },
    /// One frame, byte for byte.
    Frame { from: Side, frame: String },
}

impl ExplainRequest {
    /// Who sends it, and the frame.
    pub(super) fn frame(&self, lock: &Lock) -> (Side, String) {
        match self {
            Self::Message(message) => message.frame(),
            Self::Recorded(recorded) => recorded.frame(lock),
        }
    }
}

impl HypotheticalMessage {
    fn frame(&self) -> (Side, String) {
        let frame = match self {
            Self::Call { tool, arguments } => request("tools/call", "name", tool, Some(arguments)),
            Self::Read(uri) => request("resources/read", "uri", uri, None),
            Self::Prompt { name, arguments } => {
                request("prompts/get", "name", name, Some(arguments))
            }
            Self::Frame { from, frame } => return (*from, frame.clone()),
        };
        (Side::Agent, frame)
    }
}

/// Arguments stand in it as they were typed: what is wrong with them is the gate's to find.
pub(super) fn request(method: &str, key: &str, name: &str, arguments: Option<&str>) -> String {
    let [method, name] = [method, name].map(|text| Fragment::string(text).into_string());
    let arguments = arguments.map_or_else(String::new, |text| format!(r#","arguments":{text}"#));
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":{method},"params":{{"{key}":{name}{arguments}}}}}"#
    )
}
