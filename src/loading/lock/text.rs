//! The text of a lock: what people read in a review, and what they compare.

use std::borrow::Cow;

use crate::unseen::misleads;
use crate::wire::{JsonKind, Value};

/// Appends a value with one member or item on each line, members by name.
pub fn pretty(value: Value<'_>, indent: usize, out: &mut String) {
    match value.kind() {
        JsonKind::Object if !value.is_empty() => {
            let mut members: Vec<_> = value.entries().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            let members = members.into_iter().map(|(key, member)| (Some(key), member));
            lines(members, ['{', '}'], indent, out);
        }
        JsonKind::Array if !value.is_empty() => {
            let items = value.items().map(|item| (None, item));
            lines(items, ['[', ']'], indent, out);
        }
        JsonKind::Object => out.push_str("{}"),
        JsonKind::Array => out.push_str("[]"),
        JsonKind::String => push_quoted(&value.as_str().unwrap_or_default(), out),
        JsonKind::Number | JsonKind::Bool | JsonKind::Null => out.push_str(value.text()),
    }
}

fn lines<'v>(
    members: impl Iterator<Item = (Option<Cow<'v, str>>, Value<'v>)>,
    brackets: [char; 2],
    indent: usize,
    out: &mut String,
) {
    let [open, close] = brackets;
    out.push(open);
    for (index, (key, member)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        break_line(indent + 1, out);
        if let Some(key) = key {
            push_quoted(&key, out);
            out.push_str(": ");
        }
        pretty(member, indent + 1, out);
    }
    break_line(indent, out);
    out.push(close);
}

pub(super) fn break_line(indent: usize, out: &mut String) {
    out.push('\n');
    (0..indent).for_each(|_| out.push_str("  "));
}

/// A JSON string in which nothing hides: whatever acts instead of showing is escaped.
pub fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            char if misleads(char) => {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    out.push_str("\\u");
                    for shift in [12, 8, 4, 0] {
                        let nibble = u32::from(*unit) >> shift & 0xf;
                        out.extend(char::from_digit(nibble, 16));
                    }
                }
            }
            char => out.push(char),
        }
    }
    out.push('"');
}
