//! Agents known by the tokens of an issuer whose keys the gate fetches.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::service::operators::{get, until_healthy, with_admin};
use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

pub(crate) struct Key(Ed25519KeyPair);

fn base64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

impl Key {
    pub(crate) fn new() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    pub(crate) fn set(&self) -> String {
        let x = base64(self.0.public_key());
        format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"k","x":"{x}"}}]}}"#)
    }

    fn token(&self, subject: &str) -> String {
        self.token_in(subject, "")
    }

    /// A token with more claims, each with a comma after it.
    pub(crate) fn token_in(&self, subject: &str, more: &str) -> String {
        self.token_for(r#""gate""#, subject, more)
    }

    /// The same for this audience, as JSON.
    pub(crate) fn token_for(&self, audience: &str, subject: &str, more: &str) -> String {
        let header = base64(r#"{"alg":"EdDSA","kid":"k"}"#);
        let claims = format!(
            r#"{{{more}"iss":"https://issuer.example","aud":{audience},"sub":"{subject}","exp":9999999999}}"#
        );
        let signed = format!("{header}.{}", base64(claims));
        let signature = base64(self.0.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

/// Answers every request with what there is at that time; its URL.
fn publish(text: Arc<Mutex<Option<String>>>) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/keys", socket.local_addr().unwrap());
    thread::spawn(move || {
        for stream in socket.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let text = text.lock().unwrap().clone();
            let answer = match text {
                Some(text) => format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{text}",
                    text.len()
                ),
                None => "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into(),
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

fn gate_before_everything(jwks_url: &str) -> Serving {
    let setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    let mut setup = with_admin(setup.over_http(), "");
    let auth = format!(
        "\nauth = {{ type = \"jwt\", issuer = \"https://issuer.example\", audience = \"gate\", \
         jwks_url = {jwks_url:?} }}"
    );
    setup.listen.push_str(&auth);
    Serving::start(setup)
}

#[test]
fn an_agent_is_known_by_a_token_whose_key_the_gate_fetches() {
    let (key, other) = (Key::new(), Key::new());
    let url = publish(Arc::new(Mutex::new(Some(key.set()))));
    let gate = gate_before_everything(&url);
    let with = |token: &str| Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"));
    let answer = with(&key.token("ada")).in_session().echo(1, "it is ada");
    assert!(answer.body.contains("it is ada"), "{answer:?}");
    assert_eq!(with(&other.token("ada")).echo(1, "x").status, 401);
    assert_eq!(Agent::at(&gate.url).echo(1, "x").status, 401);
}

#[test]
fn while_an_issuer_has_given_no_keys_nobody_is_known_and_the_gate_says_why() {
    let url = publish(Arc::default());
    let gate = gate_before_everything(&url);
    let agent = Agent::at(&gate.url);
    let agent = agent.with(format!("Authorization: Bearer {}", Key::new().token("ada")));
    let answer = agent.echo(1, "x");
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(!answer.body.contains("127.0.0.1"), "{answer:?}");
}

#[test]
fn without_an_issuers_keys_a_gate_is_not_ready_and_it_fetches_them_without_being_asked() {
    let keys = Arc::<Mutex<Option<String>>>::default();
    let gate = gate_before_everything(&publish(Arc::clone(&keys)));
    let health = || get(&gate, "/health");
    until_healthy(health, 503, "jwks_unavailable");
    let key = Key::new();
    *keys.lock().unwrap() = Some(key.set());
    until_healthy(health, 200, "ok");
    let with = Agent::at(&gate.url).with(format!("Authorization: Bearer {}", key.token("ada")));
    let answer = with.in_session().echo(1, "it is ada");
    assert!(answer.body.contains("it is ada"), "{answer:?}");
    // They are good for a while.
    *keys.lock().unwrap() = None;
    assert_eq!(health().status, 200);
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;

const TOOLS_OF_THE_TOKEN: &str = r#"
@id("tools") permit (principal is Mcp::Agent, action, resource is Mcp::Tool)
when {
  principal.claims.hasTag("tools") && principal.claims.getTag("tools") has strings &&
  principal.claims.getTag("tools").strings.contains(resource.name)
};
"#;

#[test]
fn a_token_is_for_the_tools_that_it_claims_and_one_with_a_claim_of_another_type_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let key = Key::new();
    let keys = directory.path().join("keys.json");
    std::fs::write(&keys, key.set()).unwrap();
    let setup = Setup::of([fixture("everything-server")]).policies(TOOLS_OF_THE_TOKEN);
    let mut setup = setup.over_http();
    let auth = format!(
        "\nauth = {{ type = \"jwt\", issuer = \"https://issuer.example\", audience = \"gate\", \
         jwks_file = {keys:?}, claims = {{ tools = {{ claim = \"/mcp/tools\", type = \"strings\" }} }} }}"
    );
    setup.listen.push_str(&auth);
    let gate = Serving::start(setup);
    let with = |claims: &str| {
        let token = key.token_in("ada", claims);
        Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"))
    };
    let echoes = |claims: &str| {
        let answer = with(claims).in_session().echo(1, "it is ada");
        answer.body.contains("it is ada")
    };
    assert!(echoes(r#""mcp":{"tools":["add","echo"]},"#));
    assert!(!echoes(r#""mcp":{"tools":["add"]},"#));
    assert!(!echoes(r#""tools":["echo"],"#));
    assert!(!echoes(""));
    let refused = with(r#""mcp":{"tools":"echo"},"#).echo(1, "x");
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(refused.body.contains("`tools`"), "{refused:?}");
    // A session is of the token that began it.
    let begun = with(r#""mcp":{"tools":["echo"]},"#).post(INITIALIZE);
    let session = begun.header("mcp-session-id").unwrap();
    let other = with(r#""mcp":{"tools":["add","echo"]},"#);
    let other = other.with(format!("Mcp-Session-Id: {session}"));
    assert_eq!(other.echo(2, "x").status, 404);
}
