//! What sessions have read, by whatever names they have and through whatever connections, and after
//! the gate was started again.

use std::path::Path;

use crate::service::issuers::Key;
use crate::support::fixtures::fixture;
use crate::support::http::{Agent, Answer};
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// `add` reads what is confidential, and `echo` connects.
const LABELS: &str = "[tools.add]\npermission = \"read\"\nsensitivity = \"confidential\"\n\
                      [tools.echo]\npermission = \"connect\"\n";

/// A gate that remembers in this file, with whatever else `[ratchet]` says.
fn remembering(file: &Path, ratchet: &str, listen: &str) -> Serving {
    Serving::start(remembered(file, ratchet, listen))
}

fn remembered(file: &Path, ratchet: &str, listen: &str) -> Setup {
    let setup = Setup::of([fixture("everything-server")]);
    let mut setup = setup.policies(ALLOW_ALL).labels(LABELS).over_http();
    setup.more = format!("[ratchet]\nfile = {file:?}\n{ratchet}\n");
    setup.listen.push_str(listen);
    setup
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
        let closed = answer.body.contains("session_too_sensitive");
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
    // It has no owner: it may belong to a principal that has read anything.
    check(&Agent::at(&gate.url), false);
    drop(gate);
    let gate = start();
    check(&named(&gate, "one"), false);
    check(&named(&gate, "other"), true);
    check(&Agent::at(&gate.url), false);
}

#[test]
fn what_a_named_session_has_read_by_name_outlives_the_gate() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ratchet.jsonl");
    let closing = format!(
        "{ALLOW_ALL}\n@id(\"customers-stay\") @advice(\"It has read customers.\")\n\
         forbid (principal, action == Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"echo\")\n\
         when {{ context.env.session.datasets.containsAny([\"customers\", \"?\"]) }};\n"
    );
    let labels = "[tools.add]\npermission = \"read\"\n\
                  [tools.add.datasets_by]\n\"/a\" = {}\n\
                  [tools.echo]\npermission = \"read\"\n";
    let start = |labels: &str| {
        let setup = Setup::of([fixture("everything-server")]);
        let mut setup = setup.policies(&closing).labels(labels).over_http();
        setup.more = format!("[ratchet]\nfile = {file:?}\n{NAMED}\n");
        Serving::start(setup)
    };
    let check = |gate: &Serving, name: &str, may_echo: bool| {
        let answer = named(gate, name).in_session().echo(2, "out it goes");
        let is_told = answer.body.contains("It has read customers.");
        assert_eq!(is_told, !may_echo, "{answer:?}");
        assert_eq!(answer.body.contains("out it goes"), may_echo, "{answer:?}");
    };
    let gate = start(labels);
    check(&gate, "one", true);
    reads(&named(&gate, "one").in_session());
    check(&gate, "one", false);
    check(&gate, "other", true);
    drop(gate);
    // Whatever labels say now, what was read stays.
    let gate = start("[tools.add]\npermission = \"read\"\n[tools.echo]\npermission = \"read\"\n");
    check(&gate, "one", false);
    check(&gate, "other", true);
    let journal = std::fs::read_to_string(&file).unwrap();
    assert!(journal.contains(r#""datasets":["?"]"#), "{journal}");
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

const NAMED: &str = "session_header = \"X-Session-Id\"";

fn named(gate: &Serving, name: &str) -> Agent {
    Agent::at(&gate.url).with(format!("X-Session-Id: {name}"))
}

#[test]
fn a_budget_is_what_is_left_of_it_in_whatever_session_and_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ratchet.jsonl");
    let start = || {
        let mut setup = remembered(&file, NAMED, "");
        setup.limits.push_str("calls_per_session = 4\n");
        Serving::start(setup)
    };
    let passes = |agent: &Agent| {
        let answer = agent.clone().in_session().echo(2, "it comes back");
        let spent = answer.body.contains("session_quota_exceeded");
        assert_ne!(answer.body.contains("it comes back"), spent, "{answer:?}");
        !spent
    };
    let gate = start();
    assert!((0..3).all(|_| passes(&named(&gate, "one"))));
    drop(gate);
    let gate = start();
    assert!(passes(&named(&gate, "one")));
    // Neither another session of the protocol nor one without is another budget.
    assert!(!passes(&named(&gate, "one")));
    let stateless = connects_stateless(named(&gate, "one"));
    assert!(
        stateless.body.contains("session_quota_exceeded"),
        "{stateless:?}"
    );
    assert!(passes(&named(&gate, "other")));
    drop(gate);
    assert!(!passes(&named(&start(), "one")));
}

#[test]
fn a_named_session_that_failed_for_good_does_not_begin_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ratchet.jsonl");
    let start = || {
        let mut setup = remembered(&file, NAMED, "");
        setup
            .guards
            .push_str("on_fatal_tool_error = \"close_session\"\n");
        Serving::start(setup)
    };
    let fails = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail","arguments":{"text":"[FATAL] it is gone"}}}"#;
    let gate = start();
    let told = named(&gate, "one").in_session().post(fails);
    assert!(told.body.contains("[FATAL] it is gone"), "{told:?}");
    let ended = |gate: &Serving| {
        let answer = connects_stateless(named(gate, "one"));
        assert!(answer.body.contains("session_ended"), "{answer:?}");
        let answer = connects_stateless(named(gate, "other"));
        assert!(answer.body.contains("out it goes"), "{answer:?}");
    };
    ended(&gate);
    drop(gate);
    ended(&start());
}

#[test]
fn a_yes_of_before_a_restart_is_good_for_nothing_after_it_spent_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ratchet.jsonl");
    let start = || {
        let mut setup = remembered(&file, NAMED, "");
        setup
            .more
            .push_str("[consent]\nchannels = [\"elicitation\"]\n");
        let policies = setup.path("policies").join("asks.cedar");
        let asks = "@id(\"asks\") @requires_consent forbid (principal, action == \
                    Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"echo\") \
                    unless { context.env.consent.granted };\n";
        std::fs::write(policies, asks).unwrap();
        Serving::start(setup)
    };
    let call = |gate: &Serving, more: &str| {
        let agent = named(gate, "one")
            .with("MCP-Protocol-Version: 2026-07-28")
            .with("Mcp-Method: tools/call")
            .with("Mcp-Name: echo");
        agent.post(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"out it goes"}},{more}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}},"io.modelcontextprotocol/clientInfo":{{"name":"tester","version":"1"}}}}}}}}"#
        )).body
    };
    let asked = |gate: &Serving| {
        let body = call(gate, "");
        let state = body
            .split("\"requestState\":\"")
            .nth(1)
            .unwrap_or_else(|| panic!("{body}"));
        let state = state.split('"').next().unwrap();
        format!(
            r#""inputResponses":{{"mcp-protector/consent":{{"action":"accept","content":{{"approve":true}}}}}},"requestState":"{state}","#
        )
    };
    let gate = start();
    let (spent, unspent) = (asked(&gate), asked(&gate));
    assert!(call(&gate, &spent).contains("out it goes"));
    let again = call(&gate, &spent);
    assert!(again.contains("consent_already_used"), "{again}");
    drop(gate);
    let gate = start();
    for yes in [&spent, &unspent] {
        let body = call(&gate, yes);
        assert!(
            body.contains("-32602") && !body.contains("\"result\""),
            "{body}"
        );
    }
    let yes = asked(&gate);
    assert!(
        call(&gate, &yes).contains("out it goes"),
        "the gate still asks"
    );
}
