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
    // On Linux, where no story is skipped.
    assert_eq!(text.matches("all are true.").count(), 2, "{text}");
    // Colours are for terminals.
    assert!(!text.contains('\u{1b}'), "{text}");
    for made in ["home", "temporary"] {
        assert_eq!(names(&directory.path().join(made)), [""; 0], "{made}");
    }
}

#[test]
fn the_second_story_shows_each_of_its_parts() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&run_installed(directory.path(), &["demo"]));
    let (_, story) = text.split_once("── A second story").unwrap();
    let mut rest = story;
    for part in [
        "gate        HTTP 401 Unauthorized",
        "agent is    `ada`, with the role clerk",
        "\"written: /workspace/plan.txt\"",
        "gate        BLOCK outside_roots, by `workspace-only`",
        "the file /workspace/.mcp-protector/results/",
        "\"name\":\"read_file\"",
        "network got GET https://docs.example.com/cups",
        "network got POST https://statistics.example.net/ 4 words",
        "session     switched_to_isolated: workspace (isolated)",
        "gate        BLOCK session_too_sensitive, by `builtin.no_egress`",
        "network got nothing",
        "4 words (notice not sent: permission denied)",
        "network got nothing",
        "[FATAL] the archive of orders is lost",
        "gate        HTTP 404 Not Found",
        "all are true.",
    ] {
        let found = rest.split_once(part);
        (_, rest) = found.unwrap_or_else(|| panic!("{part} is not in its place: {story}"));
    }
}

#[test]
fn the_demo_keeps_its_files_in_a_directory_that_is_new_or_empty() {
    let directory = tempfile::tempdir().unwrap();
    let output = run_installed(directory.path(), &["demo", "--keep", "files 8090"]);
    assert!(output.status.success(), "{}", printed(&output));
    let kept = directory.path().join("home/files 8090");
    assert_eq!(names(&kept), ["notes", "workspace"]);
    let expected = [
        "audit.jsonl",
        "gate-stderr.log",
        "policies",
        "server-received.jsonl",
    ];
    assert_eq!(names(&kept.join("notes")), expected);
    let expected = [
        "audit.jsonl",
        "gate-stderr.log",
        "isolated-received.jsonl",
        "policies",
        "primary-received.jsonl",
        "sessions",
    ];
    assert_eq!(names(&kept.join("workspace")), expected);
    let audit = fs::read_to_string(kept.join("notes/audit.jsonl")).unwrap();

    let output = run_installed(directory.path(), &["demo", "--keep", "files 8090"]);
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
    assert!(text.contains("directory not empty"), "{text}");
    let after = fs::read_to_string(kept.join("notes/audit.jsonl")).unwrap();
    assert_eq!(after, audit, "the second run changes no file");
}

#[test]
fn the_demo_advises_a_command_of_the_readme_which_a_test_runs() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let story = read("src/cli/demo/play.rs");
    let (_, rest) = story.split_once("const NEXT: &str = \"").unwrap();
    let (advice, _) = rest.split_once("\";").unwrap();
    let block = format!("```sh\n{advice}\n```");
    assert!(read("README.md").contains(&block), "{advice}");
}
