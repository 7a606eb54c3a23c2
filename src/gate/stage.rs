//! The steps of a message, by name and in order. The order itself is the text of
//! [`Gate::handle`](super::Gate::handle); these names appear in records and diagnostics.

/// Where on its path a message was stopped, or that it reached the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Decode,
    Identify,
    Understand,
    Decide,
    /// What the message holds, against what the host asks of content.
    Guard,
    /// How often requests may come.
    Limit,
    Oblige,
    Record,
    Forward,
    /// Answered by the gate with what it keeps: it goes no further.
    Kept,
    /// Settled by the bridge between the eras: it goes no further.
    Bridge,
    /// A connection of the server, at the egress proxy.
    Egress,
    /// The reply: the steps after the upstream has answered.
    Inspect,
    Deliver,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Identify => "correlate",
            Self::Understand => "classify",
            Self::Decide => "decide",
            Self::Guard | Self::Inspect => "inspect",
            Self::Limit => "limit",
            Self::Oblige => "rewrite",
            Self::Record => "record",
            Self::Forward => "forward",
            Self::Kept => "cached_result",
            Self::Bridge => "bridge",
            Self::Egress => "egress",
            Self::Deliver => "deliver",
        }
    }
}
