//! Requests that the gate answers itself.

use super::consent::KeptReply;

/// What answers a request.
#[derive(Debug)]
pub(super) enum LocalAnswer {
    /// A piece of a result that is kept.
    Piece(Piece),
    /// A result that was kept until a person had been asked about it.
    Reply(Box<KeptReply>),
}

/// A place in what may be kept.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) uri: String,
    pub(super) name: String,
    pub(super) from: usize,
}
