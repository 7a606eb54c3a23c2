//! Who is who, and what belongs to whom.

use std::io::Write;
use std::thread;

use serde_json::Value;

use crate::support::fixtures::fixture;
use crate::support::http::{Agent, Answer};
use crate::support::json::json;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// A gate in front of the server that uses every feature.
fn before_everything() -> Setup {
    Setup::of([fixture("everything-server")]).over_http()
}

/// The first record that is as asked for.
fn recorded(gate: &Serving, wanted: impl Fn(&Value) -> bool) -> Value {
    eventually(|| {
        let file = gate.setup().audit_text();
        let mut records = file.lines().map(json);
        records
            .find(&wanted)
            .ok_or_else(|| format!("no such record: {file}"))
    })
}

#[test]
fn equal_ids_of_many_sessions_are_answered_each_with_its_own() {
    let gate = Serving::start(before_everything().allow(&["echo"]));
    let talks: Vec<_> = (0..8)
        .map(|number| {
            let agent = Agent::at(&gate.url).in_session();
            thread::spawn(move || {
                for round in 0..10 {
                    let text = format!("agent {number}, round {round}");
                    let answer = agent.echo(7, &text);
                    assert_eq!(answer.status, 200, "{answer:?}");
                    assert!(answer.body.contains(&text), "{text}: {answer:?}");
                }
            })
        })
        .collect();
    for talk in talks {
        talk.join().unwrap();
    }
}

#[test]
fn an_agent_is_who_its_token_says_and_policies_know_it() {
    let policy = r#"
        @id("open") permit (principal, action, resource) unless { resource == Mcp::Tool::"echo" };
        @id("alice") permit (principal == Mcp::Agent::"alice", action, resource);
    "#;
    let mut setup = before_everything().policies(policy);
    setup.listen.push_str(
        "\nauth = { type = \"bearer\", tokens = { alice = \"alice-0123456789-0123456789\", bob = \"bob-0123456789-0123456789-\" } }",
    );
    let gate = Serving::start(setup);
    let with = |token: &str| Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"));
    for agent in [Agent::at(&gate.url), with("somebody-0123456789-0123456")] {
        let answer = agent.echo(1, "let me in");
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    let alice = with("alice-0123456789-0123456789").in_session();
    let bob = with("bob-0123456789-0123456789-").in_session();
    assert!(alice.echo(1, "from alice").body.contains("from alice"));
    let denied = bob.echo(1, "from bob").body;
    assert!(denied.contains("Unknown tool: echo"), "{denied}");
    let by = |who: &'static str| {
        move |record: &Value| record["kind"] == "tool_call" && record["agent"]["id"] == who
    };
    assert_eq!(recorded(&gate, by("alice"))["decision"], "ALLOW");
    assert_eq!(recorded(&gate, by("bob"))["decision"], "BLOCK");
    let audit = gate.setup().audit_text();
    assert!(!audit.contains("0123456789-0123456789"), "{audit}");
}

#[test]
fn what_never_was_a_message_is_refused_and_recorded() {
    let gate = Serving::start(before_everything().policies(ALLOW_ALL));
    let agent = || Agent::at(&gate.url);
    let strange = [
        (agent().with("Host: evil.example"), 403, "host"),
        (agent().with("Origin: https://evil.example"), 403, "origin"),
        (
            agent().with("Content-Type: text/plain"),
            415,
            "content_type",
        ),
        (
            agent().with("Mcp-Session-Id: guessed"),
            404,
            "session_unknown",
        ),
        (agent(), 400, "session_missing"),
    ];
    for (agent, status, code) in strange {
        let answer = agent.echo(1, "x");
        assert_eq!(answer.status, status, "{code}: {answer:?}");
        let record = recorded(&gate, |record| record["reason"]["code"] == code);
        assert_eq!(record["kind"], "malformed_message", "{record}");
        assert_eq!(record["decision"], "BLOCK", "{record}");
        assert_eq!(record["stage"], "http", "{record}");
    }
}

#[test]
fn stateless_requests_need_no_session_and_are_judged_alike() {
    let policy = r#"
        @id("open") permit (principal, action, resource) unless { resource == Mcp::Tool::"add" };
    "#;
    let gate = Serving::start(before_everything().policies(policy));
    let ask = |tool: &str, arguments: &str| {
        let agent = Agent::at(&gate.url)
            .with("MCP-Protocol-Version: 2026-07-28")
            .with("Mcp-Method: tools/call")
            .with(format!("Mcp-Name: {tool}"));
        agent.post(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"tester","version":"1"}}}}}}}}"#
        ))
    };
    let echoed = ask("echo", r#"{"text":"stateless"}"#);
    assert!(echoed.body.contains("stateless"), "{echoed:?}");
    let denied = ask("add", r#"{"a":1,"b":2}"#);
    assert!(denied.body.contains("Unknown tool: add"), "{denied:?}");
    let record = recorded(&gate, |record| record["target"] == "add");
    assert_eq!(record["decision"], "BLOCK", "{record}");
}

#[test]
fn limits_hold_for_all_sessions_of_an_agent_together() {
    let mut setup = before_everything().allow(&["echo"]);
    setup.listen.push_str(
        "\nauth = { type = \"bearer\", tokens = { alice = \"alice-0123456789-0123456789\", bob = \"bob-0123456789-0123456789-\" } }",
    );
    setup.limits.push_str("rates = { principal = \"10/h\" }");
    let gate = Serving::start(setup);
    let with = |token: &str| Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"));
    // The handshakes are two of them.
    let talks: Vec<_> = (0..2)
        .map(|_| {
            let bob = with("bob-0123456789-0123456789-").in_session();
            thread::spawn(move || {
                let answers = (1..20).map(|id| bob.echo(id, "of bob"));
                let (passed, refused): (Vec<_>, Vec<_>) =
                    answers.partition(|answer| answer.body.contains("of bob"));
                for answer in &refused {
                    assert_eq!(answer.status, 200, "{answer:?}");
                    assert!(answer.body.contains("\"code\":4290"), "{answer:?}");
                    assert!(answer.body.contains("\"retryAfterMs\":"), "{answer:?}");
                }
                passed.len()
            })
        })
        .collect();
    let passed: usize = talks.into_iter().map(|talk| talk.join().unwrap()).sum();
    assert_eq!(passed, 8);
    let alice = with("alice-0123456789-0123456789").in_session();
    assert!(alice.echo(1, "from alice").body.contains("from alice"));
    let limited = recorded(&gate, |record| record["stage"] == "limit");
    assert_eq!(limited["reason"]["code"], "rate_limited");
    assert_eq!(limited["agent"]["id"], "bob");
}

#[test]
fn a_fatal_error_ends_one_session_over_http_and_no_other() {
    let mut setup = before_everything().allow(&["echo", "fail"]);
    setup
        .guards
        .push_str("on_fatal_tool_error = \"close_session\"\n");
    let gate = Serving::start(setup);
    let (one, other) = (
        Agent::at(&gate.url).in_session(),
        Agent::at(&gate.url).in_session(),
    );
    let fail = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"fail","arguments":{{"text":"{text}"}}}}}}"#
        )
    };
    assert!(one.post(&fail("try again")).body.contains("try again"));
    assert!(one.echo(2, "goes on").body.contains("goes on"));
    let told = one.post(&fail("[FATAL] it is gone"));
    assert!(told.body.contains("[FATAL] it is gone"), "{told:?}");
    let after = one.echo(3, "after the end");
    assert_eq!(after.status, 404, "{after:?}");
    assert!(other.echo(4, "of another").body.contains("of another"));
    let fatal = recorded(&gate, |record| record["error_class"] == "fatal");
    assert_eq!(fatal["kind"], "tool_result");
    recorded(&gate, |record| {
        record["kind"] == "session_end" && record["session_id"] == fatal["session_id"]
    });
}

#[test]
fn a_session_that_its_agent_ends_answers_what_waits_in_it_once_and_under_its_own_id() {
    for is_streamed in [false, true] {
        let gate = Serving::start(before_everything().allow(&["slow"]));
        let agent = Agent::at(&gate.url).in_session();
        let call = r#"{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"slow","arguments":{"steps":100,"delay_ms":1000}}}"#;
        let mut stream = agent.begin("POST", call.len());
        stream.write_all(call.as_bytes()).unwrap();
        let is_call = |it: &Value| it["kind"] == "tool_call" && it["decision"] == "ALLOW";
        recorded(&gate, is_call);
        if is_streamed {
            // The head of the answer is there.
            stream.peek(&mut [0]).unwrap();
        }
        assert_eq!(agent.request("DELETE", "").status, 204);
        let answer = Answer::of(stream).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            answer.body.matches(r#""id":"mine""#).count(),
            1,
            "{answer:?}"
        );
        assert!(answer.body.contains("the session has ended"), "{answer:?}");
        assert!(!answer.body.contains("server"), "{answer:?}");
        assert_eq!(agent.post(call).status, 404);
        let records = eventually(|| {
            let file = gate.setup().audit_text();
            let records: Vec<Value> = file.lines().map(json).collect();
            let ended = records.iter().any(|it| it["kind"] == "session_end");
            ended.then_some(records).ok_or(file)
        });
        let calls = records.iter().filter(|it| is_call(it));
        for call in calls {
            let outcomes = records
                .iter()
                .filter(|it| it["kind"] == "tool_result" && it["reference"] == call["reference"]);
            assert_eq!(outcomes.count(), 1, "{call}");
        }
        let refused = records.iter().filter(|it| it["reason"]["code"] == "ended");
        assert_eq!(refused.count(), 0, "{records:?}");
    }
}

#[test]
fn arguments_are_held_to_the_schema_unless_the_configuration_says_otherwise() {
    for (guards, is_refused) in [("", true), ("arguments = \"report\"", false)] {
        let mut setup = before_everything().policies(ALLOW_ALL);
        guards.clone_into(&mut setup.guards);
        let gate = Serving::start(setup);
        let agent = Agent::at(&gate.url).in_session();
        // No list has been asked for: the gate asks for it before it judges the call.
        let wrong = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":5}}}"#;
        let answer = agent.post(wrong).body;
        let told = answer.contains("inputSchema") && answer.contains("/properties/text/type");
        assert_eq!(told, is_refused, "{guards}: {answer}");
        assert!(agent.echo(2, "fits").body.contains("fits"), "{guards}");
        let decided = if is_refused { "BLOCK" } else { "ALLOW" };
        let of_the_call = |record: &Value| record["kind"] == "tool_call";
        assert_eq!(recorded(&gate, of_the_call)["decision"], decided);
    }
}
