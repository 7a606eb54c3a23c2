//! Where the letters of a TOML string stand in the file, behind its quotes and escapes.

use std::ops::Range;

/// For each byte of a string's value its place in the file, and one for the end; none where nothing is
/// known of its letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places(Vec<usize>);

impl Places {
    /// `None` where the literal is not read as TOML reads it: then nothing is known of its letters.
    pub(super) fn of(file: &str, literal: &Range<usize>, value: &str) -> Option<Self> {
        let text = file.get(literal.clone())?;
        let quote = ["\"\"\"", "'''", "\"", "'"]
            .into_iter()
            .find(|quote| text.starts_with(quote))?;
        let mut at = quote.len();
        let body = text.get(..text.len().checked_sub(quote.len())?)?;
        if quote.len() > 1 {
            let rest = body.get(at..)?;
            at += ["\r\n", "\n"]
                .iter()
                .find(|end| rest.starts_with(**end))
                .map_or(0, |end| end.len());
        }
        let mut reading = Reading {
            read: String::with_capacity(value.len()),
            places: Vec::with_capacity(value.len() + 1),
        };
        while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
            let escaped = quote.starts_with('"') && rest.starts_with('\\');
            let (letter, length) = if escaped {
                escape(rest)?
            } else {
                let letter = rest.chars().next()?;
                (Some(letter), letter.len_utf8())
            };
            if let Some(letter) = letter {
                reading.letter(letter, literal.start + at);
            }
            at += length;
        }
        reading.places.push(literal.start + at);
        (reading.read == value).then_some(Self(reading.places))
    }

    /// Where a piece of the value stands in the file.
    pub(super) fn span(&self, piece: &Range<usize>) -> Option<Range<usize>> {
        Some(*self.0.get(piece.start)?..*self.0.get(piece.end)?)
    }
}

struct Reading {
    read: String,
    places: Vec<usize>,
}

impl Reading {
    fn letter(&mut self, letter: char, place: usize) {
        self.read.push(letter);
        self.places
            .extend(std::iter::repeat_n(place, letter.len_utf8()));
    }
}

/// What an escape stands for, if for anything, and how long it is.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let rest = text.get(1..)?;
    let letter = rest.chars().next()?;
    let of_digits = |count: usize| {
        let digits = rest.get(1..=count)?;
        let letter = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        Some((Some(letter), 2 + count))
    };
    let plain = |letter: char| Some((Some(letter), 2));
    match letter {
        'b' => plain('\u{8}'),
        't' => plain('\t'),
        'n' => plain('\n'),
        'f' => plain('\u{c}'),
        'r' => plain('\r'),
        'e' => plain('\u{1b}'),
        '"' | '\\' => plain(letter),
        'x' => of_digits(2),
        'u' => of_digits(4),
        'U' => of_digits(8),
        // A line that goes on: its end and the indent of the next are not there.
        _ if letter.is_whitespace() => {
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            Some((None, 1 + blank))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    #[test]
    fn every_letter_is_found_where_it_stands() {
        for (literal, piece, expected) in [
            ("'a == b'", "b", "b"),
            ("\"a == \\\"ä\\\" && c\"", "\"ä\"", "\\\"ä\\\""),
            ("'''\na\n&& b'''", "a\n&& b", "a\n&& b"),
            ("\"\"\"\r\na \\\n   && b\"\"\"", "&& b", "&& b"),
            ("\"\"\"a\"b\"\"\"\"", "b\"", "b\""),
            ("\"\\u0061 \\U0001F600b\"", "b", "b"),
            ("\"\\ta\"", "a", "a"),
        ] {
            let file = format!("x = 1\nwhen = {literal} # b\n");
            let table = DeTable::parse(&file).unwrap();
            let value = &table.get_ref()["when"];
            let text = value.get_ref().as_str().unwrap();
            let places = Places::of(&file, &value.span(), text).unwrap();
            let at = text.find(piece).unwrap();
            let found = places.span(&(at..at + piece.len())).unwrap();
            assert_eq!(file.get(found), Some(expected), "{file}");
        }
    }

    #[test]
    fn what_is_read_otherwise_has_no_places() {
        assert_eq!(Places::of("x = 'a'", &(4..7), "b"), None);
        assert_eq!(Places::of("x = 'a'", &(5..7), "a"), None);
        assert_eq!(Places::of("x = \"\\q\"", &(4..8), "q"), None);
    }
}
