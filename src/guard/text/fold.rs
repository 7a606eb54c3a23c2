//! A text as patterns read it: without what makes equal words different.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

/// Compatible forms, letters that look like Latin ones, and cases are one; each run of blanks is one, a line
/// end if there is one in it; what only emphasises is gone.
pub(super) fn folded(text: &str) -> String {
    let mut folded = Folded {
        text: String::with_capacity(text.len()),
        blank: None,
    };
    let mut rest = text;
    while !rest.is_empty() {
        let (plain, odd) = split(rest, plain_length(rest.as_bytes()));
        folded.push_plain(plain);
        let (foreign, after) = split(odd, foreign_length(odd.as_bytes()));
        let alike = foreign.nfkd().filter(|one| !is_mark(*one)).map(latin);
        alike.default_case_fold().for_each(|one| folded.push(one));
        let mut after = after.chars();
        after.next().into_iter().for_each(|one| folded.push(one));
        rest = after.as_str();
    }
    folded.text.make_ascii_lowercase();
    folded.text
}

/// All but the case of ASCII.
struct Folded {
    text: String,
    /// It may become another one before anything follows.
    blank: Option<char>,
}

impl Folded {
    fn push(&mut self, one: char) {
        match one {
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => self.blank = Some('\n'),
            '_' => self.blank = self.blank.or(Some(' ')),
            one if one.is_whitespace() => self.blank = self.blank.or(Some(' ')),
            '*' | '`' => {}
            one => {
                self.text.extend(self.blank.take());
                self.text.push(one);
            }
        }
    }

    fn push_plain(&mut self, plain: &str) {
        if !plain.is_empty() {
            self.text.extend(self.blank.take());
            self.text.push_str(plain);
        }
    }
}

fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// How much of the beginning stays as it is: words of ASCII, with one blank between them.
fn plain_length(text: &[u8]) -> usize {
    if !text.first().copied().is_some_and(is_plain) {
        return 0;
    }
    let pairs = text.windows(2);
    let mut stays = pairs.map(|pair| match pair {
        [b' ', next] => is_plain(*next),
        [one, ..] => is_plain(*one),
        [] => true,
    });
    let end = stays.position(|stays| !stays);
    let last = text.last().copied().is_some_and(is_plain);
    end.unwrap_or(text.len() - usize::from(!last))
}

/// How much of the beginning is not of ASCII. Nothing of ASCII changes for what stands beside it, so this
/// can be taken by itself.
fn foreign_length(text: &[u8]) -> usize {
    let end = text.iter().position(u8::is_ascii);
    end.unwrap_or(text.len())
}

fn is_plain(byte: u8) -> bool {
    PLAIN.get(usize::from(byte)) == Some(&true)
}

/// What [`Folded::push`] does nothing to: a look at one table for each byte of ordinary text.
#[expect(
    clippy::indexing_slicing,
    reason = "the index is below the length, and the table is made when this is compiled"
)]
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x80 {
        table[byte] = !matches!(byte, 0x09..=0x0d | 0x20 | 0x2a | 0x5f | 0x60);
        byte += 1;
    }
    table
};

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
