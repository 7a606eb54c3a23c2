//! The exporter with a collector of the test's own, and what it makes of records.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::audit::{
    AuditEventSummary, AuditFault, AuditObserver, Decision, Direction, Follower, Kind, Reason,
    Record, Redactor, TargetStatus, TraceFields,
};
use crate::clock::SystemClock;
use crate::upstream::http::client_tls;
use crate::wire::{self, KnownMethod, Sampled, SpanId, TraceContext, TraceId};

const SECRET: &str = "secret-of-the-gate";

/// A collector that answers with this, and what it was sent.
#[derive(Clone)]
struct Collector {
    url: url::Url,
    taken: Arc<Mutex<Vec<Span>>>,
    asked: Arc<Mutex<usize>>,
}

/// How a collector answers its requests, one after the other; the last one for all that come.
type Answers = &'static [(u16, u64)];

impl Collector {
    async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let collector = Self {
            url: url.parse().unwrap(),
            taken: Arc::default(),
            asked: Arc::default(),
        };
        let ours = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let ours = ours.clone();
                tokio::spawn(async move { ours.attend(stream, answers).await });
            }
        });
        collector
    }

    async fn attend(&self, mut stream: TcpStream, answers: Answers) -> Option<()> {
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.ok()?);
            }
            let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
            let (_, length) = head.split_once("content-length: ").unwrap();
            let length = length.lines().next().unwrap().parse().unwrap();
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.ok()?;
            let number = {
                let mut asked = self.asked.lock().unwrap();
                *asked += 1;
                *asked - 1
            };
            let (status, rejected) = *answers.get(number).unwrap_or(answers.last().unwrap());
            if status == 200 && head.starts_with("post /v1/traces ") {
                let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
                let scopes = request
                    .resource_spans
                    .into_iter()
                    .flat_map(|it| it.scope_spans);
                self.taken
                    .lock()
                    .unwrap()
                    .extend(scopes.flat_map(|it| it.spans));
            }
            let answer = ExportTraceServiceResponse {
                partial_success: (rejected > 0).then(|| ExportTracePartialSuccess {
                    rejected_spans: i64::try_from(rejected).unwrap(),
                    error_message: "some".to_owned(),
                }),
            };
            let answer = answer.encode_to_vec();
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(&answer).await.ok()?;
        }
    }

    fn export(&self) -> (Exporter, Arc<Spans>) {
        export(&self.url)
    }

    fn names(&self) -> Vec<String> {
        let taken = self.taken.lock().unwrap();
        taken.iter().map(|span| span.name.clone()).collect()
    }
}

fn settings(url: &url::Url) -> Settings {
    let mut value = HeaderValue::from_static("Bearer key-0123456789");
    value.set_sensitive(true);
    Settings {
        url: url.clone(),
        headers: vec![(HeaderName::from_static("authorization"), value)],
        service: "tested".to_owned(),
        transport: Transport::Stdio,
        timeout: Duration::from_secs(30),
    }
}

fn export(url: &url::Url) -> (Exporter, Arc<Spans>) {
    let settings = settings(url);
    assert!(!format!("{settings:?}").contains("key-0123456789"));
    let tls = client_tls(url, None).unwrap();
    let secret = SecretString::from(SECRET.to_owned());
    let redactor = Redactor::new([&secret]).unwrap();
    Exporter::start(&settings, tls, Arc::new(SystemClock::new()), redactor).unwrap()
}

const ENOUGH: Duration = Duration::from_mins(1);

fn span(number: u8) -> wire::Span {
    wire::Span {
        own: TraceContext {
            trace: TraceId::new([9; 16]).unwrap(),
            span: SpanId::new([number; 8]).unwrap(),
            sampled: Sampled::Yes,
        },
        parent: None,
        beside: None,
        onward: SpanId::new([200 + number; 8]).unwrap(),
    }
}

/// A record of one message of a session.
fn record(kind: Kind, number: u8, tool: &str) -> Record {
    let mut record = Record::new(kind)
        .reference(format!("r-{number}"))
        .direction(Direction::AgentToUpstream)
        .target(tool)
        .decision(Decision::Allow, "forward")
        .duration(Duration::from_micros(40));
    record.session_id = Some("the-session".into());
    record.traced = Some(Box::new(TraceFields {
        span: span(number),
        method: Some(KnownMethod::ToolsCall),
        version: Some("2025-11-25".into()),
        named: TargetStatus::Known,
    }));
    record
}

fn see(spans: &Spans, record: &Record) {
    spans.observe(&AuditEventSummary::of(record), None);
}

/// A call that passed, and its outcome.
fn call(spans: &Spans, number: u8, tool: &str) {
    see(spans, &record(Kind::ToolCall, number, tool));
    see(spans, &record(Kind::ToolResult, number, tool));
}

#[tokio::test]
async fn a_call_is_one_span_when_its_outcome_is_known_and_another_for_its_way() {
    let collector = Collector::start(&[(200, 0)]).await;
    let (exporter, spans) = collector.export();
    see(&spans, &record(Kind::ToolCall, 1, "a"));
    see(&spans, &record(Kind::Notification, 2, "b"));
    see(&spans, &record(Kind::ToolResult, 1, "a"));
    // Nothing more comes of what the bridge settles.
    let settled = record(Kind::Request, 3, "c").decision(Decision::Allow, "bridge");
    see(&spans, &settled);
    // Never answered, and no task waits any more.
    see(&spans, &record(Kind::ToolCall, 4, "d"));
    let mut end = Record::new(Kind::SessionEnd);
    end.session_id = Some("the-session".into());
    see(&spans, &end);
    see(&spans, &record(Kind::ToolResult, 4, "d"));
    // In no trace.
    let mut untraced = record(Kind::ToolCall, 5, "e");
    untraced.traced = None;
    see(&spans, &untraced);
    exporter.close(ENOUGH).await;
    let names = collector.names();
    let expected = ["b", "a", "a", "c", "d"].map(|tool| format!("tools/call {tool}"));
    assert_eq!(names, expected);
    assert_eq!(
        spans.figures(),
        ExportFigures {
            exported: 4,
            dropped: 0
        }
    );
    // Nothing is taken once it has ended.
    call(&spans, 6, "f");
    assert_eq!(spans.figures().dropped, 1);
}

#[tokio::test]
async fn what_could_not_be_recorded_did_not_happen() {
    let collector = Collector::start(&[(200, 0)]).await;
    let (exporter, spans) = collector.export();
    let sighting = AuditEventSummary::of(&record(Kind::ToolCall, 1, "a"));
    spans.observe(&sighting, Some(&AuditFault::Stalled));
    let refused = record(Kind::ToolCall, 1, "a")
        .decision(Decision::Error, "record")
        .reason(Reason::code("audit_fault"))
        .error_code(-32_603);
    spans.observe(&AuditEventSummary::of(&refused), Some(&AuditFault::Stalled));
    exporter.close(ENOUGH).await;
    let taken = collector.taken.lock().unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].status.as_ref().unwrap().message, "audit_fault");
}

#[tokio::test]
async fn what_peers_chose_is_cut_and_cleaned_or_left_out() {
    let collector = Collector::start(&[(200, 0)]).await;
    let (exporter, spans) = collector.export();
    call(&spans, 1, &format!("reads-{SECRET}"));
    call(&spans, 2, "line\nend\u{202e}turned");
    call(&spans, 3, &"é".repeat(5_000));
    let mut invented = record(Kind::ToolCall, 4, "invented").decision(Decision::Block, "decide");
    let traced = invented.traced.as_mut().unwrap();
    traced.named = TargetStatus::Unproven;
    traced.version = Some("any text at all".into());
    invented.error_code = Some(-32_602);
    invented.policies = (0..1000)
        .map(|number| format!("p{number}").into())
        .collect();
    see(&spans, &invented);
    let mut unknown = record(Kind::Request, 5, "file:///etc/passwd");
    unknown.method = Some("made/up".into());
    unknown.decision = Some(Decision::Block);
    let traced = unknown.traced.as_mut().unwrap();
    traced.method = None;
    traced.named = TargetStatus::Unproven;
    see(&spans, &unknown);
    let mut read = record(Kind::Request, 6, "file:///etc/passwd");
    read.decision = Some(Decision::Block);
    read.traced.as_mut().unwrap().method = Some(KnownMethod::ResourcesRead);
    see(&spans, &read);
    exporter.close(ENOUGH).await;
    let names = collector.names();
    assert_eq!(names[0], "tools/call reads-[redacted]");
    assert_eq!(names[2], "tools/call line\u{fffd}end\u{fffd}turned");
    assert_eq!(names[4], format!("tools/call {}…", "é".repeat(128)));
    assert_eq!(names[6..], ["tools/call", "_OTHER", "resources/read"]);
    let taken = collector.taken.lock().unwrap();
    for span in &*taken {
        let text = format!("{span:?}");
        assert!(text.len() < 12_000, "{}", text.len());
        for chosen in [SECRET, "invented", "any text", "made/up", "passwd", "p999"] {
            assert!(!text.contains(chosen), "{chosen}: {text}");
        }
    }
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    // The cases take their waits at once.
    let cases: [(Answers, usize, u64, u64); 4] = [
        (&[(503, 0), (429, 0), (200, 0)], 3, 1, 0),
        (&[(400, 0), (200, 0)], 1, 0, 1),
        (&[(302, 0), (200, 0)], 1, 0, 1),
        (&[(200, 1)], 1, 0, 1),
    ];
    for (answers, asked, exported, dropped) in cases {
        let collector = Collector::start(answers).await;
        let (exporter, spans) = collector.export();
        see(&spans, &record(Kind::Notification, 1, "a"));
        until(&spans).await;
        assert_eq!(spans.figures(), ExportFigures { exported, dropped });
        assert_eq!(*collector.asked.lock().unwrap(), asked, "{answers:?}");
        exporter.close(ENOUGH).await;
    }
}

/// Waits until something became of a message.
async fn until(spans: &Spans) {
    for _ in 0..6_000 {
        let ExportFigures { exported, dropped } = spans.figures();
        if exported + dropped > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing became of it");
}

#[tokio::test]
async fn a_collector_that_says_nothing_costs_bounded_memory_and_no_waiting() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", silent.local_addr().unwrap());
    let (exporter, spans) = export(&url.parse().unwrap());
    // Returns at once each time, or this test would take hours.
    for _ in 0..10_000 {
        see(&spans, &record(Kind::Notification, 1, "a"));
    }
    let dropped = spans.figures().dropped;
    assert!((5_000..10_000).contains(&dropped), "{dropped}");
    // Requests that are never answered take bounded memory too.
    for number in 0..100_000_u64 {
        let mut open = record(Kind::ToolCall, 1, "a");
        let span = SpanId::new((number + 1).to_be_bytes()).unwrap();
        open.traced.as_mut().unwrap().span.own.span = span;
        see(&spans, &open);
    }
    assert!(spans.figures().dropped > dropped + 80_000);
    exporter.close(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn a_collector_that_took_spans_and_then_says_nothing_is_not_sent_them_again() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", silent.local_addr().unwrap());
    let mut settings = settings(&url.parse().unwrap());
    settings.timeout = Duration::from_millis(300);
    let collector = collector::Collector::new(&settings, client_tls(&settings.url, None).unwrap());
    let collector = collector.unwrap();
    let sent = tokio::spawn(async move { collector.send(bytes::Bytes::new()).await });
    let (mut stream, _) = silent.accept().await.unwrap();
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    stream.write_all(head).await.unwrap();
    assert_eq!(sent.await.unwrap(), Ok(0));
}

#[tokio::test]
async fn without_a_collector_everything_is_dropped_and_counted() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", closed.local_addr().unwrap());
    drop(closed);
    let (exporter, spans) = export(&url.parse().unwrap());
    call(&spans, 1, "a");
    exporter.close(ENOUGH).await;
    assert_eq!(spans.figures().dropped, 1);
}

#[tokio::test]
async fn a_collector_of_logs_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let lines = b"{\"version\":1,\"seq\":1}\nno record\n";
    // Whether the lines have to be given again, after each request.
    let cases: [(Answers, &[bool]); 4] = [
        (&[(503, 0), (429, 0), (200, 0)], &[true, true, false]),
        (&[(400, 0)], &[false]),
        (&[(302, 0)], &[false]),
        (&[(200, 1)], &[false]),
    ];
    for (answers, again) in cases {
        let collector = Collector::start(answers).await;
        let url = collector.url.join("/v1/logs").unwrap();
        let settings = settings(&url);
        let tls = client_tls(&url, None).unwrap();
        // It waits on the thread of a follower, which no runtime has.
        let follower = std::thread::spawn(move || {
            let mut logs = LogExporter::new(&settings, tls).unwrap();
            assert!(!format!("{logs:?}").contains("key-0123456789"));
            let deliver = |_: &bool| logs.deliver(lines).is_err();
            again.iter().map(deliver).collect::<Vec<_>>()
        });
        let said = tokio::task::spawn_blocking(|| follower.join().unwrap());
        assert_eq!(said.await.unwrap(), again, "{answers:?}");
        assert_eq!(*collector.asked.lock().unwrap(), again.len());
    }
}
