//! What people and programs read.

use jsonschema::Validator;
use serde_json::{Value, json};

use super::*;

const POLICIES: &str = r#"// Readers read.
@id("read")
permit (
  principal in Mcp::Role::"reader",
  action == Mcp::Action::"call_tool",
  resource == Mcp::Tool::"read_file"
);

@id("workspace-only")
@code("outside")
@advice("stay below /srv")
forbid (
  principal,
  action == Mcp::Action::"call_tool",
  resource == Mcp::Tool::"read_file"
) unless {
  context.raw_arguments.hasTag("/path")
  && context.raw_arguments.getTag("/path") has string
  && context.raw_arguments.getTag("/path").string like "/srv/*"
};

@id("noted")
@obligation_annotate("was read")
permit (
  principal in Mcp::Role::"reader",
  action == Mcp::Action::"call_tool",
  resource == Mcp::Tool::"read_file"
);

@id("large")
forbid (principal, action == Mcp::Action::"receive_result", resource is Mcp::Tool)
when { context.result.bytes > 60 };

@id("no-guests")
forbid (principal in Mcp::Role::"guest", action == Mcp::Action::"initialize", resource);

@id("overflow")
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"sum")
when {
  context.raw_arguments.hasTag("/n")
  && context.raw_arguments.getTag("/n") has long
  && context.raw_arguments.getTag("/n").long + 9223372036854775807 < 0
};
"#;

const FAILING: &str = r#"suite = "workspace"

[agents]
reader = { roles = ["reader"] }
guest = { roles = ["guest"] }

[[test]]
name = "a reader reads below /srv"
agent = "reader"
call = "read_file"
args = { path = "/srv/a" }
expect = { decision = "allow", policies = ["read"] }

[[test]]
name = "wrongly allowed"
agent = "reader"
call = "read_file"
args = { path = "/etc/passwd" }
expect = "allow"

[[test]]
name = "wrongly denied"
agent = "reader"
call = "read_file"
args = { path = "/srv/a" }
expect = { decision = "deny", policies = ["workspace-only"], code = "outside" }

[[test]]
name = "other words"
agent = "reader"
call = "read_file"
expect = { decision = "deny", code = "inside", advice = "go away", reason = "batch" }

[[test]]
name = "not permitted at all"
call = "write_file"
expect = "allow"

[[test]]
name = "denied by no policy"
call = "write_file"
expect = { decision = "deny", policies = ["workspace-only"] }

[[test]]
name = "a fault"
call = "sum"
args = { n = 1 }
expect = "deny"

[[test]]
name = "a list"
agent = "reader"
list = "tools"
listed = ["write_file"]
hidden = ["read_file"]

[[test]]
name = "no session"
agent = "guest"
call = "read_file"
expect = "allow"

[[test]]
name = "no message"
raw = '{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping\u001b[2J"}'
expect = "allow"

[[test]]
name = "the other side"
send = { method = "roots/list" }
expect = "allow"

[[test]]
name = "a matrix"
agents = ["reader", "guest"]
call = ["read_file", "write_file"]
args = { path = "/srv/a" }
expect = { reader = { decision = "allow", policies_exact = ["read"], obligations = ["x"] } }

[[test]]
name = "a conversation"
agent = "reader"
steps = [
  { call = "read_file", args = { path = "/srv/a" }, expect = "allow", result = { text = "x" } },
  { call = "read_file", args = { path = "/srv/secret" }, expect = "allow", received = { decision = "deny", policies_exact = [] } },
  { call = "read_file", args = { path = "/srv/large" }, expect = "allow", result = { text = "0123456789012345678901234567890123456789" } },
  { after = "1m", call = "read_file", args = { path = "/etc/passwd" }, expect = { decision = "allow", policies = ["noted"] } },
  { from = "server", raw = '{"jsonrpc":"2.0","id":7,"result":{}}', expect = "allow" },
  { list = "tools", listed = [] },
]

[[test]]
name = "a replay"
agent = "reader"
replay = "log.jsonl"
unknown = "fail"
"#;

/// Nothing is changed, changed, and unknown.
const LOG: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/srv/a"}}}
{"jsonrpc":"2.0","id":1,"result":{"content":[]}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/etc/passwd"}}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
{"jsonrpc":"2.0","id":3,"method":"ping"}
"#;

fn failing() -> Pack {
    let pack = Pack::new(POLICIES, FAILING);
    pack.write("tests/log.jsonl", LOG);
    pack
}

fn human(report: &Report, paint: Paint) -> String {
    let mut out = Vec::new();
    report.write(&mut out, paint).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn people_see_what_was_expected_what_came_and_why() {
    let pack = failing();
    let report = pack.run().unwrap();
    assert_eq!(report.outcome, RunOutcome::Failed);
    insta::assert_snapshot!(pack.nameless(&human(&report, Paint::Plain)));
}

#[test]
fn people_see_a_short_list_of_what_passed() {
    let tests = "suite = 's'\n[[test]]\nname = 'plain'\ncall = 'x'\nexpect = 'deny'\n";
    let pack = Pack::new(POLICIES, tests);
    let report = pack.run().unwrap();
    let expected = "s  pack/tests/tests.toml\n  ✓ plain\n\n1 test in 1 suite: 1 passed, 0 failed\n";
    assert_eq!(pack.nameless(&human(&report, Paint::Plain)), expected);
    let coloured = human(&report, Paint::Coloured);
    assert!(coloured.contains("\u{1b}[32m✓\u{1b}[0m"), "{coloured:?}");
    assert!(!human(&report, Paint::Plain).contains('\u{1b}'));
}

#[test]
fn authors_see_where_their_fixture_is_wrong() {
    let tests = "suit = 'x'\n\n[[test]]\nname = 'one'\ncall = 'a'\nexpect = { decision = 'deny', policies = ['reed'] }\n";
    let pack = Pack::new(POLICIES, tests);
    let not_run = pack.run().unwrap_err();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(100);
    let mut text = String::new();
    for diagnostic in not_run.diagnostics() {
        handler.render_report(&mut text, diagnostic).unwrap();
    }
    insta::assert_snapshot!(pack.nameless(&text));
}

// ── the document for programs ──

fn schema() -> Value {
    include_str!("../../../docs/schema/test-policy.schema.json")
        .parse()
        .unwrap()
}

/// The schema, but a member that it does not name is an error. The published one lets readers of
/// schema 1 read what later versions add.
pub(super) fn strict() -> Validator {
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                if members.get("type") == Some(&json!("object")) {
                    members.insert("additionalProperties".into(), false.into());
                }
                members.values_mut().for_each(close);
            }
            Value::Array(items) => items.iter_mut().for_each(close),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut schema = schema();
    close(&mut schema);
    jsonschema::draft202012::new(&schema).unwrap()
}

#[track_caller]
pub(super) fn check_valid(validator: &Validator, report: &Report) {
    let document = serde_json::to_value(report).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
}

#[test]
fn the_schema_is_a_schema_and_names_this_version() {
    jsonschema::draft202012::meta::validate(&schema()).unwrap();
    assert_eq!(schema()["properties"]["schema"]["const"], json!(SCHEMA));
}

#[test]
fn every_report_is_valid() {
    let validator = strict();
    let failing = failing().run().unwrap();
    check_valid(&validator, &failing);
    let everything = "
        allow = ['x']
        [[test]]
        name = 'x'
        call = 'x'
        expect = 'allow'
        [[test]]
        name = 'y'
        call = 'y'
        expect = { decision = 'deny', errors = ['x'] }
    ";
    check_valid(&validator, &Pack::new("", everything).run().unwrap());
    for (policies, tests) in [
        (POLICIES, "suit = 'x'"),
        ("permit (", FAILING),
        ("", "[[test]]"),
    ] {
        let not_run = Pack::new(policies, tests).run().unwrap_err();
        let report = Report::not_run(not_run.outcome(), not_run.diagnostics());
        assert!(!report.problems.is_empty());
        check_valid(&validator, &report);
    }
}

/// The names of all members that a schema describes.
fn members(schema: &Value, found: &mut Vec<String>) {
    let Some(parts) = schema.as_object() else {
        return;
    };
    let properties = parts.get("properties").and_then(Value::as_object);
    found.extend(
        properties
            .into_iter()
            .flat_map(|named| named.keys().cloned()),
    );
    parts.values().for_each(|part| members(part, found));
}

#[test]
fn every_member_that_the_schema_names_is_written_somewhere() {
    let failing = failing().run().unwrap();
    let allowed = "allow = ['x']\n[[test]]\nname = 'x'\ncall = 'x'\nexpect = { decision = 'deny', errors = ['x'] }\n";
    let allowed = Pack::new("", allowed).run().unwrap();
    let not_run = Pack::new(POLICIES, "suit = 'x'").run().unwrap_err();
    let not_run = Report::not_run(not_run.outcome(), not_run.diagnostics());
    let tried = super::mutate::everything_there_is_to_tell();
    let gated = super::gates::everything_a_gate_adds();
    let written = [failing, allowed, not_run, tried, gated]
        .iter()
        .map(|report| serde_json::to_string(report).unwrap())
        .collect::<String>();
    let mut named = Vec::new();
    members(&schema(), &mut named);
    assert!(named.len() > 40, "{named:?}");
    named.retain(|name| !written.contains(&format!("\"{name}\":")));
    assert!(named.is_empty(), "never written: {named:?}");
}

#[test]
fn the_same_tests_give_the_same_report() {
    let pack = failing();
    let document = || serde_json::to_string(&pack.run().unwrap()).unwrap();
    let first = document();
    assert_eq!(document(), first);
    assert!(!first.contains("reference") && !first.contains("duration"));
}
