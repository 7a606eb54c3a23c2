//! Messages, as a client library reads them.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// A message as far as a client library looks at it before it knows what it is. Two equal members
/// are an error.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) jsonrpc: String,
    pub(crate) id: Option<Value>,
    pub(crate) method: Option<String>,
    pub(crate) result: Option<IgnoredAny>,
    pub(crate) error: Option<Error>,
}

/// What JSON-RPC demands of an error.
#[derive(Debug, Deserialize)]
pub(crate) struct Error {
    #[serde(rename = "code")]
    _code: i64,
    #[serde(rename = "message")]
    _message: String,
}

impl Envelope {
    #[expect(
        clippy::disallowed_methods,
        reason = "an agent reads as carelessly as others do"
    )]
    pub(crate) fn read(line: &str) -> Self {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}
