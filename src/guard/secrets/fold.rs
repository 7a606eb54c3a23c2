//! Text as it reads: without characters that nobody sees, in the letters that it seems to have.
//!
//! `gh` U+200B `p_…` is the same key to whoever copies it, or to a model. Only what stands between letters
//! matters; a text that has none of this costs one look at its bytes.

use std::ops::Range;

use memchr::memmem;

/// What is left out (`Default_Ignorable_Code_Point` of Unicode, without what is not assigned).
const IGNORED: [(char, char); 15] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// A text as it reads, and where that stands in the text.
pub(super) struct Folded {
    pub(super) text: String,
    /// For each byte, where the character that it is of begins; and the end.
    places: Vec<usize>,
}

impl Folded {
    /// What these bytes stand for.
    pub(super) fn place_of(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| self.places.get(at).or(self.places.last()).copied();
        place(range.start).unwrap_or_default()..place(range.end).unwrap_or_default()
    }
}

/// `None` if the text reads as it is written.
pub(super) fn folded(text: &str) -> Option<Folded> {
    let is_escaped = memmem::find(text.as_bytes(), br"\_").is_some();
    if !is_escaped && (text.is_ascii() || !is_disguised(text)) {
        return None;
    }
    let mut folded = Folded {
        text: String::with_capacity(text.len()),
        places: Vec::with_capacity(text.len() + 1),
    };
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        let is_escape =
            character == '\\' && characters.peek().is_some_and(|&(_, next)| next == '_');
        if is_escape || is_ignored(character) {
            continue;
        }
        folded.text.push(narrow(character));
        folded.places.resize(folded.text.len(), place);
    }
    folded.places.push(text.len());
    Some(folded)
}

/// Whether letters of a word are wide, or something that is ignored stands between some.
fn is_disguised(text: &str) -> bool {
    let of_word = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let mut rest = text;
    let mut before = None;
    // Most characters are ASCII, and cost a look at their byte.
    while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii()) {
        let (ascii, other) = rest.split_at(at);
        before = ascii.chars().next_back().or(before);
        let behind = other.trim_start_matches(is_ignored);
        let next = behind.chars().next();
        let is_wide = next.is_some_and(|it| narrow(it) != it && of_word(narrow(it)));
        let is_parted = behind.len() < other.len() && before.is_some_and(of_word);
        if is_wide || (is_parted && next.is_some_and(of_word)) {
            return true;
        }
        before = next;
        rest = behind
            .get(next.map_or(0, char::len_utf8)..)
            .unwrap_or_default();
    }
    false
}

fn is_ignored(character: char) -> bool {
    !character.is_ascii()
        && IGNORED
            .iter()
            .any(|&(first, last)| (first..=last).contains(&character))
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
    fn only_what_stands_between_letters_changes_how_a_text_reads() {
        check("plain", None);
        check("caf\u{e9} \u{2764}\u{fe0f} \u{4f60}\u{ff0c}\u{597d}", None);
        check("\u{feff}begin", None);
        check("\u{1f468}\u{200d}\u{1f469} a", None);
        check("gh\u{200b}p_a", Some("ghp_a"));
        check("g\u{ad}\u{2060}h", Some("gh"));
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
