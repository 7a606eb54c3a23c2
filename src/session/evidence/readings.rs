//! A text as it is written, and as what is encoded in it.

use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use memchr::memchr2;

use super::windows::{LENGTH, Windows};

/// Encodings within encodings.
const DEPTH: usize = 2;

/// Characters in which a window is encoded, at least.
const LEAST_BASE64: usize = LENGTH * 4 / 3;
const LEAST_HEX: usize = LENGTH * 2;

/// Characters that a line has at least whose text goes on in the next one (RFC 2045 and RFC 7468: 76, 64).
const LEAST_LINE: usize = 60;

/// Bytes that may still be read.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    is_spent: bool,
}

impl Budget {
    pub(super) fn of(left: usize) -> Self {
        Self {
            left,
            is_spent: false,
        }
    }

    /// Whether there was more than may be read.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// What of a text may be read.
    fn take<'t>(&mut self, text: &'t str) -> &'t str {
        let end = text.floor_char_boundary(self.left);
        self.is_spent |= end < text.len();
        self.left -= end;
        text.get(..end).unwrap_or_default()
    }
}

/// Tells of the windows of texts, each of which goes on from the one before, then of what is encoded in them, and
/// then of what is encoded in that.
pub(super) fn read<T: AsRef<str>>(
    texts: impl IntoIterator<Item = T>,
    mut windows: Windows,
    budget: &mut Budget,
    found: &mut impl FnMut(u128),
) {
    let mut level = Vec::new();
    for text in texts {
        let text = budget.take(text.as_ref());
        windows.read(text, found);
        level.push(text.to_owned());
    }
    for _ in 0..DEPTH {
        // Then there is nothing left to read.
        if budget.is_spent() {
            break;
        }
        let mut next = Vec::new();
        for text in &level {
            decoded(text, &mut |bytes| {
                texts_in(bytes, &mut |text| {
                    let text = budget.take(text);
                    windows.restart();
                    windows.read(text, found);
                    next.push(text.to_owned());
                });
            });
        }
        level = next;
    }
}

/// Tells of the pieces of bytes that are text, if they are long enough for a window. Most bytes are none: what was not
/// encoded as it was decoded.
fn texts_in(bytes: &[u8], tell: &mut impl FnMut(&str)) {
    let has = |at: usize, least: u8, most: u8| {
        let byte = bytes.get(at);
        byte.is_some_and(|byte| (least..=most).contains(byte))
    };
    // A letter's first byte is before others of it, and each other one is not after ASCII.
    let may_be_text = |at: usize| match bytes.get(at) {
        Some(0xc0..) => has(at + 1, 0x80, 0xbf),
        Some(0x80..) => has(at.wrapping_sub(1), 0x80, 0xff),
        Some(_) | None => true,
    };
    runs(bytes.len(), LENGTH, may_be_text, &mut |run| {
        for chunk in bytes.get(run).unwrap_or_default().utf8_chunks() {
            if chunk.valid().len() >= LENGTH {
                tell(chunk.valid());
            }
        }
    });
}

/// Tells of all that may be encoded in a text. Most of it is none.
fn decoded(text: &str, tell: &mut impl FnMut(&[u8])) {
    if memchr2(b'%', b'\\', text.as_bytes()).is_some() {
        let plain = without_escapes(text);
        if plain != text.as_bytes() {
            tell(&plain);
        }
    }
    runs_of(text.as_bytes(), LEAST_BASE64, is_part, &mut |run| {
        for run in lines(run) {
            base64_in(&run, tell);
            let is_digit = |byte: u8| byte.is_ascii_hexdigit();
            runs_of(&run, LEAST_HEX, is_digit, &mut |run| hex_in(run, tell));
        }
    });
}

/// Tells of the runs of parts, each as long as it is, that have so many of them.
fn runs(
    length: usize,
    least: usize,
    is_part: impl Fn(usize) -> bool,
    tell: &mut impl FnMut(Range<usize>),
) {
    let mut begin = 0;
    while begin + least <= length {
        // From behind: of most texts, few bytes are looked at.
        let mut end = (begin..begin + least).rfind(|at| !is_part(*at));
        if end.is_none() {
            end = (begin + least..length).find(|at| !is_part(*at));
            tell(begin..end.unwrap_or(length));
        }
        begin = end.map_or(length, |end| end + 1);
    }
}

fn runs_of(bytes: &[u8], least: usize, is_part: fn(u8) -> bool, tell: &mut impl FnMut(&[u8])) {
    let is_part = |at: usize| bytes.get(at).is_some_and(|byte| is_part(*byte));
    runs(bytes.len(), least, is_part, &mut |run| {
        tell(bytes.get(run).unwrap_or_default());
    });
}

/// Of base64 and hexadecimal digits, in lines.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'\r' | b'\n')
}

/// The lines of a run, each long one together with the next.
fn lines(run: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut goes_on = false;
    let lines = run.split(|byte| matches!(byte, b'\r' | b'\n'));
    for line in lines.filter(|line| !line.is_empty()) {
        match all.last_mut() {
            Some(last) if goes_on => Vec::extend_from_slice(last, line),
            Some(_) | None => all.push(line.to_vec()),
        }
        goes_on = line.len() >= LEAST_LINE;
    }
    all
}

/// Wherever it begins in the run: each character more is six bits more.
fn base64_in(run: &[u8], tell: &mut impl FnMut(&[u8])) {
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let mut digits: Vec<u8> = run.iter().map(standard).collect();
    // Of four characters are three bytes, and two bytes for the last shift.
    digits.resize(run.len().next_multiple_of(4) + 4, b'A');
    let bytes = BASE64_STANDARD_NO_PAD.decode(digits).unwrap_or_default();
    for (begin, first, shift) in [(0, 0, 0), (1, 0, 6), (2, 1, 4), (3, 2, 2)] {
        let whole = run.len().saturating_sub(begin) * 6 / 8;
        let pairs = bytes.iter().skip(first).zip(bytes.iter().skip(first + 1));
        let shifted = pairs.take(whole).map(|(one, next)| {
            let [byte, _] = (u16::from_be_bytes([*one, *next]) << shift).to_be_bytes();
            byte
        });
        tell(&shifted.collect::<Vec<u8>>());
    }
}

fn hex_in(run: &[u8], tell: &mut impl FnMut(&[u8])) {
    for begin in 0..2 {
        let (pairs, _) = run.get(begin..).unwrap_or_default().as_chunks();
        let bytes = pairs.iter().map(|pair| hex_byte(*pair));
        tell(&bytes.collect::<Vec<u8>>());
    }
}

/// Of two hexadecimal digits.
fn hex_byte(digits: [u8; 2]) -> u8 {
    let [high, low] = digits.map(|digit| (digit & 0x0f) + (digit >> 6) * 9);
    high << 4 | low
}

/// Without escapes of URIs (`%41`), and of JSON (`\n`, `\u0041`). What is no escape stays.
fn without_escapes(text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr2(b'%', b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        plain.extend_from_slice(before.as_bytes());
        let length = uri_escape(escape, &mut plain)
            .or_else(|| unicode_escape(escape, &mut plain))
            .unwrap_or_else(|| other_escape(escape, &mut plain));
        rest = escape.get(length..).unwrap_or_default();
    }
    plain.extend_from_slice(rest.as_bytes());
    plain
}

/// The bytes of an escape, if it is one.
fn uri_escape(text: &str, plain: &mut Vec<u8>) -> Option<usize> {
    let digits = text.strip_prefix('%')?.as_bytes().first_chunk()?;
    digits.iter().all(u8::is_ascii_hexdigit).then(|| {
        plain.push(hex_byte(*digits));
        3
    })
}

fn unicode_escape(text: &str, plain: &mut Vec<u8>) -> Option<usize> {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(text)?;
    let second = text.get(6..).and_then(unit);
    let mut letters = char::decode_utf16([first].into_iter().chain(second));
    let letter = letters.next()?.ok()?;
    plain.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    Some(6 * letter.len_utf16())
}

/// A letter after `\` stands for a character that is no letter. What is no escape becomes a space.
fn other_escape(text: &str, plain: &mut Vec<u8>) -> usize {
    let escaped = text.strip_prefix('\\').and_then(|rest| rest.chars().next());
    let (byte, length) = match escaped {
        Some('n') => (b'\n', 2),
        Some('r') => (b'\r', 2),
        Some('t') => (b'\t', 2),
        Some('"') => (b'"', 2),
        Some('/') => (b'/', 2),

        Some('\\') => (b'\\', 2),
        Some('b' | 'f') => (b' ', 2),
        Some(_) | None => (b' ', 1),
    };
    plain.push(byte);
    length
}

#[cfg(test)]
mod tests {
    use base64::alphabet;
    use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
    use proptest::prelude::*;

    use super::*;

    /// The texts that there are in bytes.
    fn texts(bytes: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        texts_in(bytes, &mut |text| all.push(text.to_owned()));
        all
    }

    proptest! {
        #[test]
        fn all_text_is_found_between_other_bytes(
            parts in prop::collection::vec((any::<[u8; 2]>(), "\\PC{0,30}"), 0..20),
        ) {
            let bytes = parts.iter().flat_map(|(one, text)| [one, text.as_bytes()].concat());
            let bytes: Vec<u8> = bytes.collect();
            let valid = bytes.utf8_chunks().map(|chunk| chunk.valid().to_owned());
            let long: Vec<String> = valid.filter(|text| text.len() >= LENGTH).collect();
            prop_assert_eq!(texts(&bytes), long);
        }

        #[test]
        fn base64_is_decoded_from_each_character_on(run in "[A-Za-z0-9+/]{21,90}") {
            let lenient = GeneralPurposeConfig::new()
                .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent)
                .with_decode_allow_trailing_bits(true);
            let decoder = GeneralPurpose::new(&alphabet::STANDARD, lenient);
            let expected: Vec<Vec<u8>> = (0..4)
                .map(|begin| {
                    let run = &run.as_bytes()[begin..];
                    let rest = usize::from(run.len() % 4 == 1);
                    decoder.decode(&run[..run.len() - rest]).unwrap()
                })
                .collect();
            let mut decoded = Vec::new();
            base64_in(run.as_bytes(), &mut |bytes| decoded.push(bytes.to_vec()));
            prop_assert_eq!(decoded, expected);
        }
    }
}
