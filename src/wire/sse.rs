//! Server-sent events, which carry messages over HTTP (WHATWG HTML Standard, 9.2.5 and 9.2.6).

use std::time::Duration;

use memchr::{memchr, memchr2};

use crate::memory::{self, Memory};

use super::lines::DiscardReason;

/// The longest event id that is kept, in bytes. A stream with longer ones cannot be resumed.
pub const MAX_EVENT_ID_BYTES: usize = 1024;

/// Cuts a byte stream into events, whatever the sizes of the reads.
///
/// As the standard says: a byte order mark at the start is dropped; CR, LF and CRLF each end a
/// line; an id with NUL and a `retry` of anything but digits do not count; an event
/// that the end of the stream cuts off is dropped. The bytes are not decoded: the reader of the message
/// checks their UTF-8.
///
/// Memory stays within `max_bytes` and some kilobytes: comments and unknown fields are not kept.
#[derive(Debug)]
pub struct SseDecoder {
    max_bytes: usize,
    /// How many bytes of a byte order mark the stream began with; `None` when that is over.
    mark: Option<usize>,
    after_cr: bool,
    line: LineState,
    /// A field's name, then its value, unless the value is data.
    scratch: Vec<u8>,
    data: Vec<u8>,
    kind: EventKind,
    id: Vec<u8>,
    last_id: Vec<u8>,
    retry: Option<Duration>,
    excess: OversizedEvent,
    memory: Memory,
}

/// What the stream brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseEvent {
    /// The lines of its `data`, joined by LF; possibly empty.
    Event { kind: EventKind, data: Vec<u8> },
    /// More data than `max_bytes`, or than there is memory for, reported as soon as that is known; the
    /// rest of the event is discarded by the next calls.
    Unread(DiscardReason),
}

/// The event's type. MCP uses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventKind {
    /// `message`, or none, which means the same.
    #[default]
    Message,
    Other,
}

#[derive(Debug, Clone, Copy)]
enum LineState {
    Name,
    Value {
        field: SseField,
        begun: LeadingSpace,
    },
    Ignored,
}

#[derive(Debug, Clone, Copy)]
enum SseField {
    Data,
    Event,
    Id,
    Retry,
}

/// Whether the space that may stand before a value can still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeadingSpace {
    No,
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OversizedEvent {
    None,
    Found(DiscardReason),
    Reported,
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// One more than the longest name that means something, `event` or `retry`.
const MAX_NAME: usize = 6;

impl SseDecoder {
    /// `max_bytes` counts an event's data with the LFs that join its lines.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            mark: Some(0),
            after_cr: false,
            line: LineState::Name,
            scratch: Vec::new(),
            data: Vec::new(),
            kind: EventKind::Message,
            id: Vec::new(),
            last_id: Vec::new(),
            retry: None,
            excess: OversizedEvent::None,
            memory: Memory::default(),
        }
    }

    /// The same, which keeps no more of an event than there is memory for.
    #[must_use]
    pub fn within(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Waits while there is no memory for so many bytes more only since others are judged.
    pub async fn wait_for_memory(&self, more: usize) {
        let come = self.data.len().saturating_add(more);
        let room = self.memory.wait_to_grow(self.data.capacity(), come);
        // Without any, the event is thrown away when it is taken.
        drop(room.await);
    }

    /// Takes from `input` up to the end of the next event; `None` when all of `input` was taken.
    pub fn next(&mut self, input: &mut &[u8]) -> Option<SseEvent> {
        self.skip_mark(input);
        while let Some((&first, after_first)) = input.split_first() {
            // The LF of a CRLF may come with the next read.
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                *input = after_first;
                continue;
            }
            let (piece, rest) = match memchr2(b'\r', b'\n', input) {
                Some(at) => input.split_at(at),
                None => (*input, &[][..]),
            };
            self.take(piece);
            *input = rest;
            let mut event = None;
            if let Some((end, rest)) = rest.split_first() {
                self.after_cr = *end == b'\r';
                event = self.end_line();
                *input = rest;
            }
            if let OversizedEvent::Found(why) = self.excess {
                self.excess = OversizedEvent::Reported;
                return Some(SseEvent::Unread(why));
            }
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// The id to resume after; the empty id is none. Of the last event that ended, with or without
    /// data.
    pub fn last_event_id(&self) -> Option<&[u8]> {
        (!self.last_id.is_empty()).then_some(&self.last_id)
    }

    /// How long the server wants to be left alone before the stream is resumed.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let kept = [&self.data, &self.scratch, &self.id, &self.last_id];
        kept.iter().map(|kept| kept.capacity()).sum()
    }

    /// Drops a byte order mark; what only begins like one is the beginning of a field's name.
    fn skip_mark(&mut self, input: &mut &[u8]) {
        while let Some(seen) = self.mark {
            let Some(expected) = MARK.get(seen) else {
                self.mark = None;
                return;
            };
            match input.split_first() {
                Some((byte, rest)) if byte == expected => {
                    *input = rest;
                    self.mark = Some(seen + 1);
                }
                Some(_) => {
                    self.mark = None;
                    self.take(MARK.get(..seen).unwrap_or_default());
                }
                None => return,
            }
        }
    }

    /// Takes a part of a line.
    fn take(&mut self, piece: &[u8]) {
        match &mut self.line {
            LineState::Ignored => {}
            LineState::Name => {
                let (name, value) = match memchr(b':', piece) {
                    Some(at) => {
                        let (name, value) = piece.split_at(at);
                        (name, value.get(1..))
                    }
                    None => (piece, None),
                };
                keep(&mut self.scratch, name, MAX_NAME);
                if let Some(value) = value {
                    self.line = match SseField::named(&self.scratch) {
                        Some(field) => LineState::Value {
                            field,
                            begun: LeadingSpace::No,
                        },
                        None => LineState::Ignored,
                    };
                    self.scratch.clear();
                    self.take(value);
                }
            }
            LineState::Value { field, begun } => {
                let field = *field;
                let mut piece = piece;
                if *begun == LeadingSpace::No && !piece.is_empty() {
                    *begun = LeadingSpace::Yes;
                    piece = piece.strip_prefix(b" ").unwrap_or(piece);
                }
                match field {
                    SseField::Data => self.take_data(piece),
                    SseField::Event | SseField::Id | SseField::Retry => {
                        keep(&mut self.scratch, piece, MAX_EVENT_ID_BYTES + 1);
                    }
                }
            }
        }
    }

    fn take_data(&mut self, piece: &[u8]) {
        if self.excess != OversizedEvent::None {
            return;
        }
        let come = self.data.len().saturating_add(piece.len());
        let room = self.memory.room_to_grow(self.data.capacity(), come);
        if come <= self.max_bytes && room.is_some() {
            memory::grow(&mut self.data, come, self.max_bytes);
            self.data.extend_from_slice(piece);
            return;
        }
        self.excess = OversizedEvent::Found(if come > self.max_bytes {
            DiscardReason::TooLong
        } else {
            DiscardReason::NoMemory
        });
        self.data = Vec::new();
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let field = match std::mem::replace(&mut self.line, LineState::Name) {
            LineState::Name if self.scratch.is_empty() => return self.end_event(),
            // A line without a colon is a field with an empty value.
            LineState::Name => {
                let field = SseField::named(&self.scratch);
                self.scratch.clear();
                field
            }
            LineState::Value { field, .. } => Some(field),
            LineState::Ignored => None,
        };
        if let Some(field) = field {
            self.set(field);
        }
        self.scratch.clear();
        None
    }

    fn set(&mut self, field: SseField) {
        let value = self.scratch.as_slice();
        match field {
            SseField::Data => {
                // What is too long for a line end is too long for nothing more as well.
                self.take_data(&[]);
                if self.excess == OversizedEvent::None {
                    self.data.push(b'\n');
                }
            }
            SseField::Event if matches!(value, b"" | b"message") => self.kind = EventKind::Message,
            SseField::Event => self.kind = EventKind::Other,
            SseField::Id if value.contains(&0) => {}
            SseField::Id => {
                self.id.clear();
                if value.len() <= MAX_EVENT_ID_BYTES {
                    self.id.extend_from_slice(value);
                }
            }
            SseField::Retry => {
                let digits = value.iter().all(u8::is_ascii_digit);
                let text = str::from_utf8(value).ok().filter(|_| digits);
                if let Some(millis) = text.and_then(|text| text.parse().ok()) {
                    self.retry = Some(Duration::from_millis(millis));
                }
            }
        }
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        self.last_id.clone_from(&self.id);
        let kind = std::mem::take(&mut self.kind);
        if std::mem::replace(&mut self.excess, OversizedEvent::None) != OversizedEvent::None {
            return None;
        }
        let mut data = std::mem::take(&mut self.data);
        // Each line of data has left an LF, so that no data and an empty line of it differ.
        data.pop()?;
        Some(SseEvent::Event { kind, data })
    }
}

impl SseField {
    /// Exact: names are case-sensitive.
    fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"data" => Some(Self::Data),
            b"event" => Some(Self::Event),
            b"id" => Some(Self::Id),
            b"retry" => Some(Self::Retry),
            _ => None,
        }
    }
}

/// Appends what there is room for.
fn keep(kept: &mut Vec<u8>, piece: &[u8], max: usize) {
    let room = max.saturating_sub(kept.len()).min(piece.len());
    kept.extend_from_slice(piece.get(..room).unwrap_or_default());
}
