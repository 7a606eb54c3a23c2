//! Where one token ends: strings and numbers of RFC 8259, sections 6 and 7.

use super::error::{JsonError, JsonErrorKind};
use super::tape::Escapes;

/// The position after the closing quote of the string that opens at `open`.
pub(super) fn string(bytes: &[u8], open: usize) -> Result<(usize, Escapes), JsonError> {
    let mut at = open + 1;
    let mut escapes = Escapes::None;
    loop {
        at = plain_run(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, escapes)),
            Some(b'\\') => {
                let (next, found) = escape(bytes, at)?;
                at = next;
                escapes = escapes.max(found);
            }
            Some(0) => return Err(JsonErrorKind::NulByte.at(at)),
            Some(&control) => return Err(JsonErrorKind::RawControl(control).at(at)),
            None => return Err(JsonErrorKind::UnexpectedEnd.at(at)),
        }
    }
}

/// The position after the last digit of the number that starts at `start`.
pub(super) fn number(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    let mut at = start;
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    // A leading zero stands alone; what follows it is the next token's problem.
    at = if bytes.get(at) == Some(&b'0') {
        at + 1
    } else {
        digits(bytes, at)?
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = digits(bytes, at)?;
    }
    Ok(at)
}

/// The position after the bracket that closes the one at `open`, by their number. `None` if none does.
pub(super) fn balanced(bytes: &[u8], open: usize) -> Option<usize> {
    let (mut at, mut depth) = (open, 0_usize);
    loop {
        match bytes.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                at = string(bytes, at).ok()?.0;
                continue;
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The first byte from `at` on that is a quote, a backslash or a control character.
///
/// Eight bytes at a time: long texts in results are most of what passes through the gate. The
/// lowest flagged byte is exact; a borrow can only flag bytes above a true one.
fn plain_run(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5c);
        let flags = (word.wrapping_sub(ONES * 0x20) & !word)
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash);
        let flags = flags & HIGHS;
        if flags != 0 {
            return at + flags.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte < 0x20 || byte == b'"' || byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

/// The position after the escape (or pair of escapes) whose backslash is at `at`.
fn escape(bytes: &[u8], at: usize) -> Result<(usize, Escapes), JsonError> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok((at + 2, Escapes::Some)),
        Some(b'u') => match hex4(bytes, at + 2) {
            Some(0xd800..=0xdbff) if low_surrogate(bytes, at + 6) => Ok((at + 12, Escapes::Some)),
            Some(0xd800..=0xdfff) => Ok((at + 6, Escapes::LoneSurrogate)),
            Some(_) => Ok((at + 6, Escapes::Some)),
            None if bytes.len() < at + 6 => Err(JsonErrorKind::UnexpectedEnd.at(bytes.len())),
            None => Err(JsonErrorKind::BadEscape.at(at)),
        },
        Some(_) => Err(JsonErrorKind::BadEscape.at(at)),
        None => Err(JsonErrorKind::UnexpectedEnd.at(bytes.len())),
    }
}

fn low_surrogate(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 2) == Some(b"\\u") && matches!(hex4(bytes, at + 2), Some(0xdc00..=0xdfff))
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |value, &digit| {
        Some(value * 16 + char::from(digit).to_digit(16)?)
    })
}

fn digits(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    let mut at = start;
    while let Some(b'0'..=b'9') = bytes.get(at) {
        at += 1;
    }
    match bytes.get(at) {
        _ if at > start => Ok(at),
        Some(_) => Err(JsonErrorKind::BadNumber.at(at)),
        None => Err(JsonErrorKind::UnexpectedEnd.at(at)),
    }
}
