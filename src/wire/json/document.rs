//! A decoded text and its tape.

use super::error::{JsonError, JsonErrorKind, quoted};
use super::limits::Limits;
use super::tape::{TapeNode, slice};
use super::{keys, scan};

/// One JSON document: its compact text and where each value stands in it.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    nodes: Vec<TapeNode>,
}

impl Document {
    /// Reads exactly one JSON value of any kind, with whitespace round it.
    ///
    /// Refuses what is not RFC 8259 JSON in UTF-8, and of that: a byte order mark, lone surrogates,
    /// keys with control characters, keys that repeat in one object after decoding, and what
    /// exceeds `limits`.
    pub fn decode(input: &[u8], limits: &Limits) -> Result<Self, JsonError> {
        match Self::decode_with_fault(input, limits)? {
            (document, None) => Ok(document),
            (_, Some(fault)) => Err(fault),
        }
    }

    /// As [`Document::decode`], but a fault that leaves the grammar intact comes beside the whole
    /// document. Only good for finding out whom to answer: nothing of it may be judged or sent.
    pub(in crate::wire) fn decode_with_fault(
        input: &[u8],
        limits: &Limits,
    ) -> Result<(Self, Option<JsonError>), JsonError> {
        let scan::Scanned { text, nodes, fault } = scan::scan(input, limits)?;
        let fault = fault.or_else(|| {
            let repeated = keys::first_repeated(&text, &nodes)?;
            let kind = JsonErrorKind::DuplicateKey {
                key: quoted(&repeated.key),
            };
            Some(kind.at(input_offset(input, repeated.position)))
        });
        Ok((Self { text, nodes }, fault))
    }

    /// The compact text: one line, the tokens as they were sent.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub(super) fn nodes(&self) -> &[TapeNode] {
        &self.nodes
    }

    pub(super) fn slice(&self, range: std::ops::Range<usize>) -> &str {
        slice(&self.text, range)
    }
}

/// Where the byte at `position` of the compact text stood in the input. Walks the input again:
/// only errors ask, and a map of offsets would cost every message.
pub(in crate::wire) fn input_offset(input: &[u8], position: usize) -> usize {
    let found = input_offsets(input, &[position]);
    found.first().copied().unwrap_or(input.len())
}

/// The same for many positions, which must be in order.
pub fn input_offsets(input: &[u8], positions: &[usize]) -> Vec<usize> {
    let mut found = Vec::with_capacity(positions.len());
    let mut wanted = positions.iter().copied().peekable();
    let mut in_string = false;
    let mut escaped = false;
    let mut seen = 0;
    for (offset, byte) in input.iter().enumerate() {
        if !in_string && byte.is_ascii_whitespace() {
            continue;
        }
        while wanted.next_if(|position| *position <= seen).is_some() {
            found.push(offset);
        }
        if wanted.peek().is_none() {
            return found;
        }
        seen += 1;
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ => {}
        }
    }
    found.resize(positions.len(), input.len());
    found
}
