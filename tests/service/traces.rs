//! What a collector of traces is sent, and what becomes of a gate whose collector does not take it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;

use crate::service::operators::{free_port, sample};
use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::json::json;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
const OTHER_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_SPAN: &str = "00f067aa0ba902b7";
const TOKEN: &str = "of-the-collector-0123456789";

/// A collector, and what it was sent.
#[derive(Debug, Clone)]
pub(super) struct Collector {
    pub(super) url: String,
    pub(super) requests: Arc<Mutex<Vec<Asked>>>,
    status: u16,
}

/// The head of a request, and its body.
pub(super) type Asked = (String, Vec<u8>);

/// One span, and whose it is.
#[derive(Debug)]
struct Told {
    service: String,
    span: Span,
}

impl Collector {
    pub(super) fn start() -> Self {
        Self::answering(200)
    }

    fn answering(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let collector = Self {
            url,
            requests,
            status,
        };
        let taken = collector.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let taken = taken.clone();
                thread::spawn(move || while taken.take(&stream).is_some() {});
            }
        });
        collector
    }

    /// One request of a connection.
    fn take(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while reader.read_line(&mut head).ok()? > 2 {}
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().unwrap())
        });
        let mut body = vec![0; length?];
        reader.read_exact(&mut body).ok()?;
        self.requests.lock().unwrap().push((head, body));
        let answer = format!(
            "HTTP/1.1 {} X\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n",
            self.status
        );
        stream.write_all(answer.as_bytes()).ok()
    }

    fn spans(&self) -> Vec<Told> {
        let requests = self.requests.lock().unwrap();
        let mut told = Vec::new();
        for (_, body) in &*requests {
            let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
            for of in request.resource_spans {
                let resource = attributes(&of.resource.unwrap().attributes);
                for span in of.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                    let service = resource["service.name"].clone();
                    told.push(Told { service, span });
                }
            }
        }
        told
    }

    fn configured(&self, more: &str) -> String {
        format!("[telemetry]\notlp_endpoint = {:?}\n{more}\n", self.url)
    }
}

pub(super) fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::ArrayValue(_)
        | Value::BoolValue(_)
        | Value::DoubleValue(_)
        | Value::KvlistValue(_)
        | Value::BytesValue(_)
        | Value::StringValueStrindex(_) => format!("{value:?}"),
    };
    let one = |one: &KeyValue| {
        let value = one.value.as_ref().and_then(|it| it.value.as_ref());
        (one.key.clone(), text(value.unwrap()))
    };
    list.iter().map(one).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// The only span of this name, kind and service.
#[track_caller]
fn only<'t>(told: &'t [Told], service: &str, name: &str, kind: SpanKind) -> &'t Span {
    let found = told.iter().filter(|told| {
        told.service == service && told.span.name == name && told.span.kind() == kind
    });
    match found.collect::<Vec<_>>().as_slice() {
        [one] => &one.span,
        found => panic!("{name} of {service}: {found:?} of {told:#?}"),
    }
}

/// Asks a gate to stop, and waits until it has.
pub(super) fn stop(gate: &mut Serving) {
    let id = gate.child.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    eventually(|| match gate.child.try_wait().unwrap() {
        Some(status) if status.success() => Ok(()),
        ended => Err(format!("{ended:?}")),
    });
}

const NAME: &str = "mcp-protector";

/// A call that is allowed and one that is denied, and others; yields what was told of them, and the
/// gate's records.
fn traced(collector: &Collector) -> (Vec<Told>, String) {
    let policy = r#"
        @id("open") permit (principal, action, resource);
        @id("no-sums") @code("sums") forbid (
            principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"add"
        ) when { context.raw_arguments.hasTag("/a") };
    "#;
    let mut setup = Setup::of([fixture("everything-server")])
        .policies(policy)
        .over_http();
    setup.limits = collector.configured("headers = { authorization = \"Bearer ${OTLP_KEY}\" }");
    let mut command = setup.gate();
    command.env("OTLP_KEY", TOKEN);
    // What the environment says of collectors is not what the configuration says.
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    command.env("OTEL_SERVICE_NAME", "elsewhere");
    let mut gate = Serving::of(setup, command);
    let agent = Agent::at(&gate.url).in_session();
    let in_trace = format!("traceparent: 00-{TRACE}-{SPAN}-01");
    let in_trace = agent.clone().with(in_trace);
    let answer = in_trace.echo(1, "an-argument");
    assert!(answer.body.contains("an-argument"), "{answer:?}");
    let answer = in_trace.post(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"add","arguments":{{"a":4711,"b":2}},"_meta":{{"traceparent":"00-{OTHER_TRACE}-{OTHER_SPAN}-01"}}}}}}"#
    ));
    assert!(answer.body.contains("4030"), "{answer:?}");
    in_trace.post(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"invented-name","arguments":{}}}"#);
    // In an unsampled trace, and in an invalid one.
    for (said, method) in [
        (format!("00-{OTHER_TRACE}-{SPAN}-00"), "prompts/list"),
        ("00-0-0-01".to_owned(), "resources/list"),
    ] {
        let agent = agent.clone().with(format!("traceparent: {said}"));
        agent.post(&format!(
            r#"{{"jsonrpc":"2.0","id":4,"method":"{method}"}}"#
        ));
    }
    let audit = gate.setup().audit_file();
    stop(&mut gate);
    (collector.spans(), fs::read_to_string(audit).unwrap())
}

#[track_caller]
fn says(span: &Span, expected: &[(&str, &str)]) {
    let said = attributes(&span.attributes);
    for (key, value) in expected {
        let got = said.get(*key).map(String::as_str);
        assert_eq!(got, Some(*value), "{key}: {said:#?}");
    }
}

#[test]
fn a_call_is_a_span_of_the_agents_trace_and_its_way_to_the_server_is_within() {
    let (told, _) = traced(&Collector::start());
    let allowed = only(&told, NAME, "tools/call echo", SpanKind::Server);
    assert_eq!(hex(&allowed.trace_id), TRACE);
    assert_eq!(hex(&allowed.parent_span_id), SPAN);
    assert!(allowed.links.is_empty(), "{allowed:?}");
    assert_eq!(allowed.status, None);
    assert!(allowed.start_time_unix_nano < allowed.end_time_unix_nano);
    says(
        allowed,
        &[
            ("mcp.method.name", "tools/call"),
            ("mcp.protocol.version", "2025-11-25"),
            ("gen_ai.tool.name", "echo"),
            ("gen_ai.operation.name", "execute_tool"),
            ("network.transport", "tcp"),
            ("mcp_protector.upstream", "upstream"),
            ("mcp_protector.direction", "agent_to_upstream"),
            ("mcp_protector.decision", "ALLOW"),
            ("mcp_protector.stage", "forward"),
            ("mcp_protector.reply.decision", "ALLOW"),
            ("mcp_protector.reply.stage", "deliver"),
        ],
    );
    let policies = &attributes(&allowed.attributes)["mcp_protector.policies"];
    assert!(policies.contains("open"), "{policies}");
    let onward = only(&told, NAME, "tools/call echo", SpanKind::Client);
    assert_eq!(onward.trace_id, allowed.trace_id);
    assert_eq!(onward.parent_span_id, allowed.span_id);
    assert!(allowed.start_time_unix_nano <= onward.start_time_unix_nano);
    assert!(onward.end_time_unix_nano <= allowed.end_time_unix_nano);
    // An invalid context begins a trace; an unsampled trace is not exported.
    let fresh = only(&told, NAME, "resources/list", SpanKind::Server);
    assert!(fresh.parent_span_id.is_empty(), "{fresh:?}");
    assert!(told.iter().all(|told| told.span.name != "prompts/list"));
}

#[test]
fn a_denied_call_is_a_span_that_says_why_and_leads_to_the_audit() {
    let (told, audit) = traced(&Collector::start());
    let denied = only(&told, NAME, "tools/call add", SpanKind::Server);
    // What the message says of its trace comes before what its request says.
    assert_eq!(hex(&denied.trace_id), OTHER_TRACE);
    assert_eq!(hex(&denied.parent_span_id), OTHER_SPAN);
    assert_eq!(hex(&denied.links[0].trace_id), TRACE);
    assert_eq!(hex(&denied.links[0].span_id), SPAN);
    says(
        denied,
        &[
            ("mcp_protector.decision", "BLOCK"),
            ("mcp_protector.stage", "decide"),
            ("mcp_protector.reason", "sums"),
            ("rpc.response.status_code", "4030"),
            ("error.type", "4030"),
        ],
    );
    assert_eq!(denied.status.as_ref().unwrap().message, "sums");
    let name = "tools/call add";
    let of_it = told.iter().filter(|told| told.span.name == name);
    assert_eq!(of_it.count(), 1, "it went nowhere");
    let mut records = audit.lines().map(json);
    let record = records.find(|record| record["kind"] == "tool_call" && record["target"] == "add");
    let record = record.unwrap();
    let named = |key: &str| record[key].as_str().unwrap().to_owned();
    says(
        denied,
        &[
            ("mcp_protector.reference", &named("reference")),
            ("mcp.session.id", &named("session_id")),
            ("mcp_protector.revision", &named("revision")),
        ],
    );
}

#[test]
fn a_collector_is_shown_its_header_and_told_no_secret_argument_or_invented_name() {
    let collector = Collector::start();
    let (told, _) = traced(&collector);
    only(&told, NAME, "tools/call", SpanKind::Server);
    let requests = collector.requests.lock().unwrap();
    assert!(!requests.is_empty());
    for (head, body) in &*requests {
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let shown = format!("authorization: bearer {TOKEN}");
        assert!(head.to_ascii_lowercase().contains(&shown), "{head}");
        let body = String::from_utf8_lossy(body);
        for secret in [
            TOKEN,
            "an-argument",
            "4711",
            "invented-name",
            "tester",
            "elsewhere",
        ] {
            assert!(!body.contains(secret), "{secret}: {body}");
        }
    }
}

#[test]
fn a_server_over_http_goes_on_with_the_trace_of_the_gate() {
    let collector = Collector::start();
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("received");
    let setup = Setup::of([fixture("everything-server")]).env("FIXTURE_LOG", log.to_str().unwrap());
    let mut second = setup.policies(ALLOW_ALL).over_http();
    second.limits = collector.configured("service_name = \"second\"");
    let mut second = Serving::start(second);
    let mut first = Setup::before(&second.url).policies(ALLOW_ALL).over_http();
    first.limits = collector.configured("service_name = \"first\"");
    let mut first = Serving::start(first);
    let agent = Agent::at(&first.url).in_session();
    let said = format!("traceparent: 00-{TRACE}-{SPAN}-01");
    let state = "tracestate: vendor=something-of-the-agent";
    let baggage = "baggage: user=ada";
    let agent = agent.with(said).with(state).with(baggage);
    agent.echo(1, "one");
    stop(&mut first);
    stop(&mut second);
    let told = collector.spans();
    let name = "tools/call echo";
    let onward = only(&told, "first", name, SpanKind::Client);
    let taken = only(&told, "second", name, SpanKind::Server);
    assert_eq!(hex(&taken.trace_id), TRACE);
    assert_eq!(taken.trace_id, onward.trace_id);
    assert_eq!(taken.parent_span_id, onward.span_id);
    // The message itself is sent as it was judged.
    let received = fs::read_to_string(log).unwrap();
    assert!(received.contains("\"one\""), "{received}");
    assert!(!received.contains("traceparent"), "{received}");
}

/// A server that is asked one thing and says nothing, and the head of what it was asked.
fn asked_once() -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        // The gate also looks whether it is there, with a GET.
        let mut heads = listener.incoming().map(|stream| {
            let mut reader = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap() > 2 {}
            head
        });
        heads.find(|head| head.starts_with("POST")).unwrap()
    });
    (url, asked)
}

#[test]
fn the_state_of_a_trace_goes_on_with_it_to_a_server_over_http() {
    let header = format!("traceparent: 00-{TRACE}-{SPAN}-01");
    let meta = format!(r#""traceparent":"00-{OTHER_TRACE}-{OTHER_SPAN}-01","#);
    let in_meta = format!(r#"{meta}"tracestate":"b=2","#);
    for (headers, meta, state) in [
        (vec![&*header, "tracestate: v=1 , w=2"], "", Some("v=1,w=2")),
        (
            vec![&*header, "tracestate: v=1", "TraceState: w=2"],
            "",
            Some("v=1,w=2"),
        ),
        (vec![&*header, "tracestate: V=1"], "", None),
        (vec!["tracestate: v=1"], "", None),
        // It goes with its own parent, and with no other.
        (vec![&*header, "tracestate: v=1"], &*in_meta, Some("b=2")),
        (vec![&*header, "tracestate: v=1"], &*meta, None),
        (
            vec![&*header, "tracestate: v=of-the-collector-0123456789"],
            "",
            None,
        ),
    ] {
        let (url, asked) = asked_once();
        // The server takes one message.
        let setup = Setup::before(&url).policies(ALLOW_ALL);
        let mut setup = setup.over_http().without_trial();
        setup.limits = format!(
            "[telemetry]\notlp_endpoint = {:?}\nheaders = {{ authorization = \"Bearer {TOKEN}\" }}\n",
            closed_url()
        );
        let gate = Serving::start(setup);
        let agent = Agent::at(&gate.url)
            .with("MCP-Protocol-Version: 2026-07-28")
            .with("Mcp-Method: server/discover");
        let agent = headers
            .iter()
            .fold(agent, |agent, header| agent.with(*header));
        agent.post(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{"_meta":{{{meta}"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        ));
        let head = asked.join().unwrap();
        let said: Vec<&str> = head
            .lines()
            .filter_map(|line| line.strip_prefix("tracestate: "))
            .collect();
        assert_eq!(said, Vec::from_iter(state), "{headers:?} {meta}: {head}");
        assert!(head.contains("traceparent: 00-"), "{head}");
    }
}

#[test]
fn what_became_of_spans_is_in_the_metrics() {
    for (status, outcome) in [(200, "exported"), (404, "dropped")] {
        let collector = Collector::answering(status);
        let port = free_port();
        let mut setup = Setup::of([fixture("everything-server")])
            .policies(ALLOW_ALL)
            .over_http();
        setup.limits = collector.configured(&format!("[admin]\nport = {port}"));
        let gate = Serving::start(setup);
        Agent::at(&gate.url).in_session().echo(1, "one");
        let metrics = Agent::at(&format!("http://127.0.0.1:{port}/metrics"));
        // The handshake, what it is told with, and the call.
        eventually(|| {
            let text = metrics.request("GET", "").body;
            let labels = format!("{{outcome=\"{outcome}\"}}");
            let count = sample(
                &text,
                &format!("mcp_protector_traced_messages_total{labels}"),
            );
            let enough = count >= 3.0;
            enough.then_some(()).ok_or(text)
        });
    }
}

/// A port without a listener.
fn closed_url() -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", socket.local_addr().unwrap())
}

#[test]
fn a_collector_that_is_away_or_never_answers_keeps_no_message_and_no_stop() {
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    for url in [closed_url(), silent_url] {
        let mut setup = Setup::of([fixture("everything-server")])
            .policies(ALLOW_ALL)
            .over_http();
        setup.limits = format!(
            "shutdown_grace_period = \"1s\"\n[telemetry]\notlp_endpoint = {url:?}\ntimeout = \"60s\"\n"
        );
        let mut gate = Serving::start(setup);
        let agent = Agent::at(&gate.url).in_session();
        for id in 1..50 {
            let answer = agent.echo(id, "here");
            assert!(answer.body.contains("here"), "{answer:?}");
        }
        stop(&mut gate);
    }
}
