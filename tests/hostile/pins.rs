//! Servers that define their tools in another way than they were approved.

use std::process::{Command, Output};

use crate::hostile::dialogue::{SAFE_RAN, Talk};
use crate::support::fixtures::fixture;
use crate::support::setup::{ALLOW_ALL, GATE, Setup};

/// The gate's other subcommands under the same configuration.
fn tools(setup: &Setup, words: &[&str]) -> Output {
    let arguments = setup.arguments();
    let config = ["--config", arguments.last().unwrap()];
    let mut command = Command::new(GATE);
    command.arg("tools").args(words).args(config);
    command.output().unwrap()
}

fn before(mode: &str) -> Setup {
    Setup::of([&fixture("hostile-server"), mode]).policies(ALLOW_ALL)
}

/// Locks what a well-behaved server offers, and then puts the gate before another one.
fn locked_then(mode: &str) -> Setup {
    let mut setup = before("proper");
    let locked = tools(&setup, &["lock"]);
    assert!(locked.status.success(), "{locked:?}");
    assert!(setup.path("policies/tools.lock").is_file());
    setup.command[1] = mode.to_owned();
    setup
}

#[test]
fn a_poisoned_definition_is_neither_shown_nor_called_once_the_tools_are_locked() {
    for (mode, reaches) in [
        ("proper", true),
        ("poisoned-tools", false),
        ("changing-tools", false),
    ] {
        let setup = locked_then(mode);
        let diff = tools(&setup, &["diff"]);
        assert_eq!(diff.status.code(), Some(i32::from(!reaches)), "{diff:?}");
        let mut talk = Talk::through(setup);
        talk.open();
        let listed = talk.ask("\"list\"", r#""tools/list""#);
        assert_eq!(listed.contains("\"safe\""), reaches, "{mode}: {listed}");
        assert!(!listed.contains("IMPORTANT"), "{listed}");
        assert!(listed.contains("\"evil\""), "{listed}");
        talk.call("7", "safe", "x");
        let answer = talk.answer("7");
        if reaches {
            assert_eq!(answer, SAFE_RAN.replace("$ID", "7"));
        } else {
            assert!(answer.contains("Unknown tool: safe"), "{answer}");
        }
        let past = talk.end();
        let denied = past
            .audit
            .iter()
            .any(|record| record["policies"][0] == "lock.drift");
        assert_eq!(denied, !reaches, "{mode}");
    }
}

#[test]
fn what_definitions_are_held_to_is_for_the_configuration_to_say() {
    // The server defines `safe` in another way in each list.
    let first = "pinning = \"trust_on_first_use\"";
    let exact = "pinning = \"trust_on_first_use\"\npinning_passes = []";
    for (mode, lock, seen, changes) in [
        ("changing-tools", exact, [true, false], 1),
        // One letter more is a typo.
        ("changing-tools", first, [true, true], 1),
        ("changing-tools", "pinning = \"locked\"", [true, true], 0),
        ("proper", first, [true, true], 0),
        ("proper", "pinning = \"enforce\"", [false, false], 0),
    ] {
        let mut setup = before(mode);
        lock.clone_into(&mut setup.reload);
        let mut talk = Talk::through(setup);
        talk.open();
        for (id, is_there) in ["\"first\"", "\"second\""].into_iter().zip(seen) {
            let listed = talk.ask(id, r#""tools/list""#);
            assert_eq!(listed.contains("\"safe\""), is_there, "{lock}: {listed}");
        }
        talk.call("7", "safe", "x");
        let answer = talk.answer("7");
        if seen[1] {
            assert_eq!(answer, SAFE_RAN.replace("$ID", "7"));
        } else {
            assert!(answer.contains("Unknown tool: safe"), "{answer}");
        }
        let past = talk.end();
        let changed = past.of_kind("upstream_state");
        let changed = changed.filter(|record| record["event"] == "definition_changed");
        assert_eq!(changed.count(), changes, "{lock}");
    }
}

#[test]
fn what_a_server_says_to_models_beside_its_tools_is_locked_as_well() {
    let setup = Setup::of([&fixture("everything-server")]).policies(ALLOW_ALL);
    let locked = tools(&setup, &["lock"]);
    assert!(locked.status.success(), "{locked:?}");
    let file = setup.path("policies/tools.lock");
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(whole.contains("\"version\": 2"), "{whole}");
    // As if the server had said nothing when it was approved, and had no prompts.
    let (head, rest) = whole.split_once("\"instructions\": ").unwrap();
    let (said, rest) = rest.split_once(",\n  \"tools\"").unwrap();
    let (middle, _) = rest.split_once("\"prompts\": [").unwrap();
    let less = format!("{head}\"instructions\": null,\n  \"tools\"{middle}\"prompts\": []\n}}\n");
    assert!(said.contains("sha256"), "{said}");
    std::fs::write(&file, less).unwrap();
    let diff = tools(&setup, &["diff"]);
    assert_eq!(diff.status.code(), Some(1), "{diff:?}");
    let told = String::from_utf8_lossy(&diff.stdout).into_owned();
    assert!(
        told.contains("added: the server's instructions\n"),
        "{told}"
    );
    assert!(told.contains("added: prompt "), "{told}");
    let mut enforcing = Setup::of([&fixture("everything-server")]).policies(ALLOW_ALL);
    enforcing.reload = "pinning = \"enforce\"".to_owned();
    let copy = enforcing.path("policies/tools.lock");
    std::fs::copy(&file, &copy).unwrap();
    let mut talk = Talk::through(enforcing);
    assert!(!talk.open().contains("instructions"));
    let listed = talk.ask("\"prompts\"", r#""prompts/list""#);
    assert!(listed.contains(r#""prompts":[]"#), "{listed}");
    assert!(
        talk.ask("\"tools\"", r#""tools/list""#)
            .contains("\"echo\"")
    );
    talk.end();
    // Approved, all of it is there again.
    assert!(
        tools(&setup, &["approve", "--instructions"])
            .status
            .success()
    );
    let told = tools(&setup, &["diff"]).stdout;
    assert!(!String::from_utf8_lossy(&told).contains("instructions"));
    assert!(tools(&setup, &["approve", "--all"]).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    let mut talk = Talk::through(setup);
    assert!(talk.open().contains("instructions"));
    assert!(
        !talk
            .ask("\"prompts\"", r#""prompts/list""#)
            .contains(r#""prompts":[]"#)
    );
    talk.end();
}

#[test]
fn names_that_could_be_taken_for_another_are_not_shown() {
    let mut talk = Talk::through(before("look-alike-names"));
    talk.open();
    let listed = talk.ask("\"list\"", r#""tools/list""#);
    // `safe`, `Safe` and `safe ` are all permitted, and none of them can be told from the others.
    assert!(!listed.to_lowercase().contains("safe"), "{listed}");
    assert!(listed.contains("\"evil\""), "{listed}");
    talk.call("7", "safe", "x");
    assert!(talk.answer("7").contains("Unknown tool: safe"));
    let past = talk.end();
    let refused = past
        .audit
        .iter()
        .find(|it| it["kind"] == "tool_call")
        .unwrap();
    assert_eq!(refused["reason"]["code"], "look_alike", "{refused}");
}

#[test]
fn of_what_a_hostile_server_lists_only_what_can_be_told_is_locked() {
    for (mode, says) in [
        ("conflicting-tools", "`safe` is defined more than once"),
        (
            "tool-schema-missing",
            "`broken`: its `inputSchema` is not an object",
        ),
    ] {
        let setup = before(mode);
        let locked = tools(&setup, &["lock"]);
        assert_eq!(locked.status.code(), Some(1), "{mode}: {locked:?}");
        let told = [&locked.stdout, &locked.stderr].map(|it| String::from_utf8_lossy(it));
        assert!(told.iter().any(|it| it.contains(says)), "{mode}: {told:?}");
        let lock = std::fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
        assert!(
            !lock.contains("broken") && !lock.contains("[tools.safe]"),
            "{mode}: {lock}"
        );
    }
}

#[test]
fn what_a_hostile_server_lists_is_locked_as_a_whole_or_not_at_all() {
    for (mode, says) in [
        ("tool-duplicate-key", "twice"),
        ("cursor-endless", "more than 1000 pages"),
        ("cursor-number", "`nextCursor` that is no string"),
        ("tools-missing", "no array `tools`"),
        ("list-error", "refused `tools/list`: no list today"),
    ] {
        let setup = before(mode);
        let locked = tools(&setup, &["lock"]);
        assert_eq!(locked.status.code(), Some(2), "{mode}: {locked:?}");
        let told = String::from_utf8_lossy(&locked.stderr).into_owned();
        assert!(told.contains(says), "{mode}: {told}");
        assert!(!setup.path("policies/tools.lock").exists(), "{mode}");
    }
}

#[test]
fn nothing_that_was_hidden_in_a_definition_is_hidden_in_its_lock() {
    let setup = before("poisoned-tools");
    assert!(tools(&setup, &["lock"]).status.success());
    let text = std::fs::read_to_string(setup.path("policies/tools.lock")).unwrap();
    assert!(text.contains("<IMPORTANT>") && text.contains("\\u200b\\udb40\\udc61\\u001b[8m"));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    assert_eq!(tools(&setup, &["diff"]).status.code(), Some(0));
}
