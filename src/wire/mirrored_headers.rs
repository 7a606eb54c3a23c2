//! What headers say of a call, against what it says itself (MCP 2026-07-28, basic/transports).

use std::sync::Arc;

use super::{Message, Mirror};

/// What the headers of a request say of the arguments of its call, whatever the tool is. Clones share
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MirroredHeaders(Arc<[(Box<str>, MirroredValue)]>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirroredValue {
    /// Its value, decoded.
    Once(Box<str>),
    /// One reader could take the one, and another the other.
    Twice,
    Unreadable,
}

/// A header that differs from the call. It contains no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{header}` {how}")]
pub struct MirrorMismatch {
    /// Its name, in lower case, as the tool's definition has it.
    pub header: Box<str>,
    pub how: MirrorMismatchKind,
}

/// How a header does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MirrorMismatchKind {
    #[error("is missing")]
    Missing,
    #[error("is not what the body says")]
    Differs,
    #[error("stands twice")]
    Twice,
    #[error("cannot be read")]
    Unreadable,
}

impl MirroredHeaders {
    /// Whether an argument is repeated as the tool wants it. Headers that no tool wants mean nothing.
    ///
    /// # Errors
    /// How it is not.
    pub fn repeats(&self, mirror: &Mirror, call: &Message) -> Result<(), MirrorMismatch> {
        let mut said = self.0.iter();
        let said = said.find(|(name, _)| **name == *mirror.header());
        let how = match said.map(|(_, said)| said) {
            None if mirror.value(call).is_some() => MirrorMismatchKind::Missing,
            None => return Ok(()),
            Some(MirroredValue::Once(said)) if mirror.is_said_by(call, said) => return Ok(()),
            Some(MirroredValue::Once(_)) => MirrorMismatchKind::Differs,
            Some(MirroredValue::Twice) => MirrorMismatchKind::Twice,
            Some(MirroredValue::Unreadable) => MirrorMismatchKind::Unreadable,
        };
        let header = mirror.header().into();
        Err(MirrorMismatch { header, how })
    }
}

/// By their names in lower case, each once.
impl FromIterator<(Box<str>, MirroredValue)> for MirroredHeaders {
    fn from_iter<I: IntoIterator<Item = (Box<str>, MirroredValue)>>(said: I) -> Self {
        Self(said.into_iter().collect())
    }
}

impl MirrorMismatchKind {
    /// A stable word for records.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "header_missing",
            Self::Differs => "header_mismatch",
            Self::Twice => "header_repeated",
            Self::Unreadable => "header_unreadable",
        }
    }
}
