//! Files as they lie on disk.

use std::path::Path;

use crate::config::Config;

#[track_caller]
fn check(path: &Path, reason: &str) {
    let errors = Config::load(path).expect_err("refused");
    let [problem] = errors.problems() else {
        panic!("{errors:?}")
    };
    assert_eq!(problem.field(), path.display().to_string());
    assert!(
        problem.reason().to_string().starts_with(reason),
        "{problem}"
    );
    assert!(problem.advice().is_some(), "{problem}");
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    check(&dir.path().join("missing.toml"), "cannot be read: ");
    check(dir.path(), "cannot be read: ");
    let file = dir.path().join("gate.toml");
    std::fs::write(&file, "").expect("written");
    check(&file, "is empty");
    std::fs::write(&file, b"version = 1\n\xff").expect("written");
    check(&file, "is not UTF-8 at byte 12");
    std::fs::write(&file, " ".repeat((1 << 20) + 1)).expect("written");
    check(&file, "is larger than 1 MiB");
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_refused() {
    check(Path::new("/dev/zero"), "is larger than 1 MiB");
}

#[test]
fn paths_start_at_the_directory_of_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("gate.toml");
    std::fs::write(
        &file,
        "upstream.command = [\"a\"]\npolicy.dir = \"p\"\naudit.file = \"/x\"",
    )
    .expect("written");
    let config = Config::load(&file).expect("valid");
    assert_eq!(config.policy.dir, Some(dir.path().join("p")));
    assert_eq!(config.audit.file.as_deref(), Some(Path::new("/x")));
}

#[test]
fn what_is_read_again_is_a_file_and_another_text_only_if_it_says_another() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("gate.toml");
    std::fs::write(&path, "upstream.command = [\"a\"]\n").expect("written");
    let file = Config::load(&path).expect("valid").file.expect("a file");
    assert!(file.stays());
    assert_eq!(&file.read().expect("there"), file.text());
    std::fs::write(&path, "upstream.command = [\"b\"]\n").expect("written");
    let text = file.read().expect("there");
    assert_ne!(&text, file.text());
    assert_eq!(file.parse(&text).expect("valid").upstream.command, ["b"]);
    assert!(!format!("{file:?} {text:?}").contains("command"));
    std::fs::remove_file(&path).expect("removed");
    assert!(file.read().is_err());
    // A pipe would hold up its reader.
    std::fs::create_dir(&path).expect("made");
    assert!(!file.stays());
    let errors = file.read().expect_err("refused");
    let told = errors.problems()[0].reason().to_string();
    assert_eq!(told, "cannot be read: it is not a file any more");
}
