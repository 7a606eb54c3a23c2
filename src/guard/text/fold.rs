//! A text as patterns read it: without what makes equal words different.
//!
//! Patterns are of ASCII, so whatever is not when all is folded is the same to them. That makes folded texts
//! short, and what becomes of a character one look at a table.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use caseless::Caseless;
use unicode_normalization::char::decompose_compatible;

/// Stands for each character that is none of ASCII when all is folded.
pub(super) const FOREIGN: char = '\u{1}';

/// Compatible forms, letters that look like Latin ones, and cases are one; each run of blanks is one, a line
/// end if there is one in it; what only emphasises is gone; what is still foreign then is one character.
pub(super) fn folded(text: &str) -> String {
    let mut folded = Folded {
        bytes: Vec::with_capacity(text.len()),
        table: &TABLE,
    };
    let mut rest = text;
    while !rest.is_empty() {
        let (plain, odd) = folded.split(rest);
        folded.bytes.extend_from_slice(plain.as_bytes());
        rest = folded.push(odd);
    }
    folded.finished()
}

/// All but the case of ASCII, and underscores, which are blanks.
struct Folded<'t> {
    bytes: Vec<u8>,
    table: &'t Table,
}

impl Folded<'_> {
    /// Splits behind what stays as it is, in whole chunks.
    fn split<'s>(&self, text: &'s str) -> (&'s str, &'s str) {
        let bytes = text.as_bytes();
        let would_join = |first: &u8| is_blank(*first) && self.ends_blank();
        let length = if bytes.first().is_some_and(would_join) {
            0
        } else {
            plain_length(bytes)
        };
        text.split_at_checked(length).unwrap_or(("", text))
    }

    /// Takes as many characters as make a chunk, and gives what is left.
    fn push<'s>(&mut self, text: &'s str) -> &'s str {
        let table = self.table;
        let mut chars = text.chars();
        while text.len() - chars.as_str().len() < CHUNK
            && let Some(one) = chars.next()
        {
            match table.of(one) {
                Entry::Nothing => {}
                Entry::Byte(byte) => self.push_byte(byte),
                Entry::Word(bytes) => self.bytes.extend_from_slice(bytes),
                Entry::Words(bytes) => bytes.iter().for_each(|byte| self.push_byte(*byte)),
                Entry::Beyond => becomes(one, |byte| self.push_byte(byte)),
            }
        }
        chars.as_str()
    }

    fn push_byte(&mut self, byte: u8) {
        if is_blank(byte) {
            self.push_blank(byte);
        } else {
            self.bytes.push(byte);
        }
    }

    fn push_blank(&mut self, blank: u8) {
        match self.bytes.last_mut() {
            Some(last) if is_blank(*last) => {
                if blank == b'\n' {
                    *last = blank;
                }
            }
            Some(_) | None => self.bytes.push(blank),
        }
    }

    fn ends_blank(&self) -> bool {
        self.bytes.last().copied().is_some_and(is_blank)
    }

    fn finished(mut self) -> String {
        if self.ends_blank() {
            self.bytes.pop();
        }
        for byte in &mut self.bytes {
            let lower = byte.to_ascii_lowercase();
            *byte = if lower == b'_' { b' ' } else { lower };
        }
        // INVARIANT: all of it is ASCII, so that nothing is replaced here.
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// Bytes that are looked at together.
const CHUNK: usize = 16;

/// How much of the beginning stays as it is but for case: words of ASCII, with one blank between them.
fn plain_length(text: &[u8]) -> usize {
    let mut length = 0;
    while let Some(rest) = text.get(length..)
        && let Some(chunk) = rest.first_chunk()
        && let Some(following) = rest.get(1..).and_then(<[u8]>::first_chunk)
        && is_plain(chunk, following)
    {
        length += CHUNK;
    }
    length
}

/// Without branches, so that all bytes of a chunk are compared at once.
fn is_plain(chunk: &[u8; CHUNK], following: &[u8; CHUNK]) -> bool {
    let mut odd = 0;
    for (&byte, &next) in chunk.iter().zip(following) {
        let is_shown = u8::from(byte.wrapping_sub(b' ') < 0x5f);
        let is_line = u8::from(byte == b'\n');
        let is_gone = u8::from(byte == b'*') | u8::from(byte == b'`');
        let would_join = u8::from(is_blank(byte)) & u8::from(is_blank(next));
        odd |= (1 ^ (is_shown | is_line)) | is_gone | would_join;
    }
    odd == 0
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'_')
}

/// What becomes of the characters of the first two planes, where nearly all text is.
struct Table {
    /// Of each its byte, 0 where nothing is left, or the number of a longer one behind [`FIRST_LONGER`].
    each: Box<[u16]>,
    longer: Vec<Longer>,
}

/// More than one byte.
struct Longer {
    bytes: Vec<u8>,
    has_blank: bool,
}

enum Entry<'t> {
    Nothing,
    Byte(u8),
    /// Without a blank.
    Word(&'t [u8]),
    Words(&'t [u8]),
    /// It is of another plane.
    Beyond,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

const FIRST_LONGER: u16 = 0x80;

impl Table {
    fn new() -> Self {
        let mut numbers = BTreeMap::new();
        let mut longer = Vec::new();
        let each = (0..0x2_0000).map(|code| {
            let mut bytes = Vec::new();
            if let Some(one) = char::from_u32(code) {
                becomes(one, |byte| bytes.push(byte));
            }
            match *bytes {
                [] => 0,
                [byte] => u16::from(byte),
                _ => *numbers.entry(bytes).or_insert_with_key(|bytes| {
                    longer.push(Longer {
                        bytes: bytes.clone(),
                        has_blank: bytes.iter().copied().any(is_blank),
                    });
                    // A few hundred are different; one without a number would be made each time.
                    u16::try_from(longer.len() - 1)
                        .map_or(u16::MAX, |it| it.saturating_add(FIRST_LONGER))
                }),
            }
        });
        Self {
            each: each.collect(),
            longer,
        }
    }

    fn of(&self, one: char) -> Entry<'_> {
        let Some(&code) = self.each.get(one as usize) else {
            return Entry::Beyond;
        };
        match u8::try_from(code) {
            Ok(0) => Entry::Nothing,
            Ok(byte @ ..0x80) => Entry::Byte(byte),
            Ok(_) | Err(_) => match self.longer.get(usize::from(code - FIRST_LONGER)) {
                Some(it) if it.has_blank => Entry::Words(&it.bytes),
                Some(it) => Entry::Word(&it.bytes),
                None => Entry::Beyond,
            },
        }
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
