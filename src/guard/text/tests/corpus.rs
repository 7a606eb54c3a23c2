//! What is flagged of `tests/corpora/instructions/`, and what is not.

use std::fs;
use std::path::Path;

use crate::guard::text::{Flag, flags};
use crate::wire::{Document, Limits};

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/instructions");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Rows of a name and a text, which is a JSON string.
fn rows(name: &str) -> Vec<(String, String)> {
    let lines = read(name);
    let rows = lines.lines().filter(|line| !line.is_empty()).map(|line| {
        let (name, text) = line.split_once('\t').expect(line);
        let text = Document::decode(text.as_bytes(), &Limits::default()).expect(line);
        let text = text.root().as_str().expect(line).into_owned();
        (name.to_owned(), text)
    });
    rows.collect()
}

#[test]
fn attacks_are_flagged_as_what_they_are() {
    let attacks = rows("attacks.tsv");
    let missed = attacks
        .iter()
        .filter(|(name, text)| !flags(text).names().contains(name));
    let missed: Vec<_> = missed
        .map(|(name, text)| (name, text, flags(text)))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
    for flag in Flag::ALL {
        let named = attacks.iter().filter(|(name, _)| name == flag.name());
        assert!(named.count() >= 2, "attacks for `{}`", flag.name());
    }
}

#[test]
fn their_benign_twins_are_not() {
    let twins = rows("twins.tsv");
    let flagged = twins.iter().filter(|(_, text)| !flags(text).is_empty());
    let flagged: Vec<_> = flagged
        .map(|(name, text)| (name, text, flags(text)))
        .collect();
    assert!(flagged.is_empty(), "{flagged:#?}");
    assert!(twins.len() >= 80, "{}", twins.len());
}

/// Attacks in other words than the rows were written from: how many are found is a figure, and
/// `README.md` there states it.
#[test]
fn of_attacks_in_other_words_as_many_are_flagged_as_the_page_says() {
    let others = rows("others.tsv");
    let found = others.iter().filter(|(_, text)| !flags(text).is_empty());
    let figure = format!(
        "{} of {} attacks in other words",
        found.count(),
        others.len()
    );
    assert!(read("README.md").contains(&figure), "{figure}");
}
