//! What is made to take memory and turns from others, all of it at once, from agents and from a
//! server, while somebody goes on working.
//!
//! A short while in every run of the tests. With a million notifications:
//!
//! ```sh
//! BOMBS_NOTIFICATIONS=1000000 cargo test --test end_to_end -- service::bombs --nocapture
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::support::http::Agent;
use crate::support::json::json;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// More than all that may be kept of messages on their way, in KiB.
const ROOM: u64 = 192 * 1024;

const EVENT: usize = 17 << 20;

/// Heads that never end.
const HALF: usize = 100;

#[test]
fn bombs_from_both_sides_take_bounded_memory_and_nobodys_turn() {
    let mut setup = Setup::before(&server()).policies(ALLOW_ALL).over_http();
    setup.limits.push_str("request_timeout = \"10m\"\n");
    let gate = Serving::start(setup);
    let worker = Agent::at(&gate.url).in_session();
    let other = Agent::at(&gate.url).in_session();
    assert!(worker.echo(1, "before").body.contains("before"));
    let before = peak(&gate);

    let ended = Arc::new(AtomicBool::new(false));
    let work = {
        let (worker, ended) = (worker.clone(), Arc::clone(&ended));
        thread::spawn(move || {
            let mut done = 0_u64;
            while !ended.load(Ordering::Relaxed) || done == 0 {
                let text = format!("work {done}");
                let answer = worker.echo(done, &text);
                assert!(answer.body.contains(&text), "{answer:?}");
                done += 1;
            }
            done
        })
    };

    let held: Vec<TcpStream> = (0..HALF).map(|_| half_a_head(&gate)).collect();
    assert_eq!(announced(&gate), 413, "a body of 1 GiB");
    endless(&gate);
    let zipped = other.clone().with("Content-Encoding: gzip");
    assert_eq!(zipped.echo(2, "zip").status, 415);
    for (tool, passes) in [("notifications", true), ("event", false), ("zip", false)] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"{tool}"}}}}"#
        );
        let answer = other.post(&call);
        assert_eq!(answer.body.contains("\"result\""), passes, "{tool}");
        assert_eq!(answer.body.contains("\"error\""), !passes, "{tool}");
    }
    ended.store(true, Ordering::Relaxed);
    let done = work.join().unwrap();
    drop(held);

    let grown = peak(&gate) - before;
    eprintln!("{grown} KiB more at most; {done} calls of others were answered meanwhile");
    assert!(grown < ROOM, "{grown} KiB");
    assert!(worker.echo(4, "after").body.contains("after"));
}

fn half_a_head(gate: &Serving) -> TcpStream {
    let mut stream = connect(gate);
    stream.write_all(b"POST /mcp HTTP/1.1\r\nHost:").unwrap();
    stream
}

/// The status that a body of 1 GiB gets, of which nothing is sent.
fn announced(gate: &Serving) -> u16 {
    let head = head(gate, "Content-Length: 1073741824");
    let mut stream = connect(gate);
    stream.write_all(head.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A body without an announced length, until it is refused or 1 GiB was taken.
fn endless(gate: &Serving) {
    let mut stream = connect(gate);
    let head = head(gate, "Transfer-Encoding: chunked");
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let taken = (0..16_384).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok());
    assert!(taken.count() < 16_384, "1 GiB was taken");
}

fn head(gate: &Serving, length: &str) -> String {
    let address = address(gate);
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{length}\r\n\r\n"
    )
}

fn connect(gate: &Serving) -> TcpStream {
    TcpStream::connect(address(gate)).unwrap()
}

fn address(gate: &Serving) -> &str {
    let rest = gate.url.strip_prefix("http://").unwrap();
    rest.split('/').next().unwrap()
}

/// The most that the gate has had in memory, in KiB.
fn peak(gate: &Serving) -> u64 {
    let status = format!("/proc/{}/status", gate.child.id());
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.unwrap().trim().strip_suffix(" kB").unwrap();
    line.parse().unwrap()
}

/// A server over HTTP, one connection for each request; yields its URL.
fn server() -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", socket.local_addr().unwrap());
    thread::spawn(move || {
        for stream in socket.incoming() {
            // The gate may hang up at any moment.
            thread::spawn(move || drop(serve(stream.unwrap())));
        }
    });
    url
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if !first.starts_with("POST") {
        return stream.write_all(
            b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    }
    let asked = json(str::from_utf8(&body).unwrap());
    let id = &asked["id"];
    if id.is_null() {
        return stream
            .write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    let reply = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let tool = asked["params"]["name"].as_str().unwrap_or_default();
    match (asked["method"].as_str().unwrap(), tool) {
        ("tools/call", "notifications") => {
            events(&mut stream)?;
            let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"n"}}"#;
            let number = std::env::var("BOMBS_NOTIFICATIONS");
            for _ in 0..number.map_or(4_000, |number| number.parse().unwrap()) {
                write!(stream, "data: {note}\n\n")?;
            }
            write!(stream, "data: {}\n\n", reply(r#"{"content":[]}"#))
        }
        ("tools/call", "event") => {
            events(&mut stream)?;
            let text = "x".repeat(EVENT);
            let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
            write!(stream, "data: {}\n\n", reply(&result))
        }
        ("tools/call", "zip") => whole(&mut stream, "Content-Encoding: gzip\r\n", "\u{1f}\u{8b}"),
        ("tools/call", _) => {
            let text = &asked["params"]["arguments"]["text"];
            let result = format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#);
            whole(&mut stream, "", &reply(&result))
        }
        ("tools/list", _) => whole(&mut stream, "", &reply(&tools())),
        ("initialize", _) => {
            let begun = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"bombs","version":"1"}}"#;
            whole(&mut stream, "", &reply(begun))
        }
        _ => whole(&mut stream, "", &reply("{}")),
    }
}

fn tools() -> String {
    let names = ["echo", "notifications", "event", "zip"];
    let tool = |name: &str| serde_json::json!({"name": name, "inputSchema": {"type": "object"}});
    let tools: Vec<Value> = names.into_iter().map(tool).collect();
    serde_json::json!({ "tools": tools }).to_string()
}

fn events(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    )
}

fn whole(stream: &mut TcpStream, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}
