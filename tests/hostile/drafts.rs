//! Drafts of policies from servers that misbehave, and from one that does not.

use std::fs;
use std::process::{Command, Output};

use crate::support::fixtures::fixture;
use crate::support::processes;
use crate::support::setup::{GATE, MARK, Setup};

fn gate(words: &[&str]) -> Output {
    Command::new(GATE).args(words).output().unwrap()
}

/// The output of the command, and the draft if there is one: it passes `check` and its tests.
fn suggested(setup: &Setup) -> (Output, Option<String>) {
    let (pack, arguments) = (setup.path("new/pack"), setup.arguments());
    let pack = pack.to_str().unwrap();
    let mut command = Command::new(GATE);
    command.args(["policy", "suggest", "--live", arguments.last().unwrap()]);
    command.args(["--output", pack]).env(MARK, setup.mark());
    let output = command.output().unwrap();
    processes::all_end(setup.mark());
    if !matches!(output.status.code(), Some(0 | 1)) {
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("error: ") && output.stdout.is_empty(),
            "{told}"
        );
        assert!(!setup.path("new").exists(), "{told}");
        return (output, None);
    }
    for command in ["check", "test-policy"] {
        let done = gate(&[command, pack]);
        assert!(done.status.success(), "{command} {done:?}");
    }
    let labels = fs::read_to_string(setup.path("new/pack/tools.toml")).unwrap();
    (output, Some(labels))
}

fn before(mode: &str) -> Setup {
    let mut setup = Setup::of([&fixture("hostile-server"), mode]);
    setup.limits = "request_timeout = \"1s\"".to_owned();
    setup
}

#[test]
fn a_server_of_many_pages_is_drafted_with_its_lock() {
    let setup = Setup::of([fixture("everything-server")]);
    let (output, labels) = suggested(&setup);
    assert!(output.status.success(), "{output:?}");
    let labels = labels.unwrap();
    assert!(
        labels.contains("[tools.\"echo\"]\npermission = [\"write\"]\n"),
        "{labels}"
    );
    let arguments = setup.arguments();
    let lock = setup.path("new/pack/tools.lock");
    let (config, lock) = (arguments.last().unwrap(), lock.to_str().unwrap());
    let diff = gate(&["tools", "diff", "--config", config, "--lock", lock]);
    assert!(diff.status.success(), "{diff:?}");
    let again = suggested_again(&setup);
    assert!(again.contains("exists and is not empty"), "{again}");
}

/// What the command says where its draft is already.
fn suggested_again(setup: &Setup) -> String {
    let (pack, arguments) = (setup.path("new/pack"), setup.arguments());
    let config = arguments.last().unwrap();
    let pack = pack.to_str().unwrap();
    let output = gate(&["policy", "suggest", "--live", config, "--output", pack]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_server_that_gives_no_list_leaves_no_draft_and_no_process() {
    let check = |mode: &str, why: &str| {
        let (output, draft) = suggested(&before(mode));
        assert_eq!(draft, None, "{mode}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(why), "{mode}: {told}");
    };
    check("list-stall", "did not answer `tools/list` within 1 s");
    check("list-error", "it refused `tools/list`: no list today");
    check("tools-missing", "has no array `tools`");
    check("cursor-loop", "more than 1000 pages");
    check("cursor-number", "a `nextCursor` that is no string");
    check("tool-duplicate-key", "what it says is no message");
}

#[test]
fn what_a_hostile_server_lists_is_drafted_without_what_misleads() {
    let check = |mode: &str, labelled: &[&str], told: &[&str]| {
        let (output, labels) = suggested(&before(mode));
        let labels = labels.unwrap();
        let found: Vec<&str> = labels.lines().filter(|it| it.starts_with('[')).collect();
        assert_eq!(found, labelled, "{mode}");
        let out = String::from_utf8(output.stdout).unwrap();
        for word in told {
            assert!(out.contains(word), "{mode}: {out}");
        }
        let hides = |c: char| c.is_control() && c != '\n' || !c.is_ascii();
        assert!(!out.contains(hides) && out.len() < 8_000, "{mode}: {out:?}");
        let has_more = [
            "left out, and not approved",
            "instructs a model, or hides something",
        ];
        let has_more = has_more.iter().any(|words| out.contains(words));
        assert_eq!(output.status.code(), Some(i32::from(has_more)), "{mode}");
    };
    let both = ["[tools.\"evil\"]", "[tools.\"safe\"]"];
    check(
        "lying-annotations",
        &both,
        &["0 permitted, 2 ask a person, 0 denied"],
    );
    check(
        "poisoned-tools",
        &both,
        &[
            "0 permitted, 1 ask a person, 1 denied",
            "instructs a model, or hides something: `safe`",
        ],
    );
    check(
        "schema-bombs",
        &[
            "[tools.\"evil\"]",
            "[tools.\"loop\"]",
            "[tools.\"remote\"]",
            "[tools.\"safe\"]",
            "[tools.\"slow\"]",
        ],
        &["5 ask a person"],
    );
    check(
        "look-alike-names",
        &["[tools.\"evil\"]"],
        &["looks like", "not plain ASCII"],
    );
    check(
        "conflicting-tools",
        &["[tools.\"evil\"]"],
        &["`safe` is defined more than once"],
    );
    check(
        "tool-schema-true",
        &both,
        &["`broken`: its `inputSchema` is not an object"],
    );
}

#[test]
fn a_server_that_prints_a_banner_is_drafted_with_a_warning() {
    let banner = "echo 'Server v1 starting'; echo '[info] ready'; echo; exec \"$0\"";
    let setup = Setup::of(["sh", "-c", banner, &fixture("everything-server")]);
    let (output, labels) = suggested(&setup);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && labels.is_some(), "{told}");
    assert_eq!(
        told.matches("text to its standard output").count(),
        1,
        "{told}"
    );
    assert!(!told.contains("error: "), "{told}");
}

#[test]
fn files_that_a_server_puts_at_the_output_are_not_taken_into_the_draft() {
    let check = |script: &str, remains: &[&str]| {
        let mut setup = Setup::of([fixture("everything-server")]);
        let (output, victim) = (setup.path("pack"), setup.path("victim"));
        fs::create_dir(&victim).unwrap();
        let [out, target] = [&output, &victim].map(|it| it.to_str().unwrap().to_owned());
        let script = script.replace("OUT", &out).replace("VICTIM", &target);
        let server = setup.command.remove(0);
        setup.command = ["sh", "-c", &format!("{script}; exec \"$0\""), &server]
            .map(str::to_owned)
            .to_vec();
        let arguments = setup.arguments();
        let config = arguments.last().unwrap();
        let done = gate(&["policy", "suggest", "--live", config, "--output", &out]);
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{told}");
        assert!(told.contains("exists and is not empty"), "{told}");
        let names = |dir: &std::path::Path| -> Vec<String> {
            let entries = fs::read_dir(dir).unwrap();
            let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
            names.collect()
        };
        assert_eq!(names(&output), remains, "{script}");
        assert_eq!(names(&victim), [""; 0], "{script}");
        let around = names(output.parent().unwrap());
        assert!(
            !around.iter().any(|it| it.starts_with(".mcp-protector")),
            "{around:?}"
        );
    };
    check("mkdir OUT; echo '// x' > OUT/extra.cedar", &["extra.cedar"]);
    check("mkdir OUT; ln -s VICTIM OUT/tests", &["tests"]);
    check("ln -s VICTIM OUT", &[]);
}
