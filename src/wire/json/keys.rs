//! Keys that repeat after decoding.

use std::borrow::Cow;
use std::collections::HashSet;

use super::strings;
use super::tape::{Escapes, JsonKind, TapeNode};

/// A key that a decoder may answer with either of two values.
pub(super) struct DuplicateKey<'t> {
    pub(super) key: Cow<'t, str>,
    /// Where the second occurrence starts in the compact text.
    pub(super) position: usize,
}

/// The first key, in document order of the objects, that repeats within its object.
pub(super) fn first_repeated<'t>(text: &'t str, nodes: &'t [TapeNode]) -> Option<DuplicateKey<'t>> {
    let objects = nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.kind == JsonKind::Object);
    objects
        .map(|(index, _)| index)
        .find_map(|index| repeated_in(text, nodes, index))
}

/// Up to here comparing each with each beats hashing: keys mostly differ in length already.
const SMALL: usize = 16;

fn repeated_in<'t>(
    text: &'t str,
    nodes: &'t [TapeNode],
    object: usize,
) -> Option<DuplicateKey<'t>> {
    let mut small = [""; SMALL];
    let mut count = 0;
    for member in members(nodes, object) {
        let key = member.key_in(text).unwrap_or_default();
        let plain = member.key_escapes == Escapes::None;
        match small.split_at_mut_checked(count) {
            Some((before, [slot, ..])) if plain => {
                if before.contains(&key) {
                    return Some(DuplicateKey {
                        key: Cow::Borrowed(key),
                        position: member.key as usize,
                    });
                }
                *slot = key;
                count += 1;
            }
            _ => return repeated_in_large(text, members(nodes, object)),
        }
    }
    None
}

/// The set is the standard one because its hash is keyed at random: the keys come from a stranger.
fn repeated_in_large<'t>(
    text: &'t str,
    members: impl Iterator<Item = &'t TapeNode>,
) -> Option<DuplicateKey<'t>> {
    let mut seen = HashSet::with_capacity(4 * SMALL);
    for member in members {
        let key = strings::decoded(member.key_in(text).unwrap_or_default(), member.key_escapes);
        if let Some(key) = seen.replace(key) {
            return Some(DuplicateKey {
                key,
                position: member.key as usize,
            });
        }
    }
    None
}

fn members(nodes: &[TapeNode], object: usize) -> impl Iterator<Item = &TapeNode> {
    let end = nodes.get(object).map_or(0, |node| node.next as usize);
    let mut at = object + 1;
    std::iter::from_fn(move || {
        let node = nodes.get(at).filter(|_| at < end)?;
        at = node.next as usize;
        Some(node)
    })
}
