//! What the upstream defines otherwise than the lock does.

use super::*;
use crate::loading::LockFile;
use crate::wire::{Document, Limits};

const POLICIES: &str = r#"
@id("all") permit (principal, action, resource);
@id("no-other-words")
forbid (principal, action in [Mcp::Action::"call_tool", Mcp::Action::"list_tool"], resource is Mcp::Tool)
when { resource.pin.known && resource.pin.schemaOk && !resource.pin.descriptionOk };
@id("no-other-arguments")
forbid (principal, action in [Mcp::Action::"call_tool", Mcp::Action::"list_tool"], resource is Mcp::Tool)
when { resource.pin.known && !resource.pin.schemaOk && resource.pin.descriptionOk };
"#;

fn pack(tests: &str) -> Pack {
    let pack = Pack::new(POLICIES, tests);
    let decode = |text: &str| Document::decode(text.as_bytes(), &Limits::default()).unwrap();
    let mut lock = LockFile::default();
    for tool in ["read", "write"] {
        let definition = decode(&format!(
            r#"{{"name":"{tool}","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string"}}}}}}}}"#
        ));
        lock.add(definition.root()).unwrap();
    }
    let greet = decode(r#"{"name":"greet","arguments":[{"name":"who"}]}"#);
    lock.add_prompt(greet.root()).unwrap();
    pack.write("tools.lock", &lock.text());
    pack
}

#[test]
fn a_test_says_what_the_server_defines_otherwise_than_the_lock() {
    let pack = pack(
        r#"
[[test]]
name = "as it was approved"
call = "read"
expect = { decision = "allow", policies = ["all"] }

[[test]]
name = "other words"
changed_tools = { read = "description" }
call = "read"
expect = { decision = "deny", policies_exact = ["lock.drift", "no-other-words"], code = "tool_changed" }

[[test]]
name = "other arguments"
changed_tools = { read = "schemas" }
call = "read"
expect = { decision = "deny", policies_exact = ["lock.drift", "no-other-arguments"] }

[[test]]
name = "both"
changed_tools = { read = "both" }
call = "read"
expect = { decision = "deny", policies_exact = ["lock.drift"] }

[[test]]
name = "another tool"
changed_tools = { write = "both" }
call = "read"
expect = "allow"

[[test]]
name = "what is shown of tools"
changed_tools = { read = "description" }
list = "tools"
listed = ["write"]
hidden = ["read"]

[[test]]
name = "a prompt that the agent was shown as something else"
changed_prompts = ["greet"]
steps = [
  { list = "prompts", listed = [], hidden = ["greet"] },
  { send = { method = "prompts/get", params = { name = "greet" } }, expect = { decision = "deny", policies = ["lock.prompt-drift"] } },
]

[[test]]
name = "a prompt as it was approved"
steps = [
  { list = "prompts", listed = ["greet"] },
  { send = { method = "prompts/get", params = { name = "greet" } }, expect = "allow" },
]
"#,
    );
    let report = pack.run().unwrap();
    let mut out = Vec::new();
    report.write(&mut out, Paint::Plain).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("8 passed"), "{out}");
}

#[test]
fn what_is_not_locked_cannot_have_changed() {
    let pack = pack(
        r#"
[[test]]
name = "x"
changed_tools = { raed = "both", read = "words" }
changed_prompts = ["read"]
call = "read"
expect = "deny"
"#,
    );
    let Err(not_run) = pack.run() else {
        panic!("it runs");
    };
    let report = Report::not_run(not_run.outcome(), not_run.diagnostics());
    let problems = report.problems.iter();
    let told: Vec<(&str, &str)> = problems
        .map(|it| (it.code.as_deref().unwrap_or_default(), it.message.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "test::not_locked",
                "`raed` is no tool of `tools.lock`, so that nothing of it can have changed"
            ),
            ("test::value", "unknown value `words`"),
            (
                "test::not_locked",
                "`read` is no prompt of `tools.lock`, so that nothing of it can have changed"
            ),
        ]
    );
}
