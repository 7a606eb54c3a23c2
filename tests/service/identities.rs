//! Servers that know the user of each message: by assertions that they check with the key which the
//! gate publishes, or by the agent's own token.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::Value;

use crate::service::guarded::{Request, answer, read};
use crate::service::issuers::Key;
use crate::service::operators::{admin, free_port, with_admin};
use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::json::json;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

const TOKEN: &str = "alice-0123456789-0123456789";

const AUTH: &str =
    "\nauth = { type = \"bearer\", tokens = { alice = \"alice-0123456789-0123456789\" } }";

fn decoded(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}

/// The claims of an assertion, if the key of this JWK Set has signed it.
fn claims(assertion: &str, key_set: &str) -> Option<Value> {
    let keys = json(key_set);
    let x = decoded(keys["keys"][0]["x"].as_str()?)?;
    let (signed, signature) = assertion.rsplit_once('.')?;
    let key = UnparsedPublicKey::new(&ED25519, x);
    key.verify(signed.as_bytes(), &decoded(signature)?).ok()?;
    let (header, claims) = signed.split_once('.')?;
    let header = json(&String::from_utf8(decoded(header)?).unwrap());
    assert_eq!(header["kid"], keys["keys"][0]["kid"]);
    Some(json(&String::from_utf8(decoded(claims)?).unwrap()))
}

#[test]
fn a_process_checks_who_calls_by_the_key_of_the_admin_listener() {
    let setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    let log = setup.path("server.log");
    let setup = setup.env("FIXTURE_LOG", log.to_str().unwrap());
    let mut setup = setup.over_http().without_trial();
    setup.reaching = "name = \"tickets\"\nidentity = \"meta\"".to_owned();
    setup.listen.push_str(AUTH);
    let gate = Serving::start(with_admin(setup, ""));
    let agent = Agent::at(&gate.url)
        .with(format!("Authorization: Bearer {TOKEN}"))
        .in_session();
    let forged = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{"mcp-protector/identity":"forged.forged.forged"}}}"#;
    let answer = agent.post(forged);
    assert!(answer.body.contains("hello"), "{answer:?}");
    let keys = admin(&gate, "/identity/jwks.json").request("GET", "");
    assert_eq!(keys.status, 200, "{keys:?}");
    let lines = fs::read_to_string(&log).unwrap();
    assert!(!lines.contains("forged"), "{lines}");
    let mut methods = Vec::new();
    for line in lines.lines().map(json) {
        let assertion = &line["params"]["_meta"]["mcp-protector/identity"];
        let claims = claims(assertion.as_str().unwrap(), &keys.body);
        let claims = claims.unwrap_or_else(|| panic!("{line}"));
        assert_eq!(
            (&claims["sub"], &claims["aud"]),
            (&"alice".into(), &"tickets".into())
        );
        let session = claims["sid"].as_str().unwrap();
        assert!(gate.setup().audit_text().contains(session), "{claims}");
        methods.push(line["method"].as_str().unwrap().to_owned());
    }
    let called = methods.iter().filter(|method| *method == "tools/call");
    assert_eq!(called.count(), 1, "{methods:?}");
    assert!(
        methods.iter().any(|method| method == "initialize"),
        "{methods:?}"
    );
    // A name that only looks like it is none of the protocol's, and none that passes.
    let other = forged.replace("mcp-protector/identity", "MCP-Protector/Identity");
    assert!(agent.post(&other).body.contains("error"));
    assert!(!fs::read_to_string(&log).unwrap().contains("forged"));
}

/// A server over HTTP that checks each request.
struct Checking {
    url: String,
    /// The HTTP method of each request that it accepted, and the method of its message.
    accepted: Arc<Mutex<Vec<String>>>,
    /// Each request that it rejected.
    rejected: Arc<Mutex<Vec<String>>>,
}

impl Checking {
    fn start(check: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", socket.local_addr().unwrap());
        let accepted = Arc::<Mutex<Vec<String>>>::default();
        let rejected = Arc::<Mutex<Vec<String>>>::default();
        let told = (Arc::clone(&accepted), Arc::clone(&rejected));
        let check = Arc::new(check);
        thread::spawn(move || {
            for stream in socket.incoming() {
                let mut stream = stream.unwrap();
                let (accepted, rejected) = told.clone();
                let check = Arc::clone(&check);
                thread::spawn(move || {
                    let Some(request) = read(&mut stream) else {
                        return;
                    };
                    let what = format!("{} {}", request.method, method_of(&request.body));
                    let text = if check(&request) {
                        accepted.lock().unwrap().push(what);
                        answered(&request)
                    } else {
                        rejected.lock().unwrap().push(what);
                        answer("401 Unauthorized", "", "")
                    };
                    let _ = stream.write_all(text.as_bytes());
                });
            }
        });
        Self {
            url,
            accepted,
            rejected,
        }
    }

    fn has_accepted(&self, what: &str) -> bool {
        self.accepted.lock().unwrap().iter().any(|it| it == what)
    }

    /// But for the GET by which the gate looks whether it is there, for nobody.
    #[track_caller]
    fn has_rejected_nothing(&self) {
        let rejected = self.rejected.lock().unwrap();
        assert!(rejected.iter().all(|what| what == "GET "), "{rejected:?}");
    }
}

fn method_of(body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    json(body)["method"].as_str().unwrap_or_default().to_owned()
}

fn answered(request: &Request) -> String {
    if request.method != "POST" {
        return answer("405 Method Not Allowed", "", "");
    }
    let message = json(&request.body);
    let Some(id) = message.get("id") else {
        return answer("202 Accepted", "", "");
    };
    let (headers, result) = match message["method"].as_str().unwrap() {
        "initialize" => (
            "Mcp-Session-Id: s\r\n",
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"checking","version":"1"}}"#,
        ),
        "tools/list" => (
            "",
            r#"{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}"#,
        ),
        "tools/call" => ("", r#"{"content":[{"type":"text","text":"I know you"}]}"#),
        _ => {
            let error = r#""error":{"code":-32601,"message":"unknown"}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{error}}}"#);
            return answer("200 OK", "", &body);
        }
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    answer("200 OK", headers, &body)
}

#[test]
fn a_server_over_http_checks_who_calls_in_every_request() {
    let port = free_port();
    let server = Checking::start(move |request| {
        let keys = Agent::at(&format!("http://127.0.0.1:{port}/identity/jwks.json"));
        let claims = claims(&request.identity, &keys.request("GET", "").body);
        claims.is_some_and(|claims| claims["sub"] == "alice" && claims["aud"] == "the-server")
    });
    let mut setup = Setup::before(&server.url).policies(ALLOW_ALL).over_http();
    setup.reaching = "identity = \"header\"\nidentity_audience = \"the-server\"".to_owned();
    setup.limits = format!("[admin]\nport = {port}\n");
    setup.listen.push_str(AUTH);
    let gate = Serving::start(setup.without_trial());
    let agent = Agent::at(&gate.url)
        .with(format!("Authorization: Bearer {TOKEN}"))
        .with("Mcp-Protector-Identity: forged.forged.forged")
        .in_session();
    let answer = agent.echo(1, "hello");
    assert!(answer.body.contains("I know you"), "{answer:?}");
    assert_eq!(agent.request("DELETE", "").status, 204);
    eventually(|| {
        let lacking = [
            "POST initialize",
            "POST notifications/initialized",
            "POST tools/list",
        ]
        .into_iter()
        .chain(["POST tools/call", "GET ", "DELETE "])
        .find(|what| !server.has_accepted(what));
        lacking.map_or(Ok(()), |what| Err(what.to_owned()))
    });
    server.has_rejected_nothing();
}

#[test]
fn a_server_gets_the_agents_token_if_it_was_issued_for_it() {
    let (key, directory) = (Key::new(), tempfile::tempdir().unwrap());
    let keys = directory.path().join("keys.json");
    fs::write(&keys, key.set()).unwrap();
    let for_both = key.token_for(r#"["gate","the-server"]"#, "alice", "");
    let for_gate = key.token_for(r#"["gate"]"#, "alice", "");
    let for_server = key.token_for(r#"["the-server"]"#, "alice", "");
    let expected = format!("Bearer {for_both}");
    let server = Checking::start(move |request| request.authorization == expected);
    let mut setup = Setup::before(&server.url).policies(ALLOW_ALL).over_http();
    setup.reaching = "identity = \"forward\"\nidentity_audience = \"the-server\"".to_owned();
    let auth = format!(
        "\nauth = {{ type = \"jwt\", issuer = \"https://issuer.example\", audience = \"gate\", \
         jwks_file = {keys:?} }}"
    );
    setup.listen.push_str(&auth);
    let gate = Serving::start(setup.without_trial());
    let with = |token: &str| Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"));
    let agent = with(&for_both).in_session();
    let answer = agent.echo(1, "hello");
    assert!(answer.body.contains("I know you"), "{answer:?}");
    let count = server.accepted.lock().unwrap().len();
    // The same agent, in the same session, with a token that is not for the server.
    let begun = with(&for_both).post(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#,
    );
    let session = format!(
        "Mcp-Session-Id: {}",
        begun.header("mcp-session-id").unwrap()
    );
    let answer = with(&for_gate).with(session).echo(2, "hello");
    assert!(answer.body.contains("token_not_for_server"), "{answer:?}");
    assert_eq!(with(&for_server).echo(3, "hello").status, 401);
    assert_eq!(server.accepted.lock().unwrap().len(), count + 1);
    server.has_rejected_nothing();
    let audit = eventually(|| {
        let audit = gate.setup().audit_text();
        let is_there = audit.contains("token_not_for_server");
        if is_there { Ok(audit) } else { Err(audit) }
    });
    let said = gate.said.lock().unwrap().clone();
    for token in [for_both, for_gate, for_server] {
        assert!(!audit.contains(&token) && !said.contains(&token));
    }
}
