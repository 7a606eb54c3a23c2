//! Invariants of `docs/architecture.md` that are a matter of who calls what.

use std::fs;
use std::path::{Path, PathBuf};

use crate::docs::pages::root;

/// The files of the library that hold a text outside comments and tests.
fn files_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![root().join("src")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if holds(&path, text) {
                found.push(relative(&path));
            }
        }
    }
    found.sort();
    found
}

fn holds(path: &Path, text: &str) -> bool {
    let is_test =
        path.ends_with("tests.rs") || path.components().any(|it| it.as_os_str() == "tests");
    if is_test || path.extension().is_none_or(|kind| kind != "rs") {
        return false;
    }
    let source = fs::read_to_string(path).unwrap();
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines()
        .any(|line| !line.trim_start().starts_with("//") && line.contains(text))
}

fn relative(path: &Path) -> String {
    let path: PathBuf = path.strip_prefix(root()).unwrap().into();
    path.to_str().unwrap().to_owned()
}

#[test]
fn only_permit_makes_permits() {
    assert_eq!(files_with("Permit {"), ["src/gate/permit.rs"]);
}

#[test]
fn without_a_permit_only_the_lock_speaks_to_a_server() {
    assert_eq!(
        files_with(".send_unjudged("),
        ["src/cli/tools/transport.rs"]
    );
}

#[test]
fn only_oblige_edits_messages() {
    // One of the others is the definition, which hands the document's own on.
    let mut files = files_with(".edits()");
    // What is between the agent and the gates of several servers renames, and judges nothing.
    files.retain(|file| !file.starts_with("src/unified/"));
    assert_eq!(
        files,
        [
            "src/bridge/server_session/words.rs",
            "src/bridge/words.rs",
            "src/gate/oblige.rs",
            "src/wire/message.rs"
        ]
    );
}

#[test]
fn only_what_stands_before_the_gate_translates_permits() {
    let calls = [".translated(", ".translated_for(", ".answering("];
    let mut files: Vec<String> = calls.into_iter().flat_map(files_with).collect();
    let between = ["src/bridge/", "src/unified/", "src/gate/permit.rs"];
    let elsewhere = |file: &String| !between.iter().any(|it| file.starts_with(it));
    files.retain(elsewhere);
    assert_eq!(files, [""; 0]);
}
