//! Drafts that are written, loaded, tested and compared with their log.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cli::args::{self, Command, PolicyCommand};
use crate::cli::test_policy;

/// A record of a call that passed.
fn call(tool: &str, arguments: &Value, level: &str) -> String {
    json!({
        "version": 1, "seq": 1, "timestamp": "2026-11-21T20:14:03.512881Z", "instance": "5f", "kind": "tool_call",
        "agent": { "id": "stdio" }, "upstream": "files", "direction": "agent_to_upstream", "method": "tools/call",
        "target": tool, "decision": "ALLOW", "allowed": true, "stage": "forward", "revision": "0000",
        "arguments": arguments, "sensitivity": { "before": level, "after": level },
    })
    .to_string()
}

/// The exit code, and what was printed and told.
fn suggested(dir: &Path, lines: &[String], output: &str) -> (Exit, String, String) {
    suggested_for(dir, lines, None, output)
}

/// The same for the servers of a configuration.
fn suggested_for(
    dir: &Path,
    lines: &[String],
    config: Option<&Path>,
    output: &str,
) -> (Exit, String, String) {
    let log = dir.join("log");
    fs::write(&log, lines.join("\n") + "\n").unwrap();
    let (mut out, mut told) = (Vec::new(), Vec::new());
    let exit = run(&[log], config, &dir.join(output), &mut out, &mut told);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (exit, text(out), text(told))
}

/// Whether the tests of a draft pass.
pub(super) fn passes_its_tests(pack: &Path) -> bool {
    let line = ["mcp-protector", "test-policy", pack.to_str().unwrap()];
    let Command::TestPolicy(args) = args::parse(line).unwrap().command else {
        panic!()
    };
    let mut out = Vec::new();
    let exit = test_policy::run(&args, &mut out);
    assert_eq!(exit, Exit::Success, "{}", String::from_utf8_lossy(&out));
    true
}

/// The exit of `explain` for a call.
fn explained(pack: &Path, tool: &str, arguments: &Value) -> Exit {
    let arguments = arguments.to_string();
    let pack = pack.to_str().unwrap();
    let line = [
        "mcp-protector",
        "explain",
        pack,
        "--call",
        tool,
        "--args",
        &arguments,
    ];
    let Command::Explain(args) = args::parse(line).unwrap().command else {
        panic!()
    };
    crate::cli::explain::run(&args, &mut io::empty(), &mut io::sink())
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        "/(srv|data)/[a-c]{1,2}(/[a-c.]{1,4})?".prop_map(Value::from),
        "https://[ab]\\.example/[a-z]{0,3}".prop_map(Value::from),
        prop::sample::select(vec![
            "json",
            "xml",
            "",
            "/",
            "file:///srv/a",
            "http://",
            "[redacted:github-token]",
            "a\"b\\\u{202e}"
        ])
        .prop_map(Value::from),
        Just(Value::Null),
        any::<i16>().prop_map(Value::from),
        prop::collection::vec("/srv/[ab]", 0..3).prop_map(Value::from),
    ]
}

fn calls() -> impl Strategy<Value = Vec<String>> {
    let tool = prop::sample::select(vec![
        "read_file",
        "writeFile",
        "fetch",
        "send_mail",
        "get \"x\"",
        "search",
    ]);
    let name = prop::sample::select(vec!["path", "url", "format", "a/b~"]);
    let arguments = prop::collection::btree_map(name, text(), 0..4);
    let level = prop::sample::select(vec!["PUBLIC", "INTERNAL", "SECRET"]);
    let call = (tool, arguments, level);
    let call = call.prop_map(|(tool, arguments, level)| call_of(tool, &arguments, level));
    prop::collection::vec(call, 1..24)
}

fn call_of(tool: &str, arguments: &std::collections::BTreeMap<&str, Value>, level: &str) -> String {
    call(tool, &json!(arguments), level)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_draft_passes_its_tests_and_denies_nothing_that_its_log_allowed(lines in calls()) {
        let dir = tempfile::tempdir().unwrap();
        let (exit, out, told) = suggested(dir.path(), &lines, "draft");
        prop_assert_eq!(exit, Exit::Success, "{}{}\n{}", out, told, lines.join("\n"));
        prop_assert!(passes_its_tests(&dir.path().join("draft")));
    }
}

#[test]
fn a_draft_permits_what_was_read_asks_about_writes_and_denies_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        call("list_directory", &json!({ "path": "/srv" }), "PUBLIC"),
        call("read_file", &json!({ "path": "/srv/d.txt" }), "PUBLIC"),
        call("read_file", &json!({ "path": "/srv/out/x.txt" }), "PUBLIC"),
        call("read_file", &json!({ "path": "/srv/out/y.txt" }), "PUBLIC"),
        call("read_file", &json!({ "path": "/srv/a.txt" }), "PUBLIC"),
        call("write_file", &json!({ "path": "/srv/b.txt" }), "PUBLIC"),
    ];
    let (exit, out, _) = suggested(dir.path(), &lines, "draft");
    assert_eq!(exit, Exit::Success);
    assert!(
        out.contains("5 decisions stay, 0 change, 1 cannot be judged"),
        "{out}"
    );
    assert!(out.contains("a person would be asked now"), "{out}");
    let pack = dir.path().join("draft");
    let judged = |tool: &str, path: &str| explained(&pack, tool, &json!({ "path": path }));
    assert_eq!(judged("read_file", "/srv/c.txt"), Exit::Success);
    assert_eq!(judged("list_directory", "/srv/x"), Exit::Success);
    assert_eq!(judged("read_file", "/etc/passwd"), Exit::Denied);
    assert_eq!(judged("read_file", "/srv/../etc/passwd"), Exit::Denied);
    assert_eq!(judged("write_file", "/srv/c.txt"), Exit::Denied);
    assert_eq!(judged("other", "/srv/a.txt"), Exit::Denied);
}

#[test]
fn a_tool_is_narrowed_to_its_own_directories() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        call("list_directory", &json!({ "path": "/srv" }), "PUBLIC"),
        call("read_file", &json!({ "path": "/srv/out/x.txt" }), "PUBLIC"),
        call("read_file", &json!({ "path": "/srv/out/y.txt" }), "PUBLIC"),
        call("read_file", &json!({}), "PUBLIC"),
        call(
            "find_and_replace",
            &json!({ "path": "/srv/z.txt", "text": "a" }),
            "PUBLIC",
        ),
        call("search", &json!({ "*": "/srv/a", "text": "b" }), "PUBLIC"),
        call(
            "list_all",
            &json!({ "paths": vec!["/srv/a"; 300] }),
            "PUBLIC",
        ),
    ];
    let (exit, out, told) = suggested(dir.path(), &lines, "draft");
    assert_eq!(exit, Exit::Success, "{out}{told}");
    let pack = dir.path().join("draft");
    assert!(passes_its_tests(&pack));
    let judged = |tool: &str, arguments: Value| explained(&pack, tool, &arguments);
    assert_eq!(
        judged("read_file", json!({ "path": "/srv/out/z.txt" })),
        Exit::Success
    );
    assert_eq!(judged("read_file", json!({})), Exit::Success);
    assert_eq!(
        judged("read_file", json!({ "path": "/srv/z.txt" })),
        Exit::Denied
    );
    assert_eq!(
        judged("list_directory", json!({ "path": "/srv/out/a" })),
        Exit::Success
    );
    // A person is asked.
    let replaced = judged(
        "find_and_replace",
        json!({ "path": "/srv/z.txt", "text": "a" }),
    );
    assert_eq!(replaced, Exit::Denied);
    assert_eq!(
        judged("search", json!({ "*": "/srv/a", "text": "b" })),
        Exit::Success
    );
}

#[test]
fn nothing_is_drafted_from_nothing_or_over_something() {
    let dir = tempfile::tempdir().unwrap();
    let check = |lines: &[String], output: &str, expected: &str| {
        let (exit, out, told) = suggested(dir.path(), lines, output);
        assert_eq!((exit, &*out), (Exit::NotChecked, ""));
        assert!(told.contains(expected), "{told}");
    };
    let passed = [call("read_file", &json!({}), "PUBLIC")];
    fs::create_dir(dir.path().join("taken")).unwrap();
    fs::write(dir.path().join("taken/p.cedar"), "").unwrap();
    check(&passed, "taken", "exists and is not empty");
    check(&passed, "log", "log` is no directory");
    check(
        &[passed[0].replace("ALLOW", "BLOCK")],
        "new",
        "no message of an agent that passed",
    );
    check(
        &[format!("{}\nno record", passed[0])],
        "other",
        "log:2: the line is no record",
    );
    assert!(!dir.path().join("other").exists());
    let (mut out, mut told) = (Vec::new(), Vec::new());
    let logs = [PathBuf::from("-")];
    assert_eq!(
        run(&logs, None, &dir.path().join("none"), &mut out, &mut told),
        Exit::NotChecked
    );
    assert!(String::from_utf8(told).unwrap().contains("give files"));
    // A pipe or a device, too.
    let (mut out, mut told) = (Vec::new(), Vec::new());
    let logs = [PathBuf::from("/dev/null")];
    assert_eq!(
        run(&logs, None, &dir.path().join("none"), &mut out, &mut told),
        Exit::NotChecked
    );
    let told = String::from_utf8(told).unwrap();
    assert!(
        told.contains("`/dev/null` can be read only once: give files"),
        "{told}"
    );
    let line = [
        "mcp-protector",
        "policy",
        "suggest",
        "--audit",
        "a",
        "--audit",
        "b",
        "--output",
        "c",
    ];
    let Command::Policy(args) = args::parse(line).unwrap().command else {
        panic!()
    };
    let PolicyCommand::Suggest {
        audit,
        config: None,
        live: None,
        output,
    } = args.command
    else {
        panic!()
    };
    assert_eq!((audit.len(), output), (2, PathBuf::from("c")));
}

#[test]
fn a_draft_needs_one_source() {
    let check = |words: &[&str], told: &[&str]| {
        let line = ["mcp-protector", "policy", "suggest"].iter().chain(words);
        let failure = args::parse(line).unwrap_err().message.to_string();
        for word in told {
            assert!(failure.contains(word), "{failure}");
        }
    };
    let both = ["--audit", "--live"];
    check(&[], &both);
    check(&["--output", "x"], &both);
    check(&["--output", "x", "--audit", "a", "--live", "b"], &both);
}

#[test]
fn calls_that_the_server_answered_with_an_error_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    let result = |tool: &str, more: &Value| {
        let mut record: Value = call(tool, &json!({}), "PUBLIC").parse().unwrap();
        record["kind"] = json!("tool_result");
        record["direction"] = json!("upstream_to_agent");
        record["stage"] = json!("deliver");
        let record = record.as_object_mut().unwrap();
        record.remove("arguments");
        record.extend(more.as_object().unwrap().clone());
        json!(record).to_string()
    };
    let lines = [
        call("list_directory", &json!({ "path": "/srv/a" }), "PUBLIC"),
        result("list_directory", &json!({})),
        call("list_directory", &json!({ "path": "/etc" }), "PUBLIC"),
        result("list_directory", &json!({ "error_class": "retryable" })),
        call("read_file", &json!({ "path": "/srv/b" }), "PUBLIC"),
        result("read_file", &json!({ "error_code": -32603 })),
        call("find_file", &json!({ "path": "/srv/c" }), "PUBLIC"),
        result("find_file", &json!({})),
        result("no_call", &json!({ "error_class": "fatal" })),
    ];
    let (exit, out, told) = suggested(dir.path(), &lines, "draft");
    assert_eq!(exit, Exit::Success, "{told}");
    let failing: Vec<&str> = out
        .lines()
        .filter(|it| it.contains("with an error"))
        .collect();
    let line = |tool: &str, failed: &str| {
        format!(
            "`{tool}`: the server answered {failed} call(s) with an error, and the draft permits them"
        )
    };
    assert_eq!(
        failing,
        [
            line("list_directory", "1 of 2"),
            line("read_file", "1 of 1")
        ]
    );
    let read = |name: &str| fs::read_to_string(dir.path().join("draft").join(name)).unwrap();
    let cedar = read("draft.cedar");
    let comment = "answered 1 of these calls with an error";
    assert_eq!(cedar.matches(comment).count(), 2, "{cedar}");
    let roots = read("roots.toml");
    let marked = "# The server answered some calls of list_directory with an error. Remove this root if only those named it.\n[roots.\"etc\"]";
    assert!(roots.contains(marked), "{roots}");
    assert!(!roots.contains("some calls of find_file"), "{roots}");
}

#[test]
fn arguments_that_were_seen_tell_what_a_tool_does() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        call("get_rows", &json!({ "sql": "DROP TABLE x" }), "PUBLIC"),
        call(
            "get_page",
            &json!({ "options": [{ "host": "a" }] }),
            "PUBLIC",
        ),
        call("get_rows_of", &json!({ "table": "x" }), "PUBLIC"),
    ];
    let (exit, out, told) = suggested(dir.path(), &lines, "draft");
    assert_eq!(exit, Exit::Success, "{out}{told}");
    let labels = fs::read_to_string(dir.path().join("draft/tools.toml")).unwrap();
    for (tool, permission) in [
        ("get_rows", "[\"write\"]"),
        ("get_page", "[\"read\", \"connect\"]"),
        ("get_rows_of", "[\"read\"]"),
    ] {
        let label = format!("[tools.\"{tool}\"]\npermission = {permission}\n");
        assert!(labels.contains(&label), "{labels}");
    }
}

/// A call at one of several servers.
fn call_at(server: &str, tool: &str, arguments: &Value) -> String {
    let mut record: Value = call(tool, arguments, "PUBLIC").parse().unwrap();
    record["upstream"] = json!(server);
    record.to_string()
}

fn configuration(dir: &Path, more: &str) -> PathBuf {
    let file = dir.join("gate.toml");
    let text = format!(
        "listen.transport = \"http\"\nlisten.port = 3000\npolicy.dir = \"draft\"\n\
         consent.channels = [\"elicitation\"]\n{more}"
    );
    fs::write(&file, text).unwrap();
    file
}

const SEVERAL: &str = "[servers.crm]\ncommand = [\"crm\"]\n[servers.mail]\nurl = \"https://${NONE}/\"\n\
                       [servers.off]\ncommand = [\"off\"]\nenabled = false\n";

#[test]
fn a_log_of_several_servers_is_drafted_with_their_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        call_at("crm", "read_file", &json!({ "path": "/srv/crm/x" })),
        call_at("mail", "read_file", &json!({ "path": "/srv/mail/x" })),
        call_at(
            "mail (isolated)",
            "write_file",
            &json!({ "path": "/srv/mail/y" }),
        ),
        call_at("off", "read_file", &json!({ "path": "/srv/off/x" })),
    ];
    let (exit, _, told) = suggested(dir.path(), &lines, "draft");
    assert_eq!(exit, Exit::NotChecked);
    assert!(
        told.contains("several servers (`crm`, `mail`, `off`)"),
        "{told}"
    );
    assert!(
        told.contains("name their configuration with `--config`"),
        "{told}"
    );
    let config = configuration(dir.path(), SEVERAL);
    let (exit, out, told) = suggested_for(dir.path(), &lines, Some(&config), "draft");
    assert_eq!(exit, Exit::Success, "{out}{told}");
    assert!(
        out.contains("1 message(s) of servers that are not enabled"),
        "{out}"
    );
    let pack = dir.path().join("draft");
    assert!(passes_its_tests(&pack));
    let labels = fs::read_to_string(pack.join("tools.toml")).unwrap();
    let named: Vec<&str> = labels.lines().filter(|it| it.starts_with('[')).collect();
    let expected = ["crm/read_file", "mail/read_file", "mail/write_file"];
    assert_eq!(named, expected.map(|id| format!("[tools.\"{id}\"]")));
    let config = config.to_str().unwrap();
    let parsed = |command| {
        let line = ["mcp-protector", command, "--config", config];
        args::parse(line).unwrap().command
    };
    let (Command::Check(check), Command::TestPolicy(tests)) =
        (parsed("check"), parsed("test-policy"))
    else {
        panic!()
    };
    let mut out = Vec::new();
    let exits = [
        crate::cli::check::run(&check, &mut io::sink(), &mut out),
        test_policy::run(&tests, &mut out),
    ];
    assert_eq!(
        exits,
        [Exit::Success; 2],
        "{}",
        String::from_utf8_lossy(&out)
    );
}

#[test]
fn the_servers_of_a_draft_are_those_of_the_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let lines = ["old", "new"].map(|name| call_at(name, "read_file", &json!({})));
    // Of one server all records are, whatever its name was then.
    let one = configuration(dir.path(), "upstream.command = [\"files\"]\n");
    let (exit, out, told) = suggested_for(dir.path(), &lines, Some(&one), "draft");
    assert_eq!(exit, Exit::Success, "{out}{told}");
    let labels = fs::read_to_string(dir.path().join("draft/tools.toml")).unwrap();
    assert!(labels.contains("[tools.\"read_file\"]"), "{labels}");
    let check = |more: &str, expected: &str| {
        let config = configuration(dir.path(), more);
        let (exit, _, told) = suggested_for(dir.path(), &lines, Some(&config), "other");
        assert_eq!(exit, Exit::NotChecked, "{told}");
        assert!(told.contains(expected), "{told}");
        assert!(!dir.path().join("other").exists());
    };
    check(SEVERAL, "no message of an agent that passed");
    // The report of a configuration goes to the process's own standard error.
    check("[servers.Crm]\n", "");
}
