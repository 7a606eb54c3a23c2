//! A text as it is written, and as what is encoded in it.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use memchr::memchr2;

use super::windows::{LENGTH, Windows};

/// Encodings within encodings.
const DEPTH: usize = 2;

/// Characters in which a window is encoded, at least.
const LEAST_BASE64: usize = LENGTH * 4 / 3;
const LEAST_HEX: usize = LENGTH * 2;

/// Characters that a line has at least whose text goes on in the next one (RFC 2045 and RFC 7468: 76, 64).
const LEAST_LINE: usize = 60;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

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

/// Tells of the windows of a text that goes on from others, and of what is encoded in it.
pub(super) fn read(
    text: &str,
    plain: &mut Windows,
    windows: fn() -> Windows,
    budget: &mut Budget,
    found: &mut impl FnMut(u128),
) {
    let text = budget.take(text);
    plain.read(text, found);
    let mut within = vec![(0, text.to_owned())];
    while let Some((depth, text)) = within.pop() {
        if depth == DEPTH {
            continue;
        }
        decoded(&text, &mut |bytes| {
            for chunk in bytes.utf8_chunks() {
                if chunk.valid().len() >= LENGTH {
                    let text = budget.take(chunk.valid());
                    windows().read(text, found);
                    within.push((depth + 1, text.to_owned()));
                }
            }
        });
    }
}

/// Tells of all that may be encoded in a text. Most of it is none.
fn decoded(text: &str, tell: &mut impl FnMut(&[u8])) {
    if memchr2(b'%', b'\\', text.as_bytes()).is_some() {
        tell(&without_escapes(text));
    }
    let mut rest = text.as_bytes();
    while let Some(first) = rest.get(..LEAST_BASE64) {
        // From behind: of most texts, few bytes are looked at.
        if let Some(end) = first.iter().rposition(|byte| !is_part(*byte)) {
            rest = rest.get(end + 1..).unwrap_or_default();
            continue;
        }
        let length = rest.iter().position(|byte| !is_part(*byte));
        let (run, next) = rest.split_at(length.unwrap_or(rest.len()));
        for run in lines(run) {
            base64_in(&run, tell);
            hex_in(&run, tell);
        }
        rest = next;
    }
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

/// Wherever it begins in the run.
fn base64_in(run: &[u8], tell: &mut impl FnMut(&[u8])) {
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let run: Vec<u8> = run.iter().map(standard).collect();
    for begin in 0..4 {
        let run = run.get(begin..).unwrap_or_default();
        if run.len() < LEAST_BASE64 {
            break;
        }
        // Four characters are three bytes; a rest of one is none.
        let whole = run.len() - usize::from(run.len() % 4 == 1);
        let bytes = BASE64.decode(run.get(..whole).unwrap_or_default());
        if let Ok(bytes) = bytes {
            tell(&bytes);
        }
    }
}

fn hex_in(run: &[u8], tell: &mut impl FnMut(&[u8])) {
    let runs = run.split(|byte| !byte.is_ascii_hexdigit());
    for run in runs.filter(|run| run.len() >= LEAST_HEX) {
        for begin in 0..2 {
            let run = run.get(begin..).unwrap_or_default();
            let bytes: Vec<u8> = run.chunks_exact(2).filter_map(hex_byte).collect();
            tell(&bytes);
        }
    }
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    u8::from_str_radix(digits, 16).ok()
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
    let digits = text.strip_prefix('%')?.get(..2)?;
    plain.push(hex_byte(digits.as_bytes())?);
    Some(3)
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
