//! A JSON value that a peer wrote, whole: without secrets, bounded, and as valid JSON.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::{Serialize, Serializer, ser};
use serde_json::value::RawValue;

use super::line_escapes::escaped;
use super::redact::{LONGEST_SECRET, MARKER, Redactor};
use super::text::TextCompletion;
use crate::wire::{JsonKind, Value};

/// A JSON value of a record. Cheap to clone; never holds more than [`Body::LIMIT`] + 8 KiB of what it was
/// made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Body(Arc<Node>);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// A number, `true`, `false` or `null`, as it was written.
    Plain(Box<str>),
    Text(Piece),
    Array {
        items: Vec<Node>,
        left_out: usize,
    },
    Object {
        members: Vec<(Piece, Node)>,
        left_out: usize,
    },
}

/// A decoded string.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    held: String,
    /// Bytes of the original, by which room is counted: were it what is left of it, each secret that was
    /// taken out would bring in more, up to one that is cut and so was not found.
    length: usize,
    /// Those that are not in `held`.
    left_out: usize,
}

/// The beginning of what stands where a secret stood, whatever rule found it.
const REDACTED: &str = "[redacted";

/// Levels of objects and arrays that are shown.
const MAX_DEPTH: usize = 64;

impl Body {
    /// Bytes that a record shows of one value: of its JSON text, with strings as they are decoded. A
    /// string that is longer ends in `… [N bytes more]`, a list in an item `… [N more]`, and an object in
    /// a member `…` with `[N more]`.
    pub const LIMIT: usize = 16 * 1024;

    /// The end of each text that stands for something left out.
    pub const CUT: &'static str = " more]";

    // As of a text: redaction comes before the cut.
    const HELD: usize = Self::LIMIT + LONGEST_SECRET;

    /// Whether nothing was cut off or taken out of the value with this JSON text.
    pub fn is_whole(text: &str) -> bool {
        !Self::is_redacted(text) && !Self::is_cut(text)
    }

    /// Whether something was taken out.
    pub fn is_redacted(text: &str) -> bool {
        text.contains(REDACTED)
    }

    /// Whether something was cut off.
    pub fn is_cut(text: &str) -> bool {
        text.contains(Self::CUT)
    }

    pub fn of(value: Value<'_>) -> Self {
        Self(Arc::new(Node::of(value, &mut Room(Self::HELD), MAX_DEPTH)))
    }

    /// Replaces strings and numbers for which there is something else.
    pub fn replace(&mut self, other: &mut dyn FnMut(&str) -> Option<String>) {
        Arc::make_mut(&mut self.0).replace(other);
    }

    /// The bytes that it takes in memory, about.
    pub(super) fn weight(&self) -> usize {
        self.0.weight()
    }

    /// Makes the value fit to be written; tells whether a secret was in it.
    pub(super) fn finish(&mut self, redactor: &Redactor) -> TextCompletion {
        let mut finish = Finish {
            redactor,
            room: Room(Self::LIMIT),
            completion: TextCompletion::AsItWas,
        };
        finish.node(Arc::make_mut(&mut self.0));
        finish.completion
    }
}

/// Bytes that may still be shown.
struct Room(usize);

impl Room {
    fn take(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }

    fn is_over(&self) -> bool {
        self.0 == 0
    }
}

impl Node {
    fn of(value: Value<'_>, room: &mut Room, depth: usize) -> Self {
        match value.kind() {
            JsonKind::String => Self::Text(Piece::of(&value.as_str().unwrap_or_default(), room)),
            JsonKind::Array | JsonKind::Object if depth == 0 => {
                Self::Text(Piece::none_of(value, room))
            }
            JsonKind::Array => {
                let mut items = Vec::new();
                room.take(2);
                for item in value.items() {
                    if room.is_over() {
                        break;
                    }
                    items.push(Self::of(item, room, depth - 1));
                    room.take(1);
                }
                let left_out = value.len().saturating_sub(items.len());
                Self::Array { items, left_out }
            }
            JsonKind::Object => {
                let mut members = Vec::new();
                room.take(2);
                for (key, member) in value.entries() {
                    if room.is_over() {
                        break;
                    }
                    let key = Piece::of(&key, room);
                    members.push((key, Self::of(member, room, depth - 1)));
                    room.take(2);
                }
                let left_out = value.len().saturating_sub(members.len());
                Self::Object { members, left_out }
            }
            // A number may have a million digits.
            JsonKind::Number if value.text().len() > room.0 => {
                Self::Text(Piece::of(value.text(), room))
            }
            JsonKind::Number | JsonKind::Bool | JsonKind::Null => {
                room.take(value.text().len());
                Self::Plain(value.text().into())
            }
        }
    }

    fn replace(&mut self, other: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::Plain(text) => {
                if let Some(other) = other(text) {
                    *self = Self::Text(Piece::whole(other));
                }
            }
            Self::Text(piece) => piece.replace(other),
            Self::Array { items, .. } => items.iter_mut().for_each(|item| item.replace(other)),
            Self::Object { members, .. } => {
                for (key, member) in members {
                    key.replace(other);
                    member.replace(other);
                }
            }
        }
    }

    fn weight(&self) -> usize {
        let within: usize = match self {
            Self::Plain(text) => text.len(),
            Self::Text(piece) => piece.held.len(),
            Self::Array { items, .. } => items.iter().map(Self::weight).sum(),
            Self::Object { members, .. } => {
                let each = members.iter();
                each.map(|(key, member)| size_of::<Piece>() + key.held.len() + member.weight())
                    .sum()
            }
        };
        size_of::<Self>().saturating_add(within)
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Plain(text) => out.push_str(text),
            Self::Text(piece) => piece.write(out),
            Self::Array { items, .. } => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    separate(index, out);
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object { members, .. } => {
                out.push('{');
                for (index, (key, member)) in members.iter().enumerate() {
                    separate(index, out);
                    key.write(out);
                    out.push(':');
                    member.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

impl Piece {
    fn of(text: &str, room: &mut Room) -> Self {
        let end = text.floor_char_boundary(room.0);
        // What does not fit leaves no room for anything after it.
        room.take(text.len().saturating_add(2));
        let held = text.get(..end).unwrap_or_default();
        Self {
            held: held.to_owned(),
            length: text.len(),
            left_out: text.len().saturating_sub(held.len()),
        }
    }

    fn whole(held: String) -> Self {
        Self {
            length: held.len(),
            held,
            left_out: 0,
        }
    }

    fn none_of(value: Value<'_>, room: &mut Room) -> Self {
        let length = value.text().len();
        room.take(length.saturating_add(2));
        Self {
            held: String::new(),
            length,
            left_out: length,
        }
    }

    fn replace(&mut self, other: &mut dyn FnMut(&str) -> Option<String>) {
        if let Some(other) = other(&self.held) {
            self.held = other;
        }
    }

    fn write(&self, out: &mut String) {
        out.push('"');
        out.push_str(&escaped(&self.held));
        out.push('"');
    }
}

/// What is done to a value before it is written.
struct Finish<'r> {
    redactor: &'r Redactor,
    room: Room,
    completion: TextCompletion,
}

impl Finish<'_> {
    fn node(&mut self, node: &mut Node) {
        match node {
            Node::Plain(text) => {
                self.room.take(text.len());
                if matches!(self.redactor.redact(text), Cow::Owned(_)) {
                    self.completion = TextCompletion::Redacted;
                    *node = Node::Text(Piece::whole(MARKER.to_owned()));
                }
            }
            Node::Text(piece) => self.piece(piece),
            Node::Array { items, left_out } => {
                self.room.take(2);
                let mut shown = 0;
                for item in items.iter_mut() {
                    if self.room.is_over() {
                        break;
                    }
                    self.node(item);
                    self.room.take(1);
                    shown += 1;
                }
                let missing = left_out.saturating_add(items.len() - shown);
                items.truncate(shown);
                if missing > 0 {
                    let more = format!("… [{missing} more]");
                    items.push(Node::Text(Piece::whole(more)));
                }
                *left_out = 0;
            }
            Node::Object { members, left_out } => {
                self.room.take(2);
                let mut shown = 0;
                for (key, member) in members.iter_mut() {
                    if self.room.is_over() {
                        break;
                    }
                    self.piece(key);
                    self.node(member);
                    self.room.take(2);
                    shown += 1;
                }
                let missing = left_out.saturating_add(members.len() - shown);
                members.truncate(shown);
                if missing > 0 {
                    let more = format!("[{missing} more]");
                    let key = Piece::whole("…".to_owned());
                    members.push((key, Node::Text(Piece::whole(more))));
                }
                *left_out = 0;
                tell_apart(members);
            }
        }
    }

    fn piece(&mut self, piece: &mut Piece) {
        let (redacted, beyond) = self.redactor.redact_head(&piece.held, self.room.0);
        self.room.take(piece.length.saturating_add(2));
        let left_out = piece.left_out.saturating_add(beyond);
        let shown = match redacted {
            Cow::Borrowed(_) if left_out == 0 => return,
            Cow::Borrowed(shown) => shown.to_owned(),
            Cow::Owned(shown) => {
                self.completion = TextCompletion::Redacted;
                shown
            }
        };
        piece.held = match left_out {
            0 => shown,
            more => format!("{shown}… [{more} bytes more]"),
        };
        piece.left_out = 0;
    }
}

/// Keys that became equal when something was taken out of them, or cut, are told apart: a reader may refuse
/// an object in which a key stands twice.
fn tell_apart(members: &mut [(Piece, Node)]) {
    let mut known = HashSet::with_capacity(members.len());
    for (key, _) in members {
        while !known.insert(key.held.clone()) {
            key.held.push('…');
        }
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        self.0.write(&mut text);
        // Numbers keep the digits that were sent.
        let raw = RawValue::from_string(text).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::SecretString;

    use super::*;
    use crate::wire::{Document, Limits};

    const SECRET: &str = "s3cret";

    fn body(json: &str) -> Body {
        let limits = Limits {
            max_bytes: usize::MAX,
            max_nodes: usize::MAX,
            ..Limits::default()
        };
        Body::of(Document::decode(json.as_bytes(), &limits).unwrap().root())
    }

    fn finished(json: &str) -> (String, TextCompletion) {
        let secret = SecretString::from(SECRET);
        let mut body = body(json);
        let completion = body.finish(&Redactor::new([&secret]).unwrap());
        (serde_json::to_string(&body).unwrap(), completion)
    }

    #[track_caller]
    fn check(json: &str, stands_as: &str) {
        let (written, completion) = finished(json);
        assert_eq!(written, stands_as);
        let redacted = matches!(completion, TextCompletion::Redacted);
        assert_eq!(redacted, stands_as.contains(MARKER), "{json}");
    }

    #[test]
    fn what_fits_is_written_as_it_was_sent_without_secrets() {
        for same in [
            r#"{"a":[1,1.50,1e400,-0,true,null,"é \u001b[2J",{}],"b":""}"#,
            "[]",
            r#""text""#,
            "123456789012345678901234567890.1230",
        ] {
            check(same, same);
        }
        check(r#"{"a": "\u0061\u202e" }"#, "{\"a\":\"a\\u202e\"}");
        check(
            r#"{"k":"my s3cret","\u00733cret":["s3\u0063ret!"]}"#,
            r#"{"k":"my [redacted]","[redacted]":["[redacted]!"]}"#,
        );
        // No reader finds a key twice.
        check(
            r#"{"as3cret":1,"a[redacted]":2}"#,
            r#"{"a[redacted]":1,"a[redacted]…":2}"#,
        );
    }

    #[test]
    fn what_is_too_long_is_cut_as_valid_json_and_says_how_much_is_missing() {
        let long = "x".repeat(Body::LIMIT * 10);
        let (written, _) = finished(&format!(r#"{{"a":"{long}","b":1,"c":[2]}}"#));
        let missing = long.len() - (Body::LIMIT - 2 - 3);
        assert!(written.ends_with(&format!(r#"… [{missing} bytes more]","…":"[2 more]"}}"#)));
        assert!(written.len() < Body::LIMIT + 100);
        let many = format!("[{}]", vec!["12"; 100_000].join(","));
        let (written, _) = finished(&many);
        assert!(
            written.ends_with(r#"12,"… [94539 more]"]"#),
            "{}",
            written.len()
        );
        let (written, _) = finished(&"9".repeat(50_000));
        assert!(written.starts_with("\"999") && written.ends_with("bytes more]\""));
        let (written, _) = finished(r#"{"…":1}"#);
        assert_eq!(written, r#"{"…":1}"#);
        let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
        assert_eq!(finished(&deep).0, deep);
    }

    #[test]
    fn a_large_value_takes_bounded_memory() {
        let many = format!("[{}]", vec!["1"; 1_000_000].join(","));
        assert!(body(&many).weight() < 2 << 20);
        assert!(body(&format!("\"{}\"", "x".repeat(1_000_000))).weight() < 30_000);
    }

    fn json() -> impl Strategy<Value = String> {
        let text = "(x|é|s3cret|\u{1b}|\u{202e}|\"|…|y{1,3000}){0,6}";
        let quoted = |text: String| serde_json::to_string(&text).unwrap();
        let leaf = prop_oneof![
            text.prop_map(quoted),
            "-?[1-9][0-9]{0,40}",
            Just("null".to_owned()),
        ];
        leaf.prop_recursive(5, 60, 12, move |inner| {
            let member = ("[a-c]{1,2}(s3cret)?", inner.clone());
            let members = prop::collection::btree_map(member.0, member.1, 0..12);
            prop_oneof![
                prop::collection::vec(inner, 0..12).prop_map(|all| format!("[{}]", all.join(","))),
                members.prop_map(move |all| {
                    let each = all.iter();
                    let each = each.map(|(key, value)| format!("{}:{value}", quoted(key.clone())));
                    format!("{{{}}}", each.collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_valid_json_without_secrets_and_of_bounded_size(json in json()) {
            let (written, _) = finished(&json);
            prop_assert!(!written.contains(SECRET));
            prop_assert!(written.len() < 7 * Body::LIMIT);
            // Strict: no key stands twice.
            let read = Document::decode(written.as_bytes(), &Limits::default());
            prop_assert!(read.is_ok(), "{written}: {read:?}");
            if json.len() < Body::LIMIT / 2 && !json.contains(SECRET) {
                let own: serde_json::Value = json.parse().unwrap();
                let read: serde_json::Value = written.parse().unwrap();
                prop_assert_eq!(own, read);
            }
            let misleads = |c| matches!(c, '\u{1b}' | '\u{202e}');
            prop_assert!(!written.contains(misleads));
        }
    }
}
