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

/// How headers do not say what the call says. No name is told, and no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unrepeated {
    #[error("`Mcp-Param-*` is missing")]
    Missing,
    #[error("`Mcp-Param-*` is not what the body says")]
    Differs,
    #[error("`Mcp-Param-*` stands twice")]
    Twice,
    #[error("`Mcp-Param-*` cannot be read")]
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
        match said.map(|(_, said)| said) {
            None if mirror.value(call).is_some() => Err(Unrepeated::Missing),
            None => Ok(()),
            Some(Said::Once(said)) if mirror.is_said_by(call, said) => Ok(()),
            Some(Said::Once(_)) => Err(Unrepeated::Differs),
            Some(Said::Twice) => Err(Unrepeated::Twice),
            Some(Said::Unreadable) => Err(Unrepeated::Unreadable),
        }
    }
}

/// By their names in lower case, each once.
impl FromIterator<(Box<str>, Said)> for Repeated {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Said)>>(said: I) -> Self {
        Self(said.into_iter().collect())
    }
}

impl Unrepeated {
    /// A stable word for records.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "header-missing",
            Self::Differs => "header-mismatch",
            Self::Twice => "header-repeated",
            Self::Unreadable => "header-unreadable",
        }
    }
}
