//! Windows of a text: 16 bytes of letters and digits in a row, whatever stands between them. Those of ASCII are taken
//! in lower case.

use super::letters::LETTERS;

/// Bytes of a window.
pub(super) const LENGTH: usize = 16;

/// The most bytes from the begin of a window that is kept to that of the next. So a passage of 23 bytes has one,
/// wherever it begins.
pub(super) const STRIDE: usize = 8;

/// Fewer bytes that are not as one of the two before them are a number of zeros or a pattern.
const LEAST_DIFFERENT: u128 = 7;

/// Bytes of a text that are read at once. What they become stays in the cache.
const BLOCK: usize = 2048;

/// The letters and digits of a text, as they come.
#[derive(Debug)]
pub(super) struct Windows {
    /// Those in windows that were not told, as more may follow.
    letters: Vec<u8>,
    /// Where in them such windows begin.
    starts: Vec<usize>,
    sampled: Sampled,
}

/// Which windows are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sampled {
    All,
    /// Those that begin where a word does, and in each word one in [`STRIDE`] bytes.
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
            letters: Vec::new(),
            starts: Vec::new(),
            sampled,
        }
    }

    /// What is read next goes on from nothing.
    pub(super) fn restart(&mut self) {
        self.letters.clear();
        self.starts.clear();
    }

    /// Reads on. A text begins a word.
    pub(super) fn read(&mut self, text: &str, found: &mut impl FnMut(u128)) {
        let mut rest = text;
        let mut word = self.letters.len();
        while !rest.is_empty() {
            let (block, next) = rest.split_at(rest.floor_char_boundary(BLOCK));
            word = self.take(block, word);
            let told = self.tell(found);
            word = word.wrapping_sub(told);
            rest = next;
        }
    }

    /// Takes the letters of a text. Returns where among them the last word begins.
    #[inline]
    fn take(&mut self, text: &str, word: usize) -> usize {
        let (letters, starts) = (self.letters.len(), self.starts.len());
        self.letters.resize(letters + text.len(), 0);
        self.starts.resize(starts + text.len(), 0);
        let mut taken = Taken {
            letters: &mut self.letters,
            starts: &mut self.starts,
            ends: (letters, starts),
            word,
        };
        let known = &*LETTERS;
        for letter in text.chars() {
            if letter.is_ascii() {
                taken.push(known.lower(letter));
            } else if known.has(letter) {
                for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                    taken.push(byte);
                }
            } else {
                taken.push(0);
            }
        }
        let word = taken.word;
        let (letters, starts) = taken.ends;
        self.letters.truncate(letters);
        self.starts.truncate(starts);
        word
    }

    /// Tells of the windows that are whole. Returns how many letters are not needed any more.
    fn tell(&mut self, found: &mut impl FnMut(u128)) -> usize {
        let mut tell = |letters: &[u8]| {
            if let Some(window) = letters.first_chunk() {
                found(u128::from_le_bytes(*window));
            }
        };
        match self.sampled {
            Sampled::All => self.letters.windows(LENGTH).for_each(tell),
            Sampled::Some => {
                for start in &self.starts {
                    tell(self.letters.get(*start..).unwrap_or_default());
                }
            }
        }
        let told = (self.letters.len() + 1).saturating_sub(LENGTH);
        self.letters.drain(..told);
        let first = self.starts.partition_point(|start| *start < told);
        self.starts.drain(..first);
        for start in &mut self.starts {
            *start -= told;
        }
        told
    }
}

/// The buffers of [`Windows`], with room for more.
struct Taken<'w> {
    letters: &'w mut [u8],
    starts: &'w mut [usize],
    /// How much of each is in use.
    ends: (usize, usize),
    /// Where the last word begins. It may be before the first letter.
    word: usize,
}

impl Taken<'_> {
    /// A byte of a letter, or zero between words. Without branches: the processor could not predict them.
    #[inline]
    fn push(&mut self, byte: u8) {
        let (letters, starts) = self.ends;
        if let (Some(letter), Some(start)) =
            (self.letters.get_mut(letters), self.starts.get_mut(starts))
        {
            *letter = byte;
            *start = letters;
        }
        let is_letter = byte != 0;
        let begins = is_letter & (letters.wrapping_sub(self.word) % STRIDE == 0);
        self.ends = (
            letters + usize::from(is_letter),
            starts + usize::from(begins),
        );
        self.word = if is_letter { self.word } else { letters };
    }
}

/// Whether a window says more than a number of zeros, which are in many texts: whether enough of its bytes are not
/// as one of the two before them.
#[inline]
pub(super) fn is_distinctive(window: u128) -> bool {
    const LOWEST: u128 = u128::from_ne_bytes([1; LENGTH]);
    let different = different(window, window << 8) & different(window, window << 16);
    // A bit for each byte. Their sum comes to stand in the highest one.
    (different >> 7).wrapping_mul(LOWEST) >> (8 * (LENGTH - 1)) >= LEAST_DIFFERENT
}

/// The highest bit of each byte in which two windows are different.
#[inline]
fn different(one: u128, other: u128) -> u128 {
    const LOW: u128 = u128::from_ne_bytes([0x7f; LENGTH]);
    let different = one ^ other;
    (((different & LOW) + LOW) | different) & !LOW
}
