//! Messages and policies as people have them, from request to what they read.

mod records;

use std::fs;

use jsonschema::Validator;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::cli::proxy::default_gate_settings;
use crate::policy_tests::{ConfiguredServer, Paint};
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
  context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path") has string &&
  context.raw_arguments.getTag("/path").string like "/srv/*"
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

fn explained(pack: &TempDir, request: &ExplainRequest, agent: &str, now: &str) -> Explanation {
    let start = match request {
        ExplainRequest::Message(_) => StartState::default(),
        ExplainRequest::Recorded(recorded) => recorded.start(),
    };
    begun(pack, request, agent, now, start)
}

/// The same in a session that has been through this.
fn begun(
    pack: &TempDir,
    request: &ExplainRequest,
    agent: &str,
    now: &str,
    start: StartState,
) -> Explanation {
    let settings = Settings {
        people: ConsentChannels::Unknown,
        policies: loading::Settings {
            dir: Some(pack.path().to_owned()),
            ..loading::Settings::default()
        },
        server: ConfiguredServer::only("files".to_owned(), default_gate_settings()),
    };
    let agent = Agent {
        id: agent.to_owned(),
        trust: 1,
        ..Agent::default()
    };
    let now = now.parse().unwrap();
    explain(&settings, request, SenderContext { agent, now, start }).unwrap()
}

fn call(tool: &str, arguments: &str) -> ExplainRequest {
    ExplainRequest::Message(HypotheticalMessage::Call {
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
    })
}

/// As people read it, without the directory's name and the revision.
fn human(pack: &TempDir, explanation: &Explanation, cover: PolicyScope) -> String {
    let mut text = Vec::new();
    explanation.write(&mut text, cover, Paint::Plain).unwrap();
    let text = String::from_utf8(text).unwrap();
    let text = text.replace(&*pack.path().to_string_lossy(), "pack");
    text.replace(explanation.revision.as_deref().unwrap_or("-"), "(revision)")
}

/// What people read of it, and that programs read the same by the published schema.
fn check(request: &ExplainRequest, agent: &str) -> String {
    let pack = pack();
    let explanation = explained(&pack, request, agent, NOW);
    follows_the_schema(&explanation);
    human(&pack, &explanation, PolicyScope::Nearest)
}

const NOW: &str = "2026-11-21T20:00:00Z";

#[test]
fn what_is_permitted_and_dropped_is_not_said_to_be_forbidden() {
    let sent = |from, frame: &str| {
        let text = check(
            &ExplainRequest::Message(HypotheticalMessage::Frame {
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
         but it belongs to nothing that was asked for (stray), refused at `correlate`"
    );
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert!(sent(Side::Upstream, cancelled).contains("permits it, but it belongs to nothing"));
}

#[test]
fn a_path_outside_of_all_roots_is_explained_by_the_policy_that_forbids_it() {
    let pack = tempfile::tempdir().unwrap();
    for (file, text) in [
        (
            "roots.cedar",
            "@id(\"read\") permit (principal, action == Mcp::Action::\"call_tool\", resource);\n\
             @id(\"inside\") forbid (principal, action == Mcp::Action::\"call_tool\", resource)\n\
             when { context.targets.outside };\n",
        ),
        (
            "tools.toml",
            "[tools.read_file]\npermission = \"read\"\npaths = [\"/path\"]\n",
        ),
        ("roots.toml", "[roots.work]\npath = \"/srv/work\"\n"),
    ] {
        fs::write(pack.path().join(file), text).unwrap();
    }
    let request = call("read_file", r#"{"path": "/etc/passwd"}"#);
    let explanation = explained(&pack, &request, "nightly", NOW);
    assert_eq!(explanation.decision, Some(ExplainedDecision::Deny));
    let said = human(&pack, &explanation, PolicyScope::Nearest);
    let why = "because   `inside` forbids it: the path at `/path` lies outside of all roots";
    assert!(said.contains(why), "{said}");
    assert!(said.contains("forbid `inside` holds"), "{said}");
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
    assert_eq!(explanation.decision, Some(ExplainedDecision::Deny));
    let [change] = &explanation.changes[..] else {
        panic!("{:?}", explanation.changes)
    };
    assert_eq!((change.policy.as_str(), change.enough), ("read", false));
    assert_eq!(change.part, r#"principal in Mcp::Role::"reader""#);
}

#[test]
fn what_is_permitted_says_by_what_and_what_would_end_it() {
    let request = ExplainRequest::Message(HypotheticalMessage::Read("guide://style".to_owned()));
    insta::assert_snapshot!(check(&request, "guest"));
}

#[test]
fn a_policy_that_fails_says_on_what() {
    let request = ExplainRequest::Message(HypotheticalMessage::Prompt {
        name: "greet".to_owned(),
        arguments: "{}".to_owned(),
    });
    insta::assert_snapshot!(check(&request, "guest"));
}

#[test]
fn what_a_server_asks_is_explained_as_well() {
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":201}}"#;
    let request = ExplainRequest::Message(HypotheticalMessage::Frame {
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
    insta::assert_snapshot!(human(&pack, &explanation, PolicyScope::Nearest));
}

#[test]
fn every_policy_about_the_action_is_shown_to_who_asks_for_all() {
    let pack = pack();
    let request = call("read_file", r#"{"path": "/srv/a"}"#);
    let explanation = explained(&pack, &request, "guest", NOW);
    let all = human(&pack, &explanation, PolicyScope::All);
    for id in ["`read` is not about this", "`workspace` does not hold"] {
        assert!(all.contains(id), "{all}");
    }
    assert!(!all.contains("`guides`"), "{all}");
}

#[test]
fn what_a_message_holds_cannot_steer_a_terminal() {
    let pack = pack();
    let request = call("read_file", r#"{"path": "/srv/\u001b[31m\u202e"}"#);
    let explanation = explained(&pack, &request, "a\u{1b}[1m", NOW);
    let text = human(&pack, &explanation, PolicyScope::All);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    assert!(text.contains(r"a\u{1b}[1m"), "{text}");
    assert!(text.contains(r"\u{1b}[31m\u{202e}"), "{text}");
}

#[test]
fn what_could_not_be_explained_follows_the_schema_as_well() {
    follows_the_schema(&Explanation::not_explained(ExplainProblem {
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
fn rules_in_rego_and_cel_are_told_with_their_verdicts() {
    let pack = languages();
    let check = |tool: &str| {
        let explanation = explained(&pack, &call(tool, r#"{"path": "/srv/a"}"#), "guest", NOW);
        follows_the_schema(&explanation);
        human(&pack, &explanation, PolicyScope::Nearest)
    };
    insta::assert_snapshot!(["dig", "mine", "look", "fly"].map(check).join("\n=====\n"));
}

#[test]
fn a_rule_in_rego_or_cel_that_fails_says_why() {
    let check = |file: &str, rules: &str, wanted: &[&str]| {
        let pack = pack();
        fs::write(pack.path().join(file), rules).unwrap();
        let explanation = explained(&pack, &call("look", "{}"), "guest", NOW);
        follows_the_schema(&explanation);
        let text = human(&pack, &explanation, PolicyScope::Nearest);
        for part in wanted {
            assert!(text.contains(part), "{part}: {text}");
        }
    };
    let rego =
        "package mcp\ndecision := {\"allow\": true} if to_number(input.resource.name) == 1\n";
    check("r.rego", rego, &["fault     engine `rego`: ", "r.rego:2:"]);
    let cel = CEL.replace("resource.name == 'dig'", "context.arguments.no");
    let wanted = ["forbid `cel.no-secrets` cannot be evaluated", "No such key"];
    check("r.cel.toml", &cel, &wanted);
}

#[test]
fn every_rule_in_cel_about_the_action_has_its_verdict() {
    let pack = languages();
    let explanation = explained(&pack, &call("fly", "{}"), "guest", NOW);
    let all = human(&pack, &explanation, PolicyScope::All);
    for told in ["`cel.read` does not hold", "`cel.no-secrets` does not hold"] {
        assert!(all.contains(told), "{all}");
    }
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
        let explanation = begun(
            &pack,
            &call("find", "{}"),
            "guest",
            NOW,
            StartState::at(level),
        );
        follows_the_schema(&explanation);
        assert_eq!(explanation.level, told);
    }
}

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
