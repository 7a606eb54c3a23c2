//! Who and what is let in.

use super::agent::{Agent, Request};
use super::rig::{INITIALIZE, RESULT, Rig, patient, reply, token};
use crate::agent::http::{Endpoint, EndpointPaths, Endpoints, Health, Settings};

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// Sends one request on a connection of its own, which must be refused.
async fn refused(rig: &mut Rig, what: &str, request: &Request, status: u16, code: &str) {
    let before = rig.refused().len();
    let answer = rig.agent().await.ask(request).await;
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    assert_eq!(rig.refused()[before..], [code], "{what}");
    assert!(rig.arrivals.try_recv().is_err(), "{what}: something began");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
}

#[tokio::test]
async fn the_address_that_is_listened_at_is_ours_and_the_word_for_all_of_them_is_none() {
    for (listen, host, expected) in [
        ("127.0.0.5:0", "127.0.0.5", 200),
        ("127.0.0.5:0", "127.0.0.6", 403),
        ("[::1]:0", "[::1]", 200),
        ("0.0.0.0:0", "0.0.0.0", 403),
    ] {
        let rig = Rig::with(Settings {
            listen: listen.parse().unwrap(),
            ..patient()
        })
        .await;
        let request = Request::new("GET").path("/health");
        let request = request.instead("Host", Some(host));
        let answer = rig.agent().await.ask(&request).await;
        assert_eq!(answer.status, expected, "{listen} {host}");
    }
}

#[tokio::test]
async fn only_hosts_and_origins_that_are_ours_are_let_in_on_every_route() {
    let mut rig = Rig::with(Settings {
        allowed_hosts: vec!["gate.example".to_owned(), "other.example:8443".to_owned()],
        allowed_origins: vec!["https://App.example".to_owned()],
        ..patient()
    })
    .await;
    let ours = format!("http://localhost:{}", rig.address.port());
    let good = [
        ("localhost", None),
        ("LOCALHOST:1", None),
        ("127.0.0.1:99", None),
        ("[::1]:99", None),
        ("gate.example", None),
        ("Gate.Example:7", None),
        ("other.example:8443", None),
        ("localhost", Some(&*ours)),
        ("localhost", Some("https://app.example")),
    ];
    let bad_hosts = [
        ("evil.example", 403, "host"),
        ("localhost.evil.example", 403, "host"),
        ("localhost.", 403, "host"),
        ("other.example", 403, "host"),
        ("other.example:1", 403, "host"),
        ("127.0.0.1.evil.example", 403, "host"),
        ("127.1", 403, "host"),
        ("[::ffff:127.0.0.1]", 403, "host"),
        ("", 400, "host_missing"),
        ("user@localhost", 400, "host_missing"),
        ("local host", 400, "host_missing"),
        ("localhost/", 400, "host_missing"),
        ("localhost:x", 400, "host_missing"),
        ("localhost:-1", 400, "host_missing"),
        ("localhost:99999", 400, "host_missing"),
    ];
    let bad_origins = [
        "http://evil.example",
        "null",
        "",
        "http://localhost",
        "http://localhost:1",
        "https://app.example:444",
        "http://app.example",
        "https://app.example/",
        "https://app.example.evil.example",
    ];
    let routes = [
        ("GET", "/health"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("OPTIONS", "/mcp"),
        ("GET", "/nothing"),
    ];
    for (host, origin) in good {
        let mut request = Request::new("GET")
            .path("/health")
            .instead("Host", Some(host));
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        let answer = rig.agent().await.ask(&request).await;
        assert_eq!(answer.status, 200, "{host} {origin:?}");
    }
    for (method, path) in routes {
        let request = match method {
            "POST" => Request::post(INITIALIZE),
            _ => Request::new(method).path(path),
        };
        for (host, status, code) in bad_hosts {
            let request = request.clone().instead("Host", Some(host));
            let what = format!("{method} {path} to {host:?}");
            refused(&mut rig, &what, &request, status, code).await;
        }
        for origin in bad_origins {
            let request = request.clone().header("Origin", origin);
            let what = format!("{method} {path} from {origin:?}");
            refused(&mut rig, &what, &request, 403, "origin").await;
        }
        let none = request.clone().instead("Host", None);
        refused(&mut rig, "no host", &none, 400, "host_missing").await;
        let two = request.header("host", "localhost");
        refused(&mut rig, "two hosts", &two, 400, "header_repeated").await;
    }
}

#[tokio::test]
async fn a_host_in_the_request_line_must_be_the_one_in_the_header() {
    let mut rig = Rig::new().await;
    let health = |path: &str| Request::new("GET").path(path);
    let answer = rig
        .agent()
        .await
        .ask(&health("http://localhost/health"))
        .await;
    assert_eq!(answer.status, 200);
    for path in ["http://evil.example/health", "http://localhost:1/health"] {
        refused(&mut rig, path, &health(path), 400, "host_missing").await;
    }
}

#[tokio::test]
async fn what_is_no_proper_request_is_refused_before_anything_begins() {
    let mut rig = Rig::new().await;
    let post = || Request::post(INITIALIZE);
    let long = "a".repeat(5 * 1024 * 1024);
    let cases = [
        ("another path", post().path("/mcp//"), 404, "path"),
        ("no path", post().path("/"), 404, "path"),
        (
            "a put",
            Request::new("PUT").body(INITIALIZE),
            405,
            "http_method",
        ),
        ("options", Request::new("OPTIONS"), 405, "http_method"),
        ("no accept", post().instead("Accept", None), 406, "accept"),
        (
            "json alone",
            post().instead("Accept", Some("application/json")),
            406,
            "accept",
        ),
        (
            "a stream alone",
            post().instead("Accept", Some("text/event-stream")),
            406,
            "accept",
        ),
        (
            "no type",
            post().instead("Content-Type", None),
            415,
            "content_type",
        ),
        (
            "another type",
            post().instead("Content-Type", Some("text/plain")),
            415,
            "content_type",
        ),
        (
            "two types",
            post().header("content-type", "application/json"),
            400,
            "header_repeated",
        ),
        (
            "a type like json",
            post().instead("Content-Type", Some("application/jsonp")),
            415,
            "content_type",
        ),
        (
            "a packed body",
            post().header("Content-Encoding", "gzip"),
            415,
            "content_encoding",
        ),
        ("a long body", Request::post(&long), 413, "too_large"),
        ("no session", Request::post(PING), 400, "session_missing"),
        (
            "a session that never was",
            Request::post(PING).session("0123456789abcdef0123456789abcdef"),
            404,
            "session_unknown",
        ),
        (
            "two sessions",
            Request::post(PING).session("a").session("b"),
            400,
            "header_repeated",
        ),
        ("no json", Request::post("{"), 400, "syntax"),
        ("nothing", Request::post(""), 400, "syntax"),
        (
            "a batch",
            Request::post(&format!("[{PING},{PING}]")),
            400,
            "batch",
        ),
        (
            "a key twice",
            Request::post(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#),
            400,
            "duplicate_key",
        ),
        (
            "a get without a session",
            Request::get(),
            400,
            "session_missing",
        ),
        (
            "a delete without a session",
            Request::new("DELETE"),
            400,
            "session_missing",
        ),
    ];
    for (what, request, status, code) in cases {
        refused(&mut rig, what, &request, status, code).await;
    }
}

#[tokio::test]
async fn a_batch_is_refused_with_an_error_that_says_so() {
    let rig = Rig::new().await;
    let batch = Request::post(&format!("[{PING}]"));
    let answer = rig.agent().await.ask(&batch).await;
    assert_eq!(answer.at("/error/code"), -32600);
    assert_eq!(answer.at("/id"), serde_json::Value::Null);
    let message = answer.at("/error/message");
    assert!(message.as_str().unwrap().contains("batches"), "{message}");
}

#[tokio::test]
async fn a_slash_at_the_end_makes_no_other_path() {
    for (path, asked) in [
        ("/mcp", "/mcp/"),
        ("/mcp/", "/mcp"),
        ("/", "/"),
        ("/mcp", "/mcp/?a"),
    ] {
        let mut rig = Rig::with(Settings {
            endpoints: Endpoints::new(EndpointPaths {
                open: vec![(path.to_owned(), Endpoint(0))],
                disabled: Vec::new(),
            }),
            ..patient()
        })
        .await;
        let mut agent = rig.agent().await;
        agent.send(&Request::post(INITIALIZE).path(asked)).await;
        rig.arrival().await.answer("{}").await;
        assert_eq!(agent.answer().await.status, 200, "{path} {asked}");
    }
}

#[tokio::test]
async fn the_old_version_is_answered_with_json_that_ends_its_connection() {
    let mut rig = Rig::with(Settings {
        stream_after: std::time::Duration::from_millis(1),
        ..patient()
    })
    .await;
    // As a proxy asks that speaks it to what is behind it; one that would go on is closed as well.
    for kept in ["Connection: close\r\n", "Connection: keep-alive\r\n", ""] {
        let text = Request::post(INITIALIZE).text();
        let text = text.replacen("HTTP/1.1\r\n", &format!("HTTP/1.0\r\n{kept}"), 1);
        let mut agent = rig.agent().await;
        agent.write(text.as_bytes()).await;
        let mut gate = rig.arrival().await;
        let (stream, _) = gate.frame().await;
        // Longer than others would wait for.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        gate.reply(stream, RESULT, &reply("0", "{}")).await;
        let head = agent.head().await.to_ascii_lowercase();
        assert!(head.starts_with("http/1.0 200"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(!head.contains("transfer-encoding"), "{head}");
        assert!(agent.closed().await > 0);
    }
    let refused = "GET /nothing HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n";
    let mut agent = rig.agent().await;
    agent.write(refused.as_bytes()).await;
    let head = agent.head().await;
    assert!(head.starts_with("HTTP/1.0 404"), "{head}");
    agent.closed().await;
}

#[tokio::test]
async fn accepting_everything_is_accepting_both() {
    let mut rig = Rig::new().await;
    for accept in [
        "*/*",
        "application/*, text/*",
        "text/event-stream;q=0.5,APPLICATION/JSON",
    ] {
        let mut agent = rig.agent().await;
        let request = Request::post(INITIALIZE).instead("Accept", Some(accept));
        agent.send(&request).await;
        rig.arrival().await.answer("{}").await;
        assert_eq!(agent.answer().await.status, 200, "{accept}");
    }
}

/// Sends bytes as they are, and says what came back until the connection was closed.
async fn raw(rig: &Rig, bytes: &str) -> u16 {
    let mut agent = rig.agent().await;
    agent.write(bytes.as_bytes()).await;
    let status = agent.answer().await.status;
    agent.closed().await;
    status
}

#[tokio::test]
async fn heads_are_limited() {
    let rig = Rig::with(Settings {
        max_headers: 10,
        max_header_bytes: 9000,
        ..patient()
    })
    .await;
    let health = Request::new("GET").path("/health");
    let many = (0..10).fold(health.clone(), |it, n| it.header(&format!("X-{n}"), "a"));
    let long = health.clone().header("X-Long", &"a".repeat(9000));
    for request in [many, long] {
        assert_eq!(raw(&rig, &request.text()).await, 431);
    }
    assert_eq!(rig.agent().await.ask(&health).await.status, 200);
}

#[tokio::test]
async fn a_head_or_a_body_that_does_not_end_costs_its_connection_only() {
    let mut rig = Rig::with(Settings {
        header_deadline: std::time::Duration::from_millis(50),
        body_deadline: std::time::Duration::from_millis(50),
        ..patient()
    })
    .await;
    let mut slow: Vec<Agent> = Vec::new();
    for _ in 0..50 {
        let mut agent = rig.agent().await;
        agent.write(b"POST /mcp HTTP/1.1\r\nHost: loc").await;
        slow.push(agent);
    }
    for agent in &mut slow {
        agent.closed().await;
    }
    let mut agent = rig.agent().await;
    let text = Request::post(INITIALIZE).text();
    agent.write(&text.as_bytes()[..text.len() - 1]).await;
    assert_eq!(agent.answer().await.status, 408);
    agent.closed().await;
    assert_eq!(rig.refused(), ["body_timeout"]);
    rig.session().await;
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_before_it_is_read() {
    let rig = Rig::with(Settings {
        body_deadline: std::time::Duration::from_millis(50),
        ..patient()
    })
    .await;
    let mut agent = rig.agent().await;
    // Not a byte of the body is ever sent: the answer does not wait for one.
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: */*\r\nContent-Length: 99999999999\r\n\r\n";
    agent.write(head.as_bytes()).await;
    assert_eq!(agent.answer().await.status, 413);
    agent.closed().await;
}

#[tokio::test]
async fn one_agent_has_so_many_sessions_and_leaves_places_for_others() {
    let mut rig = Rig::of_two_with(Settings {
        max_sessions: 3,
        max_sessions_per_agent: 1,
        ..patient()
    })
    .await;
    let (id, gate) = rig.session_of(Some("alpha")).await;
    let request = Request::post(INITIALIZE).token_of("alpha");
    let code = "too_many_sessions_of_agent";
    refused(&mut rig, "a second", &request, 503, code).await;
    rig.session_of(Some("beta")).await;
    let delete = Request::new("DELETE").session(&id).token_of("alpha");
    assert_eq!(rig.agent().await.ask(&delete).await.status, 204);
    drop(gate);
    rig.session_of(Some("alpha")).await;
}

#[tokio::test]
async fn sessions_are_limited_and_a_place_is_free_again_when_one_ends() {
    let mut rig = Rig::with(Settings {
        max_sessions: 2,
        ..patient()
    })
    .await;
    let (id, gate) = rig.session().await;
    let (_, _other) = rig.session().await;
    let request = Request::post(INITIALIZE);
    refused(&mut rig, "a third", &request, 503, "too_many_sessions").await;
    let delete = Request::new("DELETE").session(&id);
    assert_eq!(rig.agent().await.ask(&delete).await.status, 204);
    drop(gate);
    rig.session().await;
}

#[tokio::test]
async fn sessions_begin_only_so_often_where_that_is_limited() {
    let mut rig = Rig::with(Settings {
        starts_a_minute: Some(2),
        ..patient()
    })
    .await;
    for _ in 0..2 {
        let (id, gate) = rig.session().await;
        let delete = Request::new("DELETE").session(&id);
        assert_eq!(rig.agent().await.ask(&delete).await.status, 204);
        drop(gate);
    }
    let request = Request::post(INITIALIZE);
    refused(&mut rig, "a third", &request, 429, "sessions_too_often").await;
}

#[tokio::test]
async fn health_tells_whether_the_gate_can_answer() {
    let rig = Rig::of_two().await;
    let health = Request::new("GET").path("/health");
    let mut agent = rig.agent().await;
    let answer = agent.ask(&health).await;
    assert_eq!((answer.status, &*answer.body), (200, r#"{"status":"ok"}"#));
    rig.health.send_replace(Health::UpstreamDown);
    assert_eq!(agent.ask(&health).await.status, 503);
}

#[tokio::test]
async fn health_is_told_without_a_body_to_whoever_asks_for_none() {
    let rig = Rig::new().await;
    let mut agent = rig.agent().await;
    for (health, status) in [
        (Health::Ready, "200 OK"),
        (Health::UpstreamDown, "503 Service"),
    ] {
        rig.health.send_replace(health);
        agent.send(&Request::new("HEAD").path("/health")).await;
        // What comes next on the connection is the next answer.
        agent.send(&Request::new("POST").path("/health")).await;
        let (first, next) = (agent.head().await, agent.head().await);
        assert!(first.starts_with(&format!("HTTP/1.1 {status}")), "{first}");
        let length = format!("content-length: {}", health.document().len());
        assert!(first.to_ascii_lowercase().contains(&length), "{first}");
        assert!(next.starts_with("HTTP/1.1 405"), "{next}");
        agent = rig.agent().await;
    }
}

#[tokio::test]
async fn streams_leave_connections_for_messages() {
    let mut rig = Rig::with(Settings {
        max_connections: 8,
        ..patient()
    })
    .await;
    let mut listening = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..6 {
        let (id, gate) = rig.session().await;
        let mut agent = rig.agent().await;
        let listen = Request::get().session(&id);
        assert_eq!(agent.ask(&listen).await.status, 200);
        listening.push(agent);
        sessions.push((id, gate));
    }
    let (id, gate) = sessions.first_mut().unwrap();
    let mut last = rig.agent().await;
    let listens = r#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    for stream in [
        Request::get().session(id),
        Request::stateless(listens, "subscriptions/listen", None),
    ] {
        assert_eq!(last.ask(&stream).await.status, 503);
    }
    assert_eq!(rig.refused(), ["too_many_streams"; 2]);
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    last.send(&Request::post(ping).session(id)).await;
    gate.answer("{}").await;
    assert_eq!(last.answer().await.status, 200);
    // One that ends makes room for another.
    listening.pop();
    while last.ask(&Request::get().session(id)).await.status == 503 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn without_a_token_that_is_known_nothing_begins_and_no_token_is_repeated() {
    let mut rig = Rig::of_two().await;
    let secret = "CANARY-0123456789abcdef0123456789";
    let wrong = format!("{}x", token("alpha"));
    let cases = [
        ("no token", None, 401, "token_missing"),
        (
            "another scheme",
            Some("Basic YTpi".to_owned()),
            401,
            "token_missing",
        ),
        (
            "no token after the scheme",
            Some("Bearer ".to_owned()),
            400,
            "token_malformed",
        ),
        (
            "two tokens",
            Some(format!("Bearer {secret} {secret}")),
            400,
            "token_malformed",
        ),
        (
            "an unknown one",
            Some(format!("Bearer {secret}")),
            401,
            "token_invalid",
        ),
        (
            "one that is longer",
            Some(format!("Bearer {wrong}")),
            401,
            "token_invalid",
        ),
    ];
    for (what, value, status, code) in cases {
        for request in [
            Request::post(INITIALIZE),
            Request::get().session("a"),
            Request::new("DELETE").session("a"),
        ] {
            let request = match &value {
                Some(value) => request.header("Authorization", value),
                None => request,
            };
            refused(&mut rig, what, &request, status, code).await;
            let answer = rig.agent().await.ask(&request).await;
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(challenge.starts_with("Bearer"), "{challenge}");
            assert!(!format!("{answer:?}").contains("CANARY"), "{answer:?}");
        }
    }
    let twice = Request::post(INITIALIZE)
        .token_of("alpha")
        .token_of("alpha");
    refused(&mut rig, "twice", &twice, 400, "header_repeated").await;
    let (_, gate) = rig.session_of(Some("alpha")).await;
    assert_eq!(gate.identity.subject, "alpha");
    let why = rig.why().join("\n");
    assert!(
        why.contains("the token is not valid: it is not known here"),
        "{why}"
    );
    assert!(!why.contains("0123") && !why.contains("CANARY"), "{why}");
}

#[tokio::test]
async fn whoever_needs_a_token_is_told_where_to_get_one() {
    let issuer = ["https://issuer.example".to_owned()];
    let scopes = ["mcp:use".to_owned()];
    let resource =
        crate::identity::ProtectedResource::new("http://localhost/mcp", &issuer, &scopes).unwrap();
    let rig = Rig::knowing(patient(), std::sync::Arc::new(Stranger(resource))).await;
    let answer = rig.agent().await.ask(&Request::post(INITIALIZE)).await;
    let place = "/.well-known/oauth-protected-resource/mcp";
    let challenge = format!(r#"scope="mcp:use", resource_metadata="http://localhost{place}""#);
    assert_eq!(answer.status, 401);
    assert_eq!(
        answer.header("www-authenticate"),
        Some(&*format!("Bearer {challenge}"))
    );
    for place in [place, "/.well-known/oauth-protected-resource"] {
        let answer = rig
            .agent()
            .await
            .ask(&Request::new("GET").path(place))
            .await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.at("/resource"), "http://localhost/mcp");
        assert_eq!(answer.at("/authorization_servers/0"), issuer[0]);
        let evil = Request::new("GET")
            .path(place)
            .instead("Host", Some("evil.example"));
        assert_eq!(rig.agent().await.ask(&evil).await.status, 403);
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_can_send_and_read_and_no_others() {
    let mut rig = Rig::with(Settings {
        allowed_origins: vec!["https://app.example".to_owned()],
        ..patient()
    })
    .await;
    let ask = |origin: &str| {
        Request::new("OPTIONS")
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .header(
                "Access-Control-Request-Headers",
                "Authorization,X-Evil,mcp-session-id, Mcp-Param-A",
            )
    };
    let answer = rig.agent().await.ask(&ask("https://app.example")).await;
    assert_eq!(answer.status, 204);
    let header = |name| answer.header(name).unwrap_or_default();
    assert_eq!(header("access-control-allow-origin"), "https://app.example");
    let names = header("access-control-allow-headers");
    assert_eq!(names, "authorization, mcp-session-id, mcp-param-a");
    let answer = rig.agent().await.ask(&ask("https://evil.example")).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("access-control-allow-origin"), None);

    let mut agent = rig.agent().await;
    let request = Request::post(INITIALIZE).header("Origin", "https://app.example");
    agent.send(&request).await;
    rig.arrival().await.answer("{}").await;
    let answer = agent.answer().await;
    let origin = answer.header("access-control-allow-origin");
    assert_eq!(origin, Some("https://app.example"));
    let answer = rig
        .agent()
        .await
        .ask(&Request::post(INITIALIZE).session("x"))
        .await;
    assert_eq!(
        answer.header("access-control-allow-origin"),
        None,
        "no origin, no leave"
    );
}

#[tokio::test]
async fn an_answer_that_nobody_reads_costs_its_connection_only() {
    let mut rig = Rig::with(Settings {
        write_deadline: std::time::Duration::from_millis(50),
        ..patient()
    })
    .await;
    let (id, mut gate) = rig.session().await;
    let mut deaf = rig.agent().await;
    deaf.send(&Request::post(PING).session(&id)).await;
    let long = "a".repeat(32 * 1024 * 1024);
    gate.answer(&format!("\"{long}\"")).await;
    // Whoever answers next does not wait, and in the end the connection is closed half-way.
    let mut agent = rig.agent().await;
    agent.send(&Request::post(PING).session(&id)).await;
    gate.answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
    while deaf.is_held().await {}
    assert!(deaf.closed().await < long.len());
}

/// Knows nobody, and says where tokens are.
#[derive(Debug)]
struct Stranger(crate::identity::ProtectedResource);

impl crate::identity::Authenticate for Stranger {
    fn identify<'a>(
        &'a self,
        _: &'a hyper::HeaderMap,
        _: std::net::IpAddr,
    ) -> crate::identity::Authentication<'a> {
        Box::pin(std::future::ready(Err(crate::identity::Challenge::Missing)))
    }

    fn resource(&self) -> Option<&crate::identity::ProtectedResource> {
        Some(&self.0)
    }
}
