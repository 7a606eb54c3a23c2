//! One pass over the bytes: grammar, limits, compact text and tape.

use std::ops::Range;

use super::compact::CompactText;
use super::error::{JsonError, JsonErrorKind, quoted};
use super::limits::Limits;
use super::tape::{Escapes, JsonKind, TapeNode, slice};
use super::{strings, tokens};

/// What one pass found.
pub(super) struct Scanned {
    pub(super) text: String,
    pub(super) nodes: Vec<TapeNode>,
    /// The first fault that leaves the grammar intact: the whole text was read in spite of it.
    pub(super) fault: Option<JsonError>,
}

/// Reads one document. Stops at the first error of grammar or limit.
pub(super) fn scan(input: &[u8], limits: &Limits) -> Result<Scanned, JsonError> {
    let limit = limits.max_bytes.min(MAX_BYTES);
    if input.len() > limit {
        return Err(JsonErrorKind::TooLarge { limit }.at(limit));
    }
    if input.starts_with(b"\xef\xbb\xbf") {
        return Err(JsonErrorKind::ByteOrderMark.at(0));
    }
    let text =
        str::from_utf8(input).map_err(|error| JsonErrorKind::NotUtf8.at(error.valid_up_to()))?;
    let mut scanner = Scanner {
        text,
        bytes: input,
        at: 0,
        compact: CompactText::new(text),
        nodes: Vec::with_capacity((input.len() / 16).clamp(4, 256)),
        parent: NONE,
        depth: 0,
        fault: None,
        passed_over: None,
        limits: *limits,
    };
    if let Err(error) = scanner.document() {
        // What was passed over may be why the rest cannot be read.
        return Err(scanner.passed_over.unwrap_or(error));
    }
    Ok(Scanned {
        text: scanner.compact.finish(),
        nodes: scanner.nodes,
        fault: scanner.fault.or(scanner.passed_over),
    })
}

/// Positions are `u32`, and `u32::MAX` means none.
const MAX_BYTES: usize = u32::MAX as usize - 1;
const NONE: u32 = u32::MAX;

struct Scanner<'i> {
    text: &'i str,
    bytes: &'i [u8],
    at: usize,
    compact: CompactText<'i>,
    nodes: Vec<TapeNode>,
    /// The innermost open container. The chain of its parents is kept in `TapeNode::next`, so that
    /// depth costs no stack, neither ours nor the thread's.
    parent: u32,
    depth: usize,
    fault: Option<JsonError>,
    /// The first value that nests too deep, which was not read.
    passed_over: Option<JsonError>,
    limits: Limits,
}

/// A key that was read and still waits for its value.
#[derive(Clone, Copy)]
struct PendingKey {
    start: u32,
    escapes: Escapes,
}

/// What the grammar asks for next.
enum ExpectedToken {
    Value(Option<PendingKey>),
    AfterValue,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), JsonError> {
        let mut next = ExpectedToken::Value(None);
        loop {
            self.skip_whitespace();
            next = match next {
                ExpectedToken::Value(key) => self.value(key)?,
                ExpectedToken::AfterValue if self.parent == NONE => return self.end_of_text(),
                ExpectedToken::AfterValue => self.after_value()?,
            };
        }
    }

    fn value(&mut self, key: Option<PendingKey>) -> Result<ExpectedToken, JsonError> {
        let start = self.at;
        let mut escapes = Escapes::None;
        let (kind, end) = match self.bytes.get(start) {
            Some(b'{') => return self.open(JsonKind::Object, key),
            Some(b'[') => return self.open(JsonKind::Array, key),
            Some(b'"') => {
                let (end, found) = self.string(start)?;
                escapes = found;
                (JsonKind::String, end)
            }
            Some(b'-' | b'0'..=b'9') => (JsonKind::Number, tokens::number(self.bytes, start)?),
            Some(b't') => (JsonKind::Bool, self.literal(b"true")?),
            Some(b'f') => (JsonKind::Bool, self.literal(b"false")?),
            Some(b'n') => (JsonKind::Null, self.literal(b"null")?),
            _ => return Err(self.unexpected(start)),
        };
        let node = self.node(kind, key, escapes)?;
        self.at = end;
        let end = self.position();
        let next = narrow(self.nodes.len() + 1);
        self.nodes.push(TapeNode { end, next, ..node });
        Ok(ExpectedToken::AfterValue)
    }

    fn open(
        &mut self,
        kind: JsonKind,
        key: Option<PendingKey>,
    ) -> Result<ExpectedToken, JsonError> {
        if self.depth >= self.limits.max_depth {
            return self.pass_over(kind, key);
        }
        let node = self.node(kind, key, Escapes::None)?;
        let index = narrow(self.nodes.len());
        self.nodes.push(TapeNode {
            next: self.parent,
            ..node
        });
        self.parent = index;
        self.depth += 1;
        self.at += 1;
        self.skip_whitespace();
        match (kind, self.bytes.get(self.at)) {
            (JsonKind::Object, Some(b'}')) | (JsonKind::Array, Some(b']')) => Ok(self.close()),
            (JsonKind::Object, _) => self.key(),
            _ => Ok(ExpectedToken::Value(None)),
        }
    }

    /// Goes on behind a value that nests too deep, so that the waiting side gets an error.
    /// Nothing is known of what is in it: its brackets are counted and not paired.
    fn pass_over(
        &mut self,
        kind: JsonKind,
        key: Option<PendingKey>,
    ) -> Result<ExpectedToken, JsonError> {
        let limit = self.limits.max_depth;
        let too_deep = JsonErrorKind::TooDeep { limit }.at(self.at);
        let node = self.node(kind, key, Escapes::None)?;
        let Some(end) = tokens::balanced(self.bytes, self.at) else {
            return Err(too_deep);
        };
        self.passed_over.get_or_insert(too_deep);
        self.at = end;
        let end = self.position();
        let next = narrow(self.nodes.len() + 1);
        self.nodes.push(TapeNode { end, next, ..node });
        Ok(ExpectedToken::AfterValue)
    }

    fn close(&mut self) -> ExpectedToken {
        self.at += 1;
        let end = self.position();
        let next = narrow(self.nodes.len());
        if let Some(node) = self.nodes.get_mut(self.parent as usize) {
            self.parent = node.next;
            node.end = end;
            node.next = next;
        }
        self.depth -= 1;
        ExpectedToken::AfterValue
    }

    fn after_value(&mut self) -> Result<ExpectedToken, JsonError> {
        let parent = self.nodes.get(self.parent as usize).map(|node| node.kind);
        match (self.bytes.get(self.at), parent) {
            (Some(b','), Some(JsonKind::Object)) => {
                self.at += 1;
                self.skip_whitespace();
                self.key()
            }
            (Some(b','), _) => {
                self.at += 1;
                Ok(ExpectedToken::Value(None))
            }
            (Some(b'}'), Some(JsonKind::Object)) | (Some(b']'), Some(JsonKind::Array)) => {
                Ok(self.close())
            }
            _ => Err(self.unexpected(self.at)),
        }
    }

    fn key(&mut self) -> Result<ExpectedToken, JsonError> {
        let open = self.at;
        if self.bytes.get(open) != Some(&b'"') {
            return Err(self.unexpected(open));
        }
        let start = self.position();
        let (end, escapes) = self.string(open)?;
        self.refuse_controls(open, open + 1..end - 1, escapes);
        self.at = end;
        self.skip_whitespace();
        if self.bytes.get(self.at) != Some(&b':') {
            return Err(self.unexpected(self.at));
        }
        self.at += 1;
        Ok(ExpectedToken::Value(Some(PendingKey { start, escapes })))
    }

    fn string(&mut self, open: usize) -> Result<(usize, Escapes), JsonError> {
        let (end, escapes) = tokens::string(self.bytes, open)?;
        if escapes == Escapes::LoneSurrogate {
            self.note(JsonErrorKind::LoneSurrogate, open);
        }
        Ok((end, escapes))
    }

    fn literal(&self, word: &[u8]) -> Result<usize, JsonError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
        if same == word.len() {
            Ok(self.at + same)
        } else {
            Err(self.unexpected(self.at + same))
        }
    }

    fn end_of_text(&self) -> Result<(), JsonError> {
        match self.bytes.get(self.at) {
            None => Ok(()),
            Some(0) => Err(JsonErrorKind::NulByte.at(self.at)),
            Some(_) => Err(JsonErrorKind::TrailingText.at(self.at)),
        }
    }

    /// The node of a value that starts here.
    fn node(
        &self,
        kind: JsonKind,
        key: Option<PendingKey>,
        escapes: Escapes,
    ) -> Result<TapeNode, JsonError> {
        if self.nodes.len() >= self.limits.max_nodes {
            return Err(JsonErrorKind::TooManyNodes {
                limit: self.limits.max_nodes,
            }
            .at(self.at));
        }
        let start = self.position();
        let key = key.unwrap_or(PendingKey {
            start,
            escapes: Escapes::None,
        });
        Ok(TapeNode {
            key: key.start,
            start,
            kind,
            escapes,
            key_escapes: key.escapes,
            ..TapeNode::NULL
        })
    }

    /// Control characters in a key end it early for some decoders (NUL) and hide it from people.
    fn refuse_controls(&mut self, open: usize, inner: Range<usize>, escapes: Escapes) {
        let plain = |b: &u8| (0x20..0x7f).contains(b);
        let bytes = self.bytes.get(inner.clone()).unwrap_or_default();
        if escapes == Escapes::None && bytes.iter().all(plain) {
            return;
        }
        let key = strings::decoded(slice(self.text, inner), escapes);
        if key.chars().any(char::is_control) {
            self.note(JsonErrorKind::ControlInKey { key: quoted(&key) }, open);
        }
    }

    fn note(&mut self, kind: JsonErrorKind, at: usize) {
        self.fault.get_or_insert(kind.at(at));
    }

    fn unexpected(&self, at: usize) -> JsonError {
        match self.bytes.get(at) {
            None => JsonErrorKind::UnexpectedEnd.at(at),
            Some(0) => JsonErrorKind::NulByte.at(at),
            Some(&byte) => JsonErrorKind::UnexpectedByte(byte).at(at),
        }
    }

    #[inline]
    fn skip_whitespace(&mut self) {
        // Most tokens targets: the run itself stays out of line.
        if self.bytes.get(self.at).is_none_or(|&byte| byte <= b' ') {
            self.skip_run();
        }
    }

    #[inline(never)]
    fn skip_run(&mut self) {
        let start = self.at;
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        if self.at != start {
            self.compact.remove(start..self.at);
        }
    }

    /// Where the next token will stand in the compact text.
    fn position(&self) -> u32 {
        narrow(self.at - self.compact.removed())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "positions are at most MAX_BYTES"
)]
fn narrow(position: usize) -> u32 {
    position as u32
}
