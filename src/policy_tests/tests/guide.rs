//! Every snippet of `docs/policy-guide.md`.

use super::*;
use crate::cli::args::{TestFormat, TestPolicyArgs};
use crate::cli::exit::Exit;
use crate::cli::test_policy;
use crate::policy::ActionName;

const GUIDE: &str = include_str!("../../../docs/policy-guide.md");

/// A fenced block: its language, its title, its text.
type Snippet = (&'static str, &'static str, String);

fn snippets() -> Vec<Snippet> {
    let mut snippets: Vec<Snippet> = Vec::new();
    let mut inside = false;
    for line in GUIDE.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(fence), false) => {
                let (language, rest) = fence.split_once(' ').unwrap_or((fence, ""));
                let title = rest.strip_prefix("title=\"");
                let title = title.and_then(|title| title.strip_suffix('"'));
                snippets.push((language, title.unwrap_or_default(), String::new()));
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                let text = &mut snippets.last_mut().unwrap().2;
                text.push_str(line);
                text.push('\n');
            }
            (None, false) => {}
        }
    }
    snippets
}

/// All files of the guide; what has one title is one file.
fn written() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (language, title, text) in snippets() {
        if language == "sh" {
            continue;
        }
        assert!(!title.is_empty(), "a snippet that no test runs: {text}");
        let path = dir.path().join(title);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = fs::read_to_string(&path)
            .map(|text| text + "\n")
            .unwrap_or_default();
        fs::write(path, before + &text).unwrap();
    }
    dir
}

fn test_policy(dir: &Path, path: Option<&str>, config: Option<&str>) -> (Exit, String) {
    let args = TestPolicyArgs {
        paths: path.map(|path| dir.join(path)).into_iter().collect(),
        config: config.map(|config| dir.join(config)),
        format: TestFormat::Human,
        filter: None,
        coverage: false,
        min_coverage: None,
        mutate: false,
        replay: Vec::new(),
        watch: false,
    };
    let mut out = Vec::new();
    let exit = test_policy::run(&args, &mut out);
    let out = String::from_utf8(out).unwrap();
    let prefix = format!("{}/", dir.display());
    (
        exit,
        out.replace('\\', "/")
            .replace(&prefix.replace('\\', "/"), ""),
    )
}

#[test]
fn the_policies_of_the_guide_pass_its_tests() {
    let dir = written();
    let check = |path, config| {
        let (exit, out) = test_policy(dir.path(), path, config);
        assert_eq!(exit, Exit::Success, "{out}");
        out
    };
    let under_config = check(None, Some("gate.toml"));
    assert!(under_config.contains("in 14 suites: "), "{under_config}");
    check(Some("policies"), None);
    check(Some("allowlist"), None);
    check(Some("locked/policies"), None);
    check(Some("metered"), None);
    check(Some("several"), None);
    check(Some("claims"), None);
}

#[test]
fn the_report_of_the_guide_is_what_its_failing_test_gives() {
    let dir = written();
    let (exit, out) = test_policy(dir.path(), Some("failing.toml"), Some("gate.toml"));
    assert_eq!(exit, Exit::TestsFailed);
    assert_eq!(out, fs::read_to_string(dir.path().join("report")).unwrap());
}

#[test]
fn the_explanation_of_the_guide_is_what_the_command_tells() {
    let dir = written();
    let policies = dir.path().join("policies");
    let line = ["mcp-protector", "explain", &policies.to_string_lossy()].map(str::to_owned);
    let more = ["--call", "read_file", "--args", r#"{"path":"/etc/passwd"}"#].map(str::to_owned);
    let cli = crate::cli::args::parse(line.into_iter().chain(more)).unwrap();
    let crate::cli::args::Command::Explain(args) = cli.command else {
        panic!("{cli:?}")
    };
    let mut out = Vec::new();
    let exit = crate::cli::explain::run(&args, &mut std::io::empty(), &mut out);
    assert_eq!(exit, Exit::Denied);
    let out = String::from_utf8(out).unwrap();
    let out = out.replace(&format!("{}/", dir.path().display()), "");
    assert_eq!(
        out,
        fs::read_to_string(dir.path().join("explained")).unwrap()
    );
}

#[test]
fn the_survivors_of_the_guide_are_those_of_its_policy_and_its_excuse_excuses() {
    let dir = written();
    let tried = |pack: &str| {
        let mut settings = settings(&[&dir.path().join(pack)]);
        settings.mutants = Mutants::Tried;
        let report = run(&settings).unwrap();
        let mut out = Vec::new();
        report.write(&mut out, Paint::Plain).unwrap();
        let out = String::from_utf8(out).unwrap();
        let out = out.replace(&format!("{}/", dir.path().display()), "");
        let (_, told) = out.split_once("changes of").unwrap();
        (report.outcome, format!("changes of{told}"))
    };
    let told = fs::read_to_string(dir.path().join("survivor")).unwrap();
    assert_eq!(tried("numbers"), (RunOutcome::MutantsSurvived, told));
    let tests = r#"
        tools = ["greet", "other"]
        [[test]]
        name = "a name"
        call = "greet"
        args = { name = "x" }
        expect = "allow"
        [[test]]
        name = "a number"
        call = "greet"
        args = { name = 7 }
        expect = { decision = "deny", policies = ["only-text"] }
        [[test]]
        name = "nothing"
        call = "greet"
        expect = { decision = "deny", reason = "not_permitted" }
        [[test]]
        name = "no other tool"
        list = "tools"
        listed = ["greet"]
    "#;
    fs::create_dir(dir.path().join("excused/tests")).unwrap();
    fs::write(dir.path().join("excused/tests/greet.toml"), tests).unwrap();
    let (outcome, out) = tried("excused");
    assert_eq!(outcome, RunOutcome::Passed, "{out}");
    assert!(out.contains("1 that no test can notice"), "{out}");
}

#[test]
fn the_guide_names_every_key_of_the_format_and_every_action() {
    let keys = GUIDE.split("## Fixtures, key by key").nth(1).unwrap();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: Vec<&str> = keys.split(|c| !is_word(c)).collect();
    for key in super::super::section::vocabulary() {
        assert!(words.contains(&key), "{key}");
    }
    for action in ActionName::ALL {
        assert!(
            GUIDE.contains(&format!("`{}`", action.as_str())),
            "{action:?}"
        );
    }
}

#[test]
fn commands_of_the_guide_are_accepted() {
    let mut seen = 0;
    for (_, _, text) in snippets().iter().filter(|(language, ..)| *language == "sh") {
        for command in text.lines().flat_map(|line| line.split(" && ")) {
            let command = command
                .split(" #")
                .next()
                .unwrap()
                .replace("\"the workspace\"", "workspace");
            let parsed = crate::cli::args::parse(command.split_whitespace());
            assert!(parsed.is_ok(), "{command}");
            seen += 1;
        }
    }
    assert_eq!(seen, 12);
}
