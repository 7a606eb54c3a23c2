//! The ids of events on streams that can be resumed.

use std::fmt;
use std::str::FromStr;

use crate::wire::Stream;

/// Where an event stands: on which stream of the session, and the how manyth it is there. Event 0 is
/// before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: Stream,
    pub(super) index: u64,
}

/// The text is no id that was given here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotAnEventId;

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream.number(), self.index)
    }
}

impl FromStr for EventId {
    type Err = NotAnEventId;

    fn from_str(text: &str) -> Result<Self, NotAnEventId> {
        let (stream, index) = text.split_once('-').ok_or(NotAnEventId)?;
        let number = |text: &str| -> Result<u64, NotAnEventId> {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().map_err(|_| NotAnEventId)?;
            if digits {
                Ok(number)
            } else {
                Err(NotAnEventId)
            }
        };
        Ok(Self {
            stream: Stream::numbered(number(stream)?),
            index: number(index)?,
        })
    }
}
