//! What headers say of a call, against what it says itself (MCP 2026-07-28, basic/transports).

use std::sync::Arc;

use super::{Message, Mirror};

/// What the headers of a request say of the arguments of its call, whatever the tool is. Clones share
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repeated(Arc<[(Box<str>, Said)]>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Its value, decoded.
    Once(Box<str>),
    /// One reader could take the one, and another the other.
    Twice,
    Unreadable,
}

/// A header that differs from the call. It contains no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{header}` {how}")]
pub struct Unrepeated {
    /// Its name, in lower case, as the tool's definition has it.
    pub header: Box<str>,
    pub how: Misrepeated,
}

/// How a header does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misrepeated {
    #[error("is missing")]
    Missing,
    #[error("is not what the body says")]
    Differs,
    #[error("stands twice")]
    Twice,
    #[error("cannot be read")]
    Unreadable,
}

impl Repeated {
    /// Whether an argument is repeated as the tool wants it. Headers that no tool wants mean nothing.
    ///
    /// # Errors
    /// How it is not.
    pub fn repeats(&self, mirror: &Mirror, call: &Message) -> Result<(), Unrepeated> {
        let mut said = self.0.iter();
        let said = said.find(|(name, _)| **name == *mirror.header());
        let how = match said.map(|(_, said)| said) {
            None if mirror.value(call).is_some() => Misrepeated::Missing,
            None => return Ok(()),
            Some(Said::Once(said)) if mirror.is_said_by(call, said) => return Ok(()),
            Some(Said::Once(_)) => Misrepeated::Differs,
            Some(Said::Twice) => Misrepeated::Twice,
            Some(Said::Unreadable) => Misrepeated::Unreadable,
        };
        let header = mirror.header().into();
        Err(Unrepeated { header, how })
    }
}

/// By their names in lower case, each once.
impl FromIterator<(Box<str>, Said)> for Repeated {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Said)>>(said: I) -> Self {
        Self(said.into_iter().collect())
    }
}

impl Misrepeated {
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
