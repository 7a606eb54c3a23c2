//! The id of a request, as MCP allows it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::json::{Fragment, JsonKind, Value};

/// A request id: a string, or an integer that every peer holds exactly.
///
/// Two ids are equal when their types and decoded values are; `1` and `"1"` are not. The JSON text
/// is kept beside it, because the answer has to carry the very text that was sent.
#[derive(Debug, Clone)]
pub struct Id {
    json: Arc<str>,
    decoded: DecodedId,
}

#[derive(Debug, Clone)]
enum DecodedId {
    Integer(i64),
    /// What stands between the quotes of the JSON text.
    Plain,
    Escaped(Arc<str>),
}

/// The longest string id, in bytes after decoding. The protocol sets no limit, but ids are held in
/// memory for as long as their requests are.
pub const MAX_ID_BYTES: usize = 256;

/// The largest integer that an IEEE 754 double holds with all its neighbours: 2^53 − 1.
pub const MAX_ID_INTEGER: i64 = 9_007_199_254_740_991;

impl Id {
    /// An id of our own. Values over [`MAX_ID_INTEGER`] become it.
    pub fn integer(value: u64) -> Self {
        let value = i64::try_from(value)
            .unwrap_or(MAX_ID_INTEGER)
            .min(MAX_ID_INTEGER);
        Self {
            json: value.to_string().into(),
            decoded: DecodedId::Integer(value),
        }
    }

    /// One of our own, as text.
    pub fn text(text: &str) -> Self {
        let json = Fragment::string(text).into_string();
        let decoded = if json.contains('\\') {
            DecodedId::Escaped(text.into())
        } else {
            DecodedId::Plain
        };
        Self {
            json: json.into(),
            decoded,
        }
    }

    /// The id that stands in a message, if it is one that MCP allows.
    pub fn read(value: Value<'_>) -> Option<Self> {
        Self::from_value(value).ok()
    }

    pub(super) fn from_value(value: Value<'_>) -> Result<Self, IdProblem> {
        let decoded = match value.kind() {
            JsonKind::Number => DecodedId::Integer(exact_integer(value)?),
            JsonKind::String => exact_string(value)?,
            kind @ (JsonKind::Null | JsonKind::Bool | JsonKind::Array | JsonKind::Object) => {
                return Err(IdProblem::Kind(kind));
            }
        };
        Ok(Self {
            json: value.text().into(),
            decoded,
        })
    }

    /// The JSON text to send back.
    pub fn json(&self) -> &str {
        &self.json
    }

    pub fn to_fragment(&self) -> Fragment {
        Fragment::trusted(self.json.as_ref().to_owned())
    }

    pub fn as_integer(&self) -> Option<i64> {
        match self.decoded {
            DecodedId::Integer(value) => Some(value),
            DecodedId::Plain | DecodedId::Escaped(_) => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.decoded {
            DecodedId::Integer(_) => None,
            DecodedId::Plain => self.json.strip_prefix('"')?.strip_suffix('"'),
            DecodedId::Escaped(text) => Some(text),
        }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        (self.as_integer(), self.as_str()) == (other.as_integer(), other.as_str())
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.as_integer(), self.as_str()).hash(state);
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

/// Why a value is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdProblem {
    #[error("must be a string or an integer, not {0}")]
    Kind(JsonKind),
    #[error("must be written as a plain integer, without fraction, exponent or negative zero")]
    NotPlainInteger,
    #[error("must lie within ±(2^53 − 1)")]
    OutOfRange,
    #[error("must be at most {MAX_ID_BYTES} bytes long")]
    TooLong,
    #[error("must not have control characters")]
    Control,
    #[error("is missing")]
    Missing,
}

fn exact_integer(value: Value<'_>) -> Result<i64, IdProblem> {
    let text = value.text();
    if text == "-0" || text.contains(['.', 'e', 'E']) {
        return Err(IdProblem::NotPlainInteger);
    }
    let range = -MAX_ID_INTEGER..=MAX_ID_INTEGER;
    value
        .as_i64()
        .filter(|value| range.contains(value))
        .ok_or(IdProblem::OutOfRange)
}

fn exact_string(value: Value<'_>) -> Result<DecodedId, IdProblem> {
    let text = value.as_str().unwrap_or_default();
    if text.len() > MAX_ID_BYTES {
        return Err(IdProblem::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(IdProblem::Control);
    }
    Ok(match text {
        std::borrow::Cow::Borrowed(_) => DecodedId::Plain,
        std::borrow::Cow::Owned(text) => DecodedId::Escaped(text.into()),
    })
}
