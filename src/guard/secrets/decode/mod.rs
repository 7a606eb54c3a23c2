//! What a text says once it is decoded.
//!
//! The bound of all work: of a text of n bytes at most 5 n bytes are decoded (base64 at its four
//! alignments 3 n, hexadecimal digits at both of theirs n, percent escapes n), and of two levels
//! therefore 30 n. Nothing needs to be left out to keep to it. What of that is text of two bytes for
//! each character (UTF-16, as PowerShell has its commands encoded) is half as much again.

mod base64;
mod bytes;
mod hex;
mod percent;
mod wide;

use std::ops::{ControlFlow, Range};

use bytes::{Bytes, runs};

use super::finding::Layer;

/// Bytes of readable text that what is decoded must have in a row to be looked at. Binary contents
/// have none, which makes them cheap.
const SHORTEST_TEXT: usize = 12;

/// One readable part of something decoded.
pub(super) struct DecodedText<'d> {
    pub(super) text: &'d str,
    pub(super) layer: Layer,
    source: DecodedSource<'d>,
}

/// Where in the encoded text the decoded one comes from.
enum DecodedSource<'d> {
    /// Told only as a whole.
    Run(Range<usize>),
    /// Told by the place of each byte.
    Escapes {
        encoded: &'d percent::Encoded<'d>,
        /// Of the readable part in what was decoded.
        offset: usize,
    },
}

/// Whether there is anything in a text that can be decoded.
pub(super) fn may_be_decoded(text: &str) -> bool {
    text.contains('%') || base64::runs_of(text.as_bytes()).next().is_some()
}

/// Calls back with every readable part of everything in the text that can be decoded, until that says to
/// stop.
pub(super) fn each_decoded(
    text: &str,
    mut found: impl FnMut(&DecodedText<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    percent::each(text, |encoded| {
        each_text(encoded.bytes(), |text, offset| {
            found(&DecodedText {
                text,
                layer: Layer::Url,
                source: DecodedSource::Escapes { encoded, offset },
            })
        })
    })?;
    let mut values = Vec::new();
    let mut decoded = Vec::new();
    let mut narrow = Vec::new();
    for run in base64::runs_of(text.as_bytes()) {
        let mut give = |bytes: &[u8], layer: Layer, range: &Range<usize>| {
            let mut tell = |text: &str| {
                found(&DecodedText {
                    text,
                    layer,
                    source: DecodedSource::Run(range.clone()),
                })
            };
            each_text(bytes, |text, _| tell(text))?;
            wide::each(bytes, SHORTEST_TEXT, &READABLE, &mut narrow, tell)
        };
        let encoded = text.as_bytes().get(run.clone()).unwrap_or_default();
        base64::values(encoded, &mut values);
        for skipped in 0..4 {
            base64::decode(&values, skipped, &mut decoded);
            give(&decoded, Layer::Base64, &run)?;
        }
        for digits in hex::runs_of(encoded) {
            let range = run.start + digits.start..run.start + digits.end;
            let encoded = encoded.get(digits).unwrap_or_default();
            for skipped in 0..2 {
                hex::decode(encoded, skipped, &mut decoded);
                give(&decoded, Layer::Hex, &range)?;
            }
        }
    }
    ControlFlow::Continue(())
}

impl DecodedText<'_> {
    /// Whether a secret in it takes out the whole encoded run.
    pub(super) fn is_told_whole(&self) -> bool {
        matches!(self.source, DecodedSource::Run(_))
    }

    /// The encoded run that holds what stands here in the readable part.
    pub(super) fn run_of(&self, found: &Range<usize>) -> Range<usize> {
        match &self.source {
            DecodedSource::Run(range) => range.clone(),
            DecodedSource::Escapes { encoded, offset } => {
                encoded.run_of(&(found.start + offset..found.end + offset))
            }
        }
    }
}

fn each_text(
    bytes: &[u8],
    mut found: impl FnMut(&str, usize) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for range in runs(bytes, SHORTEST_TEXT, &READABLE) {
        let part = bytes.get(range.clone()).unwrap_or_default();
        // Readable bytes are ASCII.
        if let Ok(text) = str::from_utf8(part) {
            found(text, range.start)?;
        }
    }
    ControlFlow::Continue(())
}

static READABLE: Bytes = Bytes::new(b"\t\n\r", &[b' '..=b'~']);
