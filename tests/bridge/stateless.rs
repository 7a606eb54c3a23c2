//! Agents without a session before servers that need one, over each pair of transports.

use serde_json::{Value, json};

use crate::bridge::eras::Agent;
use crate::bridge::pairs::{PAIRS, Pair};
use crate::processes::support::python;
use crate::support::json::json as read;
use crate::support::peer::Peer;
use crate::support::processes::eventually;
use crate::support::setup::{ALLOW_ALL, Setup};

/// What an agent of 2026-07-28 gets of a request.
fn result(agent: &mut Agent, method: &str, params: &Value) -> Value {
    let (status, answer) = agent.ask(method, params);
    assert!(
        status.is_none_or(|status| status == 200),
        "{status:?} {answer}"
    );
    let result = answer["result"].clone();
    assert_eq!(result["resultType"], "complete", "{method}: {answer}");
    result
}

fn carried(pair: Pair) {
    let mut agent = Agent::guarded(pair, "--sessions", |setup| setup);
    let called = json!({"name": "echo", "arguments": {"text": "here"}});
    // Before anything else is known of the server.
    let echoed = result(&mut agent, "tools/call", &called);
    assert_eq!(echoed["content"][0]["text"], "here", "{pair:?} {echoed}");

    let discovered = result(&mut agent, "server/discover", &json!({}));
    assert_eq!(discovered["supportedVersions"], json!(["2026-07-28"]));
    assert!(
        discovered["capabilities"]["tools"].is_object(),
        "{discovered}"
    );
    assert!(
        discovered["capabilities"]["resources"]
            .get("subscribe")
            .is_none()
    );
    let name = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
    assert_eq!(*name, "everything-server", "{discovered}");

    for (method, list) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let listed = result(&mut agent, method, &json!({}));
        assert!(!listed[list].as_array().unwrap().is_empty(), "{listed}");
        assert_eq!(listed["ttlMs"], 0, "{listed}");
        assert_eq!(listed["cacheScope"], "private", "{listed}");
    }
    let uri = json!({"uri": "everything://text/static"});
    let read = result(&mut agent, "resources/read", &uri);
    assert!(read["contents"][0]["text"].is_string(), "{read}");
    let prompt = result(&mut agent, "prompts/get", &json!({"name": "simple"}));
    assert!(prompt["messages"].is_array(), "{prompt}");
    let complete = json!({
        "ref": {"type": "ref/prompt", "name": "greeting"},
        "argument": {"name": "name", "value": ""},
    });
    let completed = result(&mut agent, "completion/complete", &complete);
    assert!(completed["completion"]["values"].is_array(), "{completed}");
    let (_, missing) = agent.ask("resources/read", &json!({"uri": "everything://nothing"}));
    assert_eq!(missing["error"]["code"], -32_602, "{pair:?} {missing}");
    let (_, unasked) = agent.ask("tools/call", &json!({"name": "elicit", "arguments": {}}));
    assert!(
        unasked["result"]["resultType"] != "input_required",
        "{unasked}"
    );
    let failed = unasked["error"].is_object() || unasked["result"]["isError"] == true;
    assert!(failed, "{unasked}");
    for key in ["requestState", "inputResponses"] {
        let mut forged = called.clone();
        forged[key] = if key == "requestState" {
            "forged".into()
        } else {
            json!({})
        };
        let (_, refused) = agent.ask("tools/call", &forged);
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
    is_recorded(&agent);
}

/// What the server got is recorded in the session's revision, with that of its agent.
fn is_recorded(agent: &Agent) {
    let audit = agent.setup().audit_text();
    let records: Vec<Value> = audit.lines().map(read).collect();
    let calls: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "tool_call" && record["target"] == "echo")
        .collect();
    assert!(!calls.is_empty(), "{audit}");
    for call in calls {
        assert_eq!(call["bridged"], "2026-07-28", "{call}");
    }
    let initialized = records.iter().filter(|it| it["method"] == "initialize");
    assert_eq!(
        initialized.count(),
        2,
        "a decision and its outcome: {audit}"
    );
}

#[test]
fn an_agent_without_a_session_uses_a_server_that_needs_one() {
    for pair in PAIRS {
        carried(pair);
    }
}

/// Needs a session, and never says whether it agrees to one.
const SILENT: &str = r"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m['method'] == 'initialize': open(ASKED, 'w').close()
    elif 'id' in m: print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'error': {'code': -32601, 'message': 'Method not found'}}), flush=True)
";

#[test]
fn what_waits_for_the_session_is_answered_when_the_gate_ends() {
    let mut setup = Setup::of(["none"]).policies(ALLOW_ALL);
    let asked = setup.path("asked");
    setup.command = python(&SILENT.replace("ASKED", &format!("{asked:?}")));
    setup.trial = Some(false);
    setup.limits = r#"shutdown_grace_period = "300ms""#.to_owned();
    let mut peer = Peer::start(setup.gate());
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    peer.send(request.to_string());
    eventually(|| {
        asked
            .exists()
            .then_some(())
            .ok_or("no `initialize`".to_owned())
    });
    peer.close();
    let answer = read(peer.receive().expect("no answer"));
    assert_eq!(answer["id"], 1, "{answer}");
    assert_eq!(answer["error"]["code"], -32_603, "{answer}");
    assert_eq!(peer.receive(), None, "one answer");
    let audit = setup.audit_text();
    let records: Vec<Value> = audit.lines().map(read).collect();
    let mut records = records.iter().filter(|it| it["method"] == "tools/list");
    assert!(records.any(|it| it["decision"] != "ALLOW"), "{audit}");
}
