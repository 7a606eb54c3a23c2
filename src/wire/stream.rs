//! Which stream of a peer a message came on.

/// One of the streams that a peer reads or writes.
///
/// Standard streams are a single one, [`Stream::MAIN`]. Over HTTP each POST of an agent opens one
/// (its number is the gate's own), each POST to an upstream opens another (its number is the id that
/// the gate minted for the request), and the main one is what belongs to no request: the answer to
/// a GET (MCP 2025-11-25, basic/transports).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Stream(u64);

/// How a message came. An agent over HTTP gets its reply as a whole, if nothing comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrivalForm {
    /// As the whole body of a response.
    #[default]
    Whole,
    /// The same, with a status that says that what it answers was not taken (400).
    Rejected,
    /// As an event of a stream. What comes over standard streams is taken for one.
    Event,
}

impl Stream {
    pub const MAIN: Self = Self(0);

    /// A peer that has one stream for everything does not tell what belongs to which request.
    pub const UNTOLD: Self = Self(u64::MAX);

    /// The stream with this number, from 1 on.
    pub const fn numbered(number: u64) -> Self {
        Self(number)
    }

    pub const fn number(self) -> u64 {
        self.0
    }
}
