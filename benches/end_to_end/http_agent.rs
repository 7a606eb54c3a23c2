//! An agent over HTTP: one connection, of one session or of none.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::http_wire::HttpWire;
use super::measure::{Failure, now};
use super::messages::{Call, Era, INITIALIZE, INITIALIZED, LIST, is_result};

#[derive(Debug)]
pub(crate) struct HttpAgent {
    wire: HttpWire,
    /// Host and port, and perhaps a path.
    address: String,
    era: Era,
    /// All of a request's head up to its length.
    head: String,
    last: u64,
    request: Vec<u8>,
    last_used: Instant,
}

/// The gate closes a connection that is idle for ten seconds; one that may be closed meanwhile is not used.
const MAY_BE_CLOSED: Duration = Duration::from_secs(5);

/// Where to connect, and the path there.
fn split(address: &str) -> (&str, &str) {
    address.split_once('/').unwrap_or((address, "mcp"))
}

impl HttpAgent {
    /// A connection of no session.
    pub(crate) fn connect(address: &str, era: Era) -> Result<Self, Failure> {
        let mut agent = Self {
            wire: HttpWire::new(TcpStream::connect(split(address).0)?)?,
            address: address.to_owned(),
            era,
            head: String::new(),
            last: 0,
            request: Vec::new(),
            last_used: now(),
        };
        agent.write_head();
        Ok(agent)
    }

    /// In a session of its own that knows the tools.
    pub(crate) fn open(address: &str) -> Result<Self, Failure> {
        let mut agent = Self::connect(address, Era::Sessions)?;
        agent.shake_hands()?;
        agent.list()?;
        Ok(agent)
    }

    /// Another connection of the same session; the ids of its calls are others.
    pub(crate) fn beside(&self, nth: u64) -> Result<Self, Failure> {
        let mut agent = Self::connect(&self.address, self.era)?;
        agent.wire.session.clone_from(&self.wire.session);
        agent.last = nth.saturating_mul(1_000_000_000);
        agent.write_head();
        Ok(agent)
    }

    pub(crate) fn shake_hands(&mut self) -> Result<(), Failure> {
        self.post(INITIALIZE.as_bytes(), &[])?;
        self.write_head();
        self.post(INITIALIZED.as_bytes(), &[])
    }

    pub(crate) fn list(&mut self) -> Result<(), Failure> {
        self.post(LIST.as_bytes(), &[])?;
        self.expect_result()
    }

    fn write_head(&mut self) {
        let session = match &self.wire.session {
            Some(id) => format!("Mcp-Session-Id: {id}\r\n"),
            None => String::new(),
        };
        let mirrors = match self.era {
            Era::Sessions => "",
            Era::Stateless => "Mcp-Method: tools/call\r\nMcp-Name: echo\r\n",
        };
        let (host, path) = split(&self.address);
        self.head = format!(
            "POST /{path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: {}\r\n{session}{mirrors}Content-Length: ",
            host,
            self.era.revision()
        );
    }

    pub(crate) fn call(&mut self, call: &Call) -> Result<(), Failure> {
        self.last += 1;
        let (start, rest) = call.parts(self.last);
        self.post(start.as_bytes(), rest)?;
        self.expect_result()
    }

    /// Connects again if the connection was idle for long.
    pub(crate) fn reconnect_if_idle(&mut self) -> Result<(), Failure> {
        if self.last_used.elapsed() > MAY_BE_CLOSED {
            let session = self.wire.session.take();
            self.wire = HttpWire::new(TcpStream::connect(split(&self.address).0)?)?;
            self.wire.session = session;
            self.last_used = now();
        }
        Ok(())
    }

    /// One call after the other until then; the time that each took.
    pub(crate) fn calls_until(
        &mut self,
        call: &Call,
        until: Instant,
    ) -> Result<Vec<Duration>, Failure> {
        self.reconnect_if_idle()?;
        let mut times = Vec::new();
        loop {
            let start = now();
            if start >= until {
                return Ok(times);
            }
            self.call(call)?;
            times.push(start.elapsed());
        }
    }

    /// Ends the session, and with it the process behind it.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        self.reconnect_if_idle()?;
        let Some(session) = &self.wire.session else {
            return Ok(());
        };
        let (host, path) = split(&self.address);
        let request = format!(
            "DELETE /{path} HTTP/1.1\r\nHost: {host}\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n\r\n"
        );
        self.wire.send(request.as_bytes())?;
        self.wire.receive().map(drop)
    }

    fn expect_result(&self) -> Result<(), Failure> {
        if is_result(&self.wire.body) {
            return Ok(());
        }
        let body = self.wire.body.get(..300).unwrap_or(&self.wire.body);
        Err(String::from_utf8_lossy(body).into_owned().into())
    }

    fn post(&mut self, start: &[u8], rest: &[u8]) -> Result<(), Failure> {
        let length = (start.len() + rest.len()).to_string();
        self.request.clear();
        for part in [
            self.head.as_bytes(),
            length.as_bytes(),
            b"\r\n\r\n",
            start,
            rest,
        ] {
            self.request.extend_from_slice(part);
        }
        self.wire.send(&self.request)?;
        if !self.wire.receive()? {
            return Err("the connection ended".into());
        }
        self.last_used = now();
        if self.wire.first_line.contains(" 20") {
            return Ok(());
        }
        let body = self.wire.body.get(..300).unwrap_or(&self.wire.body);
        let body = String::from_utf8_lossy(body);
        Err(format!("{}: {body}", self.wire.first_line).into())
    }
}
