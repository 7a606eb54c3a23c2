//! Reading what the gate wrote.

use serde_json::Value;

/// Parses one JSON text.
#[expect(clippy::disallowed_methods, reason = "reads what the gate wrote")]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
