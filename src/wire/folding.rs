//! Keys that a lenient decoder takes for another.
//!
//! Some decoders match member names without regard to case, after Unicode folding, or up to the
//! first NUL. For the members that the protocol gives meaning to, such a near miss would make a
//! peer read another message than the one that was judged.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::json::Value;

/// Two keys that a folding decoder takes for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LookAlike {
    /// The key that was sent.
    pub(super) key: String,
    /// What it looks like: another key of the object, or a name of the protocol.
    pub(super) like: String,
    /// Where the key stands in the compact text.
    pub(super) position: usize,
}

/// The first key of `object` that differs from an earlier key, or from a name in `reserved`, but
/// equals it after [`folded`]. Equal keys are no business of this function.
pub(super) fn look_alike<'r>(
    object: Value<'_>,
    reserved: impl Iterator<Item = &'r str> + Clone,
) -> Option<LookAlike> {
    if object.len() <= SMALL && object.entries().all(|(key, _)| key.is_ascii()) {
        return small_ascii(object, &reserved);
    }
    let mut seen: HashMap<String, Cow<'_, str>> = reserved
        .map(|name| (folded(name), Cow::Borrowed(name)))
        .collect();
    for (key, value) in object.entries() {
        let like = seen.entry(folded(&key)).or_insert_with(|| key.clone());
        if *like != key {
            let like = like.clone().into_owned();
            return Some(LookAlike {
                key: key.into_owned(),
                like,
                position: value.position(),
            });
        }
    }
    None
}

/// Without controls and invisible characters, in NFKC, with case folded.
pub(super) fn folded(key: &str) -> String {
    let visible = key
        .chars()
        .filter(|&char| !char.is_control() && !is_ignorable(char));
    let folded = caseless::default_case_fold_str(&visible.nfkc().collect::<String>());
    // Folding can undo the normal form (U+0345), so it is made once more.
    folded.nfkc().collect()
}

/// Envelopes and params are small and ASCII; for them nothing is allocated.
const SMALL: usize = 16;

fn small_ascii<'r>(
    object: Value<'_>,
    reserved: &(impl Iterator<Item = &'r str> + Clone),
) -> Option<LookAlike> {
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b) && a != b;
    object
        .entries()
        .enumerate()
        .find_map(|(place, (key, value))| {
            let name = reserved
                .clone()
                .find(|name| same(name, &key))
                .map(str::to_owned);
            let like = name.or_else(|| {
                let mut earlier = object.entries().take(place).map(|(earlier, _)| earlier);
                earlier
                    .find(|earlier| same(earlier, &key))
                    .map(Cow::into_owned)
            })?;
            Some(LookAlike {
                key: key.into_owned(),
                like,
                position: value.position(),
            })
        })
}

/// The characters that Unicode's Default_Ignorable_Code_Point names: they show nothing, and
/// NFKC_Casefold drops them.
fn is_ignorable(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
