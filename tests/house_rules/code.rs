//! What the code of a file may not be.

use crate::{tokens, tree};

/// Lines of a file without its tests. A file aims for 150 and is questioned at 300.
const MOST_LINES: usize = 500;

fn lines(text: &str) -> usize {
    tokens::without_tests(text).lines().count()
}

fn is_unsafe(text: &str) -> bool {
    let code = tokens::code(text);
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == "unsafe")
}

#[test]
fn no_source_file_is_longer_than_can_be_read_at_once() {
    let problems: Vec<String> = tree::rust()
        .iter()
        .filter(|(path, _)| path.starts_with("src/") && !tokens::is_test_file(path))
        .map(|(path, text)| (path, lines(text)))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines, {MOST_LINES} at most"))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn no_code_is_unsafe() {
    let problems: Vec<String> = tree::rust()
        .into_iter()
        .filter(|(_, text)| is_unsafe(text))
        .map(|(path, _)| path)
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
    // The compiler agrees, and no attribute can overrule it.
    assert!(tree::read("Cargo.toml").contains("unsafe_code = \"forbid\""));
}

#[test]
fn the_word_is_told_from_its_likes() {
    assert!(is_unsafe("fn f() { unsafe { g() } }"));
    assert!(!is_unsafe("// unsafe\nfn unsafe_code() { \"unsafe\" }"));
    assert_eq!(lines("a\nb\n#[cfg(test)]\nmod tests {\nc\n}\n"), 2);
}
