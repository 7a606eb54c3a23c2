//! The messages of agents.

use std::sync::Arc;

/// A generation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25.
    Sessions,
    /// 2026-07-28.
    Stateless,
}

impl Era {
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Sessions => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub(crate) const LIST: &str = r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#;

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}"#;

/// A call of the tool `echo`, but for its id.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    after_id: Arc<str>,
}

impl Call {
    /// With a text of so many bytes.
    pub(crate) fn new(era: Era, payload: usize) -> Self {
        let text = "x".repeat(payload);
        let meta = match era {
            Era::Sessions => "",
            Era::Stateless => META,
        };
        let after_id = format!(
            r#","method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}{meta}}}}}"#
        );
        Self {
            after_id: after_id.into(),
        }
    }

    /// The bytes of the message with this id.
    pub(crate) fn parts(&self, id: u64) -> (String, &[u8]) {
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id}"#);
        (start, self.after_id.as_bytes())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.after_id.len()
    }
}

/// The first place of `part`.
pub(crate) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|it| it == part)
}

/// The number behind the first `"id":`.
pub(crate) fn id_of(message: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"\"id\":";
    let at = find(message, KEY)?;
    let digits = message.get(at + KEY.len()..)?;
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(None, |number: Option<u64>, digit| {
        let digit = u64::from(digit.saturating_sub(b'0'));
        Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit))
    })
}

/// Whether this answer has a result; that stands at its beginning.
pub(crate) fn is_result(message: &[u8]) -> bool {
    let start = message.get(..512).unwrap_or(message);
    find(start, b"\"result\"").is_some()
}
