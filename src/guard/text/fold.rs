//! A text as patterns read it: without what makes equal words different.
//!
//! Patterns are of ASCII, so whatever is not when all is folded is the same to them. That makes folded texts
//! short, and what becomes of a character one look at a table.

use std::collections::HashMap;
use std::sync::LazyLock;

use caseless::Caseless;
use unicode_normalization::char::decompose_compatible;

/// Stands for each character that is none of ASCII when all is folded.
pub(super) const FOREIGN: char = '\u{1}';

/// Compatible forms, letters that look like Latin ones, and cases are one; each run of blanks is one, a line
/// end if there is one in it; what only emphasises is gone; what is still foreign then is one character.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = None;
    let mut push = |byte: u8| match byte {
        b'\n' => blank = Some(byte),
        b' ' => blank = blank.or(Some(byte)),
        _ => {
            out.extend(blank.take().map(char::from));
            out.push(char::from(byte));
        }
    };
    for one in text.chars() {
        match TABLE.of(one) {
            Some(&[byte]) => push(byte),
            Some(bytes) => bytes.iter().copied().for_each(&mut push),
            None => becomes(one, &mut push),
        }
    }
    out
}

/// The results of [`becomes`] for the first two planes, where nearly all text is: the tables of Unicode
/// take fifty times as long.
struct FoldTable {
    /// The place of each character's result among those that differ.
    each: Vec<u16>,
    results: Vec<Vec<u8>>,
}

static TABLE: LazyLock<FoldTable> = LazyLock::new(FoldTable::new);

impl FoldTable {
    fn new() -> Self {
        let mut numbers = HashMap::new();
        let mut results = Vec::new();
        let each = (0..0x2_0000).map(|code| {
            let mut bytes = Vec::new();
            if let Some(one) = char::from_u32(code) {
                becomes(one, |byte| bytes.push(byte));
            }
            *numbers.entry(bytes).or_insert_with_key(|bytes| {
                results.push(bytes.clone());
                // A few hundred differ; the one without a number would be made each time.
                u16::try_from(results.len() - 1).unwrap_or(u16::MAX)
            })
        });
        Self {
            each: each.collect(),
            results,
        }
    }

    /// `None` for a character of another plane.
    fn of(&self, one: char) -> Option<&[u8]> {
        let number = self.each.get(one as usize)?;
        self.results.get(usize::from(*number)).map(Vec::as_slice)
    }
}

const FOREIGN_BYTE: u8 = FOREIGN as u8;

/// What becomes of a character: letters, single blanks, [`FOREIGN`].
///
/// That marks beside each other have an order in normal forms is nothing to patterns.
fn becomes(one: char, mut push: impl FnMut(u8)) {
    decompose_compatible(one, |part| {
        if is_mark(part) {
            return;
        }
        for one in std::iter::once(latin(part)).default_case_fold() {
            match one {
                '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => push(b'\n'),
                '_' => push(b' '),
                one if one.is_whitespace() => push(b' '),
                '*' | '`' => {}
                ' '..='~' => push((one as u8).to_ascii_lowercase()),
                _ => push(FOREIGN_BYTE),
            }
        }
    });
}

/// What stands above or below a letter of Latin script, once it is taken apart from it.
fn is_mark(one: char) -> bool {
    matches!(one, '\u{300}'..='\u{36f}')
}

/// Letters of other scripts that look like one of Latin script (UTS 39, the common ones), and quotes.
fn latin(one: char) -> char {
    match one {
        'а' | 'Α' | 'А' | 'α' | 'ɑ' => 'a',
        'В' | 'Β' | 'Ь' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'Ε' | 'ҽ' => 'e',
        'ɡ' => 'g',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ӏ' => 'i',
        'ј' | 'Ј' => 'j',
        'К' | 'Κ' | 'к' | 'κ' => 'k',
        'М' | 'Μ' | 'м' => 'm',
        'ո' | 'Ν' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' | 'σ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'г' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'Т' | 'Τ' | 'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'γ' | 'Υ' => 'y',
        'Ζ' => 'z',
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        one => one,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    /// The whole text through the tables of Unicode, one step after the other.
    fn folded_slowly(text: &str) -> String {
        let alike = text.nfkd().filter(|one| !is_mark(*one)).map(latin);
        let mut out = String::new();
        let mut blank = None;
        for one in alike.default_case_fold() {
            match one {
                '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => blank = Some('\n'),
                one if one == '_' || one.is_whitespace() => blank = blank.or(Some(' ')),
                '*' | '`' => {}
                one => {
                    out.extend(blank.take());
                    let is_shown = one.is_ascii() && !one.is_ascii_control();
                    out.push(if is_shown { one } else { FOREIGN });
                }
            }
        }
        out
    }

    #[track_caller]
    fn check(text: &str) {
        assert_eq!(folded(text), folded_slowly(text), "{text:?}");
    }

    #[test]
    fn each_character_becomes_what_the_tables_of_unicode_say() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for some in all.chunks(500) {
            let apart: String = some.iter().flat_map(|one| ['A', *one]).collect();
            check(&apart);
        }
    }

    /// Words and what parts them, in stretches that are longer than a chunk and shorter.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[ -~]{0,40}",
            4 => "[a-zA-Z]{1,9}",
            4 => "[ \t\n\r_*`\u{85}\u{a0}\u{3000}]{1,4}",
            2 => "[\u{c0}-\u{24f}\u{300}-\u{52f}]{1,9}",
            1 => "[\u{5b0}-\u{6ff}\u{900}-\u{97f}\u{3041}-\u{30ff}\u{ac00}-\u{d7a3}]{1,9}",
            1 => "[\u{2000}-\u{2bff}\u{fb00}-\u{ffff}\u{1d400}-\u{1d7ff}]{1,5}",
            1 => "\\PC{0,9}",
            1 => any::<String>(),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_text_becomes_what_the_tables_of_unicode_say(text in texts()) {
            check(&text);
        }
    }
}
