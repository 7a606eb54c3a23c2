//! How each record names the one before it, so that a reader finds what is changed or missing.

use std::fmt;

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

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for LineHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
