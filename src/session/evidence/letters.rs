//! Which characters are letters and digits.

use std::sync::LazyLock;

/// The characters below 2^16, in which nearly all texts are written: to ask Unicode's own tables takes longer.
#[derive(Debug)]
pub(super) struct Letters {
    /// Those of ASCII in lower case, and zero for all others.
    ascii: [u8; 128],
    /// A bit for each.
    all: Vec<u64>,
}

pub(super) static LETTERS: LazyLock<Letters> = LazyLock::new(|| {
    let is_letter = |code| char::from_u32(code).is_some_and(char::is_alphanumeric);
    let bits =
        |first: u32| (0..64).fold(0, |bits, at| bits | u64::from(is_letter(first + at)) << at);
    let lower = |code| match u8::try_from(code) {
        Ok(byte) if byte.is_ascii_alphanumeric() => byte.to_ascii_lowercase(),
        Ok(_) | Err(_) => 0,
    };
    Letters {
        ascii: std::array::from_fn(lower),
        all: (0..1 << 16).step_by(64).map(bits).collect(),
    }
});

impl Letters {
    /// A letter or digit of ASCII in lower case, or zero.
    #[inline]
    pub(super) fn lower(&self, ascii: char) -> u8 {
        let lower = self.ascii.get(ascii as usize);
        lower.copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn has(&self, letter: char) -> bool {
        let code = letter as usize;
        let bits = self.all.get(code / 64);
        bits.map_or_else(
            || letter.is_alphanumeric(),
            |bits| bits >> (code % 64) & 1 == 1,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_are_those_of_unicode() {
        for letter in '\0'..=char::MAX {
            assert_eq!(LETTERS.has(letter), letter.is_alphanumeric(), "{letter:?}");
            let lower = char::from(LETTERS.lower(letter));
            let is_ascii = letter.is_ascii_alphanumeric();
            let expected = if is_ascii {
                letter.to_ascii_lowercase()
            } else {
                '\0'
            };
            assert_eq!(lower, expected, "{letter:?}");
        }
    }
}
