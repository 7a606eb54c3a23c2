//! String tokens to text and back.

use std::borrow::Cow;

use super::tape::Escapes;

/// The text of what stands between the quotes of a string token.
/// A lone surrogate becomes U+FFFD; only a text that is being refused can hold one.
pub(super) fn decoded(inner: &str, escapes: Escapes) -> Cow<'_, str> {
    if escapes == Escapes::None {
        Cow::Borrowed(inner)
    } else {
        Cow::Owned(unescape(inner))
    }
}

/// Appends `text` as a JSON string token, escaping only what RFC 8259 section 7 demands.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest
        .bytes()
        .position(|b| b < 0x20 || b == b'"' || b == b'\\')
    {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = special.chars();
        if let Some(special) = chars.next() {
            push_escape(out, special);
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn push_escape(out: &mut String, special: char) {
    let short = match special {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        control => {
            out.push_str("\\u00");
            for nibble in [u32::from(control) >> 4, u32::from(control) & 0xf] {
                out.push(char::from_digit(nibble & 0xf, 16).unwrap_or('0'));
            }
            return;
        }
    };
    out.push_str(short);
}

/// INVARIANT: `inner` passed `tokens::string`, so every escape is complete.
fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        // Escapes often stand beside each other, and a search has a price of its own.
        let Some(escape) = rest.strip_prefix('\\') else {
            let plain = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
            let (plain, escapes) = rest.split_at(plain);
            out.push_str(plain);
            rest = escapes;
            continue;
        };
        let mut chars = escape.chars();
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let (char, after) = unicode_escape(chars.as_str());
                out.push(char);
                chars = after.chars();
            }
            Some(itself) => out.push(itself),
            None => {}
        }
        rest = chars.as_str();
    }
    out
}

/// Reads `XXXX`, or `XXXX\uXXXX` when that is a surrogate pair.
fn unicode_escape(digits: &str) -> (char, &str) {
    let Some((first, rest)) = hex4(digits) else {
        return (char::REPLACEMENT_CHARACTER, digits);
    };
    if let Some(char) = char::from_u32(first) {
        return (char, rest);
    }
    if let 0xd800..=0xdbff = first
        && let Some((low @ 0xdc00..=0xdfff, after)) = rest.strip_prefix("\\u").and_then(hex4)
    {
        let pair = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
        return (
            char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER),
            after,
        );
    }
    (char::REPLACEMENT_CHARACTER, rest)
}

fn hex4(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}
