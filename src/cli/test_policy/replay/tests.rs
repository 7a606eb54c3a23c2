//! Replays of whole logs.

use std::fs;
use std::path::Path;

use super::tally::Example;
use super::*;
use crate::audit::read::Position;
use crate::cli::args::{self, Command};
use crate::policy_tests::ReplayedDecision;

const POLICIES: &str = r#"
@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
@id("write-below")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"write")
when { context.raw_arguments.hasTag("/path") };
@id("files")
permit (principal, action == Mcp::Action::"read_resource", resource is Mcp::Resource)
when { resource.scheme == "file" };
@id("low")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"send")
when { context.env.session.level < 2 };
"#;

/// A line of a log: the call of a tool that was allowed, with more fields.
fn call(seq: u64, tool: &str, more: &str) -> String {
    format!(
        r#"{{"version":1,"seq":{seq},"timestamp":"2026-11-21T20:14:03.512881Z","instance":"5f2b8c0d91e6a374","kind":"tool_call","agent":{{"id":"stdio"}},"upstream":"files","direction":"agent_to_upstream","method":"tools/call","target":"{tool}","decision":"ALLOW","allowed":true,"stage":"forward","revision":"0000"{more}}}"#
    )
}

fn resource(seq: u64, uri: &str) -> String {
    call(seq, uri, "")
        .replace("tool_call", "request")
        .replace("tools/call", "resources/read")
}

/// The exit code, and what was printed and told.
fn replayed(dir: &Path, typed: &str) -> (Exit, String, String) {
    let words = typed.replace("DIR", dir.to_str().unwrap());
    let line = ["mcp-protector", "test-policy"].into_iter();
    let Command::TestPolicy(args) = args::parse(line.chain(words.split_whitespace()))
        .unwrap()
        .command
    else {
        panic!("{typed}")
    };
    let (mut out, mut told) = (Vec::new(), Vec::new());
    let exit = run(&args, &mut out, &mut told);
    let text = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .unwrap()
            .replace(dir.to_str().unwrap(), "DIR")
    };
    (exit, text(out), text(told))
}

fn pack(log: &[String]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("pack")).unwrap();
    fs::write(dir.path().join("pack/p.cedar"), POLICIES).unwrap();
    fs::write(dir.path().join("log"), log.join("\n") + "\n").unwrap();
    dir
}

#[test]
fn changes_are_told_in_groups_with_one_example_each() {
    let arguments = |json: &str| format!(r#","arguments":{json}"#);
    let dir = pack(&[
        call(1, "read", ""),
        call(2, "write", &arguments(r#"{"path":"/a"}"#)),
        call(3, "write", &arguments(r#"{"file":"/a"}"#)),
        call(4, "write", &arguments(r#"{"file":"/b"}"#)),
        call(5, "write", ""),
        call(6, "write", ""),
        call(7, "write", &arguments(r#"{"path":"[redacted]"}"#)),
        resource(8, "http://a"),
        resource(9, "http://b"),
        resource(10, "http://c"),
        call(
            11,
            "send",
            r#","sensitivity":{"before":"INTERNAL","after":"INTERNAL"}"#,
        ),
        call(
            12,
            "send",
            r#","sensitivity":{"before":"SECRET","after":"SECRET"}"#,
        ),
        // An older gate could write one name twice.
        call(14, "read", r#","arguments":{"a":1,"a":2}"#),
        r#"{"version":1,"seq":13,"ki"#.to_owned(),
    ]);
    let (exit, out, _) = replayed(dir.path(), "DIR/pack --replay DIR/log");
    let (summary, groups) = out.split_once("; revision ").unwrap();
    assert_eq!(summary, "3 decisions stay, 6 change, 4 cannot be judged");
    assert_eq!(exit, Exit::TestsFailed);
    insta::assert_snapshot!(groups.split_once('\n').unwrap().1);
}

#[test]
fn sessions_keep_the_data_sets_that_were_recorded() {
    let check = |datasets: &str, expected: &str| {
        let read = format!(r#","sensitivity":{{"before":"PUBLIC","after":"PUBLIC"{datasets}}}"#);
        let dir = pack(&[call(1, "pay", &read)]);
        let policies = r#"@id("pay")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"pay")
unless { context.env.session.datasets.containsAny(["payroll", "?"]) };"#;
        fs::write(dir.path().join("pack/p.cedar"), policies).unwrap();
        let (_, out, _) = replayed(dir.path(), "DIR/pack --replay DIR/log");
        assert!(out.starts_with(expected), "{datasets}: {out}");
    };
    let same = "1 decisions stay, 0 change";
    let changes = "0 decisions stay, 1 change";
    check("", same);
    check(r#","datasets":["customers"]"#, same);
    check(r#","datasets":["customers","payroll"]"#, changes);
    check(r#","datasets":["?"]"#, changes);
    // It is judged by what was read before it.
    check(r#","datasets":["payroll"],"added":["payroll"]"#, same);
    let many: Vec<String> = (0..65).map(|at| format!("\"d{at}\"")).collect();
    let many = format!(r#","datasets":[{}]"#, many.join(","));
    check(&many, "0 decisions stay, 0 change, 1 cannot be judged");
}

#[test]
fn the_exit_code_says_what_came_of_a_replay() {
    let check = |typed: &str, expected: Exit, told: &str| {
        let dir = pack(&[call(1, "read", "")]);
        let path = |name: &str| dir.path().join(name);
        fs::write(path("changes"), call(1, "drop", "")).unwrap();
        fs::write(
            path("empty"),
            call(1, "drop", "").replace("tool_call", "startup"),
        )
        .unwrap();
        fs::write(
            path("none"),
            format!("{}\n{{\"a\":1}}\n", call(1, "read", "")),
        )
        .unwrap();
        fs::write(
            path("next"),
            call(1, "read", "").replace("n\":1,", "n\":2,"),
        )
        .unwrap();
        fs::create_dir(path("bad")).unwrap();
        fs::write(path("bad/p.cedar"), "permit (").unwrap();
        fs::write(
            path("gate.toml"),
            "upstream.command = ['x']\npolicy.dir = 'pack'\n",
        )
        .unwrap();
        let (exit, out, err) = replayed(dir.path(), typed);
        assert_eq!(exit, expected, "{typed}: {out}{err}");
        assert!(err.contains(told), "{typed}: {err}");
        assert_eq!(out.is_empty(), expected.code() > 1, "{typed}: {out}");
    };
    let not = Exit::TestsNotRun;
    check("DIR/pack --replay DIR/log", Exit::Success, "");
    check("--config DIR/gate.toml --replay DIR/log", Exit::Success, "");
    check(
        "DIR/pack --replay DIR/log --replay DIR/changes",
        Exit::TestsFailed,
        "",
    );
    check(
        "DIR/pack --replay DIR/empty",
        not,
        "no decision of policies",
    );
    check(
        "DIR/pack --replay DIR/none",
        not,
        "DIR/none:2: the line is no record",
    );
    check("DIR/pack --replay DIR/next", not, "has version 2");
    check("DIR/pack --replay DIR/missing", not, "cannot be read");
    check("--replay DIR/log", not, "needs the directory");
    check(
        "DIR/pack DIR/bad --replay DIR/log",
        not,
        "needs the directory",
    );
    check(
        "DIR/pack --replay DIR/log --format junit",
        not,
        "`human` and `json`",
    );
    check("DIR/bad --replay DIR/log", Exit::PoliciesInvalid, "");
}

#[test]
fn the_report_for_programs_is_what_its_schema_says() {
    let dir = pack(&[
        call(1, "read", ""),
        call(2, "drop", ""),
        call(3, "write", ""),
    ]);
    let (_, out, _) = replayed(dir.path(), "DIR/pack --replay DIR/log --format json");
    let report: serde_json::Value = out.parse().unwrap();
    let schema = include_str!("../../../../docs/schema/replay.schema.json");
    let schema: serde_json::Value = schema.parse().unwrap();
    assert!(jsonschema::is_valid(&schema, &report), "{report}");
    let about = |list: &str| report[list][0]["about"].as_str().unwrap().to_owned();
    assert_eq!(about("changes"), "a call of `drop`");
    assert_eq!(about("unjudged"), "a call of `write`");
    assert_eq!(report["unjudged"][0]["example"]["seq"], 3);
}

#[test]
fn groups_beyond_the_most_are_counted() {
    let judged = |number: usize| crate::policy_tests::JudgedRecord {
        about: number.to_string(),
        was: crate::policy_tests::TestDecision::Allow,
        now: crate::policy_tests::ReplayedDecision::Changed(Vec::new()),
    };
    let mut tally = Tally::default();
    for number in 0..10_002 {
        let at = Position {
            file: "log".into(),
            line: 1,
        };
        tally.count(judged(number), Example { at, seq: 1 });
    }
    let report = ReplayReport::new("0000", tally);
    assert!(report.denies());
    let mut out = Vec::new();
    report.write(&mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.starts_with("0 decisions stay, 10002 change"),
        "{}",
        out.len()
    );
    assert!(out.ends_with("\n2 more, of too many groups to tell\n"));
}

#[test]
fn what_depends_on_the_servers_that_a_session_has_read_from_is_never_certain() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gate.toml");
    let labels =
        "[tools.\"crm/read\"]\npermission = 'read'\n[tools.\"mail/send\"]\npermission = 'read'\n";
    fs::create_dir(dir.path().join("p")).unwrap();
    fs::write(dir.path().join("p/tools.toml"), labels).unwrap();
    let text = "policy.dir = 'p'\npolicy.allow = ['crm/read', 'mail/send']\nlisten.transport = 'http'\nlisten.port = 1\n\
                [servers.crm]\ncommand = ['ls']\n[servers.mail]\ncommand = ['ls']\nclearance = 'public'\n\
                [flow]\nflow_out = 'deny'\nflow_in = 'off'\n[flow.from.crm]\nto = []\n";
    fs::write(&file, text).unwrap();
    let configured = configured(&Config::load_offline(&file).unwrap(), &file);
    let policies = loading::load(&configured.policies).unwrap().snapshot;
    let judge = ReplayJudge::new(&policies, configured.servers);
    let check = |server: &str, tool: &str, level: &str, sources: &str, is_certain: bool| {
        let more = format!(
            r#","sensitivity":{{"before":"{level}","after":"{level}","sources":[{sources}],"untrusted_from":[]}}"#
        );
        let upstream = format!("\"upstream\":\"{server}\"");
        let line = call(7, tool, &more).replace("\"upstream\":\"files\"", &upstream);
        let now = judge.judge(line.as_bytes()).unwrap().now;
        let unknown = matches!(now, ReplayedDecision::Unknown(_));
        assert_eq!(unknown, !is_certain, "{server} {level} {sources}: {now:?}");
        assert!(unknown || now == ReplayedDecision::Same, "{now:?}");
    };
    // `builtin.flow_out` and `builtin.walls` may forbid these.
    check("mail", "send", "SECRET", "\"crm\",\"mail\"", false);
    check("mail", "send", "SECRET", "\"mail\"", false);
    check("mail", "send", "SECRET", "", false);
    check("mail", "send", "PUBLIC", "\"crm\"", false);
    // Neither has anything to say of the server itself.
    check("crm", "read", "SECRET", "\"crm\"", true);
}
