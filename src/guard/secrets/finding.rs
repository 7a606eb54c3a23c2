//! What is said of a secret that was found.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One secret of a text.
///
/// It holds no part of the text, so it can be written to a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFinding {
    /// The rule that found it; of several the most particular.
    pub rule: RuleId,
    /// Bytes of the text as it was given, on boundaries of characters. Of an encoded secret this is
    /// the whole encoded run.
    pub range: Range<usize>,
    pub encoding: Encoding,
}

/// The name of a rule: lower-case letters, digits and hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(Arc<str>);

/// How a secret is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    Plain,
    Once(Layer),
    /// `outer` is what stands in the text.
    Twice {
        outer: Layer,
        inner: Layer,
    },
}

/// One way to write bytes as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// `%XX`, as in URLs.
    Url,
    /// Either alphabet, padded or not.
    Base64,
    Hex,
}

impl SecretFinding {
    /// One that stands there as it is.
    pub(in crate::guard) fn plain(rule: RuleId, range: Range<usize>) -> Self {
        Self {
            rule,
            range,
            encoding: Encoding::Plain,
        }
    }
}

impl RuleId {
    pub(super) fn new(id: &str) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Once(layer) => layer.fmt(f),
            Self::Twice { outer, inner } => write!(f, "{inner} in {outer}"),
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url => "url",
            Self::Base64 => "base64",
            Self::Hex => "hex",
        })
    }
}
