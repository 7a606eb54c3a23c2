//! Percent-encoding (RFC 3986 §2.1) in one spelling, and back.

use std::fmt::Write as _;

/// What selects something, with escapes only where they are needed, those in upper case; `None` if some
/// escape is none.
pub(super) fn settled(query: &str) -> Option<String> {
    let mut settled = String::with_capacity(query.len());
    let mut pieces = query.split('%');
    settled.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (hex, rest) = piece.split_at_checked(2)?;
        let byte = u8::from_str_radix(hex, 16).ok();
        let byte = byte.filter(|_| hex.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        push(&mut settled, byte, is_unreserved);
        settled.push_str(rest);
    }
    Some(settled)
}

/// A name as it stands in the path of a URI.
pub(super) fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        // RFC 3986 §3.3: what a segment may hold.
        push(&mut escaped, byte, |byte| {
            is_unreserved(byte) || b"!$&'()*+,;=:@".contains(&byte)
        });
    }
    escaped
}

fn push(text: &mut String, byte: u8, is_plain: impl Fn(u8) -> bool) {
    if is_plain(byte) {
        text.push(char::from(byte));
    } else {
        // Writing to a string does not fail.
        let _ = write!(text, "%{byte:02X}");
    }
}

/// RFC 3986 §2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// `None` for what would have to be decoded twice.
pub(super) fn unescaped(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes().iter();
    while let Some(byte) = rest.next() {
        if *byte == b'%' {
            let hex = [*rest.next()?, *rest.next()?];
            let hex = std::str::from_utf8(&hex).ok()?.to_owned();
            bytes.push(u8::from_str_radix(&hex, 16).ok()?);
        } else {
            bytes.push(*byte);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!has_escape(&text)).then_some(text)
}

/// Whether some reader would take `%2e` in it for a dot.
pub(super) fn has_escape(text: &str) -> bool {
    let mut rest = text.split('%').skip(1);
    rest.any(|rest| {
        let mut digits = rest.chars().take(2);
        let is_hex = |c: Option<char>| c.is_some_and(|c| c.is_ascii_hexdigit());
        is_hex(digits.next()) && is_hex(digits.next())
    })
}
