//! Windows of a text: 16 bytes of letters and digits in a row, whatever stands between them. Those of ASCII are taken
//! in lower case.

/// Bytes of a window.
pub(super) const LENGTH: usize = 16;

/// The most bytes from the begin of a window that is kept to that of the next. So a passage of 23 bytes has one,
/// wherever it begins.
pub(super) const STRIDE: usize = 8;

/// Fewer bytes that are not as one of the two before them are a number of zeros or a pattern.
const LEAST_DIFFERENT: u32 = 7;

/// The place of the first byte of a window in [`Windows::starts`].
const FIRST: u16 = 1 << (LENGTH - 1);

/// The bytes before the next one in which no window begins yet.
const NEAR: u16 = (1 << (STRIDE - 1)) - 1;

/// The letters and digits of a text, as they come.
#[derive(Debug)]
pub(super) struct Windows {
    /// The last ones.
    last: u128,
    /// At which of them a window begins, the last one in the lowest bit.
    starts: u16,
    /// The next one begins a word.
    is_between: bool,
    sampled: Sampled,
}

/// Which windows are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sampled {
    All,
    /// Those that begin where a word does, and one in each [`STRIDE`] bytes.
    Some,
}

impl Windows {
    pub(super) fn all() -> Self {
        Self::of(Sampled::All)
    }

    pub(super) fn sampled() -> Self {
        Self::of(Sampled::Some)
    }

    fn of(sampled: Sampled) -> Self {
        Self {
            last: 0,
            starts: 0,
            is_between: true,
            sampled,
        }
    }

    /// Reads on.
    pub(super) fn read(&mut self, text: &str, found: &mut impl FnMut(u128)) {
        self.is_between = true;
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = rest.bytes().position(|byte| !byte.is_ascii());
            let (ascii, others) = rest.split_at(ascii.unwrap_or(rest.len()));
            for byte in ascii.bytes() {
                if byte.is_ascii_alphanumeric() {
                    self.push(byte.to_ascii_lowercase(), found);
                } else {
                    self.is_between = true;
                }
            }
            let end = others.find(|letter: char| letter.is_ascii());
            let (others, next) = others.split_at(end.unwrap_or(others.len()));
            for letter in others.chars() {
                self.push_letter(letter, found);
            }
            rest = next;
        }
    }

    fn push_letter(&mut self, letter: char, found: &mut impl FnMut(u128)) {
        if !letter.is_alphanumeric() {
            self.is_between = true;
            return;
        }
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            self.push(byte, found);
        }
    }

    fn push(&mut self, byte: u8, found: &mut impl FnMut(u128)) {
        let begins = match self.sampled {
            Sampled::All => true,
            Sampled::Some => self.is_between || self.starts & NEAR == 0,
        };
        self.last = self.last << 8 | u128::from(byte);
        self.starts = self.starts << 1 | u16::from(begins);
        self.is_between = false;
        if self.starts & FIRST != 0 {
            found(self.last);
        }
    }
}

/// Whether a window says more than a number of zeros, which are in many texts: whether enough of its bytes are not
/// as one of the two before them.
pub(super) fn is_distinctive(window: u128) -> bool {
    let different = different(window, window >> 8) & different(window, window >> 16);
    different.count_ones() >= LEAST_DIFFERENT
}

/// A bit for each byte in which two windows are different.
fn different(one: u128, other: u128) -> u128 {
    const LOW: u128 = u128::from_ne_bytes([0x7f; LENGTH]);
    let different = one ^ other;
    (((different & LOW) + LOW) | different) & !LOW
}
