//! A strict JSON decoder that keeps the text.
//!
//! [`Document::decode`] reads RFC 8259 JSON once, refuses whatever two decoders could read
//! differently, and keeps two things: the compact text (the very tokens that were read, without
//! the whitespace between them) and a flat tape with one node per value that points into it.
//! There is no tree and no number type: what is judged is what is sent, digit for digit.

mod canonical;
mod compact;
mod document;
mod edits;
mod error;
mod fragment;
mod keys;
mod limits;
mod pointer;
mod scan;
mod strings;
mod tape;
mod tokens;
mod value;

pub use document::{Document, input_offsets};
pub use edits::Edits;
pub use error::{JsonError, JsonErrorKind};
pub use fragment::Fragment;
pub use limits::Limits;
pub use pointer::pointer_step;
pub use tape::JsonKind;
pub use value::Value;

pub(in crate::wire) use document::input_offset;
pub(in crate::wire) use error::quoted;
