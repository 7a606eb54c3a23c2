//! A text as patterns read it: without what makes equal words different.

use std::borrow::Cow;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

/// Compatible forms, letters that look like Latin ones, and cases are one; each run of blanks is one, a line
/// end if there is one in it; what only emphasises is gone.
pub(super) fn folded(text: &str) -> String {
    let plain: Cow<'_, str> = if text.is_ascii() {
        text.into()
    } else {
        let alike = text.nfkd().filter(|one| !is_mark(*one)).map(latin);
        alike.default_case_fold().collect::<String>().into()
    };
    let mut out = String::with_capacity(plain.len());
    let mut blank = None;
    for one in plain.chars() {
        match one.to_ascii_lowercase() {
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => blank = Some('\n'),
            '_' => blank = blank.or(Some(' ')),
            one if one.is_whitespace() => blank = blank.or(Some(' ')),
            '*' | '`' => {}
            one => {
                out.extend(blank.take());
                out.push(one);
            }
        }
    }
    out
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
