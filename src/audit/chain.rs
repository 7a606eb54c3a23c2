//! The hash by which a record names the line before it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use memchr::memrchr;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// SHA-256 of a line without its line feed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineHash([u8; 32]);

impl LineHash {
    /// What the first record of a log continues.
    pub const START: Self = Self([0; 32]);

    pub fn of(line: &[u8]) -> Self {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Self(Sha256::digest(line).into())
    }

    /// In hexadecimal. Every record has a hash: byte by byte through a formatter, it cost nearly as much as the rest of
    /// the line.
    fn digits(&self) -> [u8; 64] {
        let mut text = [0; 64];
        for (digits, byte) in text.as_chunks_mut().0.iter_mut().zip(self.0) {
            *digits = [text_of(byte >> 4), text_of(byte & 0xf)];
        }
        text
    }

    /// Reads 64 hexadecimal digits, as [`fmt::Display`] writes them.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        let digits = text.as_chunks::<2>();
        if text.len() != 64 {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(digits.0) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(bytes))
    }
}

fn digit(text: u8) -> Option<u8> {
    match text {
        b'0'..=b'9' => Some(text - b'0'),
        b'a'..=b'f' => Some(text - b'a' + 10),
        _ => None,
    }
}

/// What [`digit`] reads.
fn text_of(digit: u8) -> u8 {
    match digit {
        0..=9 => b'0' + digit,
        _ => b'a' + (digit - 10),
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for LineHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

/// The most bytes at the end of a file in which its last line is searched.
const TAIL: u64 = 16 << 20;

/// The hash of the last line with a line feed. A gate that was killed may have left half a line after it.
pub(super) fn last_line(file: &mut File) -> io::Result<Option<LineHash>> {
    let length = file.metadata()?.len();
    let mut from = length;
    let mut tail = Vec::new();
    loop {
        let end = memrchr(b'\n', &tail);
        let whole = end.and_then(|end| tail.get(..end)).unwrap_or_default();
        let start = memrchr(b'\n', whole).map(|at| at + 1);
        if end.is_some() && (start.is_some() || from == 0) {
            let line = whole.get(start.unwrap_or_default()..).unwrap_or_default();
            return Ok(Some(LineHash::of(line)));
        }
        if from == 0 || length - from >= TAIL {
            return Ok(None);
        }
        // Twice as much each time, so that a long line costs at most twice its length.
        let next = from.saturating_sub((length - from).max(64 << 10));
        tail.clear();
        file.seek(SeekFrom::Start(next))?;
        io::Read::by_ref(file)
            .take(length - next)
            .read_to_end(&mut tail)?;
        from = next;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_last_line_is_the_last_one_with_a_line_feed() {
        let long = "x".repeat(200_000);
        let check = |text: &str, expected: Option<&str>| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let expected = expected.map(|line| LineHash::of(line.as_bytes()));
            let shown = text.get(..20).unwrap_or(text);
            assert_eq!(last_line(&mut file).unwrap(), expected, "{shown:?}");
        };
        check("", None);
        check("half a line", None);
        check("a\n", Some("a"));
        check("a\nhalf a line", Some("a"));
        check("a\nb\n", Some("b"));
        check("a\n\n", Some(""));
        check(&format!("a\n{long}\n"), Some(&long));
        check(&format!("{long}\n"), Some(&long));
        check(&format!("{long}\nb\n{long}"), Some("b"));
        // The whole tail is one line.
        check(&"x".repeat(usize::try_from(TAIL).unwrap() + 2), None);
    }

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = LineHash::of(b"a line\n");
        assert_eq!(hash, LineHash::of(b"a line"));
        let text = hash.to_string();
        assert_eq!(LineHash::parse(text.as_bytes()), Some(hash));
        let upper = text.to_uppercase();
        for wrong in ["", "0", &upper, &format!("{text}0"), &format!("{text}00")] {
            assert_eq!(LineHash::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
