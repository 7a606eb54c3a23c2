//! Why bytes are no request that is taken.

/// Why bytes are no head that is taken. Nothing of the peer's is quoted. Where the next request
/// would begin is not known then, so that the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misframed {
    #[error("this is no HTTP/1.1: {0}")]
    Malformed(&'static str),
    #[error("the end of the body could be seen at two places: {0}")]
    Ambiguous(&'static str),
    #[error("the body does not come in proper chunks: {0}")]
    Chunks(&'static str),
    #[error("the head is too large")]
    TooLarge,
    #[error("only HTTP/1.1 and HTTP/1.0 are spoken here")]
    Version,
}

impl Misframed {
    /// The status that it is answered with.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed(_) | Self::Ambiguous(_) | Self::Chunks(_) => 400,
            Self::TooLarge => 431,
            Self::Version => 505,
        }
    }

    /// A stable word for records and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed(_) => "head_malformed",
            Self::Ambiguous(_) => "length_ambiguous",
            Self::Chunks(_) => "body_aborted",
            Self::TooLarge => "head_too_large",
            Self::Version => "http_version",
        }
    }
}
