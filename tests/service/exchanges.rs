//! Tokens that the gate gets for a server in exchange for those of agents (RFC 8693): each agent has its own, and
//! the server never sees an agent's.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::service::guarded::{Request, answer, read};
use crate::service::issuers::Key;
use crate::support::http::{Agent, Answer};
use crate::support::json::json;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;

type Form = BTreeMap<String, String>;

/// A server, and the authorization server that exchanges tokens for it.
struct Exchanging {
    url: String,
    token_url: String,
    key: Key,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Each request for a token: its `Authorization` and its form.
    forms: Vec<(String, Form)>,
    /// Each request to the server: its `Authorization` and the method of its message.
    shown: Vec<(String, String)>,
    /// Who has each token that the server accepts.
    accepted: BTreeMap<String, String>,
    /// What the authorization server answers instead.
    instead: Option<(&'static str, String)>,
    /// The subject that is answered when others were.
    slow: Option<&'static str>,
    /// `expires_in` of what is given.
    lifetime: Option<u64>,
}

impl Exchanging {
    fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let url = format!("{}/mcp", serve(Arc::clone(&state), protected));
        let token_url = format!("{}/token", serve(Arc::clone(&state), authority));
        Self {
            url,
            token_url,
            key: Key::new(),
            state,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// How often a token of this subject was exchanged.
    fn exchanged_for(&self, subject: &str) -> usize {
        let state = self.state();
        let forms = state.forms.iter();
        forms
            .filter(|(_, form)| subject_of(&form["subject_token"]) == subject)
            .count()
    }

    /// A gate before the server, which exchanges tokens with this besides.
    fn setup(&self, more: &str) -> Setup {
        let mut setup = Setup::before(&self.url).policies(ALLOW_ALL).over_http();
        setup.reaching = self.auth(more);
        self.identify(&mut setup);
        setup
    }

    fn auth(&self, more: &str) -> String {
        let token_url = &self.token_url;
        format!("auth = {{ type = \"token_exchange\", token_url = \"{token_url}\"{more} }}")
    }

    fn identify(&self, setup: &mut Setup) {
        let keys = setup.path("keys.json");
        fs::write(&keys, self.key.set()).unwrap();
        let auth = format!(
            "\nauth = {{ type = \"jwt\", issuer = \"https://issuer.example\", audience = \"gate\", \
             jwks_file = {keys:?} }}"
        );
        setup.listen.push_str(&auth);
    }

    fn token(&self, subject: &str) -> String {
        self.key.token_in(subject, "")
    }

    /// The server has seen nothing but tokens that were exchanged, and nobody else has seen those.
    #[track_caller]
    fn check_secrecy(&self, gate: &Serving, tokens: &[String]) {
        let state = self.state();
        for (authorization, method) in &state.shown {
            let token = authorization.strip_prefix("Bearer ");
            let is_exchanged = token.is_some_and(|it| it.starts_with("exchanged-"));
            // The gate looks for nobody whether the server is there.
            let is_a_look = authorization.is_empty() && method == "GET ";
            assert!(is_exchanged || is_a_look, "{authorization} {method}");
        }
        let said = gate.said.lock().unwrap().clone();
        let audit = gate.setup().audit_text();
        assert!(audit.contains("decision"), "{audit}");
        for token in tokens.iter().chain(state.accepted.keys()) {
            assert!(!said.contains(token), "{said}");
            assert!(!audit.contains(token), "{audit}");
        }
    }
}

/// An agent with this token.
fn with(gate: &Serving, token: &str) -> Agent {
    Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"))
}

#[track_caller]
fn is_known(answer: &Answer, subject: &str) {
    let expected = format!("I know {subject}");
    assert!(answer.body.contains(&expected), "{answer:?}");
    assert!(!answer.body.contains("exchanged-"), "{answer:?}");
}

#[track_caller]
fn is_refused(answer: &Answer) {
    assert!(answer.body.contains("token_exchange_failed"), "{answer:?}");
    assert!(!answer.body.contains("exchanged-"), "{answer:?}");
}

/// That a record of the audit has both words.
fn records(gate: &Serving, word: &str, other: &str) {
    eventually(|| {
        let audit = gate.setup().audit_text();
        let mut lines = audit.lines();
        let found = lines.any(|line| line.contains(word) && line.contains(other));
        found.then_some(()).ok_or(audit)
    });
}

fn serve(state: Arc<Mutex<State>>, answer: fn(&Mutex<State>, &Request) -> String) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", socket.local_addr().unwrap());
    thread::spawn(move || {
        for stream in socket.incoming() {
            let (mut stream, state) = (stream.unwrap(), Arc::clone(&state));
            thread::spawn(move || {
                if let Some(request) = read(&mut stream) {
                    let _ = stream.write_all(answer(&state, &request).as_bytes());
                }
            });
        }
    });
    origin
}

fn subject_of(token: &str) -> String {
    let claims = token.split('.').nth(1).unwrap();
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: Value = json(&String::from_utf8(claims).unwrap());
    claims["sub"].as_str().unwrap().to_owned()
}

/// Says in each result who it takes the caller for, and what it was shown, as a server with a leak does.
fn protected(state: &Mutex<State>, request: &Request) -> String {
    let message = (!request.body.is_empty()).then(|| json(&request.body));
    let method = message
        .as_ref()
        .and_then(|it| it["method"].as_str())
        .unwrap_or_default();
    let mut state = state.lock().unwrap();
    let shown = request.authorization.clone();
    let what = format!("{} {method}", request.method);
    state.shown.push((shown.clone(), what));
    let token = shown.strip_prefix("Bearer ").unwrap_or_default();
    let Some(subject) = state.accepted.get(token) else {
        return answer("401 Unauthorized", "", "");
    };
    let Some(message) = &message else {
        return answer("405 Method Not Allowed", "", "");
    };
    let Some(id) = message.get("id") else {
        return answer("202 Accepted", "", "");
    };
    let result = match method {
        "initialize" => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"exchanging","version":"1"}}"#.to_owned()
        }
        "tools/list" => {
            r#"{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}"#.to_owned()
        }
        "tools/call" => format!(
            r#"{{"content":[{{"type":"text","text":"I know {subject}, who showed {shown}"}}]}}"#
        ),
        _ => {
            let error = r#""error":{"code":-32601,"message":"unknown"}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{error}}}"#);
            return answer("200 OK", "", &body);
        }
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    answer("200 OK", "", &body)
}

/// Gives a token that names the subject, which the server accepts besides all others.
fn authority(state: &Mutex<State>, request: &Request) -> String {
    let form = url::form_urlencoded::parse(request.body.as_bytes()).into_owned();
    let form: Form = form.collect();
    let subject = subject_of(&form["subject_token"]);
    let (given, answered) = {
        let mut state = state.lock().unwrap();
        state.forms.push((request.authorization.clone(), form));
        let count = state.forms.len();
        let token = format!("exchanged-for-{subject}-{count:03}");
        let lifetime = state
            .lifetime
            .map_or_else(String::new, |it| format!(r#","expires_in":{it}"#));
        let body = format!(
            r#"{{"access_token":"{token}","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"{lifetime}}}"#
        );
        match &state.instead {
            Some((status, body)) => (None, answer(status, "", &body.replace("TOKEN", &token))),
            None => (Some((token, subject.clone())), answer("200 OK", "", &body)),
        }
    };
    // Until the test lets it go on.
    while state
        .lock()
        .unwrap()
        .slow
        .is_some_and(|slow| slow == subject)
    {
        thread::sleep(std::time::Duration::from_millis(10));
    }
    state.lock().unwrap().accepted.extend(given);
    answered
}

#[test]
fn each_agent_reaches_the_server_with_its_own_exchanged_token_and_never_with_its_own() {
    let server = Exchanging::start();
    let more = ", audience = \"tickets\", scopes = [\"mcp:tools\", \"mcp:read\"], client_id = \"gate\", \
                client_secret = \"client-s3cr3t-canary\", client_auth = \"post\"";
    let gate = Serving::start(server.setup(more));
    let tokens = ["alice", "bob"].map(|subject| server.token(subject));
    let agents: Vec<_> = tokens
        .iter()
        .map(|token| with(&gate, token).in_session())
        .collect();
    for round in 1..4 {
        is_known(&agents[0].echo(round, "mine"), "alice");
        is_known(&agents[1].echo(round, "mine"), "bob");
    }
    for (subject, token) in ["alice", "bob"].into_iter().zip(&tokens) {
        assert_eq!(server.exchanged_for(subject), 1);
        let state = server.state();
        let mut forms = state.forms.iter();
        let (authorization, form) = forms
            .find(|(_, form)| form["subject_token"] == *token)
            .unwrap();
        let expected = [
            ("audience", "tickets"),
            ("client_id", "gate"),
            ("client_secret", "client-s3cr3t-canary"),
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ),
            (
                "requested_token_type",
                "urn:ietf:params:oauth:token-type:access_token",
            ),
            ("scope", "mcp:tools mcp:read"),
            ("subject_token", token),
            (
                "subject_token_type",
                "urn:ietf:params:oauth:token-type:access_token",
            ),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(*form, Form::from(expected));
        assert_eq!(authorization, "");
    }
    let secret = "client-s3cr3t-canary".to_owned();
    server.check_secrecy(&gate, &[&tokens[..], &[secret]].concat());
}
