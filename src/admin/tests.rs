//! Who gets an answer, and what it looks like.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::agent::http::Health;
use crate::audit::{Audit, Direction, Kind, Reason, Record};
use crate::identity::{Identity, StaticToken, StaticTokens};
use crate::memory;

/// What servers check assertions by.
const KEYS: &str = r#"{"keys":[]}"#;

const TOKEN: &str = "0123456789abcdef";

struct AdminRig {
    serving: Serving,
    address: std::net::SocketAddr,
}

fn sessions() -> Sessions {
    Sessions {
        up: 2,
        in_flight: 3,
        ..Sessions::default()
    }
}

fn figures() -> Gauges {
    Gauges {
        health: Health::Ready,
        revision: "9b1c\"7a".into(),
        memory: Some(memory::MemoryState {
            limit: 512 << 20,
            allocated: 7,
            refused: 0,
        }),
        restart: 2,
        sessions: vec![(ServerLabel(None), sessions())],
        kept: Some(Occupancy { taken: 6, most: 7 }),
        connections: Some(4),
        audit: crate::audit::LogFigures::default(),
        traces: Some(TraceCounts {
            exported: 5,
            dropped: 1,
        }),
        seconds: 1.5,
    }
}

fn rig(metrics: Arc<Metrics>) -> AdminRig {
    rig_beside(metrics, &[], &[])
}

/// Where these keys need a restart.
fn rig_beside(
    metrics: Arc<Metrics>,
    restart: &'static [&str],
    not_ready: &'static [(&str, Health)],
) -> AdminRig {
    let tokens = StaticTokens::new(vec![StaticToken {
        token: TOKEN.to_owned().into(),
        identity: Identity::named("operator"),
    }]);
    let listener = Listener::bind(Settings {
        allowed_hosts: vec![
            "Metrics.example.com".to_owned(),
            "narrow.example:9".to_owned(),
        ],
        tokens: Some(tokens.unwrap()),
        ..Settings::at("127.0.0.1:0".parse().unwrap())
    });
    let listener = listener.unwrap();
    let address = listener.address();
    let serving = listener.start(Sources {
        key_set: Some(KEYS.into()),
        health: Arc::new(|| Health::Starting),
        not_ready: Box::new(|| {
            not_ready
                .iter()
                .map(|(key, it)| ((*key).to_owned(), *it))
                .collect()
        }),
        restart: Box::new(|| restart.iter().map(ToString::to_string).collect()),
        metrics,
        figures: Box::new(figures),
        approvals: None,
        api: None,
    });
    AdminRig {
        serving: serving.unwrap(),
        address,
    }
}

impl AdminRig {
    /// What a head is answered with, until the connection is closed.
    async fn ask(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A connection that is reset has said what it had to say.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }
}

/// Before one server.
fn of_one() -> Arc<Metrics> {
    Arc::new(Metrics::of_servers(Vec::new()))
}

/// Asks once for each case: the request line without its version, further fields, the status.
async fn check(cases: &[(&str, &str, u16)]) {
    let rig = rig(of_one());
    for (line, fields, status) in cases {
        let head = format!("{line} HTTP/1.1\r\n{fields}\r\nConnection: close\r\n\r\n");
        let answer = rig.ask(&head).await;
        let begins = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&begins), "{head}{answer}");
        assert_eq!(
            *status == 200,
            answer.contains("mcp_protector_"),
            "{answer}"
        );
        assert!(!answer.contains(TOKEN), "{answer}");
    }
}

#[tokio::test]
async fn who_asks_operators_questions_under_a_foreign_name_or_from_a_page_gets_nothing() {
    check(&[
        ("GET /health", "Host: localhost", 503),
        ("GET /health", "Host: 127.0.0.1:1", 503),
        ("GET /health", "Host: metrics.example.com:7", 503),
        ("GET /health", "Host: narrow.example:9", 503),
        ("GET /health", "Host: narrow.example", 403),
        ("GET /health", "Host: [::ffff:127.0.0.1]", 503),
        ("GET /health", "Host: 127.0.0.2", 403),
        ("GET /health", "Host: 2130706433", 403),
        ("GET /health", "Host: localhost.evil.example", 403),
        ("GET /health", "Host: x@localhost", 400),
        ("GET /health", "Accept: */*", 400),
        ("GET /health", "Host: localhost\r\nHost: localhost", 400),
        ("GET http://evil.example/health", "Host: localhost", 400),
        (
            "GET /health",
            "Host: localhost\r\nOrigin: http://localhost",
            403,
        ),
        ("GET /health", "Host: localhost\r\nOrigin: null", 403),
        (
            "OPTIONS /metrics",
            "Host: localhost\r\nOrigin: http://a",
            403,
        ),
    ])
    .await;
}

#[tokio::test]
async fn numbers_need_the_token_and_nothing_needs_a_body() {
    check(&[
        ("POST /health", "Host: localhost", 405),
        ("GET /health", "Host: localhost\r\nContent-Length: 1", 400),
        (
            "GET /health",
            "Host: localhost\r\nTransfer-Encoding: gzip",
            400,
        ),
        ("GET /", "Host: localhost", 404),
        ("GET /metrics/", "Host: localhost", 404),
        ("GET /metrics", "Host: localhost", 401),
        (
            "GET /metrics?token=0123456789abcdef",
            "Host: localhost",
            401,
        ),
        (
            "GET /metrics",
            "Host: localhost\r\nAuthorization: Bearer x",
            401,
        ),
        (
            "GET /metrics",
            "Host: localhost\r\nAuthorization: Bearer 0123456789abcdeg",
            401,
        ),
        (
            "GET /metrics",
            "Host: evil.example\r\nAuthorization: Bearer 0123456789abcdef",
            403,
        ),
        (
            "GET /metrics",
            "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef",
            200,
        ),
        (
            "GET /metrics",
            "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\nAuthorization: Bearer x",
            400,
        ),
    ])
    .await;
}

#[tokio::test]
async fn servers_find_the_key_of_assertions_without_a_token() {
    let rig = rig(of_one());
    for (line, host, status) in [
        ("GET /identity/jwks.json", "localhost", 200),
        ("GET /identity/jwks.json", "evil.example", 403),
        ("POST /identity/jwks.json", "localhost", 405),
        ("GET /identity/", "localhost", 404),
    ] {
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = rig.ask(&head).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert_eq!(answer.ends_with(KEYS), status == 200, "{answer}");
        assert_eq!(
            answer.contains("application/jwk-set+json"),
            status == 200,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn what_is_not_http_or_too_large_is_closed() {
    let rig = rig(of_one());
    let old = rig
        .ask("GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
        .await;
    assert!(old.starts_with("HTTP/1.0 503"), "{old}");
    let older = rig
        .ask("GET /health HTTP/0.9\r\nHost: localhost\r\n\r\n")
        .await;
    assert!(older.starts_with("HTTP/1.1 505"), "{older}");
    let long = format!("GET /health HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    assert!(rig.ask(&long).await.starts_with("HTTP/1.1 431"));
    assert!(rig.ask("\u{1}\r\n\r\n").await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn operators_are_asked_in_heads_that_everybody_reads_alike() {
    let rig = rig(of_one());
    for (head, status) in [
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET /health HTTP/1.1\nHost: localhost\n\n", 400),
        ("GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
        (
            "GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
            400,
        ),
        (
            "POST /health HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            400,
        ),
        (
            "POST /health HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        // No body is wanted, in chunks or not.
        (
            "GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
    ] {
        let answer = rig.ask(head).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn silent_connections_do_not_keep_operators_away() {
    let rig = rig(of_one());
    let mut silent = Vec::new();
    for part in [
        "",
        "GET",
        "POST /health HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
    ] {
        for _ in 0..40 {
            let mut stream = TcpStream::connect(rig.address).await.unwrap();
            stream.write_all(part.as_bytes()).await.unwrap();
            silent.push(stream);
        }
        let head = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        assert!(rig.ask(head).await.starts_with("HTTP/1.1 503"), "{part:?}");
    }
}

#[tokio::test]
async fn a_listener_that_is_dropped_serves_nobody() {
    let AdminRig { serving, address } = rig(of_one());
    drop(serving);
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

/// Every kind of number that there is.
async fn of_all_kinds() -> Arc<Metrics> {
    let metrics = of_one();
    let (audit, _kept) = Audit::keeping();
    let audit = audit.observed_by(Arc::clone(&metrics) as Arc<_>);
    let frame = Record::new(Kind::MalformedMessage)
        .direction(Direction::AgentToUpstream)
        .decision(crate::audit::Decision::Block, "decode")
        .reason(Reason::code("duplicate_key"));
    let call = Record::new(Kind::ToolCall)
        .direction(Direction::AgentToUpstream)
        .decision(crate::audit::Decision::Allow, "forward")
        .target("a name that somebody chose")
        .duration(std::time::Duration::from_micros(80));
    for record in [frame, call] {
        audit.record(record).await.unwrap();
    }
    metrics.refused(Listening::Agents, ServerLabel(None), 403, "host");
    metrics
}

#[tokio::test]
async fn health_names_what_needs_a_restart_beside_its_word() {
    let rig = rig_beside(of_one(), &["listen.port", "audit.file"], &[]);
    let answer = rig
        .ask("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let document = r#"{"status":"starting","restart_needed":["listen.port","audit.file"]}"#;
    assert!(answer.ends_with(document), "{answer}");
}

#[tokio::test]
async fn health_names_each_of_several_servers_that_is_not_ready() {
    let check = async |rig: AdminRig, document: &str| {
        let asked = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let answer = rig.ask(asked).await;
        assert!(answer.ends_with(document), "{answer}");
    };
    let two = &[("crm", Health::Starting), ("mail", Health::UpstreamDown)];
    let all = r#"{"status":"starting","not_ready":{"crm":"starting","mail":"upstream_down"}"#;
    let beside = format!("{all},\"restart_needed\":[\"listen.port\"]}}");
    check(rig_beside(of_one(), &[], two), &format!("{all}}}")).await;
    check(rig_beside(of_one(), &["listen.port"], two), &beside).await;
    check(rig_beside(of_one(), &[], &[]), r#"{"status":"starting"}"#).await;
}

/// What is exposed, metric by metric. Their samples are sorted by labels, since they come in no order.
async fn exposed() -> Vec<Vec<String>> {
    let metrics = of_all_kinds().await;
    let text = expose::expose(&metrics, &figures()).unwrap();
    let text = text.strip_suffix("# EOF\n").unwrap();
    let blocks = text.split("# HELP ").skip(1).map(|block| {
        let block = format!("# HELP {block}");
        let mut lines: Vec<String> = block.lines().map(str::to_owned).collect();
        lines[2..].sort_by_key(|line| {
            let labels = line.split(['{', '}']).nth(1).unwrap_or_default();
            let labels = labels.split(',').filter(|label| !label.starts_with("le="));
            labels.map(str::to_owned).collect::<Vec<_>>()
        });
        lines
    });
    blocks.collect()
}

#[tokio::test]
async fn the_numbers_are_written_as_openmetrics() {
    let text: Vec<String> = exposed().await.concat();
    insta::assert_snapshot!(text.join("\n"));
}

#[tokio::test]
async fn numbers_name_the_server_where_there_are_several_and_nothing_else_that_a_record_does() {
    let keys = ["crm", "crm-2"].map(Arc::from).to_vec();
    let metrics = Arc::new(Metrics::of_servers(keys));
    let (audit, _kept) = Audit::keeping();
    let audit = audit.observed_by(Arc::clone(&metrics) as Arc<_>);
    for (upstream, times) in [
        ("crm", 1),
        ("crm-2", 2),
        ("crm (isolated 2)", 4),
        ("-", 8),
        ("crm-3", 16),
    ] {
        for _ in 0..times {
            let call = Record::new(Kind::ToolCall)
                .upstream(upstream)
                .direction(Direction::AgentToUpstream)
                .decision(crate::audit::Decision::Allow, "forward");
            audit.record(call).await.unwrap();
        }
    }
    let sessions = |label: ServerLabel| (label, sessions());
    let figures = Gauges {
        sessions: metrics.server_labels().into_iter().map(sessions).collect(),
        ..figures()
    };
    let text = expose::expose(&metrics, &figures).unwrap();
    let decided = |server: &str| {
        format!(
            "mcp_protector_decisions_total{{kind=\"tool_call\",decision=\"ALLOW\",stage=\"forward\",\
             direction=\"agent_to_upstream\"{server}}}"
        )
    };
    for sample in [
        &format!("{} 5\n", decided(",server=\"crm\"")),
        &format!("{} 2\n", decided(",server=\"crm-2\"")),
        &format!("{} 24\n", decided("")),
        "mcp_protector_sessions{upstream=\"up\",server=\"crm-2\"} 2\n",
        "mcp_protector_calls_parked{server=\"crm\"} 0\n",
        "mcp_protector_sessions_begun_total{server=\"crm\"} 0\n",
        "mcp_protector_call_seconds_count{server=\"crm-2\"} 0\n",
    ] {
        assert!(text.contains(sample), "{sample}{text}");
    }
    assert!(!text.contains("crm-3"), "{text}");
}
