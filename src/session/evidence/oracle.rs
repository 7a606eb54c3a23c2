//! What holds for every result and arguments. Also what the fuzz target `evidence` asks for.

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

use super::readings::{Budget, read};
use super::windows::{LENGTH, STRIDE, Windows, is_distinctive};

/// Bytes of a result and of what stands around a passage of it. No encoding of them is beyond the budget.
const LONGEST: usize = 4096;

/// The first line is a result, and what follows stands around its middle in arguments. If that is long enough,
/// it is found, in each encoding. Whatever they are, reading ends.
pub(super) fn laws(text: &str) {
    let text = text
        .get(..text.floor_char_boundary(LONGEST))
        .unwrap_or_default();
    let (result, around) = text.split_once('\n').unwrap_or((text, ""));
    let (begin, end) = (result.len() / 4, result.len() / 4 * 3);
    let (begin, end) = (
        result.floor_char_boundary(begin),
        result.floor_char_boundary(end),
    );
    let passage = result.get(begin..end).unwrap_or_default();
    let (before, after) = around.split_at(around.floor_char_boundary(around.len() / 2));
    let kept: HashSet<u128> = windows(result, Windows::sampled);
    let mut all = Vec::new();
    Windows::all().read(passage, &mut |window| all.push(window));
    let is_long = all.len() >= STRIDE && all.iter().take(STRIDE).all(|it| is_distinctive(*it));
    for encoded in [
        passage.to_owned(),
        passage.to_ascii_uppercase(),
        BASE64_STANDARD.encode(passage),
        BASE64_URL_SAFE_NO_PAD.encode(BASE64_STANDARD.encode(passage)),
        hex(passage, ""),
        hex(passage, "%"),
    ] {
        let arguments = format!("{before}{encoded}{after}");
        let found = windows(&arguments, Windows::all);
        let is_found = kept
            .iter()
            .any(|it| is_distinctive(*it) && found.contains(it));
        assert!(!is_long || is_found, "{result:?} {arguments:?}");
    }
}

fn windows(text: &str, of: fn() -> Windows) -> HashSet<u128> {
    let mut found = HashSet::new();
    let mut budget = Budget::of(LONGEST * 64 * LENGTH);
    read([text], of(), &mut budget, &mut |window| {
        found.insert(window);
    });
    assert!(!budget.is_spent());
    found
}

fn hex(text: &str, before: &str) -> String {
    let digits = text.bytes().map(|byte| format!("{before}{byte:02x}"));
    digits.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    #[test]
    fn the_seeds_of_the_fuzz_target_hold() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/evidence");
        let seeds: Vec<_> = folder.read_dir().unwrap().collect();
        assert!(seeds.len() >= 3);
        for seed in seeds {
            let bytes = std::fs::read(seed.unwrap().path()).unwrap();
            super::laws(&String::from_utf8_lossy(&bytes));
        }
    }

    proptest! {
        #[test]
        fn a_passage_is_found_whatever_surrounds_it_in_each_encoding(
            result in "([a-zA-Z0-9äß中é]{1,12}[ .,;:/@_-]{0,3}){0,60}",
            around in "([a-zA-Z0-9äß中%+/=\\\\]{0,12}[ .,;:/@_\n-]{0,3}){0,20}",
        ) {
            super::laws(&format!("{result}\n{around}"));
        }

        #[test]
        fn whatever_the_text_is_reading_it_ends(text in "(\\PC|[A-Za-z0-9+/=%\\\\\n]){0,800}") {
            super::laws(&text);
        }
    }
}
