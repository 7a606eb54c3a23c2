//! Reads audit logs: decompresses files, cuts them into pieces of whole lines, and spreads the pieces over the
//! processors.
//!
//! Memory is bounded for any content: by the pieces that wait, the longest line and the window of zstd, which
//! the decoder limits to 128 MiB.

mod cut;
mod decode;
mod follow;
mod parallel;
mod source;
mod tail;
#[cfg(test)]
mod tests;

pub use cut::Piece;
pub use follow::FollowError;
pub use parallel::read;
pub use source::{MAX_LINE_BYTES, Position, ReadError, Source};
pub use tail::LogTail;
