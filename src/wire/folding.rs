//! Keys that a lenient decoder takes for another.
//!
//! Some decoders match member names without regard to case, after Unicode folding, or up to the
//! first NUL. For the members that the protocol gives meaning to, such a near miss would make a
//! peer read another message than the one that was judged.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use unicode_normalization::UnicodeNormalization;

use super::json::Value;
use crate::unseen::is_unseen;

/// Why the keys of an object are not safe from a folding decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LookAlike {
    /// Two keys that such a decoder takes for one.
    Pair {
        /// The key that was sent.
        key: String,
        /// What it looks like: another key of the object, or a name of the protocol.
        like: String,
        /// Where the key stands in the compact text.
        position: usize,
    },
    /// More text outside ASCII than is worth folding.
    TooMuch { position: usize },
}

/// The most bytes of keys outside ASCII that are folded for one object. Folding can make eighteen
/// bytes of three (U+FDFA), and normalises each: without a limit one message costs seconds.
pub(super) const MAX_FOLDED_BYTES: usize = 16 * 1024;

/// The first key of `object` that differs from an earlier key, or from a name in `reserved`, but
/// equals it after [`folded`]. Equal keys are no business of this function.
pub(super) fn look_alike<'r>(
    object: Value<'_>,
    reserved: impl Iterator<Item = &'r str> + Clone,
) -> Option<LookAlike> {
    if object.len() <= SMALL && object.entries().all(|(key, _)| key.is_ascii()) {
        return small_ascii(object, &reserved);
    }
    let mut left = MAX_FOLDED_BYTES;
    let mut seen: HashMap<Cow<'_, str>, Cow<'_, str>> = reserved
        .map(|name| (folded(name.into()), name.into()))
        .collect();
    for (key, value) in object.entries() {
        let position = value.position();
        if !key.is_ascii() {
            match left.checked_sub(key.len()) {
                Some(rest) => left = rest,
                None => return Some(LookAlike::TooMuch { position }),
            }
        }
        match seen.entry(folded(key.clone())) {
            Entry::Vacant(place) => {
                place.insert(key);
            }
            Entry::Occupied(place) if *place.get() == key => {}
            Entry::Occupied(place) => {
                let like = place.get().clone().into_owned();
                return Some(LookAlike::Pair {
                    key: key.into_owned(),
                    like,
                    position,
                });
            }
        }
    }
    None
}

/// A name as decoders compare it that fold case and forms: without controls and invisible characters, in
/// NFKC, with case folded.
pub fn folded_name(name: &str) -> Cow<'_, str> {
    folded(Cow::Borrowed(name))
}

/// Without controls and invisible characters, in NFKC, with case folded.
pub(super) fn folded(key: Cow<'_, str>) -> Cow<'_, str> {
    // The same result at a tenth of the cost: a stranger chooses how many keys there are.
    if key.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        if key.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(key.to_ascii_lowercase());
        }
        return key;
    }
    let visible = key
        .chars()
        .filter(|&char| !char.is_control() && !is_unseen(char));
    // Comparing upper-case forms, as some peers do, makes these two an `i`.
    let dotted = visible.map(|char| {
        if matches!(char, 'İ' | 'ı') {
            'i'
        } else {
            char
        }
    });
    let folded = caseless::default_case_fold_str(&dotted.nfkc().collect::<String>());
    // Folding can undo the normal form (U+0345), so it is made once more.
    Cow::Owned(folded.nfkc().collect())
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
            Some(LookAlike::Pair {
                key: key.into_owned(),
                like,
                position: value.position(),
            })
        })
}
