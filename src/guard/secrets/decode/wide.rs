//! UTF-16: readable bytes, each with a zero beside it.

use std::ops::ControlFlow;

use memchr::memchr;

use super::bytes::Bytes;

/// Calls back with every stretch of so many characters or more, until that says to stop. Where no byte is
/// zero, one look tells.
pub(super) fn each(
    bytes: &[u8],
    least: usize,
    readable: &Bytes,
    narrow: &mut Vec<u8>,
    mut found: impl FnMut(&str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut from = 0;
    while let Some(zero) = memchr(0, bytes.get(from..).unwrap_or_default()) {
        // The first one that has a zero behind it; of big-endian text the first zero stands alone.
        let start = (from + zero).saturating_sub(1).max(from);
        let rest = bytes.get(start..).unwrap_or_default();
        narrow.clear();
        narrow.extend(rest.chunks(2).map_while(|pair| match *pair {
            [byte, 0] | [byte] if readable.has(byte) => Some(byte),
            _ => None,
        }));
        let end = start + 2 * narrow.len();
        // The last character of big-endian text has its zero before it.
        let final_one = bytes
            .get(end)
            .filter(|&&byte| !narrow.is_empty() && readable.has(byte));
        narrow.extend(final_one);
        if narrow.len() >= least
            && let Ok(text) = str::from_utf8(narrow)
        {
            found(text)?;
        }
        from = end.max(start + 1).max(from + zero + 1);
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;

    static LETTERS: Bytes = Bytes::new(b" ", &[b'a'..=b'z']);

    #[track_caller]
    fn check(bytes: &[u8], expected: &[&str]) {
        let mut found = Vec::new();
        let all = each(bytes, 3, &LETTERS, &mut Vec::new(), |text| {
            found.push(text.to_owned());
            ControlFlow::Continue(())
        });
        assert!(all.is_continue());
        assert_eq!(found, expected, "{bytes:?}");
    }

    #[test]
    fn text_of_two_bytes_for_each_character_is_read() {
        check(b"", &[]);
        check(b"plain text", &[]);
        check(b"a\0b\0c\0", &["abc"]);
        check(b"\xff\xfea\0b\0c\0", &["abc"]);
        check(b"\0a\0b\0c", &["abc"]);
        check(b"a\0b\0\0\0\0\0", &[]);
        check(b"\0\0\0\0a\0b\0c\0\xff\0d\0e\0f\0", &["abc", "def"]);
    }
}
