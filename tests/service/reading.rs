//! What sessions have read, by whatever names they have and through whatever connections, and after
//! the gate was started again.

use std::path::Path;

use crate::fixtures::fixture;
use crate::http::{Agent, Answer};
use crate::issuers::Key;
use crate::serving::Serving;
use crate::setup::{ALLOW_ALL, Setup};

/// `add` reads what is confidential, and `echo` connects.
const LABELS: &str = "[tools.add]\npermission = \"read\"\nsensitivity = \"confidential\"\n\
                      [tools.echo]\npermission = \"connect\"\n";

/// A gate that remembers in this file, with whatever else `[ratchet]` says.
fn remembering(file: &Path, ratchet: &str, listen: &str) -> Serving {
    let setup = Setup::of([fixture("everything-server")]);
    let mut setup = setup.policies(ALLOW_ALL).labels(LABELS).over_http();
    setup.more = format!("[ratchet]\nfile = {file:?}\n{ratchet}\n");
    setup.listen.push_str(listen);
    Serving::start(setup)
}

fn reads(agent: &Agent) {
    let answer = agent.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}}"#,
    );
    assert!(answer.body.contains("42"), "{answer:?}");
}

/// Connects without a session of the protocol.
fn connects_stateless(agent: Agent) -> Answer {
    let agent = agent
        .with("MCP-Protocol-Version: 2026-07-28")
        .with("Mcp-Method: tools/call")
        .with("Mcp-Name: echo");
    agent.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"out it goes"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"}}}}"#,
    )
}

/// Whether something may leave, by a new session and without one.
fn check(agent: &Agent, may_leave: bool) {
    let in_session = agent.clone().in_session().echo(2, "out it goes");
    for answer in [in_session, connects_stateless(agent.clone())] {
        let left = answer.body.contains("out it goes");
        let closed = answer.body.contains("session-sensitive");
        assert_eq!((left, closed), (may_leave, !may_leave), "{answer:?}");
    }
}

#[test]
fn what_a_named_session_has_read_closes_its_connections_and_outlives_the_gate() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ratchet.jsonl");
    let start = || remembering(&file, "session_header = \"X-Session-Id\"", "");
    let gate = start();
    let named =
        |gate: &Serving, name: &str| Agent::at(&gate.url).with(format!("X-Session-Id: {name}"));
    let one = named(&gate, "one");
    check(&one, true);
    reads(&one.clone().in_session());
    check(&one, false);
    check(&named(&gate, "other"), true);
    // Nobody says whose it is: it may be anybody's who has read anything.
    check(&Agent::at(&gate.url), false);
    drop(gate);
    let gate = start();
    check(&named(&gate, "one"), false);
    check(&named(&gate, "other"), true);
    check(&Agent::at(&gate.url), false);
}

#[test]
fn what_the_session_of_a_token_has_read_belongs_to_it_and_its_principal() {
    let directory = tempfile::tempdir().unwrap();
    let key = Key::new();
    let keys = directory.path().join("keys.json");
    std::fs::write(&keys, key.set()).unwrap();
    let file = directory.path().join("ratchet.jsonl");
    let auth = format!(
        "\nauth = {{ type = \"jwt\", issuer = \"https://issuer.example\", audience = \"gate\", \
         jwks_file = {keys:?} }}"
    );
    let start = || remembering(&file, "", &auth);
    let with = |gate: &Serving, subject: &str, claims: &str| {
        let token = key.token_in(subject, claims);
        Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"))
    };
    let (first, second) = (r#""session_id":"first","#, r#""session_id":"second","#);
    let gate = start();
    reads(&with(&gate, "ada", first).in_session());
    let everybody = |gate: &Serving| {
        check(&with(gate, "ada", first), false);
        check(&with(gate, "ada", second), true);
        check(&with(gate, "bob", first), true);
    };
    everybody(&gate);
    drop(gate);
    everybody(&start());
}
