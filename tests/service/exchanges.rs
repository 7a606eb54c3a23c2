//! Tokens that the gate gets for a server in exchange for those of agents (RFC 8693): each agent has its own, and
//! the server never sees an agent's.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
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
use crate::support::setup::{ALLOW_ALL, GATE, Setup};

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

    /// The server has seen exchanged tokens alone, and no other server has seen those.
    #[track_caller]
    fn check_secrecy(&self, gate: &Serving, tokens: &[String]) {
        let state = self.state();
        for (authorization, method) in &state.shown {
            let token = authorization.strip_prefix("Bearer ");
            let is_exchanged = token.is_some_and(|it| it.starts_with("exchanged-"));
            // The gate does not look whether the server is there: it has no agent's token.
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

/// That the audit has such a record.
fn is_recorded(gate: &Serving, is_meant: impl Fn(&Value) -> bool) {
    eventually(|| {
        let audit = gate.setup().audit_text();
        let found = audit.lines().any(|line| is_meant(&json(line)));
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

#[test]
fn a_token_that_the_server_revoked_is_exchanged_anew_and_a_server_that_accepts_none_is_not_asked_without_end()
 {
    let server = Exchanging::start();
    let gate = Serving::start(server.setup(""));
    let alice = server.token("alice");
    let agent = with(&gate, &alice).in_session();
    is_known(&agent.echo(1, "before"), "alice");
    assert_eq!(server.exchanged_for("alice"), 1);
    server.state().accepted.clear();
    is_known(&agent.echo(2, "after"), "alice");
    assert_eq!(server.exchanged_for("alice"), 2);
    server.state().accepted.clear();
    for id in 3..6 {
        let answer = agent.echo(id, "never");
        assert!(answer.body.contains("\"error\""), "{answer:?}");
    }
    assert_eq!(server.exchanged_for("alice"), 2);
    // The resource is the server's own URL where nothing else is written.
    let form = server.state().forms[0].1.clone();
    assert_eq!(form["resource"], server.url);
    assert!(!form.contains_key("audience") && !form.contains_key("scope"));
    server.check_secrecy(&gate, &[alice]);
}

#[test]
fn an_exchange_that_fails_refuses_the_message_of_its_agent_alone_and_is_recorded() {
    let server = Exchanging::start();
    let gate = Serving::start(server.setup(", scopes = [\"mcp:tools\"]"));
    let bob = with(&gate, &server.token("bob")).in_session();
    is_known(&bob.echo(1, "mine"), "bob");
    let given = r#"{"access_token":"TOKEN","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer""#;
    let cases: [(&str, String, &str); 6] = [
        (
            "400 Bad Request",
            r#"{"error":"invalid_grant","error_description":"I was shown TOKEN"}"#.to_owned(),
            "(invalid_grant)",
        ),
        (
            "400 Bad Request",
            r#"{"error":"invalid_target"}"#.to_owned(),
            "(invalid_target)",
        ),
        (
            "200 OK",
            format!(r#"{given},"scope":"mcp:tools admin"}}"#),
            "a scope that the gate did not ask for",
        ),
        (
            "200 OK",
            format!("{given}}}").replace(":access_token\"", ":refresh_token\""),
            "has no `issued_token_type`",
        ),
        ("200 OK", given.to_owned(), "is no JSON"),
        ("503 Service Unavailable", String::new(), "the status 503"),
    ];
    let mut tokens = Vec::new();
    for (number, (status, body, why)) in cases.into_iter().enumerate() {
        server.state().instead = Some((status, body));
        let alice = server
            .key
            .token_in("alice", &format!("\"jti\":\"{number}\","));
        let answer = with(&gate, &alice).post(INITIALIZE);
        is_refused(&answer);
        assert!(!answer.body.contains(why), "{answer:?}");
        records(&gate, "token_exchange_failed", why);
        is_known(&bob.echo(2, "mine"), "bob");
        tokens.push(alice);
    }
    server.state().instead = None;
    let alice = server.token("alice");
    is_known(&with(&gate, &alice).in_session().echo(1, "mine"), "alice");
    tokens.push(alice);
    server.check_secrecy(&gate, &tokens);
    // What became of one agent says nothing of the server.
    let (base, _) = gate.url.rsplit_once('/').unwrap();
    let health = Agent::at(&format!("{base}/health")).request("GET", "");
    assert_eq!(health.status, 200, "{health:?}");
}

#[test]
fn a_slow_exchange_of_one_agent_holds_up_no_other() {
    let server = Exchanging::start();
    server.state().slow = Some("alice");
    let gate = Serving::start(server.setup(""));
    let alice = with(&gate, &server.token("alice"));
    let waiting = thread::spawn(move || alice.in_session().echo(1, "mine"));
    eventually(|| match server.exchanged_for("alice") {
        0 => Err("nothing was asked for alice".to_owned()),
        _ => Ok(()),
    });
    is_known(
        &with(&gate, &server.token("bob"))
            .in_session()
            .echo(1, "mine"),
        "bob",
    );
    server.state().slow = None;
    is_known(&waiting.join().unwrap(), "alice");
    assert_eq!(server.exchanged_for("alice"), 1);
}

#[test]
fn agents_without_sessions_have_tokens_of_their_own_too() {
    let server = Exchanging::start();
    let gate = Serving::start(server.setup(""));
    let call = |token: &str| {
        let agent = with(&gate, token)
            .with("MCP-Protocol-Version: 2026-07-28")
            .with("Mcp-Method: tools/call")
            .with("Mcp-Name: echo");
        agent.post(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"mine"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#)
    };
    // What fails for one token does not stay with its agent.
    let refused = server.key.token_in("alice", "\"jti\":\"refused\",");
    server.state().instead = Some(("400 Bad Request", r#"{"error":"invalid_grant"}"#.to_owned()));
    let answer = call(&refused);
    is_refused(&answer);
    is_recorded(&gate, |record| {
        record["kind"] == "tool_call"
            && record["method"] == "tools/call"
            && record["reason"]["code"] == "token_exchange_failed"
            && record["reason"]["text"]
                .as_str()
                .is_some_and(|it| it.contains("(invalid_grant)"))
    });
    {
        let mut state = server.state();
        state.instead = None;
        state.forms.clear();
    }
    let tokens = ["alice", "bob"].map(|subject| server.token(subject));
    for _ in 0..2 {
        is_known(&call(&tokens[0]), "alice");
        is_known(&call(&tokens[1]), "bob");
    }
    // Another token of the same agent is exchanged for itself.
    let other = server.key.token_in("alice", "\"jti\":\"other\",");
    is_known(&call(&other), "alice");
    assert_eq!(
        (server.exchanged_for("alice"), server.exchanged_for("bob")),
        (2, 1)
    );
    let all = [&tokens[..], &[other]].concat();
    server.check_secrecy(&gate, &all);
}

#[test]
fn several_servers_get_different_tokens_of_one_agent_each_alone_and_in_one_endpoint() {
    let (tickets, mail) = (Exchanging::start(), Exchanging::start());
    let mut setup = tickets.setup(", audience = \"tickets\"");
    setup.key = Some("tickets");
    setup.more = format!(
        "[flow]\nflow_in = 'off'\nflow_context = 'off'\n[unified]\nwait = '30s'\n\
         [servers.mail]\nurl = {:?}\n{}\n",
        mail.url,
        mail.auth(", audience = \"mail\"")
    );
    let gate = Serving::start(setup);
    let alice = tickets.token("alice");
    let (base, _) = gate.url.rsplit_once('/').unwrap();
    let at = |path: &str| {
        let agent = Agent::at(&format!("{base}{path}"));
        agent
            .with(format!("Authorization: Bearer {alice}"))
            .in_session()
    };
    is_known(&at("/tickets").echo(1, "mine"), "alice");
    is_known(&at("/mail").echo(1, "mine"), "alice");
    let all = at("");
    for tool in ["tickets__echo", "mail__echo"] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"mine"}}}}}}"#
        );
        is_known(&all.post(&call), "alice");
    }
    for (server, audience) in [(&tickets, "tickets"), (&mail, "mail")] {
        assert_eq!(server.exchanged_for("alice"), 1, "{audience}");
        assert_eq!(server.state().forms[0].1["audience"], audience);
        server.check_secrecy(&gate, std::slice::from_ref(&alice));
    }
}

#[test]
fn a_token_whose_chain_of_actors_is_malformed_or_too_long_lets_nobody_in() {
    let server = Exchanging::start();
    let gate = Serving::start(server.setup(""));
    let with_act = |act: &str| {
        let token = server.key.token_in("alice", &format!("\"act\":{act},"));
        with(&gate, &token)
    };
    let four = r#"{"sub":"a","act":{"sub":"b","act":{"sub":"c","act":{"sub":"d"}}}}"#;
    is_known(&with_act(four).in_session().echo(1, "mine"), "alice");
    let five = four.replace(r#"{"sub":"d"}"#, r#"{"sub":"d","act":{"sub":"e"}}"#);
    for act in [&*five, "[]", "{}", r#"{"sub":7}"#, "\"gate\""] {
        let answer = with_act(act).post(INITIALIZE);
        assert_eq!(answer.status, 401, "{act}: {answer:?}");
        assert!(answer.body.contains("`act`"), "{act}: {answer:?}");
    }
    records(&gate, "token_actors_invalid", "BLOCK");
    records(&gate, "\"actors\":[\"a\",\"b\",\"c\",\"d\"]", "tool_call");
    assert_eq!(server.exchanged_for("alice"), 1);
}

#[test]
fn no_command_asks_a_server_that_only_agents_have_a_token_for() {
    let server = Exchanging::start();
    let one = server.setup("");
    let mut several = server.setup("");
    several.key = Some("tickets");
    for (setup, words) in [
        (&one, &["tools", "lock"][..]),
        (&one, &["tools", "lock", "--force"]),
        (&several, &["servers", "check", "tickets"]),
    ] {
        let arguments = setup.arguments();
        let file = arguments.last().unwrap();
        let mut command = Command::new(GATE);
        let command = command.args(words).args(["--config", file]);
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{words:?} {output:?}");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains("only agents have a token"),
            "{words:?} {said}"
        );
    }
    assert!(server.state().shown.is_empty() && server.state().forms.is_empty());
}
