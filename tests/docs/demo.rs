//! The demo runs everywhere, and its advice is that of the README.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::docs::commands::printed;
use crate::docs::pages::root;

/// The program as a user installs it: alone, with no variables and no source tree around it.
fn run_installed(directory: &Path, arguments: &[&str]) -> Output {
    let program = directory.join("program");
    // By another process: a file that this one has open for writing cannot be started.
    let copied = Command::new("cp")
        .args([Path::new(env!("CARGO_BIN_EXE_mcp-protector")), &program])
        .status();
    assert!(copied.unwrap().success());
    let (home, temporary) = (directory.join("home"), directory.join("temporary"));
    for made in [&home, &temporary] {
        fs::create_dir_all(made).unwrap();
    }
    let mut command = Command::new(&program);
    command
        .args(arguments)
        .env_clear()
        .env("TMPDIR", &temporary)
        .current_dir(&home)
        .output()
        .unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn the_demo_needs_the_program_alone_and_leaves_no_files() {
    let directory = tempfile::tempdir().unwrap();
    let output = run_installed(directory.path(), &["demo"]);
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("all are true."), "{text}");
    // Colours are for terminals.
    assert!(!text.contains('\u{1b}'), "{text}");
    for made in ["home", "temporary"] {
        assert_eq!(names(&directory.path().join(made)), [""; 0], "{made}");
    }
}

#[test]
fn the_demo_keeps_its_files_in_a_directory_that_is_new_or_empty() {
    let directory = tempfile::tempdir().unwrap();
    let output = run_installed(directory.path(), &["demo", "--keep", "files"]);
    assert!(output.status.success(), "{}", printed(&output));
    let kept = directory.path().join("home/files");
    let expected = [
        "audit.jsonl",
        "gate-stderr.log",
        "policies",
        "server-received.jsonl",
    ];
    assert_eq!(names(&kept), expected);
    let audit = fs::read_to_string(kept.join("audit.jsonl")).unwrap();

    let output = run_installed(directory.path(), &["demo", "--keep", "files"]);
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
    assert!(text.contains("directory not empty"), "{text}");
    let after = fs::read_to_string(kept.join("audit.jsonl")).unwrap();
    assert_eq!(after, audit, "the second run changes no file");
}

#[test]
fn the_demo_advises_a_command_of_the_readme_which_a_test_runs() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let story = read("src/cli/demo/story.rs");
    let (_, rest) = story.split_once("const NEXT: &str = \"").unwrap();
    let (advice, _) = rest.split_once("\";").unwrap();
    let block = format!("```sh\n{advice}\n```");
    assert!(read("README.md").contains(&block), "{advice}");
}
