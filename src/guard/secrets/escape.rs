//! Ends of escapes: letters and digits that are no part of the word behind them.
//!
//! What a tool prints comes as JSON in a text more often than not, where a line begins behind `\n`; what a
//! terminal shows is coloured. In both a letter stands before the word, which it does not belong to.

/// Bytes of the longest sequence of a terminal that is looked back at.
const LONGEST_SEQUENCE: usize = 24;

/// Whether a text ends with an escape: of a string (`\n`, `\u003d`, `\x3d`, `\033`), of quoted-printable
/// text (`=3D`) or of a terminal (`ESC [ 0 m`, written out or not, or without what began it). Those of
/// URLs are decoded.
pub(super) fn ends_with_one(text: &[u8]) -> bool {
    match *text {
        [
            ..,
            b'\\',
            b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'a' | b'e' | b'0',
        ]
        | [.., b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7']
        | [.., b'=', b'0'..=b'9', b'0'..=b'9' | b'A'..=b'F'] => true,
        [.., b'\\', b'x' | b'X', high, low] if are_hex([high, low]) => true,
        [.., b'\\', b'u', a, b, c, d] if are_hex([a, b, c, d]) => true,
        [.., last] => last.is_ascii_alphabetic() && is_sequence(text),
        [] => false,
    }
}

fn are_hex<const N: usize>(digits: [u8; N]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// ECMA-48, section 5.4: `ESC [`, parameters, and a letter. Logs lose the ESC, and keep the colours.
fn is_sequence(text: &[u8]) -> bool {
    let Some((last, before)) = text.split_last() else {
        return false;
    };
    let parameters = before.iter().rev().take(LONGEST_SEQUENCE);
    let parameters = parameters.take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':' | b'?'));
    let opened = before.get(..before.len() - parameters.count());
    let Some(began) = opened.and_then(|text| text.strip_suffix(b"[")) else {
        return false;
    };
    let escapes: [&[u8]; 5] = [b"\x1b", b"\\e", b"x1b", b"x1B", b"\\033"];
    let unicode: [&[u8]; 2] = [b"\\u001b", b"\\u001B"];
    *last == b'm'
        || escapes
            .iter()
            .chain(&unicode)
            .any(|escape| began.ends_with(escape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], ends: bool) {
        for text in texts {
            assert_eq!(ends_with_one(text.as_bytes()), ends, "{text:?}");
        }
    }

    #[test]
    fn a_letter_of_an_escape_is_told_from_one_of_a_word() {
        check(
            &[
                "a\\n",
                "a\\\\n",
                "\\r",
                "\\t",
                "\\0",
                "\\x3d",
                "\\x3D",
                "\\u003d",
                "\\u003D",
                "=3D",
                "=0A",
                "\\033",
                "\x1b[0m",
                "\x1b[m",
                "\x1b[1;32m",
                "\x1b[2K",
                "\\u001b[0m",
                "\\u001b[2K",
                "\\x1b[38;5;1m",
                "\\033[0m",
                "\\e[0K",
                "[0m",
            ],
            true,
        );
        check(
            &[
                "", "n", "an", "\\q", "\\s", "x3d", "\\xg3", "u003d", "\\u03d", "%zz", "3D", "=3d",
                "[0K", "0m", "a_", "\\_", "[x]m",
            ],
            false,
        );
    }
}
