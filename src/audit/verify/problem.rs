//! What breaks a chain.

use super::super::read::{Position, ReadError};
use super::super::record::VERSION;

/// The first line that does not continue the ones before it, or a file that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error("{at}: {problem}")]
    Broken {
        at: Position,
        problem: Box<ChainProblem>,
    },
    #[error(transparent)]
    Read(#[from] ReadError),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainProblem {
    #[error("the line is no record of version {VERSION} of the audit log")]
    NoRecord,
    #[error("the record has version {0}, and this program verifies version {VERSION}")]
    OtherVersion(u64),
    #[error(
        "the record has no `prev`, because this stream misses records: verify the audit file, which has them"
    )]
    NoPrev,
    #[error("seq {seq} of {instance} does not continue {before}: one of the two lines was changed")]
    HashMismatch {
        instance: String,
        seq: u64,
        before: Position,
    },
    #[error(
        "seq {seq} of {instance} follows seq {after} ({before}): the records between are missing, or out of order"
    )]
    SeqGap {
        instance: String,
        seq: u64,
        after: u64,
        before: Position,
    },
    #[error(
        "seq {seq} of {instance} follows seq {after} ({before}): a record was inserted, repeated or moved, or the files are in the wrong order"
    )]
    SeqRepeat {
        instance: String,
        seq: u64,
        after: u64,
        before: Position,
    },
    #[error(
        "the first record of {instance} continues a line that is missing or was changed; if an older file has it, name that file first"
    )]
    UnknownStart { instance: String },
    #[error(
        "seq {seq} of {instance} continues this line, which comes later: files are in the wrong order, or lines were moved"
    )]
    WrongOrder { instance: String, seq: u64 },
    #[error(
        "{instance} begins with seq {seq}: its earlier records are missing; if an older file has them, name that file first"
    )]
    LateStart { instance: String, seq: u64 },
    #[error("none of the keys signed this checkpoint in this place of the log")]
    NotSigned,
    #[error("{instance} has no checkpoint: nothing signs its records")]
    NoCheckpoint { instance: String },
    #[error(
        "seq {seq} of {instance} is not the checkpoint at {kept}: it, or a record before it, was changed"
    )]
    OtherCheckpoint {
        instance: String,
        seq: u64,
        kept: Position,
    },
    #[error("the log has no seq {seq} of {instance}: records are missing")]
    MissingCheckpoint { instance: String, seq: u64 },
}
