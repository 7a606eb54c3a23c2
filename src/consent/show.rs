//! Text that deceives nobody who is to agree to it.

use std::fmt::Write as _;

use crate::unseen::misleads;
use crate::wire::Value;

/// The same text with everything that is not plainly seen as an escape of JSON: controls, characters
/// that take no room or turn the direction of text, spaces that are not the space, marks that change
/// the character before them, and what no table knows.
///
/// Letters of all scripts stand as they are; a look-alike is a letter too.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_shown(&mut out, text);
    out
}

/// A value as indented JSON in which nothing hides: it reads as the very value. Members stand in the
/// order in which they were sent, numbers with their digits.
pub fn pretty(value: Value<'_>) -> String {
    let mut out = String::with_capacity(value.text().len() * 2);
    // The decoder's limit of depth bounds the recursion.
    push(&mut out, value, 0);
    out
}

fn push(out: &mut String, value: Value<'_>, depth: usize) {
    let (open, close) = match (value.is_object(), value.is_array()) {
        (true, _) => ('{', '}'),
        (_, true) => ('[', ']'),
        _ => return push_scalar(out, value),
    };
    out.push(open);
    let mut is_empty = true;
    let items = value.entries().map(|(key, item)| (Some(key), item));
    for (key, item) in items.chain(value.items().map(|item| (None, item))) {
        if !is_empty {
            out.push(',');
        }
        is_empty = false;
        indent(out, depth.saturating_add(1));
        if let Some(key) = key {
            push_string(out, &key);
            out.push_str(": ");
        }
        push(out, item, depth.saturating_add(1));
    }
    if !is_empty {
        indent(out, depth);
    }
    out.push(close);
}

/// Two columns for each level, and not more than a screen has: the rest is deep enough to be lost in.
fn indent(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth.min(32) {
        out.push_str("  ");
    }
}

fn push_scalar(out: &mut String, value: Value<'_>) {
    match value.as_str() {
        Some(text) => push_string(out, &text),
        None => out.push_str(value.text()),
    }
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for piece in text.split_inclusive(['"', '\\']) {
        let escaped = piece.strip_suffix(['"', '\\']);
        push_shown(out, escaped.unwrap_or(piece));
        if escaped.is_some() {
            out.push('\\');
            out.extend(piece.chars().next_back());
        }
    }
    out.push('"');
}

fn push_shown(out: &mut String, text: &str) {
    let mut units = [0; 2];
    for c in text.chars() {
        if is_plain(c) {
            out.push(c);
            continue;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c => {
                for unit in c.encode_utf16(&mut units) {
                    // A `String` takes whatever is written.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}

/// The standard library's own table tells what a debugger would have to escape; quotes and
/// backslashes are escaped there for another reason.
fn is_plain(c: char) -> bool {
    // A symbol of Braille without a dot.
    let is_blank = c == '\u{2800}' || misleads(c);
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1 && !is_blank
}
