use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::audit::{
    Audit, Checkpoints, Durability, KeyFiles, Kind, OnFault, Record, Redactor, Rotation, Settings,
    Stream,
};
use crate::cli::args::AuditVerifyArgs;
use crate::clock::SystemClock;

#[track_caller]
fn check(files: &[&Path], exit: Exit, expected: &str) {
    check_signed([], [], files, exit, expected);
}

#[track_caller]
fn check_signed<const K: usize, const C: usize>(
    keys: [&Path; K],
    checkpoints: [&Path; C],
    files: &[&Path],
    exit: Exit,
    expected: &str,
) {
    let paths = |all: &[&Path]| all.iter().map(|path| path.to_path_buf()).collect();
    let args = AuditArgs {
        command: AuditCommand::Verify(AuditVerifyArgs {
            files: paths(files),
            keys: paths(&keys),
            checkpoints: paths(&checkpoints),
        }),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(run(&args, &mut out, &mut err), exit);
    let told = String::from_utf8([out, err].concat()).unwrap();
    assert!(told.contains(expected), "{told}");
}

#[test]
fn each_end_has_its_code_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let line = |instance: &str| {
        format!(
            r#"{{"version":1,"seq":1,"timestamp":"1970-01-01T00:00:00.000000Z","instance":"{instance}","prev":"{}","kind":"startup"}}"#,
            "0".repeat(64)
        )
    };
    let one = line("00000000000000a1");
    let whole = write("whole", format!("{one}\n").as_bytes());
    check(
        &[&whole],
        Exit::Success,
        "chain intact: 1 record(s), 1 run(s)",
    );
    let newer = one.replace("\"version\":1", "\"version\":2");
    let newer = write("newer", format!("{newer}\n").as_bytes());
    check(
        &[&newer],
        Exit::NotVerified,
        "has version 2, and this program verifies version 1",
    );
    check(
        &[&whole],
        Exit::Success,
        "has no end: the gate runs, was killed, or records are missing",
    );
    let later = write("later", one.replace("prev\":\"0", "prev\":\"1").as_bytes());
    check(
        &[&later],
        Exit::Success,
        "the first record continues a record that is in no file given",
    );
    let torn = write("torn", format!("{one}\n{{\"version\":1,").as_bytes());
    check(&[&torn], Exit::Success, "torn:2: half a line");
    let broken = write("broken", b"\x1b[2Jno record\n");
    check(
        &[&broken],
        Exit::ChainBroken,
        "broken:1: the line is no record",
    );
    let twice = write("twice", format!("{one}\n{one}\n").as_bytes());
    check(
        &[&twice],
        Exit::ChainBroken,
        "twice:2: seq 1 of 00000000000000a1 follows seq 1",
    );
    check(
        &[&write("empty", b"")],
        Exit::NotVerified,
        "the files have no records",
    );
    let compressed = write("log.gz", b"\x1f\x8b\x08\x00");
    check(&[&compressed], Exit::NotVerified, "cannot be read");
    check(
        &[&directory.path().join("none")],
        Exit::NotVerified,
        "cannot be read",
    );
    check(&[directory.path()], Exit::NotVerified, "cannot be read");
}

/// A line with some fields, the rest of which are those of a call.
fn record(time: &str, agent: &str, fields: &str) -> String {
    format!(
        r#"{{"version":1,"seq":1,"timestamp":"{time}","instance":"00000000000000a1","kind":"tool_call","session_id":"s-1","agent":{{"id":"{agent}"}},"upstream":"notes","direction":"agent_to_upstream",{fields}}}"#
    ) + "\n"
}

/// The records of a day: one of each form, and hostile texts.
fn day() -> String {
    let hostile = r"\u001b[2J\u202egnp.exe\u2028x";
    [
        record("2026-11-21T20:14:03.512881Z", "nightly", r#""method":"tools/call","target":"read_note","decision":"ALLOW","policies":["read-notes"],"duration_us":91"#),
        record("2026-11-21T20:14:04.000000Z", "nightly", r#""method":"tools/call","target":"delete_note","decision":"BLOCK","policies":["no-delete","second, \"quoted\""],"reason":{"code":"not_permitted"},"error_code":-32001"#),
        record("2026-11-22T00:00:00.000000Z", "nightly", r#""method":"prompts/get","target":"summary","decision":"ERROR","reason":{"code":"upstream_gone"}"#),
        record("2026-11-22T00:00:01.000000Z", &format!("=cmd()|{hostile}"), &format!(r#""method":"tools/call","target":"{hostile}","decision":"BLOCK","reason":{{"code":"{hostile}"}}"#)),
        record("2026-11-22T00:00:02.000000Z", "\u{9b}31m\u{202e}", r#""method":"ping","decision":"ALLOW""#),
        record("2026-11-22T00:00:03.000000Z", "nightly", r#""event":"consent_granted","method":"tools/call","target":"delete_note""#),
        record("2026-11-22T00:00:04.000000Z", "nightly", r#""decision":"BLOCK""#),
        record("2026-11-22T00:00:05.000000Z", "nightly", r#""method":"tools/call","target":"read_note","decision":"ALLOW","duration_us":4100"#).replace("tool_call", "tool_result"),
    ]
    .concat()
}

/// Runs a command line, in which `LOG` is a file with a text.
fn audit(line: &str, logs: &[(&str, &[u8])]) -> (Exit, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut words: Vec<String> = ["mcp-protector", "audit"].map(str::to_owned).to_vec();
    words.extend(line.split(' ').map(str::to_owned));
    for (name, text) in logs {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        words.push(path.to_str().unwrap().to_owned());
    }
    let cli = crate::cli::args::parse(words).unwrap();
    let crate::cli::args::Command::Audit(args) = cli.command else {
        panic!("{line}");
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = run(&args, &mut out, &mut err);
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(&format!("{}/", directory.path().display()), "")
    };
    (exit, text(out), text(err))
}

#[test]
fn each_format_has_all_records_and_steers_no_terminal() {
    let day = day();
    for format in ["table", "csv", "json"] {
        let (exit, out, err) = audit(
            &format!("query --format {format}"),
            &[("log", day.as_bytes())],
        );
        assert_eq!((exit, err.as_str()), (Exit::Success, ""));
        if format == "json" {
            assert_eq!(out, day);
            continue;
        }
        assert!(
            !out.replace('\n', "").contains(crate::unseen::misleads),
            "{out:?}"
        );
        insta::assert_snapshot!(format, out);
    }
    let (_, out, _) = audit("summary", &[("log", day.as_bytes())]);
    assert!(
        !out.replace('\n', "").contains(crate::unseen::misleads),
        "{out:?}"
    );
    insta::assert_snapshot!("summary", out);
    let (_, out, _) = audit("summary --format json --top 1", &[("log", day.as_bytes())]);
    insta::assert_snapshot!("summary_json", out);
    let (_, out, _) = audit("tail --no-follow -n 3", &[("log", day.as_bytes())]);
    insta::assert_snapshot!("tail", out);
}

#[test]
fn an_export_has_each_decision_in_its_order_and_says_what_it_left_out() {
    let day = day();
    let (exit, out, err) = audit("export --format ocsf", &[("log", day.as_bytes())]);
    let note = "note: left out 1 record(s) without a decision\n";
    assert_eq!((exit, err.as_str()), (Exit::Success, note));
    assert!(
        !out.replace('\n', "").contains(crate::unseen::misleads),
        "{out:?}"
    );
    let events = out.lines().map(|line| line.parse().unwrap());
    let events: Vec<serde_json::Value> = events.collect();
    let times = events.iter().map(|it| &it["metadata"]["original_time"]);
    let times: Vec<_> = times.map(|it| it.as_str().unwrap()).collect();
    assert_eq!(times.len(), 7);
    assert!(times.is_sorted());
    assert_eq!(events[0]["time"], 1_795_292_043_512_u64);
    let filtered = "export --format ocsf --decision block --tool delete_note";
    let (_, out, err) = audit(filtered, &[("log", day.as_bytes())]);
    assert_eq!((out.lines().count(), err.as_str()), (1, ""));
}

#[test]
fn filters_of_one_kind_are_alternatives_and_of_several_kinds_conditions() {
    let day = day();
    let check = |filters: &str, times: &[&str]| {
        for command in ["query --format csv", "tail --no-follow"] {
            let log: &[(&str, &[u8])] = &[("log", day.as_bytes())];
            let (exit, out, err) = audit(&format!("{command} {filters}"), log);
            assert_eq!((exit, err.as_str()), (Exit::Success, ""));
            let rows = out.lines().filter(|row| row.starts_with("2026"));
            let found: Vec<&str> = rows.filter_map(|row| row.get(11..19)).collect();
            assert_eq!(found, times, "{command} {filters}");
        }
    };
    check("--tool read_note", &["20:14:03", "00:00:05"]);
    check(
        "--tool read_note --tool delete_note --kind tool_call --decision Deny",
        &["20:14:04"],
    );
    check(
        "--decision ALLOW --decision error --agent nightly",
        &["20:14:03", "00:00:00", "00:00:05"],
    );
    check(
        "--since 2026-11-22 --until 2026-11-22T00:00:01Z",
        &["00:00:00"],
    );
    check(
        "--policy no-delete --reason not_permitted --server notes",
        &["20:14:04"],
    );
    check("--direction upstream_to_agent", &[]);
    check("--session s-1 --reference none", &[]);
    check("--until 9999d --trace none", &[]);
}

#[test]
fn files_are_read_in_their_order_up_to_a_limit() {
    let log = |agent: &str, count: usize| {
        record(
            "2026-11-21T20:14:03.512881Z",
            agent,
            r#""decision":"ALLOW""#,
        )
        .repeat(count)
    };
    // More than one piece, compressed and plain.
    let (old, new) = (log("old", 9000), log("new", 5));
    let old = ruzstd::encoding::compress_to_vec(
        old.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let logs: &[(&str, &[u8])] = &[("log.zst", &old), ("log", new.as_bytes())];
    let check = |limit: &str, from_old: usize, from_new: usize| {
        let (exit, out, _) = audit(&format!("query --format json{limit}"), logs);
        assert_eq!(exit, Exit::Success);
        let expected = log("old", from_old) + &log("new", from_new);
        assert!(out == expected, "{limit}: {} lines", out.lines().count());
    };
    check("", 9000, 5);
    check(" --limit 0", 0, 0);
    check(" --limit 1", 1, 0);
    check(" --limit 9000", 9000, 0);
    check(" --limit 9002", 9000, 2);
    check(" --limit 9006", 9000, 5);
}

#[test]
fn a_line_that_is_no_record_is_named_after_the_records_before_it() {
    let line = record("2026-11-21T20:14:03.512881Z", "a", r#""decision":"ALLOW""#);
    let check = |last: &[u8], expected: Option<&str>| {
        let log = [line.as_bytes(), line.as_bytes(), last].concat();
        let (exit, out, err) = audit(
            "query --format json",
            &[("first", line.as_bytes()), ("log", &log)],
        );
        assert_eq!(out, line.repeat(3));
        let (end, message) = match expected {
            None => (Exit::Success, String::new()),
            Some(message) => (Exit::LogNotRead, format!("error: log:3: {message}\n")),
        };
        assert_eq!((exit, err), (end, message));
        let (exit, _, _) = audit("summary", &[("log", &log)]);
        assert_eq!(exit, end);
    };
    check(b"", None);
    let none = "the line is no record of the audit log: see its byte ";
    check(b"\x1b[2J\n", Some(&format!("{none}1")));
    check(
        b"{\"version\":1,\"seq\":1,\"timestamp\":\"\xff\"}\n",
        Some(&format!("{none}35")),
    );
    check(
        b"{\"version\":9}\n",
        Some("the record has version 9, and this program reads version 1"),
    );
    let half: &[u8] = &[line.as_bytes(), b"{\"version\":1,\"seq\":2,\"time"].concat();
    let (exit, out, err) = audit("query --format json", &[("log", half)]);
    assert_eq!((exit, out), (Exit::Success, line.clone()));
    assert!(err.starts_with("note: skipped 1 half line(s)"), "{err}");
    for command in ["query", "summary", "tail --no-follow"] {
        let (exit, _, err) = audit(&format!("{command} none.jsonl"), &[]);
        assert_eq!(exit, Exit::LogNotRead);
        assert!(err.contains("`none.jsonl` cannot be read"), "{err}");
    }
    let (exit, _, err) = audit("tail --no-follow", &[("log", b"no record\n")]);
    assert_eq!(exit, Exit::LogNotRead);
    assert!(
        err.starts_with("error: `log`, at byte 0: the line is no record"),
        "{err}"
    );
}

#[test]
fn a_closed_output_is_the_end_and_a_full_one_an_error() {
    struct Closed(io::ErrorKind);
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    fs::write(&log, day()).unwrap();
    let log = log.to_str().unwrap();
    for line in [
        "query",
        "query --format json",
        "summary",
        "tail --no-follow",
        "tail",
        "export --format ocsf",
    ] {
        let words = ["mcp-protector", "audit"]
            .into_iter()
            .chain(line.split(' '))
            .chain([log]);
        let cli = crate::cli::args::parse(words).unwrap();
        let crate::cli::args::Command::Audit(args) = cli.command else {
            panic!("{line}");
        };
        for (kind, expected) in [
            (io::ErrorKind::BrokenPipe, Exit::Success),
            (io::ErrorKind::StorageFull, Exit::LogNotRead),
        ] {
            let mut err = Vec::new();
            assert_eq!(run(&args, &mut Closed(kind), &mut err), expected, "{line}");
            assert_eq!(err.is_empty(), expected == Exit::Success, "{line}");
        }
    }
}

#[tokio::test]
async fn a_signed_log_is_told_with_what_is_signed_and_what_no_key_can_prove() {
    let directory = tempfile::tempdir().unwrap();
    let keys = KeyFiles::new_in(directory.path());
    let log = directory.path().join("audit.jsonl");
    let settings = Settings {
        file: Some(log.clone()),
        rotation: Rotation::default(),
        stream: Stream::None,
        durability: Durability::Strict,
        on_fault: OnFault::Deny,
        checkpoints: Some(Checkpoints {
            key_file: keys.private(),
            interval: Duration::from_hours(1),
        }),
    };
    let clock = Arc::new(SystemClock::new());
    let audit = Audit::open(&settings, Vec::new(), clock, Redactor::default()).unwrap();
    for kind in [Kind::Startup, Kind::SessionStart, Kind::Shutdown] {
        audit.record(Record::new(kind)).await.unwrap();
    }
    audit.close(Duration::from_mins(1)).await.unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let kinds: Vec<_> = text
        .lines()
        .map(|line| line.split("\"kind\":\"").nth(1).unwrap())
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let expected = [
        "startup",
        "checkpoint",
        "session_start",
        "shutdown",
        "checkpoint",
    ];
    assert_eq!(kinds, expected);

    let (public, log) = (keys.public(), log.as_path());
    let signed = "seq 1 to 5; signed; ends with the stop of the gate";
    check_signed([&public], [], &[log], Exit::Success, signed);
    let limits = "not proven: records that are not signed, and that no signed runs or checkpoints";
    check_signed([&public], [], &[log], Exit::Success, limits);
    check_signed(
        [&public],
        [log],
        &[log],
        Exit::Success,
        "without a kept checkpoint are missing\n",
    );
    check(&[log], Exit::Success, "seq 1 to 5; ends");
    // The end is cut off.
    let cut = directory.path().join("cut");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    fs::write(&cut, lines[..4].concat()).unwrap();
    check_signed(
        [&public],
        [],
        &[&cut],
        Exit::Success,
        "signed to seq 2; ends with a stop of the gate that is not signed",
    );
    let missing = "audit.jsonl:5: the log has no seq 5 of";
    check_signed([&public], [log], &[&cut], Exit::ChainBroken, missing);
    check_signed([], [log], &[&cut], Exit::ChainBroken, missing);
    // Another key, a file without one, and one without a checkpoint.
    let other = KeyFiles::new();
    let unsigned = "audit.jsonl:2: none of the keys signed this checkpoint";
    check_signed([&other.public()], [], &[log], Exit::ChainBroken, unsigned);
    check_signed(
        [&other.public(), &public],
        [],
        &[log],
        Exit::Success,
        signed,
    );
    check_signed(
        [log],
        [],
        &[log],
        Exit::NotVerified,
        "has no Ed25519 public key in PEM",
    );
    check_signed(
        [],
        [&public],
        &[log],
        Exit::NotVerified,
        "audit.pub.pem` has no checkpoint",
    );
    check_signed(
        [],
        [Path::new("none")],
        &[log],
        Exit::NotVerified,
        "`none` cannot be read",
    );
}
