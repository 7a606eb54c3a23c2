//! Text as a person reads it: without invisible characters, with look-alike letters folded.
//!
//! `gh` U+200B `p_…` is the same key for a person who copies it, and for a model. Only what stands between letters
//! matters; a text that has none of this costs one look at its bytes.

use std::ops::Range;

use memchr::memmem;

use crate::unseen::is_unseen;

/// A text as it reads, and where that stands in the text.
pub(super) struct FoldedText {
    pub(super) text: String,
    /// For each byte, where the character that it is of begins; and the end.
    places: Vec<u32>,
}

impl FoldedText {
    /// What these bytes stand for.
    pub(super) fn place_of(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let place = self.places.get(at).or(self.places.last());
            place.map_or(0, |place| *place as usize)
        };
        place(range.start)..place(range.end)
    }
}

/// Half as wide as a place: there is one for each byte. A message has far fewer bytes than that holds.
fn narrowed(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// `None` if the text reads as it is written.
pub(super) fn folded(text: &str) -> Option<FoldedText> {
    let is_escaped = memmem::find(text.as_bytes(), br"\_").is_some();
    let is_plain = || !may_disguise(text.as_bytes()) || !is_disguised(text);
    if !is_escaped && is_plain() {
        return None;
    }
    let mut folded = FoldedText {
        text: String::with_capacity(text.len()),
        places: Vec::with_capacity(text.len() + 1),
    };
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        let is_escape =
            character == '\\' && characters.peek().is_some_and(|&(_, next)| next == '_');
        if is_escape || is_unseen(character) {
            continue;
        }
        folded.text.push(narrow(character));
        folded.places.resize(folded.text.len(), narrowed(place));
    }
    folded.places.push(narrowed(text.len()));
    Some(folded)
}

/// Whether a text has any character that is ignored or wide, by its first bytes. Letters with accents,
/// dashes and quotes of print are none, and most texts have no others. All bytes are compared at once.
fn may_disguise(text: &[u8]) -> bool {
    let mut may = 0;
    for byte in text {
        may |= is_control(*byte);
    }
    if text.is_ascii() {
        return may != 0;
    }
    let following = text.get(1..).unwrap_or_default();
    for (byte, next) in text.iter().zip(following) {
        for (first, least, span) in DISGUISES {
            may |= u8::from(*byte == first) & u8::from(next.wrapping_sub(least) <= span);
        }
    }
    // In the block of dashes and quotes the third byte tells.
    let third = text.get(2..).unwrap_or_default();
    for ((byte, next), third) in text.iter().zip(following).zip(third) {
        let in_first =
            u8::from(third.wrapping_sub(0x8b) <= 4) | u8::from(third.wrapping_sub(0xaa) <= 4);
        let in_second = u8::from(third.wrapping_sub(0xa0) <= 0xf);
        let hides = (u8::from(*next == 0x80) & in_first) | (u8::from(*next == 0x81) & in_second);
        may |= u8::from(*byte == 0xe2) & hides;
    }
    may != 0
}

/// Whether every character that begins with this byte is visible and narrow, and no control or backslash.
pub(super) fn is_ordinary(byte: u8) -> bool {
    ORDINARY.get(usize::from(byte)).copied().unwrap_or(false)
}

static ORDINARY: [bool; 256] = {
    let mut ordinary = [true; 256];
    let mut rest: &mut [bool] = &mut ordinary;
    let mut byte = 0;
    while let Some((is_ordinary, after)) = rest.split_first_mut() {
        *is_ordinary = !matches!(
            byte,
            0..b' ' | b'\\' | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3
        );
        byte = byte.saturating_add(1);
        rest = after;
    }
    ordinary
};

/// Whether a byte is a control of ASCII and no blank: 1, or 0.
fn is_control(byte: u8) -> u8 {
    let is_blank = u8::from(byte.wrapping_sub(b'\t') <= b'\r' - b'\t');
    (u8::from(byte < b' ') & (1 ^ is_blank)) | u8::from(byte == 0x7f)
}

/// First bytes of what is ignored or wide, with what follows them: from where, and how many more.
const DISGUISES: [(u8, u8, u8); 9] = [
    // C1.
    (0xc2, 0x80, 0x1f),
    // U+00AD.
    (0xc2, 0xad, 0),
    // U+034F.
    (0xcd, 0x8f, 0),
    // U+061C.
    (0xd8, 0x9c, 0),
    // U+115F to U+180F.
    (0xe1, 0x85, 0x1b),
    // U+3164.
    (0xe3, 0x85, 0),
    // U+FE00 to U+FFFF.
    (0xef, 0xb8, 7),
    // U+1B000 to U+1DFFF.
    (0xf0, 0x9b, 2),
    // U+E0000 to U+E0FFF.
    (0xf3, 0xa0, 0),
];

/// Whether letters of a word are wide, or something that is ignored stands beside some, or within what is
/// written in ASCII.
fn is_disguised(text: &str) -> bool {
    let following = text.bytes().skip(1).chain([b' ']);
    let bytes = text.bytes().zip(following);
    // Of the characters of most texts, whatever their script, none is looked at.
    let doubtful = bytes.enumerate().filter(|(_, (byte, next))| {
        let begins = |(first, least, span)| *byte == first && next.wrapping_sub(least) <= span;
        is_control(*byte) != 0
            || !byte.is_ascii() && (DISGUISES.into_iter().any(begins) || begins((0xe2, 0x80, 1)))
    });
    // Behind what was looked at: each character of a run that is ignored is passed once.
    let mut seen = 0;
    for (at, _) in doubtful {
        let Some((before, from)) = text.split_at_checked(at).filter(|_| at >= seen) else {
            continue;
        };
        let behind = from.trim_start_matches(is_unseen);
        seen = text.len() - behind.len();
        let next = behind.chars().next();
        let is_wide = next.is_some_and(|it| narrow(it) != it && of_word(narrow(it)));
        let parts = || parts(before.chars().next_back(), next);
        if is_wide || behind.len() < from.len() && parts() {
            return true;
        }
    }
    false
}

/// Whether what is ignored between these two changes how a text reads.
fn parts(before: Option<char>, next: Option<char>) -> bool {
    let is = |it: Option<char>, what: fn(char) -> bool| it.is_some_and(what);
    let of_ascii = |it: char| it.is_ascii();
    is(before, of_word) || is(next, of_word) || is(before, of_ascii) && is(next, of_ascii)
}

fn of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-".contains(character)
}

/// The ASCII character that a wide one looks like (the block of fullwidth forms has them in order).
fn narrow(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, reads: Option<&str>) {
        let folded = folded(text);
        assert_eq!(
            folded.as_ref().map(|it| it.text.as_str()),
            reads,
            "{text:?}"
        );
        if let Some(folded) = folded {
            let all = folded.place_of(&(0..folded.text.len()));
            assert_eq!(all.end, text.len());
            assert!(folded.places.is_sorted() && text.is_char_boundary(all.start));
        }
    }

    #[test]
    fn no_character_that_is_ignored_or_wide_is_passed_over() {
        let looks = |one: char| may_disguise(one.to_string().as_bytes());
        for one in '\0'..=char::MAX {
            let changes = is_unseen(one) || narrow(one) != one;
            assert!(looks(one) || !changes, "{one:?}");
            let parted = format!("a{one}b");
            assert_eq!(
                folded(&parted).is_some(),
                is_disguised_slowly(&parted),
                "{one:?}"
            );
        }
        let usual = "äöüßéñ–—…„“”‚‘’«»€•→中文字かなПриветשלום";
        assert!(!may_disguise(usual.as_bytes()));
    }

    /// Each character looked at, as it was written first.
    fn is_disguised_slowly(text: &str) -> bool {
        let is_wide = |it: char| narrow(it) != it && of_word(narrow(it));
        let mut before = None;
        let mut is_behind = false;
        for one in text.chars() {
            if is_unseen(one) {
                is_behind = true;
                continue;
            }
            if is_wide(one) || is_behind && parts(before, Some(one)) {
                return true;
            }
            (before, is_behind) = (Some(one), false);
        }
        is_behind && parts(before, None)
    }

    proptest! {
        #[test]
        fn what_is_passed_over_disguises_nothing(
            text in "[ab_/ \n\u{1}\u{1b}\u{9b}\u{e9}\u{2013}\u{200b}\u{200d}\u{ad}\u{61c}\u{627}\u{ff41}\u{ff0c}\u{e0041}\u{fe0f}\u{1d400}]{0,12}"
        ) {
            let found = may_disguise(text.as_bytes()) && is_disguised(&text);
            prop_assert_eq!(found, is_disguised_slowly(&text), "{:?}", text);
        }
    }

    #[test]
    fn a_text_of_ordinary_bytes_reads_as_it_is_written() {
        let ordinary = ('\0'..=char::MAX).filter(|one| one.to_string().bytes().all(is_ordinary));
        let mut count = 0;
        for one in ordinary {
            assert!(!is_unseen(one) && narrow(one) == one, "{one:?}");
            count += 1;
        }
        assert!(count > 1_000, "{count}");
        assert!("token=\u{442} \u{e9}".bytes().all(is_ordinary));
        assert!(!is_ordinary(b'\\') && !is_ordinary(0x1b));
    }

    #[test]
    fn only_what_stands_between_letters_changes_how_a_text_reads() {
        check("plain", None);
        check("caf\u{e9} \u{2764}\u{fe0f} \u{4f60}\u{ff0c}\u{597d}", None);
        check(
            "\u{feff} begin \u{2764}\u{fe0f}, \u{4f60}\u{2060}\u{597d}",
            None,
        );
        check("\u{1f468}\u{200d}\u{1f469} a", None);
        check("gh\u{200b}p_a", Some("ghp_a"));
        check("g\u{ad}\u{2060}h", Some("gh"));
        check("g\u{1}\u{fff9}\u{1bca0}h\u{9f}", Some("gh"));
        check("a/\u{3164}+b", Some("a/+b"));
        check("\u{3164}gh", Some("gh"));
        check("\u{ff47}\u{ff48}\u{ff50}\u{ff3f}\u{ff11}", Some("ghp_1"));
        check(r"ghp\_a \* b", Some(r"ghp_a \* b"));
    }

    #[test]
    fn what_is_found_stands_where_it_was_written() {
        let text = "\u{e9} a\u{200b}b c\u{200b}d";
        let folded = folded(text).unwrap();
        assert_eq!(folded.text, "\u{e9} ab cd");
        let at = folded.text.find("ab").unwrap();
        assert_eq!(text.get(folded.place_of(&(at..at + 2))), Some("a\u{200b}b"));
        let at = folded.text.find("cd").unwrap();
        assert_eq!(text.get(folded.place_of(&(at..at + 2))), Some("c\u{200b}d"));
    }
}
