//! What was decided before, and what the policies say now.

use serde_json::{Value, json};

use super::*;
use crate::audit;

const POLICIES: &str = r#"
@id("read")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
@id("write-below")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"write")
when { context.raw_arguments.hasTag("/path") };
@id("no-remove")
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"remove");
@id("hidden")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"unlisted");
@id("unlisted")
forbid (principal, action == Mcp::Action::"list_tool", resource == Mcp::Tool::"unlisted");
@id("later")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"later")
when { context.env.now > datetime("2026-06-01") };
@id("private")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"private")
when { context.env.session.level < 2 };
@id("ide")
permit (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"ide")
when { principal.client.version == "1" };
@id("admins")
permit (principal in Mcp::Role::"admin", action == Mcp::Action::"call_tool", resource == Mcp::Tool::"admin");
@id("files")
permit (principal, action == Mcp::Action::"read_resource", resource is Mcp::Resource)
when { resource.scheme == "file" };
@id("sampling")
permit (principal is Mcp::Server, action == Mcp::Action::"sample", resource)
when { context.maxTokens < 10 };
@id("no-log")
forbid (principal, action == Mcp::Action::"notify", resource)
when { context.method == "notifications/message" };
"#;

/// A record as the gate writes it, with what is different about this one.
fn record(kind: &str, changes: &Value) -> String {
    let mut record = json!({
        "version": 1, "seq": 7, "timestamp": "2026-07-01T00:00:00.000001Z", "instance": "5f2b8c0d91e6a374",
        "prev": "0".repeat(64), "kind": kind, "reference": "5f2b8c0d91e6-7", "session_id": "s", "agent": { "id": "stdio", "asserted_name": "ide" },
        "upstream": "files", "transports": { "agent": "stdio", "upstream": "stdio" }, "direction": "agent_to_upstream", "method": "tools/call",
        "decision": "ALLOW", "stage": "forward", "revision": "0000", "duration_us": 9,
        "correlation": { "trace_id": "0af7651916cd43dd8448eb211c80319c" },
    });
    for (key, value) in changes.as_object().unwrap() {
        record[key] = value.clone();
    }
    if !record["decision"].is_null() {
        record["allowed"] = (record["decision"] == "ALLOW").into();
    }
    record
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    let record = record.to_string();
    assert_eq!(audit::line_problems(&record), [""; 0]);
    record
}

fn call(tool: &str) -> String {
    record(
        "tool_call",
        &json!({ "target": tool, "policies": ["then"] }),
    )
}

fn denied(tool: &str) -> String {
    let changes = json!({ "target": tool, "decision": "BLOCK", "stage": "decide",
        "reason": { "code": "not_permitted" }, "error_code": 4030 });
    record("tool_call", &changes)
}

/// The report of one replay.
fn replay(recording: &str, more: &str) -> TestReport {
    let tests = format!(
        "[agents]\nboss = {{ roles = ['admin'] }}\n[[test]]\nname = 'x'\nreplay = 'log.jsonl'\n{more}"
    );
    let pack = Pack::new(POLICIES, &tests);
    pack.write("agents.toml", AGENTIC);
    replay_in(&pack, recording)
}

fn replay_in(pack: &Pack, recording: &str) -> TestReport {
    pack.write("tests/log.jsonl", recording);
    let report = pack
        .run()
        .unwrap_or_else(|why| panic!("{recording}: {why:#?}"));
    report
        .suites
        .into_iter()
        .next()
        .unwrap()
        .tests
        .pop()
        .unwrap()
}

/// `same`, `changed` or `unknown: why` of one line.
fn verdict(line: &str) -> String {
    verdict_of(&replay(line, ""))
}

fn verdict_of(report: &TestReport) -> String {
    let replay = report.replay.as_ref().unwrap();
    let passed = report.outcome == TestOutcome::Passed;
    match (
        replay.same,
        replay.changed.as_slice(),
        replay.unknown.as_slice(),
    ) {
        (0, [], []) => {
            assert!(!passed);
            "nothing".to_owned()
        }
        (_, [], []) => {
            assert!(passed);
            "same".to_owned()
        }
        (0, [changed], []) => {
            assert!(!passed);
            assert_ne!(changed.was, changed.now);
            format!("changed: {}", changed.policies.join(", "))
        }
        (0, [], [unknown]) => {
            assert!(passed, "{report:#?}");
            format!("unknown: {}", unknown.why)
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(line: &str, expected: &str) {
    assert_eq!(verdict(line), expected, "{line}");
}

const UNRECORDED: &str = "unknown: what decides it now stands in arguments, contents or the session, \
                          which are not recorded";

#[test]
fn a_definition_that_was_not_the_approved_one_is_not_taken_for_it() {
    let policies = POLICIES.replace(
        "action == Mcp::Action::\"call_tool\"",
        "action in Mcp::Action::\"call_tool\"",
    );
    let pack = Pack::new(&policies, "[[test]]\nname = 'x'\nreplay = 'log.jsonl'\n");
    let mut lock = crate::loading::LockFile::default();
    for tool in ["read", "remove"] {
        let definition = format!(r#"{{"name":"{tool}","inputSchema":{{"type":"object"}}}}"#);
        let definition =
            crate::wire::Document::decode(definition.as_bytes(), &crate::wire::Limits::default())
                .unwrap();
        lock.add(definition.root()).unwrap();
    }
    pack.write("tools.lock", &lock.text());
    let check = |tool: &str, by: &str, expected: &str| {
        let changes = json!({ "target": tool, "decision": "BLOCK", "stage": "decide",
            "policies": [by], "reason": { "code": "tool_changed" }, "error_code": 4030 });
        let report = replay_in(&pack, &record("tool_call", &changes));
        assert_eq!(verdict_of(&report), expected, "{tool} {by}");
    };
    let unknown = "unknown: its definition was not the approved one then, and whether it would be now is \
                   not recorded";
    check("read", "lock.drift", unknown);
    // Whatever the definition is, this is denied.
    check("remove", "lock.drift", "same");
    // No longer locked, so that no definition matters.
    check("later", "lock.drift", "changed: later");
    // What was not denied for its definition had the approved one; its arguments may not have fit.
    check("read", "other", UNRECORDED);
    check("remove", "other", "same");
}

#[test]
fn a_call_is_compared_where_no_argument_can_matter() {
    check(&call("read"), "same");
    check(&denied("read"), "changed: read");
    check(&call("nothing-permits"), "changed: ");
    check(&denied("nothing-permits"), "same");
    check(&call("remove"), "changed: no-remove");
    check(&denied("remove"), "same");
    // May be called, and not be listed: so it is not there.
    check(&call("unlisted"), "changed: unlisted");
}

#[test]
fn where_arguments_or_the_session_decide_nothing_is_known() {
    check(&call("write"), UNRECORDED);
    check(&denied("write"), UNRECORDED);
    check(&call("ide"), UNRECORDED);
    // Of a session that has read nothing sensitive a record says nothing.
    check(&call("private"), "same");
    let read = json!({ "before": "INTERNAL", "after": "INTERNAL" });
    let changes = json!({ "target": "private", "policies": ["then"], "sensitivity": read });
    check(&record("tool_call", &changes), UNRECORDED);
}

/// The same with one more policy.
fn check_with(policy: &str, line: &str, expected: &str) {
    let tests = "[[test]]\nname = 'x'\nreplay = 'log.jsonl'\n";
    let pack = Pack::new(&format!("{POLICIES}{policy}"), tests);
    assert_eq!(verdict_of(&replay_in(&pack, line)), expected, "{policy}");
}

#[test]
fn what_policies_find_in_content_or_raise_is_not_taken_for_known() {
    let changes = json!({ "target": "read", "direction": "upstream_to_agent", "stage": "deliver",
        "policies": ["core.results"] });
    let answer = record("tool_result", &changes);
    let flagged = r#"@id("flagged") forbid (principal, action == Mcp::Action::"receive_result", resource is Mcp::Tool)
when { !context.result.flags.isEmpty() };"#;
    let why = "unknown: what is flagged in a definition or an answer is not recorded";
    check_with(flagged, &answer, why);
    check_with(flagged, &call("read"), why);
    let raises = r#"@id("raises") @raise_sensitivity("secret")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");"#;
    check_with(raises, &call("private"), UNRECORDED);
}

#[test]
fn the_time_is_that_of_the_record() {
    check(&call("later"), "same");
    let changes = json!({ "target": "later", "timestamp": "2026-05-31T23:59:59.000000Z" });
    check(&record("tool_call", &changes), "changed: ");
}

#[test]
fn an_agent_is_who_the_fixture_says() {
    let by = |id: &str| {
        record(
            "tool_call",
            &json!({ "target": "admin", "agent": { "id": id } }),
        )
    };
    check(&by("boss"), "same");
    check(&by("stdio"), "changed: ");
    check(&by("somebody"), "changed: ");
}

#[test]
fn an_agent_that_the_fixture_does_not_name_is_who_the_record_says() {
    let by = |agent: Value| record("tool_call", &json!({ "target": "admin", "agent": agent }));
    check(&by(json!({ "id": "x", "roles": ["admin"] })), "same");
    check(&by(json!({ "id": "x", "roles": ["reader"] })), "changed: ");
    let cut = format!("{}… [9 bytes more]", "x".repeat(1024));
    let cut = by(json!({ "id": "x", "roles": [cut] }));
    check(
        &cut,
        "unknown: the record is cut, or a secret was taken out of it",
    );
    let anna = r#"@id("anna") permit (principal in Mcp::User::"anna", action, resource == Mcp::Tool::"admin");"#;
    check_with(anna, &by(json!({ "id": "x", "user": "anna" })), "same");
    check_with(anna, &by(json!({ "id": "x", "user": "otto" })), "changed: ");
}

#[test]
fn an_agent_is_connected_as_the_record_says() {
    let local = r#"@id("local") permit (principal, action, resource == Mcp::Tool::"other")
when { context.env.transport == "stdio" };"#;
    let over = |agent: &str| {
        let transports = json!({ "agent": agent, "upstream": "stdio" });
        record(
            "tool_call",
            &json!({ "target": "other", "transports": transports }),
        )
    };
    check_with(local, &over("stdio"), "same");
    check_with(local, &over("http"), "changed: ");
    let mut without: Value = over("stdio").parse().unwrap();
    without.as_object_mut().unwrap().remove("transports");
    check_with(local, &without.to_string(), UNRECORDED);
}

#[test]
fn refusals_of_the_gate_are_not_compared_and_the_isolated_server_has_its_name() {
    for code in [
        "look_alike",
        "not_ascii",
        "session_store_full",
        "request_state_mismatch",
    ] {
        let refused = json!({ "target": "read", "decision": "BLOCK", "stage": "decide",
            "reason": { "code": code } });
        check(&record("tool_call", &refused), "nothing");
    }
    let files = r#"@id("of-server") permit (principal, action in Mcp::Action::"call_tool", resource in Mcp::Server::"files");"#;
    for upstream in ["files (isolated)", "files (isolated 2)"] {
        let isolated = json!({ "target": "other", "upstream": upstream });
        check_with(files, &record("tool_call", &isolated), "same");
    }
}

#[test]
fn what_would_be_sent_in_another_spelling_is_not_known() {
    let canonical = r#"@id("canonical") @obligation_canonical("paths")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"other");"#;
    let sent = json!({ "target": "other", "arguments": { "path": "/srv/a/../b" } });
    let why = "unknown: the gate would send it in canonical spelling, and evaluate that too";
    check_with(canonical, &record("tool_call", &sent), why);
}

#[test]
fn recorded_arguments_are_judged_as_they_are() {
    let with = |target: &str, arguments: Value| {
        record(
            "tool_call",
            &json!({ "target": target, "arguments": arguments }),
        )
    };
    check(&with("write", json!({ "path": "/a" })), "same");
    check(&with("write", json!({ "file": "/a" })), "changed: ");
    check(&call("write"), UNRECORDED);
    // What is not there whole says nothing.
    for cut in [
        "[redacted]",
        "use [redacted:github-token]",
        "x… [9 bytes more]",
    ] {
        check(&with("write", json!({ "path": cut })), UNRECORDED);
    }
    let sent = with("other", json!({ "path": "/a" }));
    let when = |condition: &str| {
        format!(
            "@id(\"other\") permit (principal, action == Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"other\")
when {{ {condition} }};"
        )
    };
    check_with(&when("context.targets.bytes < 14"), &sent, "same");
    check_with(&when("context.targets.bytes < 13"), &sent, "changed: ");
    // Of the session nothing else is known.
    check_with(
        &when("context.env.session.calls < 3"),
        &sent,
        "unknown: what decides it now stands in contents or the session, which are not recorded",
    );
    check_with(
        &when("context.targets.secrets.isEmpty()"),
        &sent,
        UNRECORDED,
    );
}

#[test]
fn what_arguments_repeat_of_earlier_results_is_not_known_in_any_language() {
    let check = |file: &str, rules: &str| {
        let tests = "[[test]]\nname = 'x'\nreplay = 'log.jsonl'\n";
        let pack = Pack::new(POLICIES, tests);
        pack.write(file, rules);
        let sent = json!({ "target": "write", "arguments": { "path": "/a" } });
        let report = replay_in(&pack, &record("tool_call", &sent));
        let expected = "unknown: what decides it now stands in contents or the session, which are not recorded";
        assert_eq!(verdict_of(&report), expected, "{file}");
    };
    check(
        "copies.cedar",
        "@id(\"copies\") forbid (principal, action == Mcp::Action::\"call_tool\", resource)
when { !context.targets.copiedFrom.isEmpty() };",
    );
    check(
        "copies.rego",
        "package mcp
decision := {\"deny\": true, \"reasons\": [{\"id\": \"copies\"}]} if count(input.context.targets.copiedFrom) > 0",
    );
    check(
        "copies.cel.toml",
        "[[rule]]\nid = 'copies'\neffect = 'forbid'\nactions = ['call_tool']
when = 'size(context.targets.copiedFrom) > 0'",
    );
}

#[test]
fn what_a_person_would_be_asked_is_not_denied() {
    let asks = r#"@id("ask") @requires_consent
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read");"#;
    let unanswered = "unknown: a person would be asked now, and the answer is not known";
    check_with(asks, &call("read"), unanswered);
    let answered = |outcome: &str| {
        let consent = json!({ "ticket": "3f0a", "outcome": outcome });
        record(
            "tool_call",
            &json!({ "target": "read", "consent": consent }),
        )
    };
    check_with(asks, &answered("granted"), unanswered);
    let also = format!(
        "{asks}\n@id(\"hard\") forbid (principal, action, resource == Mcp::Tool::\"read\");"
    );
    check_with(&also, &answered("granted"), "changed: ask, hard");
}

#[test]
fn other_messages_are_compared_too() {
    let of = |kind: &str, method: &str, target: Option<&str>, up: bool| {
        let direction = if up {
            "upstream_to_agent"
        } else {
            "agent_to_upstream"
        };
        record(
            kind,
            &json!({ "method": method, "target": target, "direction": direction }),
        )
    };
    check(&of("tools_list", "tools/list", None, false), "same");
    check(&of("request", "ping", None, false), "same");
    check(
        &of("request", "resources/read", Some("file:///a"), false),
        "same",
    );
    check(
        &of("request", "resources/read", Some("http://a"), false),
        "changed: ",
    );
    check(&of("request", "prompts/get", Some("a"), false), "changed: ");
    check(&of("server_request", "roots/list", None, true), "changed: ");
    check(
        &of("server_request", "sampling/createMessage", None, true),
        UNRECORDED,
    );
    check(
        &of("notification", "notifications/message", None, true),
        "changed: no-log",
    );
    check(
        &of("notification", "notifications/progress", None, true),
        "same",
    );
    check(
        &of("request", "completion/complete", Some("a"), false),
        "unknown: the record does not tell all that it asked for",
    );
    let answered = |policies: &[&str]| {
        let changes = json!({ "target": "read", "direction": "upstream_to_agent", "stage": "deliver",
            "policies": policies });
        record("tool_result", &changes)
    };
    check(&answered(&["core.results"]), "same");
    check(
        &answered(&["core.results", "sampling"]),
        "unknown: other policies let it pass then, perhaps with what it asked for",
    );
}

#[test]
fn what_was_not_the_policies_decision_is_left_out() {
    check(
        &record(
            "session_start",
            &json!({ "reference": null, "direction": null, "method": null,
            "decision": null, "stage": null, "duration_us": null, "correlation": null }),
        ),
        "nothing",
    );
    let malformed = json!({ "decision": "BLOCK", "stage": "decode", "method": null,
        "reason": { "code": "syntax" } });
    check(&record("malformed_message", &malformed), "nothing");
    let absent = json!({ "target": "x", "decision": "BLOCK", "stage": "decide",
        "reason": { "code": "unknown_tool" } });
    check(&record("tool_call", &absent), "nothing");
    let timeout = json!({ "target": "x", "decision": "ERROR", "stage": "forward" });
    check(&record("tool_result", &timeout), "nothing");
    check(
        &record("gate_decision", &json!({ "direction": null })),
        "nothing",
    );
}

#[test]
fn what_cannot_be_read_whole_is_unknown() {
    check(
        &call(&format!("{}… [9 bytes more]", "x".repeat(1024))),
        "unknown: the record is cut, or a secret was taken out of it",
    );
    let half = format!("{}\n{{\"version\":1,\"seq\":8,\"ki", call("read"));
    let report = replay(&half, "");
    let replay = report.replay.unwrap();
    assert_eq!((replay.same, replay.unknown.len()), (1, 1));
    assert_eq!(replay.unknown[0].line, 2);
}

#[test]
fn under_the_same_revision_every_decision_is_the_same() {
    let pack = Pack::new(
        POLICIES,
        "[[test]]\nname = 'x'\ncall = 'read'\nexpect = 'allow'\n",
    );
    let revision = pack.run().unwrap().suites[0].revision.clone();
    pack.write(
        "tests/tests.toml",
        "[[test]]\nname = 'x'\nreplay = 'log.jsonl'\nunknown = 'fail'\n",
    );
    let changes = json!({ "target": "write", "revision": revision });
    pack.write("tests/log.jsonl", &record("tool_call", &changes));
    let report = pack.run().unwrap();
    assert_eq!(report.outcome, RunOutcome::Passed, "{report:#?}");
}

#[test]
fn a_change_fails_and_so_does_what_is_unknown_if_that_is_asked_for() {
    let log = [call("read"), call("remove"), call("write")].join("\n");
    let changed = "line 2: a call of `remove` was allow, and is deny now because of `no-remove`";
    let unknown = format!(
        "line 3: a call of `write` was allow, and may be either now: {}",
        UNRECORDED.strip_prefix("unknown: ").unwrap()
    );
    assert_eq!(replay(&log, "").problems, [changed]);
    assert_eq!(replay(&log, "unknown = 'count'").problems, [changed]);
    assert_eq!(
        replay(&log, "unknown = 'fail'").problems,
        [changed, &unknown]
    );
    let nothing = record(
        "startup",
        &json!({ "reference": null, "session_id": null, "agent": null, "transports": null, "direction": null,
            "method": null, "decision": null, "stage": null, "duration_us": null, "correlation": null }),
    );
    let problem = "it holds no decision of policies, and so tests nothing";
    assert_eq!(replay(&nothing, "").problems, [problem]);
}

#[test]
fn what_is_told_of_many_changes_ends() {
    let log = vec![call("remove"); 50].join("\n");
    let report = replay(&log, "");
    assert_eq!(report.problems.len(), 21);
    assert_eq!(report.problems[20], "… and 30 more");
    assert_eq!(report.replay.unwrap().changed.len(), 50);
}

// ── transcripts ──

const HANDSHAKE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{}},"clientInfo":{"name":"ide","version":"1"}}}
{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

/// What came of all but the handshake, as `line: what`.
fn played(lines: &[&str]) -> Vec<String> {
    let report = replay(&format!("{HANDSHAKE}{}", lines.join("\n")), "");
    let replay = report.replay.unwrap();
    let changed = replay.changed.iter().map(|it| {
        let policies = it.policies.join(", ");
        (
            it.line,
            format!("{}: {} now {} {policies}", it.line, it.about, it.now.word()),
        )
    });
    let unknown = replay.unknown.iter().map(|it| {
        (
            it.line,
            format!("{}: {} unknown: {}", it.line, it.about, it.why),
        )
    });
    let mut told: Vec<_> = changed.chain(unknown).collect();
    told.sort();
    told.into_iter()
        .map(|(_, text)| text.trim_end().to_owned())
        .collect()
}

fn call_line(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

fn done(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

fn error(id: u32, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

#[test]
fn a_transcript_is_sent_again() {
    let lines = [
        call_line(1, "read", "{}"),
        done(1),
        call_line(2, "write", r#"{"path":"a"}"#),
        done(2),
        call_line(3, "write", r#"{"file":"a"}"#),
        error(3, 4030, "denied by policy"),
        call_line(4, "remove", "{}"),
        error(4, -32602, "Unknown tool: remove"),
        call_line(5, "ide", "{}"),
        error(5, -32000, "the tool failed"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(played(&lines), [""; 0]);
}

#[test]
fn what_is_decided_otherwise_is_told_with_its_line() {
    let lines = [
        call_line(1, "remove", "{}"),
        done(1),
        call_line(2, "read", "{}"),
        error(2, 4030, "denied by policy"),
        call_line(3, "read", "{}"),
        error(3, -32602, "Unknown tool: read"),
        call_line(4, "read", "{}"),
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"remove","inputSchema":{"type":"object"}}]}}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(
        played(&lines),
        [
            "4: a call of `remove` now deny no-remove",
            "6: a call of `read` now allow read",
            "8: a call of `read` unknown: perhaps the other side did not have it",
            "10: a call of `read` unknown: no answer tells what became of it",
            "12: `remove` in a list of tools now deny",
        ]
    );
}

#[test]
fn both_sides_of_a_transcript_are_judged() {
    let sample = |tokens: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{{"messages":[],"maxTokens":{tokens}}}}}"#
        )
    };
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}}"#;
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    assert_eq!(
        played(&[&sample(9), answer, &sample(10), answer, log]),
        [
            "6: `sampling/createMessage` now deny",
            "8: `notifications/message` now deny no-log",
        ]
    );
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let who = "either side may have sent it: write `{\"from\": …, \"message\": …}`";
    assert_eq!(
        played(&[ping, "half", &done(9)]),
        [
            format!("4: something unknown: {who}"),
            "5: something unknown: it is no JSON-RPC message that the gate would read".to_owned(),
            "6: something unknown: it answers nothing that was asked".to_owned(),
        ]
    );
    let from = |from: &str, message: &str| format!(r#"{{"from":"{from}","message":{message}}}"#);
    let answered = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(
        played(&[
            &from("server", ping),
            &from("agent", ping),
            &from("agent", answered),
            &from("server", answered),
        ]),
        [""; 0]
    );
}

#[test]
fn a_transcript_without_a_handshake_is_given_one() {
    let report = replay(&[call_line(1, "read", "{}"), done(1)].join("\n"), "");
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:#?}");
    assert_eq!(report.replay.unwrap().same, 2);
}
