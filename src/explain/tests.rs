//! Messages and policies as people have them, from request to what they read.

use std::fs;

use jsonschema::Validator;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::cli::proxy::default_gate_settings;
use crate::policy_tests::Paint;
use crate::wire::Side;

const POLICIES: &str = r#"@id("read")
permit (
  principal in Mcp::Role::"reader",
  action == Mcp::Action::"call_tool",
  resource == Mcp::Tool::"read_file"
) when { resource.level <= 1 };

@id("workspace")
@advice("stay below /srv")
forbid (principal, action == Mcp::Action::"call_tool", resource)
unless {
  context.args.hasTag("/path") && context.args.getTag("/path") has s &&
  context.args.getTag("/path").s like "/srv/*"
};

@id("guides")
permit (principal is Mcp::Agent, action == Mcp::Action::"read_resource", resource)
when { resource.scheme == "guide" && context.env.now < datetime("2027-01-01") };

@id("overflow")
permit (principal, action == Mcp::Action::"get_prompt", resource)
when { principal.trust + 9223372036854775807 > 0 };

@id("short")
permit (principal is Mcp::Server, action == Mcp::Action::"sample", resource)
when { context.maxTokens <= 200 };

@id("not-late")
forbid (principal, action == Mcp::Action::"initialize", resource)
when { context.env.now > datetime("2030-01-01") };
"#;

const TOOLS: &str = "[tools.read_file]\npermission = \"read\"\nsensitivity = \"confidential\"\n";

const AGENTS: &str = "[agents.nightly]\nroles = [\"reader\"]\n";

fn pack() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("policies.cedar"), POLICIES).unwrap();
    fs::write(dir.path().join("tools.toml"), TOOLS).unwrap();
    fs::write(dir.path().join("agents.toml"), AGENTS).unwrap();
    dir
}

fn explained(pack: &TempDir, request: &Request, agent: &str, now: &str) -> Explanation {
    let start = match request {
        Request::Message(_) => Start::default(),
        Request::Recorded(recorded) => recorded.start(),
    };
    begun(pack, request, agent, now, start)
}

/// The same in a session that has been through this.
fn begun(pack: &TempDir, request: &Request, agent: &str, now: &str, start: Start) -> Explanation {
    let settings = Settings {
        people: People::Unknown,
        policies: loading::Settings {
            dir: Some(pack.path().to_owned()),
            ..loading::Settings::default()
        },
        server: "files".to_owned(),
        gate: default_gate_settings(),
    };
    let agent = Agent {
        id: agent.to_owned(),
        trust: 1,
        ..Agent::default()
    };
    let now = now.parse().unwrap();
    explain(&settings, request, Circumstances { agent, now, start }).unwrap()
}

fn call(tool: &str, arguments: &str) -> Request {
    Request::Message(Message::Call {
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
    })
}

/// As people read it, without the directory's name and the revision.
fn human(pack: &TempDir, explanation: &Explanation, cover: Cover) -> String {
    let mut text = Vec::new();
    explanation.write(&mut text, cover, Paint::Plain).unwrap();
    let text = String::from_utf8(text).unwrap();
    let text = text.replace(&*pack.path().to_string_lossy(), "pack");
    text.replace(explanation.revision.as_deref().unwrap_or("-"), "(revision)")
}

/// What people read of it, and that programs read the same by the published schema.
fn check(request: &Request, agent: &str) -> String {
    let pack = pack();
    let explanation = explained(&pack, request, agent, NOW);
    follows_the_schema(&explanation);
    human(&pack, &explanation, Cover::Nearest)
}

const NOW: &str = "2026-11-21T20:00:00Z";

#[test]
fn what_is_permitted_and_dropped_is_not_said_to_be_forbidden() {
    let sent = |from, frame: &str| {
        let text = check(
            &Request::Message(Message::Frame {
                from,
                frame: frame.into(),
            }),
            "nightly",
        );
        text.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    assert_eq!(
        sent(Side::Agent, progress),
        "deny  agent `nightly`, `notify`, server `files`\n  because   `core.lifecycle` permits it, \
         but it belongs to nothing that was asked for (stray), refused at `identify`"
    );
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert!(sent(Side::Upstream, cancelled).contains("permits it, but it belongs to nothing"));
}

#[test]
fn a_forbid_is_shown_with_the_parts_that_made_it_hold() {
    let request = call("read_file", r#"{"path": "/etc/passwd"}"#);
    insta::assert_snapshot!(check(&request, "nightly"));
}

#[test]
fn the_one_part_that_keeps_a_permit_from_holding_is_named_with_its_value_and_who_says_so() {
    let request = call("read_file", r#"{"path": "/srv/a"}"#);
    insta::assert_snapshot!(check(&request, "nightly"));
}

#[test]
fn where_no_single_part_would_do_the_first_one_in_the_way_is_told() {
    let request = call("read_file", r#"{"path": "/srv/a"}"#);
    let pack = pack();
    let explanation = explained(&pack, &request, "guest", NOW);
    assert_eq!(explanation.decision, Some(Decision::Deny));
    let [change] = &explanation.changes[..] else {
        panic!("{:?}", explanation.changes)
    };
    assert_eq!((change.policy.as_str(), change.enough), ("read", false));
    assert_eq!(change.part, r#"principal in Mcp::Role::"reader""#);
}

#[test]
fn what_is_permitted_says_by_what_and_what_would_end_it() {
    let request = Request::Message(Message::Read("guide://style".to_owned()));
    insta::assert_snapshot!(check(&request, "guest"));
}

#[test]
fn a_policy_that_fails_says_on_what() {
    let request = Request::Message(Message::Prompt {
        name: "greet".to_owned(),
        arguments: "{}".to_owned(),
    });
    insta::assert_snapshot!(check(&request, "guest"));
}

#[test]
fn what_a_server_asks_is_explained_as_well() {
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":201}}"#;
    let request = Request::Message(Message::Frame {
        from: Side::Upstream,
        frame: frame.to_owned(),
    });
    insta::assert_snapshot!(check(&request, "guest"));
}

#[test]
fn what_is_refused_before_any_policy_is_asked_says_where() {
    let request = call("read_file", r#"{"path": "/srv/a", "path": "/etc/passwd"}"#);
    insta::assert_snapshot!(check(&request, "nightly"));
}

#[test]
fn a_handshake_that_is_refused_is_what_is_explained() {
    let pack = pack();
    let request = call("read_file", r#"{"path": "/srv/a"}"#);
    let explanation = explained(&pack, &request, "nightly", "2031-01-01T00:00:00Z");
    follows_the_schema(&explanation);
    insta::assert_snapshot!(human(&pack, &explanation, Cover::Nearest));
}

#[test]
fn a_record_is_explained_as_far_as_it_tells() {
    let record = r#"{"schema":1,"seq":7,"time":"2026-11-21T20:14:03.512881Z","instance":"5f2b8c0d91e6a374","kind":"tool_call","session_id":"s-3","agent":{"id":"nightly","asserted_name":"x","roles":["reader"]},"upstream":"files","direction":"agent_to_upstream","method":"tools/call","target":"read_file","decision":"BLOCK","stage":"decide","policies":["workspace"],"reason":{"code":"forbidden"},"revision":"9b1c7a","arguments_digest":"sha256:5f","duration_us":118}"#;
    let recorded = Recorded::read(record).unwrap();
    insta::assert_snapshot!(check(&Request::Recorded(Box::new(recorded)), "nightly"));
}

#[test]
fn a_record_is_found_by_its_number_and_what_is_none_says_so() {
    let line = |seq: i64, kind: &str, method: &str| {
        format!(
            r#"{{"schema":1,"seq":{seq},"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"{kind}","agent":{{"id":"a"}},"method":"{method}","target":"t","decision":"ALLOW"}}"#
        )
    };
    let log = [
        line(1, "tool_call", "tools/call"),
        line(12, "request", "resources/read"),
        line(3, "notification", "notifications/progress"),
        line(4, "tool_result", "tools/call"),
        line(5, "tool_call", "tools/call"),
        line(5, "tool_call", "tools/call"),
        r#"{"schema":1,"seq":6,"kind":"tool_call","method":"tools/call"}"#.to_owned(),
        r#"{"schema":2,"seq":8}"#.to_owned(),
        "no JSON, but 9".to_owned(),
    ];
    let log = log.join("\n");
    let check = |seq: i64, expected: &str| {
        let told = match Recorded::find(&log, seq) {
            Ok(recorded) => format!("found {}", recorded.seq),
            Err(error) => error.to_string(),
        };
        assert!(told.starts_with(expected), "{seq}: {told}");
    };
    check(1, "found 1");
    check(12, "found 12");
    check(2, "no record has the number 2");
    check(9, "no record has the number 9");
    check(3, "a record of kind `notification` is of no message");
    check(4, "a record of kind `tool_result` is of no message");
    check(5, "2 records have the number 5");
    check(6, "it has no readable `time`");
    check(8, "it is no record of schema 1");
}

#[test]
fn every_policy_about_the_action_is_shown_to_who_asks_for_all() {
    let pack = pack();
    let request = call("read_file", r#"{"path": "/srv/a"}"#);
    let explanation = explained(&pack, &request, "guest", NOW);
    let all = human(&pack, &explanation, Cover::All);
    for id in ["`read` is not about this", "`workspace` does not hold"] {
        assert!(all.contains(id), "{all}");
    }
    assert!(!all.contains("`guides`"), "{all}");
}

#[test]
fn what_a_message_holds_cannot_steer_a_terminal() {
    let pack = pack();
    let request = call("read\u{1b}[2J\u{202e}", r#"{"path": "\u001b[31m\u202e"}"#);
    let explanation = explained(&pack, &request, "a\u{1b}[1m", NOW);
    let text = human(&pack, &explanation, Cover::All);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

#[test]
fn what_could_not_be_explained_follows_the_schema_as_well() {
    follows_the_schema(&Explanation::not_explained(Problem {
        code: Some("explain::nothing".to_owned()),
        message: "there is nothing".to_owned(),
        help: None,
    }));
}

fn follows_the_schema(explanation: &Explanation) {
    let json = serde_json::to_value(explanation).unwrap();
    let errors: Vec<String> = validator()
        .iter_errors(&json)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:?}\n{json:#}");
}

/// The schema, but a member that it does not name is an error.
fn validator() -> Validator {
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                if members.contains_key("properties") {
                    members.insert("additionalProperties".to_owned(), false.into());
                }
                members.values_mut().for_each(close);
            }
            Value::Array(items) => items.iter_mut().for_each(close),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "the schema is no message, and ours"
    )]
    let mut schema: Value =
        serde_json::from_str(include_str!("../../docs/schema/explain.schema.json")).unwrap();
    close(&mut schema);
    jsonschema::draft202012::new(&schema).unwrap()
}

const CEL: &str = r#"[[rule]]
id = "cel.read"
effect = "permit"
actions = ["call_tool"]
when = "resource.name == 'look' && has(context.arguments.path)"

[[rule]]
id = "cel.no-secrets"
effect = "forbid"
actions = ["call_tool"]
when = "resource.name == 'dig'"
code = "secret"
advice = "dig elsewhere"
"#;

const REGO: &str = r#"package mcp

decision := {"allow": false, "deny": true, "reasons": forbids} if count(forbids) > 0

forbids contains {"id": "rego.no-mining", "advice": "leave it in the ground"} if {
    input.action == "call_tool"
    input.resource.name == "mine"
}
"#;

fn languages() -> TempDir {
    let pack = pack();
    fs::write(pack.path().join("rules.cel.toml"), CEL).unwrap();
    fs::write(pack.path().join("rules.rego"), REGO).unwrap();
    pack
}

#[test]
fn rules_in_other_languages_are_taken_apart_as_well() {
    let pack = languages();
    let check = |tool: &str| {
        let explanation = explained(&pack, &call(tool, r#"{"path": "/srv/a"}"#), "guest", NOW);
        follows_the_schema(&explanation);
        human(&pack, &explanation, Cover::Nearest)
    };
    insta::assert_snapshot!(["dig", "mine", "look", "fly"].map(check).join("\n=====\n"));
}

#[test]
fn a_record_names_the_rules_of_other_languages_that_decided() {
    let pack = languages();
    let record = r#"{"schema":1,"seq":7,"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","agent":{"id":"guest"},"direction":"agent_to_upstream","method":"tools/call","target":"dig","decision":"BLOCK","stage":"decide","policies":["cel.no-secrets"],"reason":{"code":"forbidden"},"revision":"9b"}"#;
    let recorded = Request::Recorded(Box::new(Recorded::read(record).unwrap()));
    let explanation = explained(&pack, &recorded, "guest", NOW);
    follows_the_schema(&explanation);
    let [question] = &explanation.questions[..] else {
        panic!("{explanation:?}")
    };
    let decided = question.policies.iter().filter(|policy| policy.decided);
    let decided: Vec<_> = decided
        .map(|policy| (policy.id.as_str(), policy.line))
        .collect();
    assert_eq!(decided, [("cel.no-secrets", Some(7))]);
    assert_eq!(question.decision, Decision::Deny);
    let other = record
        .replace("dig", "look")
        .replace("cel.no-secrets", "gone");
    let recorded = Request::Recorded(Box::new(Recorded::read(&other).unwrap()));
    let explanation = explained(&pack, &recorded, "guest", NOW);
    assert_eq!(explanation.questions[0].decision, Decision::Unknown);
}

/// A pack whose tool is locked, with an argument that no call can be without.
fn locked() -> TempDir {
    let pack = pack();
    let policies = r#"@id("read")
permit (principal, action == Mcp::Action::"call_tool/dig", resource)
when { context.arguments.deep.metres < 10 && resource.level <= 3 };
"#;
    fs::write(pack.path().join("policies.cedar"), policies).unwrap();
    let tool = r#"{"name":"dig","inputSchema":{"type":"object","required":["where","deep","tools","hard"],"properties":{"where":{"type":"string"},"hard":{"type":"boolean"},"tools":{"type":"array","items":{"type":"string"}},"deep":{"type":"object","required":["metres"],"properties":{"metres":{"type":"integer"}}}}}}"#;
    let tool =
        crate::wire::Document::decode(tool.as_bytes(), &crate::wire::Limits::default()).unwrap();
    let mut lock = loading::LockFile::default();
    lock.add(tool.root()).unwrap();
    fs::write(pack.path().join("tools.lock"), lock.text()).unwrap();
    pack
}

#[test]
fn a_record_of_a_locked_tool_is_explained_without_its_arguments() {
    let pack = locked();
    let record = r#"{"schema":1,"seq":7,"time":"2026-11-21T20:14:03Z","instance":"5f","kind":"tool_call","agent":{"id":"guest"},"direction":"agent_to_upstream","method":"tools/call","target":"dig","decision":"ALLOW","stage":"forward","policies":["read"],"revision":"9b"}"#;
    let check = |record: &str| {
        let recorded = Request::Recorded(Box::new(Recorded::read(record).unwrap()));
        let explanation = explained(&pack, &recorded, "guest", NOW);
        follows_the_schema(&explanation);
        human(&pack, &explanation, Cover::Nearest)
    };
    let drifted = record
        .replace("ALLOW", "BLOCK")
        .replace("\"read\"", "\"lock.drift\"");
    insta::assert_snapshot!([record, &drifted].map(check).join("\n=====\n"));
}

/// A session reads what is confidential, and then wants to connect.
const PASSED: &str = r#"{"schema":1,"seq":3,"time":"2026-11-21T20:14:01Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"note","decision":"ALLOW","sensitivity":{"before":"PUBLIC","after":"INTERNAL"},"obligations":["raise: internal"]}
{"schema":1,"seq":4,"time":"2026-11-21T20:14:01Z","instance":"5f","session_id":"s2","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"find","decision":"ALLOW","sensitivity":{"before":"PUBLIC","after":"SECRET"}}
{"schema":1,"seq":5,"time":"2026-11-21T20:14:02Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"find","decision":"ALLOW","sensitivity":{"before":"INTERNAL","after":"CONFIDENTIAL"}}
{"schema":1,"seq":7,"time":"2026-11-21T20:14:03Z","instance":"5f","session_id":"s1","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"fetch","decision":"BLOCK","stage":"decide","policies":["ratchet.closed"],"reason":{"code":"session-sensitive"},"sensitivity":{"before":"CONFIDENTIAL","after":"CONFIDENTIAL"}}
{"schema":1,"seq":8,"time":"2026-11-21T20:14:04Z","instance":"5f","session_id":"s3","kind":"tool_call","agent":{"id":"guest"},"method":"tools/call","target":"fetch","decision":"BLOCK","stage":"decide","policies":["ratchet.closed"],"reason":{"code":"session-sensitive"},"sensitivity":{"before":"CONFIDENTIAL","after":"CONFIDENTIAL"}}"#;

fn with_levels() -> TempDir {
    let pack = pack();
    fs::write(
        pack.path().join("policies.cedar"),
        "@id(\"all\") permit (principal, action in Mcp::Action::\"call_tool\", resource);\n",
    )
    .unwrap();
    fs::write(
        pack.path().join("tools.toml"),
        "[tools.find]\npermission = \"read\"\nsensitivity = \"confidential\"\n",
    )
    .unwrap();
    pack
}

#[test]
fn a_record_tells_which_records_before_it_raised_the_level_of_its_session_and_why() {
    let pack = with_levels();
    let of = |recorded: Recorded| {
        let recorded = Request::Recorded(Box::new(recorded));
        let explanation = explained(&pack, &recorded, "guest", NOW);
        follows_the_schema(&explanation);
        explanation
    };
    let explanation = of(Recorded::find(PASSED, 7).unwrap());
    assert_eq!(
        explanation.level,
        [
            "confidential before this message: the record says so",
            "record 3 raised it from public to internal: tools/call `note`, by `@obligation_raise` of a policy",
            "record 5 raised it from internal to confidential: tools/call `find`, by `sensitivity` of `find` in tools.toml",
        ]
    );
    // What looks at the level is known.
    let told = human(&pack, &explanation, Cover::Nearest);
    assert!(told.contains("context.env.session.level >= 2"), "{told}");
    assert!(
        told.contains("true; it is 2") || told.contains(" is 2 ("),
        "{told}"
    );
    // Another session has raised it, or nobody knows.
    let explanation = of(Recorded::find(PASSED, 8).unwrap());
    assert_eq!(explanation.level.len(), 2);
    assert!(explanation.level[1].contains("is not in this log"));
    let line = PASSED.lines().nth(3).unwrap();
    let explanation = of(Recorded::read(line).unwrap());
    assert!(explanation.level[1].contains("`--audit` and `--seq`"));
    let first = of(Recorded::find(PASSED, 3).unwrap());
    assert_eq!(first.level, [""; 0]);
}

#[test]
fn a_level_that_was_typed_is_told_as_such() {
    let pack = with_levels();
    for (level, told) in [
        (0, vec![]),
        (
            2,
            vec!["confidential before this message: `--session` says so"],
        ),
    ] {
        let explanation = begun(&pack, &call("find", "{}"), "guest", NOW, Start::at(level));
        follows_the_schema(&explanation);
        assert_eq!(explanation.level, told);
    }
}
