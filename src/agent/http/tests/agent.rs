//! An agent on a socket, that sees every byte.

use std::fmt::Write as _;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request, as text.
#[derive(Debug, Clone)]
pub(super) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

pub(super) struct Agent {
    stream: TcpStream,
    read: Vec<u8>,
}

/// One event of a stream, its fields in their order; a comment is one without fields.
pub(super) type Event = Vec<(String, String)>;

impl Request {
    /// What a decent agent sends.
    pub(super) fn post(body: &str) -> Self {
        Self::new("POST")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body)
    }

    pub(super) fn get() -> Self {
        Self::new("GET").header("Accept", "text/event-stream")
    }

    pub(super) fn new(method: &str) -> Self {
        let request = Self {
            method: method.to_owned(),
            path: "/mcp".to_owned(),
            headers: Vec::new(),
            body: None,
        };
        request.header("Host", "localhost")
    }

    /// With the headers that 2026-07-28 asks for.
    pub(super) fn stateless(body: &str, method: &str, name: Option<&str>) -> Self {
        let request = Self::post(body)
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method);
        match name {
            Some(name) => request.header("Mcp-Name", name),
            None => request,
        }
    }

    pub(super) fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    pub(super) fn body(mut self, body: &str) -> Self {
        self.body = Some(body.to_owned());
        self
    }

    pub(super) fn session(self, id: &str) -> Self {
        self.header("Mcp-Session-Id", id)
    }

    pub(super) fn token_of(self, name: &str) -> Self {
        self.header(
            "Authorization",
            &format!("Bearer {}", super::rig::token(name)),
        )
    }

    /// One more header.
    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In place of all headers of this name.
    pub(super) fn instead(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        if let Some(body) = &self.body {
            write!(text, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        } else {
            text.push_str("\r\n");
        }
        text
    }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "{name} stands twice");
        value
    }

    /// A member of the body, by its pointer.
    pub(super) fn at(&self, pointer: &str) -> serde_json::Value {
        let body: serde_json::Value = self.body.parse().unwrap();
        body.pointer(pointer).cloned().unwrap_or_default()
    }
}

impl Agent {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        Self {
            stream: TcpStream::connect(address).await.unwrap(),
            read: Vec::new(),
        }
    }

    pub(super) async fn send(&mut self, request: &Request) {
        self.write(request.text().as_bytes()).await;
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        // What was refused may be closed before all of it was written.
        let _ = self.stream.write_all(bytes).await;
    }

    pub(super) async fn ask(&mut self, request: &Request) -> Answer {
        self.send(request).await;
        self.answer().await
    }

    /// The next response, whole; of a stream, its head.
    pub(super) async fn answer(&mut self) -> Answer {
        let head = self.until(b"\r\n\r\n").await.expect("no answer came");
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Answer {
            status: status.parse().unwrap(),
            headers,
            body: String::new(),
        };
        if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            while self.read.len() < length {
                assert!(self.more().await, "the body ended too soon");
            }
            let body = self.read.drain(..length).collect();
            answer.body = String::from_utf8(body).unwrap();
        }
        answer
    }

    /// The next event of a stream; none at its end.
    pub(super) async fn event(&mut self) -> Option<Event> {
        // Each event is written as one chunk.
        let size = self.until(b"\r\n").await?;
        let size = String::from_utf8(size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        while self.read.len() < size + 2 {
            assert!(self.more().await, "the stream broke off");
        }
        let chunk: Vec<u8> = self.read.drain(..size + 2).collect();
        if size == 0 {
            return None;
        }
        let chunk = String::from_utf8(chunk).unwrap();
        let event = chunk.strip_suffix("\n\n\r\n").unwrap();
        assert!(!event.contains("\n\n"), "two events at once: {event}");
        let fields = event.lines().filter_map(|line| line.split_once(':'));
        Some(
            fields
                .filter(|(name, _)| !name.is_empty())
                .map(|(name, value)| (name.to_owned(), value.trim_start().to_owned()))
                .collect(),
        )
    }

    /// The next event that is no comment.
    pub(super) async fn message(&mut self) -> Option<Event> {
        loop {
            let event = self.event().await?;
            if !event.is_empty() {
                return Some(event);
            }
        }
    }

    /// Resolves when the other side has closed the connection; how many bytes came before.
    pub(super) async fn closed(&mut self) -> usize {
        while self.more().await {}
        self.read.len()
    }

    /// Whether the connection still stands; what was sent on it is not read.
    pub(super) async fn is_held(&mut self) -> bool {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        // Bytes behind a request whose answer is not read: refused when nobody is there.
        self.stream.write_all(b"\r\n").await.is_ok()
    }

    /// The head of the next response, as it came. Of what comes behind it nothing is taken.
    pub(super) async fn head(&mut self) -> String {
        let head = self.until(b"\r\n\r\n").await.expect("no answer came");
        String::from_utf8(head).unwrap()
    }

    async fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self.read.windows(end.len()).position(|part| part == end);
            if let Some(at) = found {
                return Some(self.read.drain(..at + end.len()).collect());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn more(&mut self) -> bool {
        let mut part = [0; 4096];
        match self.stream.read(&mut part).await {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.read.extend_from_slice(&part[..read]);
                true
            }
        }
    }
}

/// The value of a field of an event.
pub(super) fn field<'e>(event: &'e Event, name: &str) -> Option<&'e str> {
    let mut found = event.iter().filter(|(known, _)| known == name);
    let value = found.next().map(|(_, value)| value.as_str());
    assert_eq!(found.next(), None, "{name} stands twice");
    value
}
