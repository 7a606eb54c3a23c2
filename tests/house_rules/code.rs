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

/// The text of a secret is read in one place, so that what becomes of it can be read there too.
#[test]
fn one_module_reads_the_text_of_a_secret() {
    let calls: Vec<(String, usize)> = tree::rust()
        .iter()
        .filter(|(path, _)| path.starts_with("src/") && !tokens::is_test_file(path))
        .map(|(path, text)| (path.clone(), reads_of_secrets(text)))
        .filter(|(_, calls)| *calls > 0)
        .collect();
    assert_eq!(calls, [("src/secret.rs".to_owned(), 1)]);
}

fn reads_of_secrets(text: &str) -> usize {
    let code = tokens::code(text);
    tokens::without_tests(&code)
        .matches("expose_secret")
        .count()
}

#[test]
fn a_read_of_a_secret_is_found_however_it_is_written() {
    let all = "let a = b.expose_secret();\nlet c = d.map(ExposeSecret::expose_secret);\n";
    assert_eq!(reads_of_secrets(all), 2);
    let tests = "// expose_secret\n#[cfg(test)]\nmod tests {\na.expose_secret();\n}\n";
    assert_eq!(reads_of_secrets(tests), 0);
}

/// The components that judge messages, and those that show what they do.
const DECIDES: [&str; 10] = [
    "bridge",
    "explain",
    "gate",
    "guard",
    "lint",
    "mcp",
    "policy",
    "policy_tests",
    "unified",
    "wire",
];

/// What differs from one platform to the other.
const PLATFORM: [&str; 11] = [
    "(unix",
    "(not(unix",
    "(windows",
    "(not(windows",
    "target_os",
    "target_family",
    "target_arch",
    "target_env",
    "target_pointer_width",
    "target_endian",
    "MAIN_SEPARATOR",
];

fn is_for_a_platform(text: &str) -> bool {
    let code = tokens::code(text);
    let code = tokens::without_tests(&code).trim_end();
    // Of tests that one platform alone runs.
    let code = code.trim_end_matches("#[cfg(unix)]");
    PLATFORM.iter().any(|word| code.contains(word))
}

#[test]
fn every_platform_decides_with_the_same_code() {
    let problems: Vec<String> = tree::rust()
        .into_iter()
        .filter(|(path, text)| {
            let component = path
                .strip_prefix("src/")
                .and_then(|it| it.split('/').next());
            component.is_some_and(|it| DECIDES.contains(&it.trim_end_matches(".rs")))
                && !tokens::is_test_file(path)
                && is_for_a_platform(text)
        })
        .map(|(path, _)| path)
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn code_for_one_platform_is_found() {
    assert!(is_for_a_platform("#[cfg(unix)]\nfn f() {}"));
    assert!(is_for_a_platform("if cfg!(target_os = \"linux\") {}"));
    assert!(!is_for_a_platform("// target_os\nfn f() {}"));
    assert!(!is_for_a_platform(
        "#[cfg(test)]\nmod tests {\n#[cfg(unix)]\nfn f() {}\n}\n"
    ));
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
