//! A search for contents that cost more than those that are known.
//!
//! Pieces are put together by chance, and those that cost most are changed further. What is found is the
//! piece that a message was filled with.

use std::cmp::Reverse;
use std::time::Duration;

/// How many contents are tried.
const TRIES: usize = 2_000;

/// How many of the most costly are changed further.
const KEPT: usize = 12;

/// Pieces of one content.
const MOST_PIECES: usize = 5;

/// The most costly contents, with their cost for each message that `cost` makes of one.
pub(crate) fn search(
    pieces: &[&str],
    mut cost: impl FnMut(&str) -> Duration,
) -> Vec<(Duration, String)> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut kept: Vec<(Duration, Vec<String>)> = Vec::new();
    for _ in 0..TRIES {
        let mut content = match kept.get(dice.below(KEPT)) {
            Some((_, content)) => content.clone(),
            None => Vec::new(),
        };
        change(&mut content, pieces, &mut dice);
        let text = content.concat();
        if text.is_empty() || kept.iter().any(|(_, it)| it.concat() == text) {
            continue;
        }
        kept.push((cost(&text), content));
        kept.sort_unstable_by_key(|(cost, _)| Reverse(*cost));
        kept.truncate(KEPT);
    }
    let found = kept.into_iter();
    found.map(|(cost, it)| (cost, it.concat())).collect()
}

fn change(content: &mut Vec<String>, pieces: &[&str], dice: &mut Dice) {
    let at = dice.below(content.len() + 1);
    let way = dice.below(5);
    if way > 2 && content.len() < MOST_PIECES {
        let piece = pieces.get(dice.below(pieces.len())).copied();
        content.insert(at, piece.unwrap_or_default().to_owned());
        return;
    }
    match (way, content.get_mut(at)) {
        (0, Some(_)) => {
            content.remove(at);
        }
        // All but its end.
        (1, Some(piece)) => {
            piece.pop();
        }
        (2, Some(piece)) => {
            let digits = piece.bytes().map(|it| format!("{it:02x}"));
            *piece = digits.collect::<Vec<_>>().concat();
        }
        _ => {}
    }
}

/// The same numbers each time (Knuth's multiplier and increment).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}
