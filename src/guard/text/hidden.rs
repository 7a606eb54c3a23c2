//! What is invisible, or speaks to terminals.
//!
//! Whether a character stays depends on what is kept before it and on what stands right behind it, where
//! only what is always kept counts. So a second look sees the same.

use super::clean::Cleaned;
use super::escapes;
use super::kind::{Kind, Kinds};
use super::scripts::{
    has_no_spaces, has_variants, is_arabic, is_ideograph, is_mongolian, is_pictograph,
    is_right_to_left, is_virama, joins,
};

/// What becomes of the next bytes.
enum Step {
    Keep(usize),
    Drop(usize, Kind),
}

/// The flags that are written in letters of the block of tags, all of Unicode's (emoji-sequences.txt,
/// RGI_Emoji_Tag_Sequence): England, Scotland, Wales. To let any such letters stay would let any message stay.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

pub(super) fn revealed(text: &str) -> Cleaned<'_> {
    let mut removed = Kinds::default();
    let mut out = String::new();
    let mut rest = text;
    while let Some((plain, from)) = first_doubtful(rest) {
        if out.is_empty() {
            out.reserve(text.len());
        }
        out.push_str(plain);
        let (bytes, kept) = match step(&out, from) {
            Step::Keep(bytes) => (bytes, from.get(..bytes)),
            Step::Drop(bytes, kind) => {
                removed.add(kind);
                (bytes, None)
            }
        };
        out.push_str(kept.unwrap_or_default());
        rest = from.get(bytes..).unwrap_or_default();
    }
    if removed.is_empty() {
        return Cleaned {
            text: text.into(),
            removed,
        };
    }
    out.push_str(rest);
    Cleaned {
        text: out.into(),
        removed,
    }
}

/// Whether [`revealed`] keeps it only beside certain others, or never.
pub(super) fn is_invisible(one: char) -> bool {
    matches!(kind_of(one), Some(kind) if kind != Kind::Escapes)
}

/// Splits before the first character that may have to go.
fn first_doubtful(text: &str) -> Option<(&str, &str)> {
    let is_doubtful = |byte: u8| DOUBTFUL.get(usize::from(byte)) == Some(&true);
    let at = text.bytes().position(is_doubtful)?;
    text.split_at_checked(at)
}

/// The first bytes of what may have to go: a look at one table for each byte of ordinary text.
#[expect(
    clippy::indexing_slicing,
    reason = "the index is below the length, and the table is made when this is compiled"
)]
const DOUBTFUL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = match byte {
            0x09 | 0x0a | 0x0d => false,
            // C0 and DEL; C1 and U+00AD; U+034F; U+061C; U+115F to U+180F; U+2xxx; U+3164; U+FExx and U+FFxx;
            // U+1Dxxx and U+1F3F4; U+E0xxx.
            0x00..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf0 | 0xf3 => {
                true
            }
            _ => false,
        };
        byte += 1;
    }
    table
};

/// What a character is that does not stay as a matter of course.
fn kind_of(one: char) -> Option<Kind> {
    Some(match one {
        '\t' | '\n' | '\r' | '\u{85}' => return None,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Kind::Escapes,
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' => Kind::ZeroWidth,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Kind::Bidi
        }
        '\u{180b}'..='\u{180d}'
        | '\u{180f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}' => Kind::Selectors,
        // Nothing else of this plane is assigned, and all of it is ignored when it is shown.
        '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' => Kind::TagCharacters,
        _ => return None,
    })
}

fn step(before: &str, from: &str) -> Step {
    let mut chars = from.chars();
    let Some(one) = chars.next() else {
        return Step::Keep(from.len());
    };
    let after = chars.as_str();
    let bytes = one.len_utf8();
    if one == '\u{1f3f4}' {
        let flag = FLAGS.into_iter().find(|flag| after.starts_with(flag));
        return Step::Keep(bytes + flag.map_or(0, str::len));
    }
    let Some(kind) = kind_of(one) else {
        return Step::Keep(bytes);
    };
    if escapes::begins(one) {
        return Step::Drop(bytes + escapes::length(one, after), kind);
    }
    let mut back = before.chars().rev();
    let around = Around {
        before: back.next(),
        second: back.next(),
        after: after.chars().next(),
    };
    if around.has_use_for(one) {
        Step::Keep(bytes)
    } else {
        Step::Drop(bytes, kind)
    }
}

/// The neighbours of a character: what is kept before it, and what stands behind it.
struct Around {
    before: Option<char>,
    second: Option<char>,
    after: Option<char>,
}

impl Around {
    fn has_use_for(&self, one: char) -> bool {
        let before = |is: fn(char) -> bool| self.before.is_some_and(is);
        let after = |is: fn(char) -> bool| self.after.is_some_and(is);
        match one {
            '\u{200b}' => before(has_no_spaces) && after(has_no_spaces),
            '\u{200c}' | '\u{200d}' => {
                let ends_pictograph =
                    |it| is_pictograph(it) || matches!(it, '\u{fe0f}' | '\u{20e3}' | '\u{e007f}');
                (one == '\u{200d}' && before(ends_pictograph) && after(is_pictograph))
                    || (one == '\u{200d}' && before(is_arabic))
                    || before(is_virama)
                    || (before(joins) && after(joins))
            }
            // Behind punctuation that follows such a letter a mark is what keeps it on the right side.
            '\u{61c}' | '\u{200e}' | '\u{200f}' => {
                before(is_right_to_left)
                    || after(is_right_to_left)
                    || (before(is_between) && self.second.is_some_and(is_right_to_left))
            }
            '\u{115f}' => after(|it| matches!(it, '\u{1161}'..='\u{11a7}')),
            '\u{1160}' => before(|it| matches!(it, '\u{1100}'..='\u{115e}')),
            '\u{180b}'..='\u{180d}' | '\u{180f}' => before(is_mongolian),
            '\u{fe0f}' if before(|it| it.is_ascii_digit() || matches!(it, '#' | '*')) => {
                after(|it| it == '\u{20e3}')
            }
            '\u{fe0e}' | '\u{fe0f}' => before(is_pictograph),
            '\u{fe00}'..='\u{fe02}' => before(|it| has_variants(it) || is_ideograph(it)),
            '\u{e0100}'..='\u{e01ef}' => before(is_ideograph),
            _ => false,
        }
    }
}

/// INVARIANT: no angle bracket, or markup could be what a mark is kept for.
fn is_between(one: char) -> bool {
    (one.is_ascii_punctuation() || one == ' ') && !matches!(one, '<' | '>')
}
