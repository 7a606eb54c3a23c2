//! The smallest agent over HTTP: one connection for each request, and nothing between the test and
//! the bytes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::support::json::json;

/// Longer than any answer takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

/// An agent, and the session that it has begun.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    address: String,
    path: String,
    headers: Vec<String>,
}

impl Answer {
    /// None where the gate hangs up before it has answered.
    pub(crate) fn of(mut stream: TcpStream) -> Option<Self> {
        let mut text = String::new();
        // What the gate does not take resets the connection, behind the answer.
        let _ = stream.read_to_string(&mut text);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Self {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        })
    }

    /// The message of an answer, alone or, if it was late, in a stream.
    pub(crate) fn message(&self) -> Value {
        let mut lines = self.body.lines();
        let data = lines.find_map(|line| line.strip_prefix("data: ").filter(|it| !it.is_empty()));
        json(data.unwrap_or(&self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut named = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.trim())
    }
}

impl Agent {
    pub(crate) fn at(url: &str) -> Self {
        let (address, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        Self {
            address: address.to_owned(),
            path: format!("/{path}"),
            headers: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, header: impl Into<String>) -> Self {
        self.headers.push(header.into());
        self
    }

    /// Begins a session; panics unless there is one.
    pub(crate) fn in_session(self) -> Self {
        let answer = self.post(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#,
        );
        let session = answer.header("mcp-session-id");
        let session = session.unwrap_or_else(|| panic!("no session: {answer:?}"));
        let agent = self.with(format!("Mcp-Session-Id: {session}"));
        let told = agent.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(told.status, 202, "{told:?}");
        agent
    }

    /// Calls the fixture's tool that repeats a text; yields what came back.
    pub(crate) fn echo(&self, id: u64, text: &str) -> Answer {
        self.post(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
        ))
    }

    pub(crate) fn post(&self, body: &str) -> Answer {
        self.request("POST", body)
    }

    pub(crate) fn request(&self, method: &str, body: &str) -> Answer {
        let mut stream = self.begin(method, body.len());
        stream.write_all(body.as_bytes()).unwrap();
        Answer::of(stream).unwrap()
    }

    /// Sends the head of a request with a body of so many bytes.
    pub(crate) fn begin(&self, method: &str, length: usize) -> TcpStream {
        let mut headers = vec![
            format!("Host: {}", self.address),
            "Connection: close".to_owned(),
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
            format!("Content-Length: {length}"),
        ];
        // One of the agent's own stands in place of the usual one.
        for own in &self.headers {
            let name = own.split(':').next().unwrap();
            headers.retain(|usual| usual.split(':').next() != Some(name));
            headers.push(own.clone());
        }
        let head = format!(
            "{method} {} HTTP/1.1\r\n{}\r\n\r\n",
            self.path,
            headers.join("\r\n")
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }
}
