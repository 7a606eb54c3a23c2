//! What is looked for first takes nothing away from what patterns find.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;

use crate::guard::text::Flags;
use crate::guard::text::fold::folded;
use crate::guard::text::patterns::PATTERNS;
use crate::guard::text::rows::ROWS;

#[track_caller]
fn check(text: &str) -> Flags {
    let text = folded(text);
    let found = PATTERNS.find(&text);
    assert_eq!(found, PATTERNS.find_everywhere(&text), "{text:?}");
    found
}

/// What a pattern of the table matches but for what stands around it.
fn matching(pattern: &str) -> BoxedStrategy<String> {
    let pattern = pattern
        .replace(r"\b", "")
        .replace("(^|\\n)", "\n")
        .replace("|$", "")
        .replace('_', "[ a-zé.\n]{0,40}")
        .replace('§', "[ a-zé.\n]{0,100}");
    string_regex(&pattern).expect(&pattern).boxed()
}

fn anything_that_matches() -> impl Strategy<Value = String> {
    let patterns: Vec<_> = ROWS.iter().flat_map(|row| row.patterns).collect();
    prop::sample::select(patterns).prop_flat_map(|pattern| matching(pattern))
}

/// A part of it, as attacks that fail have.
fn anything_that_nearly_matches() -> impl Strategy<Value = String> {
    (anything_that_matches(), any::<prop::sample::Index>()).prop_map(|(text, cut)| {
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        text.get(cut..).unwrap().to_owned()
    })
}

fn texts() -> impl Strategy<Value = String> {
    let around = prop::sample::select(vec![
        " ",
        "\n",
        "x",
        "é",
        ".",
        "do not ",
        "never ",
        "n't ",
        "the user ",
        "it, ",
        "all ",
    ]);
    let piece = prop_oneof![
        3 => around.prop_map(str::to_owned),
        2 => anything_that_matches(),
        2 => anything_that_nearly_matches(),
        1 => "[a-z .\n]{0,400}",
        1 => "\\PC{0,20}",
    ];
    prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_text_full_of_what_matches_says_what_every_pattern_finds_in_it(text in texts()) {
        check(&text);
    }

    #[test]
    fn a_match_that_is_cut_anywhere_says_what_every_pattern_finds(
        text in anything_that_matches(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let cut = |at: prop::sample::Index| text.floor_char_boundary(at.index(text.len() + 1));
        let (from, to) = (cut(from).min(cut(to)), cut(from).max(cut(to)));
        check(text.get(from..to).unwrap());
    }
}

#[test]
fn each_pattern_of_the_table_is_looked_for_and_found() {
    let mut runner = TestRunner::deterministic();
    for row in ROWS {
        for pattern in row.patterns {
            let texts = matching(pattern);
            let found = (0..400).filter(|_| {
                let text = texts.new_tree(&mut runner).unwrap().current();
                check(&format!("x. {text} x"))
                    .names()
                    .contains(&row.flag.name().to_owned())
            });
            assert!(found.count() > 0, "{pattern}");
        }
    }
    assert_eq!(
        PATTERNS.len(),
        ROWS.iter().map(|row| row.patterns.len()).sum::<usize>()
    );
}

#[test]
fn the_corpus_says_what_every_pattern_finds_in_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/instructions");
    for name in ["attacks.tsv", "others.tsv", "twins.tsv", "README.md"] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        text.lines().for_each(|line| {
            check(line);
        });
        check(&text.replace("\\n", "\n"));
    }
}
