//! What instructs a model in a text.

use std::borrow::Cow;

use super::encoded;
use super::flag::Flags;
use super::fold::folded;
use super::hidden_kinds::HiddenKind;
use super::markup::{self, Markup};
use super::patterns::PATTERNS;
use super::sanitize::revealed;
use crate::unseen::is_unseen;

/// What in the text instructs a model, or hides.
///
/// It is looked for in what is there behind the hidden characters, in the same without markup where there
/// is some (a tag may part a word), in what sequences for terminals are written with, in what is encoded,
/// and in what the characters of the block of tags spell.
pub fn flags(text: &str) -> Flags {
    let shown = revealed(text);
    let mut found = Flags::from(shown.removed);
    found = found.and(instructions(&shown.text));
    let plain = markup::without(&shown.text, Markup::ANY);
    if let Cow::Owned(text) = &plain.text {
        found = found.and(plain.removed.into()).and(instructions(text));
    }
    if shown.removed.contains(HiddenKind::Escapes) {
        // A model reads the escapes that a terminal removes.
        let read: String = text.chars().filter(|it| !is_unseen(*it)).collect();
        found = found.and(instructions(&read));
    }
    for text in encoded::decoded(&shown.text) {
        found = found.and(instructions(&text));
    }
    if shown.removed.contains(HiddenKind::TagCharacters) {
        found = found.and(instructions(&spelt(text)));
    }
    found
}

fn instructions(text: &str) -> Flags {
    PATTERNS.find(&folded(text))
}

/// What the characters of the block of tags say, each of which stands for one of ASCII.
fn spelt(text: &str) -> String {
    let letters = text.chars().filter_map(|one| {
        let ascii = u32::from(one).checked_sub(0xe_0000)?;
        char::from_u32(ascii).filter(|it| matches!(it, ' '..='~'))
    });
    letters.collect()
}
