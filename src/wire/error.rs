//! Why a frame is no message.

use std::fmt;

use super::folding::MAX_FOLDED_BYTES;
use super::id::{Id, IdProblem};
use super::json::{JsonErrorKind, JsonKind};
use super::method::MethodProblem;

/// Why a frame is no message, where, and whom to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    pub kind: WireErrorKind,
    /// Bytes from the start of the frame, when the fault has a place.
    pub offset: Option<usize>,
    /// The id to answer with: the text has exactly one valid envelope id. Of one that was not read to
    /// its end, only the number of the request that it seems to answer.
    pub id: Option<Id>,
    pub likeness: Likeness,
}

/// What a frame that is no message seems to have been meant as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// It was not read to its end and does not seem to be a reply, or it is no object.
    Nothing,
    /// It has a `method`, or a key that some peer takes for one.
    Question,
    /// It has a `result` or an `error`, or a key that some peer takes for one, and no `method`.
    Reply,
    /// It has none of the three.
    Neither,
}

/// The reasons for refusing a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireErrorKind {
    #[error(transparent)]
    Json(JsonErrorKind),
    #[error("batches are not part of this protocol")]
    Batch,
    #[error("a message must be an object, not {0}")]
    NotAnObject(JsonKind),
    #[error("the key `{key}` can be taken for `{like}`")]
    LookAlikeKey { key: Box<str>, like: Box<str> },
    #[error("keys outside ASCII add up to more than {MAX_FOLDED_BYTES} bytes in one object")]
    KeysTooLong,
    #[error("`jsonrpc` must be \"2.0\"")]
    Version,
    #[error(transparent)]
    Shape(ShapeProblem),
    #[error("`id` {0}")]
    Id(IdProblem),
    #[error("`method` {0}")]
    Method(MethodProblem),
    #[error("`params` must be an object, not {0}")]
    ParamsNotObject(JsonKind),
    #[error("`result` must be an object, not {0}")]
    ResultNotObject(JsonKind),
    #[error("`error` must be an object with an integer `code` and a string `message`")]
    MalformedError,
}

/// Why an envelope is not exactly one of request, notification and reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeProblem {
    #[error("a message must have one of `method`, `result` and `error`")]
    Empty,
    #[error("a message must not have both `method` and `result` or `error`")]
    RequestAndReply,
    #[error("a reply must not have both `result` and `error`")]
    ResultAndError,
    #[error("a reply must not have `params`")]
    ReplyWithParams,
}

impl WireError {
    /// The JSON-RPC error code (JSON-RPC 2.0, section 5.1): -32700 for what is not JSON in UTF-8 or
    /// exceeds a limit, -32600 for JSON that is not one message, -32602 for params of another kind.
    pub fn code(&self) -> i32 {
        match &self.kind {
            WireErrorKind::Json(
                JsonErrorKind::DuplicateKey { .. } | JsonErrorKind::ControlInKey { .. },
            )
            | WireErrorKind::Batch
            | WireErrorKind::NotAnObject(_)
            | WireErrorKind::LookAlikeKey { .. }
            | WireErrorKind::KeysTooLong
            | WireErrorKind::Version
            | WireErrorKind::Shape(_)
            | WireErrorKind::Id(_)
            | WireErrorKind::Method(_)
            | WireErrorKind::ResultNotObject(_)
            | WireErrorKind::MalformedError => -32600,
            WireErrorKind::Json(_) => -32700,
            WireErrorKind::ParamsNotObject(_) => -32602,
        }
    }

    /// A stable word for audit records and tests.
    pub fn reason_code(&self) -> &'static str {
        match &self.kind {
            WireErrorKind::Json(kind) => kind.reason_code(),
            WireErrorKind::Batch => "batch",
            WireErrorKind::NotAnObject(_) => "not_an_object",
            WireErrorKind::LookAlikeKey { .. } => "look_alike_key",
            WireErrorKind::KeysTooLong => "keys_too_long",
            WireErrorKind::Version => "jsonrpc_version",
            WireErrorKind::Shape(_) => "shape",
            WireErrorKind::Id(_) => "id",
            WireErrorKind::Method(_) => "method",
            WireErrorKind::ParamsNotObject(_) => "params_not_object",
            WireErrorKind::ResultNotObject(_) => "result_not_object",
            WireErrorKind::MalformedError => "malformed_error",
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at byte {offset}", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

impl std::error::Error for WireError {}
