//! What is invisible, or speaks to terminals.
//!
//! Whether a character stays depends on what is kept before it and on what stands right behind it, where
//! only what is always kept counts. So a second look sees the same.

use icu_properties::CodePointSetData;
use icu_properties::props::{BidiControl, VariationSelector};

use super::escapes;
use super::hidden_kinds::{HiddenKind, HiddenKinds};
use super::sanitized::Sanitized;
use super::scripts::{
    has_no_spaces, has_variants, is_arabic, is_ideograph, is_mongolian, is_pictograph,
    is_right_to_left, is_virama, joins,
};
use crate::unseen::is_unseen;

/// What becomes of the next bytes.
enum ByteAction {
    Keep(usize),
    Drop(usize, HiddenKind),
}

/// Begins the flags of [`FLAGS`].
const BLACK_FLAG: char = '\u{1f3f4}';

/// The flags that are written in letters of the block of tags, all of Unicode's (emoji-sequences.txt,
/// RGI_Emoji_Tag_Sequence): England, Scotland, Wales. To let any such letters stay would let any message stay.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

pub(super) fn revealed(text: &str) -> Sanitized<'_> {
    let mut removed = HiddenKinds::default();
    let mut out = String::new();
    // What stands before it and is kept is in `out`, or is the text itself as long as nothing was removed.
    let mut done = 0;
    let mut from = 0;
    while let Some((before, after)) = split_before_doubtful(text, from) {
        let step = if removed.is_empty() {
            step(before, after)
        } else {
            out.push_str(before.get(done..).unwrap_or_default());
            done = before.len();
            step(&out, after)
        };
        match step {
            ByteAction::Keep(bytes) => from = before.len() + bytes,
            ByteAction::Drop(bytes, kind) => {
                if removed.is_empty() {
                    out.reserve(text.len());
                    out.push_str(before);
                }
                removed.add(kind);
                done = before.len() + bytes;
                from = done;
            }
        }
    }
    if removed.is_empty() {
        return Sanitized {
            text: text.into(),
            removed,
        };
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Sanitized {
        text: out.into(),
        removed,
    }
}

/// Whether [`revealed`] keeps it only beside certain others, or never.
pub(super) fn is_invisible(one: char) -> bool {
    matches!(kind_of(one), Some(kind) if kind != HiddenKind::Escapes)
}

/// Splits before the first character from there on that may have to go.
fn split_before_doubtful(text: &str, from: usize) -> Option<(&str, &str)> {
    let is_doubtful = |one| one == BLACK_FLAG || kind_of(one).is_some();
    let found = text.get(from..)?.find(is_doubtful)?;
    text.split_at_checked(from + found)
}

/// What a character is that does not stay as a matter of course.
fn kind_of(one: char) -> Option<HiddenKind> {
    // First, since nearly every character is one of these.
    if matches!(one, ' '..='~' | '\t' | '\n' | '\r' | '\u{85}') {
        None
    } else if one.is_control() {
        Some(HiddenKind::Escapes)
    } else if !is_unseen(one) {
        None
    } else if CodePointSetData::new::<BidiControl>().contains(one) {
        Some(HiddenKind::Bidi)
    } else if CodePointSetData::new::<VariationSelector>().contains(one) {
        Some(HiddenKind::Selectors)
    } else if matches!(one, '\u{e0000}'..='\u{e0fff}') {
        // Nothing else of this plane is assigned.
        Some(HiddenKind::TagCharacters)
    } else {
        Some(HiddenKind::ZeroWidth)
    }
}

fn step(before: &str, from: &str) -> ByteAction {
    let mut chars = from.chars();
    let Some(one) = chars.next() else {
        return ByteAction::Keep(from.len());
    };
    let after = chars.as_str();
    let bytes = one.len_utf8();
    if one == BLACK_FLAG {
        let flag = FLAGS.into_iter().find(|flag| after.starts_with(flag));
        return ByteAction::Keep(bytes + flag.map_or(0, str::len));
    }
    let Some(kind) = kind_of(one) else {
        return ByteAction::Keep(bytes);
    };
    if escapes::begins(one) {
        return ByteAction::Drop(bytes + escapes::length(one, after), kind);
    }
    let mut back = before.chars().rev();
    let around = Neighbours {
        before: back.next(),
        second: back.next(),
        after: after.chars().next(),
    };
    if around.has_use_for(one) {
        ByteAction::Keep(bytes)
    } else {
        ByteAction::Drop(bytes, kind)
    }
}

/// The neighbours of a character: what is kept before it, and what stands behind it.
struct Neighbours {
    before: Option<char>,
    second: Option<char>,
    after: Option<char>,
}

impl Neighbours {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each character asked.
    fn revealed_slowly(text: &str) -> (String, HiddenKinds) {
        let mut removed = HiddenKinds::default();
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let bytes = match step(&out, rest) {
                ByteAction::Keep(bytes) => {
                    out.push_str(rest.get(..bytes).unwrap());
                    bytes
                }
                ByteAction::Drop(bytes, kind) => {
                    removed.add(kind);
                    bytes
                }
            };
            rest = rest.get(bytes..).unwrap();
        }
        (out, removed)
    }

    #[track_caller]
    fn check(text: &str) {
        let (slowly, removed) = revealed_slowly(text);
        let quickly = revealed(text);
        assert_eq!(quickly.text, slowly, "{text:?}");
        assert_eq!(quickly.removed, removed, "{text:?}");
    }

    #[test]
    fn each_character_that_may_have_to_go_is_looked_at_wherever_it_stands() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for some in all.chunks(500) {
            let apart: String = some.iter().flat_map(|one| ['a', *one]).collect();
            check(&apart);
        }
    }

    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => "[ -~]{0,40}",
            3 => "[\u{590}-\u{6ff}\u{900}-\u{97f}\u{1780}-\u{18af}\u{3041}-\u{30ff}]{0,20}",
            3 => "[\0-\u{9f}]{1,4}",
            3 => "[\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{180b}\u{200b}-\u{200f}\u{2066}\u{3164}]{1,4}",
            2 => "[\u{fe00}-\u{fe0f}\u{feff}\u{fff9}\u{e0020}-\u{e007f}\u{e0100}]{1,4}",
            2 => "[\u{1f3f4}\u{1f469}\u{2764}\u{4e00}#1]{1,3}",
            1 => any::<String>(),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_passed_over_would_have_stayed(text in texts()) {
            check(&text);
        }
    }
}
