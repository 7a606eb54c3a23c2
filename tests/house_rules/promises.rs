//! `docs/requirements.md` and `docs/threats.md`: every row names the test that shows it.

use std::collections::BTreeSet;

use crate::tree;

/// A table row: its id and its last cell.
fn rows(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .filter_map(|line| {
            let cells = line.trim().strip_prefix('|')?.strip_suffix('|')?;
            let (id, _) = cells.split_once('|')?;
            let (_, last) = cells.rsplit_once('|')?;
            is_id(id.trim()).then(|| (id.trim(), last.trim()))
        })
        .collect()
}

/// `A14`, `D7`, `B1a`.
fn is_id(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_lowercase());
    rest.len() < text.len() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The words in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The names of all test functions in a Rust file.
fn tests(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("#[") {
            let name = line
                .trim_start_matches("#[")
                .split(['(', ']'])
                .next()
                .unwrap_or_default();
            is_test |= name == "test" || name.ends_with("::test");
        } else if let (true, Some((_, rest))) = (is_test, line.split_once("fn ")) {
            found.extend(rest.split(['(', '<']).next());
            is_test = false;
        } else if !line.starts_with("//") {
            is_test = false;
        }
    }
    found
}

fn problems(text: &str, tests: &BTreeSet<&str>) -> Vec<String> {
    let mut ids = BTreeSet::new();
    let mut problems = Vec::new();
    for (id, last) in rows(text) {
        if !ids.insert(id) {
            problems.push(format!("{id} has two rows"));
        }
        let named = quoted(last);
        if named.is_empty() {
            problems.push(format!("{id} names no test"));
        }
        for name in named
            .iter()
            .map(|name| name.rsplit("::").next().unwrap_or(name))
        {
            if !tests.contains(name) {
                problems.push(format!("{id}: there is no test `{name}`"));
            }
        }
    }
    if ids.is_empty() {
        problems.push("there is no row".to_owned());
    }
    problems
}

fn check(document: &str) {
    let files = tree::rust();
    let tests = files.iter().flat_map(|(_, text)| tests(text)).collect();
    let problems = problems(&tree::read(document), &tests);
    assert!(problems.is_empty(), "{document}: {problems:#?}");
}

#[test]
fn every_requirement_that_is_said_to_be_met_names_its_tests() {
    check("docs/requirements.md");
}

#[test]
fn every_threat_that_is_said_to_be_met_names_its_tests() {
    check("docs/threats.md");
}

#[test]
fn a_promise_without_its_test_is_found() {
    let tests = tests(
        "#[test]\nfn good() {}\n#[tokio::test(flavor = \"x\")]\nasync fn fine() {}\nfn no() {}",
    );
    assert_eq!(tests, BTreeSet::from(["good", "fine"]));
    let check = |text: &str, problem: &[&str]| assert_eq!(problems(text, &tests), problem);
    check(
        "| id | is | test |\n|---|---|---|\n| A1 | x | `good`, `a::fine` |",
        &[],
    );
    check("| A1 | x | `no` |", &["A1: there is no test `no`"]);
    check("| A1 | x `good` | |", &["A1 names no test"]);
    check(
        "| A1 | x | `good` |\n| A1 | y | `good` |",
        &["A1 has two rows"],
    );
    check("| id | is |", &["there is no row"]);
}
