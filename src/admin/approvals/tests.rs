//! Who may answer, how, and what the page shows.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::super::{Gauges, Listener, Serving, Settings, Sources};
use super::*;
use crate::agent::http::Health;
use crate::clock::FixedClock;
use crate::consent::{self, Binding, Found, Holds, Judged, Outcome, Question, Request, Way};
use crate::identity::{Identity, StaticToken};
use crate::wire::KnownMethod;

const ANNA: &str = "annas-0123456789abcdef";

struct ApprovalRig {
    _serving: Serving,
    address: SocketAddr,
    desk: Arc<Desk>,
}

/// An answer as it came.
struct HttpReply(String);

fn rig() -> ApprovalRig {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock("2026-11-25T10:00:00Z".parse().unwrap()));
    let settings = consent::Settings {
        channels: vec![Way::Page],
        timeout: Duration::from_mins(10),
        ..consent::Settings::default()
    };
    let desk = Arc::new(Desk::new(settings, Arc::clone(&clock), [7; 32]));
    let approvers = StaticTokens::new(vec![StaticToken {
        token: ANNA.to_owned().into(),
        identity: Identity::named("anna"),
    }]);
    let approvals = Approvals::new(Arc::clone(&desk), approvers.unwrap(), clock);
    let listener = Listener::bind(Settings::at("127.0.0.1:0".parse().unwrap())).unwrap();
    let address = listener.address();
    let figures = || Gauges {
        health: Health::Ready,
        revision: "r".into(),
        memory: None,
        restart: 0,
        sessions: Vec::new(),
        kept: None,
        connections: None,
        audit: crate::audit::LogFigures::default(),
        traces: None,
        seconds: 0.0,
    };
    let serving = listener.start(Sources {
        key_set: None,
        health: Arc::new(|| Health::Ready),
        not_ready: Box::new(std::collections::BTreeMap::new),
        restart: Box::new(Vec::new),
        metrics: Arc::new(super::super::Metrics::of_servers(Vec::new())),
        figures: Box::new(figures),
        approvals: Some(approvals),
        api: None,
    });
    ApprovalRig {
        _serving: serving.unwrap(),
        address,
        desk,
    }
}

impl ApprovalRig {
    /// Something waits whose every text is hostile.
    fn ask(&self) -> TicketId {
        let evil = "</pre><script>alert(1)</script>\"'&";
        let request = Request {
            binding: Binding {
                principal: "agent".into(),
                rights: [0; 32],
                session: Some("s".into()),
                server: "files".into(),
                method: KnownMethod::ToolsCall,
                name: "write_file".into(),
                definition: None,
                arguments: [0; 32],
                round: None,
                revision: "r".into(),
            },
            question: Question {
                server: "files".to_owned(),
                method: "tools/call".to_owned(),
                name: format!("write_file{evil}"),
                arguments: format!("{{\n  \"path\": \"{evil}\"\n}}"),
                principal: "agent".to_owned(),
                client: evil.to_owned(),
                session: "s".to_owned(),
                advice: Some("A person has to agree.".to_owned()),
                holds: Holds::Once,
                policies: vec!["needs-a-yes".to_owned()],
                found: Found {
                    roots: vec!["workspace".to_owned()],
                    outside: true,
                    hosts: vec!["example.com".to_owned()],
                    secrets: vec!["github-token".to_owned()],
                    datasets: Vec::new(),
                    sources: vec!["crm".to_owned()],
                    untrusted_from: Vec::new(),
                    copied_from: vec!["crm".to_owned()],
                    destinations: vec!["eve@evil.example".to_owned()],
                    told_roots: Vec::new(),
                },
            },
            bell: Arc::new(Notify::new()),
            judged: Judged::ByThoseInForce,
        };
        self.desk.ask(request).unwrap()
    }

    async fn send(&self, line: &str, fields: &[&str], body: &str) -> HttpReply {
        let mut head = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        for field in fields {
            let _ = write!(head, "{field}\r\n");
        }
        if !body.is_empty() {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .await
            .unwrap();
        let mut answer = Vec::new();
        // A connection that is reset has said what it had to say.
        let _ = stream.read_to_end(&mut answer).await;
        HttpReply(String::from_utf8(answer).unwrap())
    }

    fn origin(&self) -> String {
        format!("Origin: http://{}", self.address)
    }

    /// The cookie of somebody who has shown a token, the key of their forms, and their place.
    async fn signed_in(&self) -> (String, String, String) {
        let answer = self
            .send(
                "POST /approvals/sign-in",
                &[&self.origin()],
                &format!("token={ANNA}"),
            )
            .await;
        assert_eq!(answer.status(), 303, "{}", answer.0);
        let set = answer.field("set-cookie").unwrap();
        assert!(
            set.contains("HttpOnly") && set.contains("SameSite=Strict"),
            "{set}"
        );
        let cookie = format!("Cookie: {}", set.split(';').next().unwrap());
        let place = answer.field("location").unwrap().to_owned();
        let page = self.send(&format!("GET {place}"), &[&cookie], "").await;
        let key = page.0.split("name=\"key\" value=\"").nth(1).unwrap();
        (cookie, key.split('"').next().unwrap().to_owned(), place)
    }
}

impl HttpReply {
    fn status(&self) -> u16 {
        self.0.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn field(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next().unwrap();
        let mut fields = head.lines().filter_map(|line| line.split_once(": "));
        fields.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
    }
}

#[tokio::test]
async fn nothing_is_shown_to_whoever_has_not_shown_a_token() {
    let rig = rig();
    let id = rig.ask();
    for (line, status) in [
        ("GET /approvals", 200),
        ("GET /approvals/at/x/seen", 401),
        ("GET /approvals/at/x", 303),
        ("GET /approvals/at/x/y", 404),
        ("GET /approvals/x", 404),
        ("GET /api/approvals", 401),
        ("GET /api/approvals/", 404),
        ("DELETE /approvals", 405),
        ("GET /approvals/sign-in", 405),
    ] {
        let answer = rig.send(line, &[], "").await;
        assert_eq!(answer.status(), status, "{line}: {}", answer.0);
        assert!(
            !answer.0.contains("write_file") && !answer.0.contains(id.as_str()),
            "{}",
            answer.0
        );
    }
    let wrong = "token=not-annas-0123456789";
    let answer = rig
        .send("POST /approvals/sign-in", &[&rig.origin()], wrong)
        .await;
    assert_eq!((answer.status(), answer.field("set-cookie")), (401, None));
}

#[tokio::test]
async fn what_waits_is_shown_whole_and_as_text() {
    let rig = rig();
    let id = rig.ask();
    let (cookie, _, place) = rig.signed_in().await;
    let page = rig.send(&format!("GET {place}"), &[&cookie], "").await;
    for shown in [
        "write_file&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;",
        "Arguments (untrusted data)",
        "A person has to agree.",
        "needs-a-yes",
        "workspace",
        "outside of every known directory",
        "example.com",
        "github-token",
        id.as_str(),
    ] {
        assert!(page.0.contains(shown), "{shown}: {}", page.0);
    }
    assert!(!page.0.contains("<script>alert"), "{}", page.0);
    let policy = page.field("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.field("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn an_answer_counts_once_and_says_whose_it_is() {
    let rig = rig();
    let (cookie, key, place) = rig.signed_in().await;
    for (word, told) in [("approve", "approved"), ("deny", "denied")] {
        let id = rig.ask();
        let line = format!("POST {place}/answer/{id}");
        let body = format!("key={key}&answer={word}");
        let fields = [cookie.as_str(), &rig.origin()];
        let answer = rig.send(&line, &fields, &body).await;
        let told = format!("{place}?done={told}");
        assert_eq!(
            (answer.status(), answer.field("location")),
            (303, Some(&*told))
        );
        let again = rig.send(&line, &fields, &body).await;
        let answered = format!("{place}?done=answered");
        assert_eq!(again.field("location"), Some(&*answered));
        let by = match rig.desk.take(&id).unwrap() {
            Outcome::Granted(receipt) => format!("approve {}", receipt.by()),
            Outcome::Denied(by) => format!("deny {by}"),
            Outcome::TimedOut | Outcome::Withdrawn(_) => panic!("there was an answer"),
        };
        assert_eq!(by, format!("{word} web:anna"));
    }
}

#[tokio::test]
async fn a_page_elsewhere_answers_nothing() {
    let rig = rig();
    let id = rig.ask();
    let (cookie, key, place) = rig.signed_in().await;
    let line = format!("POST {place}/answer/{id}");
    let here = rig.origin();
    let good = format!("key={key}&answer=approve");
    let other_scheme = here.replace("http://", "ftp://");
    for (fields, body, status) in [
        // A form that another page made a browser send.
        (
            vec![cookie.as_str(), "Origin: http://evil.example"],
            good.as_str(),
            403,
        ),
        (vec![cookie.as_str(), "Origin: null"], &good, 403),
        (vec![cookie.as_str(), &other_scheme], &good, 403),
        (vec![cookie.as_str(), &here, &here], &good, 403),
        // Not a browser.
        (vec![cookie.as_str()], &good, 403),
        // Without what only the page knows.
        (vec![cookie.as_str(), &here], "answer=approve", 303),
        (vec![cookie.as_str(), &here], "key=x&answer=approve", 303),
        (vec![cookie.as_str(), &here], &format!("{good}&key=x"), 303),
        (vec![&here], &good, 303),
        // What is no answer.
        (
            vec![cookie.as_str(), &here],
            &format!("key={key}&answer=yes"),
            400,
        ),
        (
            vec![cookie.as_str(), &here],
            &format!("key={key}&answer=deny&answer=approve"),
            400,
        ),
        (vec![cookie.as_str(), &here], &"x".repeat(64 * 1024), 400),
    ] {
        let answer = rig.send(&line, &fields, body).await;
        assert_eq!(
            answer.status(),
            status,
            "{fields:?} {body:.80}: {}",
            answer.0
        );
        if status == 303 {
            let stale = format!("{place}?done=stale");
            assert_eq!(answer.field("location"), Some(&*stale));
        }
    }
    assert_eq!(rig.desk.pending().len(), 1);
}

#[tokio::test]
async fn a_program_lists_and_answers_with_its_token() {
    let rig = rig();
    let id = rig.ask();
    let token = format!("Authorization: Bearer {ANNA}");
    let listed = rig.send("GET /api/approvals", &[&token], "").await;
    assert_eq!(listed.status(), 200);
    let body: serde_json::Value = listed.0.split("\r\n\r\n").nth(1).unwrap().parse().unwrap();
    let schema = include_str!("../../../docs/schema/approvals.schema.json");
    jsonschema::validate(&schema.parse().unwrap(), &body).unwrap();
    assert_eq!(body["pending"][0]["id"], id.as_str());
    assert_eq!(
        body["pending"][0]["question"]["found"]["hosts"][0],
        "example.com"
    );

    let line = format!("POST /api/approvals/{id}");
    let yes = r#"{"answer":"approve"}"#;
    for (fields, body, status) in [
        (
            vec![token.as_str(), "Origin: http://evil.example"],
            yes,
            403,
        ),
        (vec![], yes, 401),
        (
            vec![token.as_str()],
            r#"{"answer":"approve","answer":"deny"}"#,
            400,
        ),
        (vec![token.as_str()], r#"{"answer":"approve","x":1}"#, 400),
        (vec![token.as_str()], r#"["approve"]"#, 400),
        (vec![token.as_str()], "answer=approve", 400),
        (vec![token.as_str()], yes, 200),
        (vec![token.as_str()], yes, 409),
    ] {
        let answer = rig.send(&line, &fields, body).await;
        assert_eq!(answer.status(), status, "{fields:?} {body}: {}", answer.0);
    }
    for path in ["0000000000", "x", "../health"] {
        let line = format!("POST /api/approvals/{path}");
        assert_eq!(
            rig.send(&line, &[&token], yes).await.status(),
            404,
            "{path}"
        );
    }
    match rig.desk.take(&id).unwrap() {
        Outcome::Granted(receipt) => assert_eq!(receipt.by().to_string(), "cli:anna"),
        other @ (Outcome::Denied(_) | Outcome::TimedOut | Outcome::Withdrawn(_)) => {
            panic!("{other:?}")
        }
    }
}

#[tokio::test]
async fn after_some_wrong_tokens_no_token_is_looked_at_until_the_pause_is_over() {
    let rig = rig();
    let page = async |token: &str| {
        let body = format!("token={token}");
        rig.send("POST /approvals/sign-in", &[&rig.origin()], &body)
            .await
    };
    let program = async |token: &str| {
        let token = format!("Authorization: Bearer {token}");
        rig.send("GET /api/approvals", &[&token], "").await
    };
    let wrong = "not-annas-0123456789";
    // Some free tries, at either door; a request without a token is none.
    for _ in 0..9 {
        assert_eq!(rig.send("GET /api/approvals", &[], "").await.status(), 401);
    }
    assert_eq!(page(wrong).await.status(), 401);
    assert_eq!(program(wrong).await.status(), 401);
    // A right token ends the count.
    assert_eq!(program(ANNA).await.status(), 200);
    for _ in 0..4 {
        assert_eq!(program(wrong).await.status(), 401);
    }
    // The clock stands still, so the pause does not end here.
    let paused = program(ANNA).await;
    assert_eq!(paused.status(), 429);
    assert_eq!(paused.field("retry-after"), Some("1"));
    assert!(paused.0.contains("too many wrong tokens"), "{}", paused.0);
    let answer = page(ANNA).await;
    assert_eq!(answer.status(), 429, "{}", answer.0);
    assert!(answer.field("retry-after").is_some());
    assert!(answer.0.contains("Too many wrong tokens"), "{}", answer.0);
}

#[tokio::test]
async fn whoever_signs_out_has_to_show_the_token_again() {
    let rig = rig();
    let (cookie, key, place) = rig.signed_in().await;
    let fields = [cookie.as_str(), &rig.origin()];
    let answer = rig
        .send(
            &format!("POST {place}/sign-out"),
            &fields,
            &format!("key={key}"),
        )
        .await;
    assert!(answer.field("set-cookie").unwrap().contains("Max-Age=0"));
    let page = rig.send(&format!("GET {place}"), &[&cookie], "").await;
    assert_eq!(page.field("location"), Some("/approvals"), "{}", page.0);
}
