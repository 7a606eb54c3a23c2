//! The quickstart shows the gate itself, and what it says elsewhere is the same.

use std::fs;

use crate::pages::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// What stands between the braces of the first `fn main`.
fn body_of_main(path: &str) -> String {
    let text = read(path);
    let (_, rest) = text.split_once("fn main() -> ExitCode {\n").unwrap();
    rest.split_once("\n}\n").unwrap().0.to_owned()
}

#[test]
fn the_gate_of_the_quickstart_is_the_program() {
    let program = body_of_main("src/main.rs");
    assert!(program.contains("cli::run"), "{program}");
    assert_eq!(body_of_main("fixtures/quickstart/gate.rs"), program);
}

#[test]
fn what_the_quickstart_advises_is_what_the_readme_says_and_a_test_runs() {
    let story = read("fixtures/quickstart/story.rs");
    let (_, rest) = story.split_once("const MCP_JSON: &str = r#\"").unwrap();
    let (advice, _) = rest.split_once("\"#;").unwrap();
    let readme = read("README.md");
    assert!(
        readme.contains(&format!("```json\n{advice}\n```")),
        "{advice}"
    );
}
