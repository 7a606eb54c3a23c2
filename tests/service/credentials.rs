//! What the gate shows to a server over HTTP: tokens that are replaced while it runs, and tokens of an
//! authorization server.

use std::fs;
use std::thread;

use crate::service::guarded::{Guarded, SECRET, issued};
use crate::service::operators::{admin, with_admin};
use crate::support::http::{Agent, Answer};
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;

fn before(guarded: &Guarded, auth: &str) -> Setup {
    let mut setup = Setup::before(&guarded.url).policies(ALLOW_ALL).over_http();
    setup.reaching = format!("auth = {{ {auth} }}");
    setup
}

/// A gate that is the client `gate`, and more about it.
fn client(guarded: &Guarded, more: &str) -> Setup {
    let auth = format!(
        "type = \"client_credentials\", client_id = \"gate\", client_secret = \"{SECRET}\", {more}"
    );
    before(guarded, &auth)
}

/// At the token endpoint.
fn endpoint(guarded: &Guarded) -> String {
    format!("token_url = \"{}/token\"", guarded.issuer)
}

fn said(gate: &Serving) -> String {
    gate.said.lock().unwrap().clone()
}

/// That the log says something. It goes another way than answers do, and may be later.
fn says(gate: &Serving, words: &str) {
    eventually(|| {
        let said = said(gate);
        said.contains(words).then_some(()).ok_or(said)
    });
}

/// That a call was answered, and that what the server was shown was taken out.
#[track_caller]
fn answered(answer: &Answer, text: &str) {
    let expected = format!("{text}, and I was shown Bearer [redacted]");
    assert!(answer.body.contains(&expected), "{answer:?}");
}

/// That none of these is in the audit or on standard error.
#[track_caller]
fn told_nowhere(gate: &Serving, secrets: &[String]) {
    let audit = gate.setup().audit_text();
    assert!(
        audit.contains("tool_call") || audit.contains("startup"),
        "{audit}"
    );
    let said = said(gate);
    for secret in secrets {
        assert!(!audit.contains(secret), "{secret} is in the audit: {audit}");
        assert!(!said.contains(secret), "{secret} is in the log: {said}");
    }
}

#[test]
fn headers_for_a_server_are_told_to_nobody() {
    let guarded = Guarded::start();
    let key = "header-canary-0123".to_owned();
    guarded.state().accepted = Some(key.clone());
    let mut setup = Setup::before(&guarded.url).policies(ALLOW_ALL).over_http();
    setup.reaching = format!("headers = {{ authorization = \"Bearer {key}\" }}");
    let gate = Serving::start(setup);
    let agent = Agent::at(&gate.url).in_session();
    answered(&agent.echo(1, "mine"), "mine");
    let answer = agent.echo(2, &key);
    assert!(answer.body.contains("[redacted]"), "{answer:?}");
    told_nowhere(&gate, &[key]);
}

#[test]
fn a_token_that_is_rotated_in_its_file_is_shown_at_once_and_told_to_nobody() {
    let guarded = Guarded::start();
    let [first, second] = ["rotated-canary-one", "rotated-canary-two"].map(str::to_owned);
    guarded.state().accepted = Some(first.clone());
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("token");
    fs::write(&file, &first).unwrap();
    let auth = format!("type = \"bearer\", token_file = {file:?}");
    let gate = Serving::start(before(&guarded, &auth));
    let agent = Agent::at(&gate.url).in_session();
    answered(&agent.echo(1, "before"), "before");
    guarded.state().accepted = Some(second.clone());
    fs::write(&file, &second).unwrap();
    answered(&agent.echo(2, "after"), "after");
    // The old one is no less a secret.
    let answer = agent.echo(3, &format!("{first} and {second}"));
    assert!(
        answer.body.contains("[redacted] and [redacted]"),
        "{answer:?}"
    );
    // Without its file, only the previous token works.
    fs::remove_file(&file).unwrap();
    eventually(|| {
        answered(&agent.echo(4, "gone"), "gone");
        let said = said(&gate);
        let is_told = said.contains("the last token that it held goes on being used");
        is_told.then_some(()).ok_or(said)
    });
    told_nowhere(&gate, &[first, second]);
}

#[test]
fn short_tokens_work_with_a_warning_each() {
    let guarded = Guarded::start();
    guarded.state().accepted = Some("s3rv3r".to_owned());
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, token: &str| {
        let file = place.path().join(name);
        fs::write(&file, token).unwrap();
        format!("token_file = {file:?}")
    };
    let mut setup = before(
        &guarded,
        &format!("type = \"bearer\", {}", file("server", "s3rv3r")),
    );
    setup
        .listen
        .push_str("\nauth = { type = \"bearer\", tokens = { alice = \"s3cr3t\" } }");
    let gate = Serving::start(with_admin(setup, &file("metrics", "m3tr1c")));
    let agent = Agent::at(&gate.url).with("Authorization: Bearer s3cr3t");
    answered(&agent.in_session().echo(1, "short"), "short");
    let metrics = admin(&gate, "/metrics");
    assert_eq!(metrics.request("GET", "").status, 401);
    let metrics = admin(&gate, "/metrics").with("Authorization: Bearer m3tr1c");
    assert_eq!(metrics.request("GET", "").status, 200);
    says(
        &gate,
        "a token or secret that the gate shows to others has fewer than 8 bytes",
    );
    says(&gate, "admin.token_file has fewer than 8 bytes");
    says(
        &gate,
        "listen.auth.tokens.alice: is short: it can be guessed",
    );
    told_nowhere(&gate, &["s3rv3r", "s3cr3t", "m3tr1c"].map(str::to_owned));
}

#[test]
fn an_access_token_is_fetched_before_the_first_request_and_renewed_before_it_expires() {
    let guarded = Guarded::start();
    guarded.state().lifetime = Some(2);
    let more = format!(
        "{}, scopes = [\"a\", \"b\"], audience = \"x y\"",
        endpoint(&guarded)
    );
    let gate = Serving::start(client(&guarded, &more.replace("x y", "xy")));
    let agent = Agent::at(&gate.url).in_session();
    assert_eq!(guarded.asked(), 1);
    let form = guarded.state().asked[0].1.clone();
    let resource = guarded.url.replace(':', "%3A").replace('/', "%2F");
    assert_eq!(
        form,
        format!("grant_type=client_credentials&scope=a+b&resource={resource}&audience=xy")
    );
    eventually(|| {
        // The server accepts the latest alone, so that each call is answered with a good one.
        answered(&agent.echo(1, "still here"), "still here");
        match guarded.asked() {
            0..=2 => Err("no token was renewed twice".to_owned()),
            _ => Ok(()),
        }
    });
    let tokens: Vec<String> = (1..=guarded.asked()).map(issued).collect();
    told_nowhere(&gate, &[&tokens[..], &[SECRET.to_owned()]].concat());
}

#[test]
fn a_token_that_the_server_refuses_is_renewed_once_and_not_again() {
    let guarded = Guarded::start();
    let gate = Serving::start(client(&guarded, &endpoint(&guarded)).without_trial());
    let agent = Agent::at(&gate.url).in_session();
    answered(&agent.echo(1, "one"), "one");
    assert_eq!(guarded.asked(), 1);
    guarded.state().accepted = Some("revoked".to_owned());
    answered(&agent.echo(2, "two"), "two");
    assert_eq!(guarded.asked(), 2);
    // A server that accepts nothing does not have the gate ask for tokens without end.
    guarded.state().accepted = None;
    for id in 3..8 {
        let answer = agent.echo(id, "unnamed");
        assert!(answer.body.contains("\"error\""), "{answer:?}");
    }
    assert_eq!(guarded.asked(), 2);
}

#[test]
fn a_client_that_is_refused_is_not_shown_again_and_the_gate_says_why() {
    let guarded = Guarded::start();
    let mut setup = client(&guarded, &endpoint(&guarded));
    setup.reaching = setup.reaching.replace(SECRET, "another-canary-secret");
    let gate = Serving::start(setup);
    for _ in 0..5 {
        let answer = Agent::at(&gate.url).post(INITIALIZE);
        assert!(answer.body.contains("\"error\""), "{answer:?}");
        assert!(!answer.body.contains("canary"), "{answer:?}");
    }
    let (main, _) = gate.url.rsplit_once('/').unwrap();
    let health = Agent::at(&format!("{main}/health")).request("GET", "");
    assert_eq!(health.status, 503, "{health:?}");
    assert!(health.body.contains("upstream_down"), "{health:?}");
    assert_eq!(guarded.asked(), 1);
    says(
        &gate,
        "the authorization server refuses the gate as its client (invalid_client)",
    );
    told_nowhere(
        &gate,
        &["another-canary-secret".to_owned(), "I was shown".to_owned()],
    );
}

#[test]
fn agents_that_come_at_once_wait_for_one_token() {
    let guarded = Guarded::start();
    let gate = Serving::start(client(&guarded, &endpoint(&guarded)));
    let agents: Vec<_> = (0..8)
        .map(|number| {
            let agent = Agent::at(&gate.url);
            thread::spawn(move || {
                let text = format!("number {number}");
                answered(&agent.in_session().echo(1, &text), &text);
            })
        })
        .collect();
    for agent in agents {
        agent.join().unwrap();
    }
    assert_eq!(guarded.asked(), 1);
}

#[test]
fn an_authorization_server_is_found_by_metadata_and_not_inside_unless_that_is_allowed() {
    let guarded = Guarded::start();
    // Named by the operator.
    let issuer = format!("issuer = \"{}\"", guarded.issuer);
    for (more, expected) in [
        (issuer.as_str(), 1),
        ("allow_private = true", 2),
        ("scopes = []", 2),
    ] {
        let gate = Serving::start(client(&guarded, more));
        let agent = Agent::at(&gate.url);
        if more == "scopes = []" {
            let answer = agent.post(INITIALIZE);
            assert!(answer.body.contains("\"error\""), "{answer:?}");
            says(&gate, "an address that is not a public one");
        } else {
            answered(&agent.in_session().echo(1, "found"), "found");
        }
        assert_eq!(guarded.asked(), expected, "{more}");
    }
}
