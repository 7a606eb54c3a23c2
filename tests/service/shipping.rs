//! What destinations beside the audit file are sent, and what becomes of a gate whose destinations do not
//! read.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use prost::Message;

use crate::service::traces::{Collector, attributes, hex, stop};
use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::json::json;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

const SECRET: &str = "of-the-collector-0123456789";

fn setup(more: &str) -> Setup {
    let mut setup = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .over_http();
    setup.more = more.to_owned();
    setup
}

fn serve(setup: Setup) -> Serving {
    let mut command = setup.gate();
    command.env("OTLP_KEY", SECRET);
    Serving::of(setup, command)
}

/// Calls that pass and one that names a secret.
fn calls(gate: &Serving) {
    let agent = Agent::at(&gate.url).in_session();
    for id in 1..40 {
        let answer = agent.echo(id, "here");
        assert!(answer.body.contains("here"), "{answer:?}");
    }
    named(&agent, 40, &format!("names-{SECRET}"));
}

/// A call of a tool that does not exist.
fn named(agent: &Agent, id: usize, name: &str) {
    agent.post(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{}}}}}}"#
    ));
}

fn recorded(gate: &Serving) -> Vec<String> {
    let text = fs::read_to_string(gate.setup().audit_file()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The line that a message of syslog has behind its header.
fn line(message: &str) -> String {
    let (header, line) = message.split_once("] ").unwrap();
    assert!(
        header.starts_with('<') && header.contains(" mcp-protector "),
        "{message}"
    );
    line.to_owned()
}

/// Each message of a connection, behind its length.
fn lines_of(stream: TcpStream) -> impl Iterator<Item = String> {
    let mut reader = BufReader::new(stream);
    std::iter::from_fn(move || {
        let mut length = Vec::new();
        reader.read_until(b' ', &mut length).ok()?;
        let length = str::from_utf8(&length).unwrap().trim().parse().ok()?;
        let mut message = vec![0; length];
        reader.read_exact(&mut message).ok()?;
        Some(line(str::from_utf8(&message).unwrap()))
    })
}

#[track_caller]
fn check(received: &[String], gate: &Serving) {
    let recorded = recorded(gate);
    assert_eq!(received.len(), recorded.len());
    assert_eq!(received, recorded);
    let all = received.concat();
    assert!(!all.contains(SECRET), "{all}");
    assert!(all.contains("names-[redacted]"), "{all}");
}

#[test]
fn a_local_syslog_server_has_each_record_once_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let server = UnixDatagram::bind(&path).unwrap();
    let received = Arc::<Mutex<Vec<String>>>::default();
    let taken = Arc::clone(&received);
    thread::spawn(move || {
        let mut bytes = vec![0; 65_536];
        while let Ok(length) = server.recv(&mut bytes) {
            let message = str::from_utf8(&bytes[..length]).unwrap();
            taken.lock().unwrap().push(line(message));
        }
    });
    let more = format!(
        "[audit.syslog]\naddress = 'unix:{}'\n[telemetry]\notlp_endpoint = 'http://127.0.0.1:9'\n\
         headers = {{ authorization = \"Bearer ${{OTLP_KEY}}\" }}\n",
        path.display()
    );
    let mut gate = serve(setup(&more));
    calls(&gate);
    stop(&mut gate);
    // It read the last one before the gate ended, or is about to.
    let number = recorded(&gate).len();
    eventually(|| match received.lock().unwrap().len() {
        enough if enough >= number => Ok(()),
        some => Err(format!("{some} of {number}")),
    });
    check(&received.lock().unwrap(), &gate);
}

#[test]
fn a_syslog_server_over_tcp_and_a_collector_of_logs_have_each_record_once_and_in_order() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let collector = Collector::start();
    let more = format!(
        "[audit.syslog]\naddress = 'tcp://{address}'\n[telemetry]\notlp_endpoint = {:?}\nlogs = true\n\
         headers = {{ authorization = \"Bearer ${{OTLP_KEY}}\" }}\n",
        collector.url
    );
    let server = thread::spawn(move || {
        let stream = listener.accept().unwrap().0;
        lines_of(stream).collect::<Vec<_>>()
    });
    let mut gate = serve(setup(&more));
    calls(&gate);
    stop(&mut gate);
    check(&server.join().unwrap(), &gate);
    let logs = logs(&collector);
    let bodies: Vec<_> = logs.iter().map(body).collect();
    check(&bodies, &gate);
    for log in &logs {
        check_log(log);
    }
}

fn logs(collector: &Collector) -> Vec<LogRecord> {
    let requests = collector.requests.lock().unwrap();
    let of_logs = requests
        .iter()
        .filter(|(head, _)| head.starts_with("POST /v1/logs "));
    let requests = of_logs.map(|(head, body)| {
        assert!(head.contains(SECRET), "{head}");
        ExportLogsServiceRequest::decode(body.as_slice()).unwrap()
    });
    let resources = requests.flat_map(|request| request.resource_logs);
    let scopes = resources.flat_map(|of| {
        let resource = attributes(&of.resource.unwrap().attributes);
        assert_eq!(resource["service.name"], "mcp-protector");
        of.scope_logs
    });
    scopes.flat_map(|scope| scope.log_records).collect()
}

fn body(log: &LogRecord) -> String {
    let value = log.body.as_ref().and_then(|it| it.value.as_ref());
    let Some(Value::StringValue(text)) = value else {
        panic!("{log:?}");
    };
    text.clone()
}

/// What a log record says beside the line is what the line says.
#[track_caller]
fn check_log(log: &LogRecord) {
    let line = json(&body(log));
    let said = attributes(&log.attributes);
    for (key, pointer) in [
        ("mcp_protector.kind", "/kind"),
        ("mcp_protector.decision", "/decision"),
        ("mcp_protector.reason", "/reason/code"),
        ("mcp_protector.reference", "/reference"),
        ("mcp.method.name", "/method"),
        ("mcp_protector.target", "/target"),
        ("mcp.session.id", "/session_id"),
        ("mcp_protector.upstream", "/upstream"),
    ] {
        let value = line.pointer(pointer).and_then(|it| it.as_str());
        assert_eq!(said.get(key).map(String::as_str), value, "{key}: {line}");
    }
    let has_policies = line.get("policies").is_some();
    assert_eq!(
        said.contains_key("mcp_protector.policies"),
        has_policies,
        "{line}"
    );
    let severity = match line["decision"].as_str() {
        Some("ERROR") => 17,
        Some("BLOCK") => 13,
        Some(_) | None => 9,
    };
    assert_eq!(log.severity_number, severity, "{line}");
    let span = match log.trace_id.as_slice() {
        [] => None,
        trace => Some(format!("00-{}-{}-01", hex(trace), hex(&log.span_id))),
    };
    assert_eq!(span.as_deref(), line["span"].as_str(), "{line}");
    assert!(span.is_some() || line["kind"] != "tool_call", "{line}");
}

#[test]
fn destinations_that_do_not_read_hold_up_no_call_and_get_one_gap() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let more = format!(
        "[audit.syslog]\naddress = 'tcp://{address}'\n\
         [telemetry]\notlp_endpoint = 'http://{}'\nlogs = true\ntimeout = '60s'\n",
        silent.local_addr().unwrap()
    );
    let mut gate = serve(setup(&more));
    let agent = Agent::at(&gate.url).in_session();
    let stream = listener.accept().unwrap().0;
    // More than the queue and the buffers of a connection hold: each is six bytes in a record.
    let long = r"\u0001".repeat(1000);
    for id in 1..2_000 {
        named(&agent, id, &long);
    }
    let lines = thread::spawn(move || lines_of(stream).collect::<Vec<_>>());
    // Once it has read all that there is, it gets what comes then.
    stop(&mut gate);
    let received = lines.join().unwrap();
    let recorded = recorded(&gate);
    let (mut seq, mut gaps) = (0, Vec::new());
    for line in &received {
        let value = json(line);
        if value["reason"]["code"] == "stream_behind" {
            gaps.push(line);
            seq += value["lost"].as_u64().unwrap();
        } else {
            seq += 1;
            let place = usize::try_from(seq).unwrap() - 1;
            assert_eq!(line, &recorded[place]);
        }
        assert_eq!(value["seq"], seq);
    }
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(usize::try_from(seq).unwrap(), recorded.len());
}
