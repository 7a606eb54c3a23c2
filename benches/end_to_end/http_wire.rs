//! The least reader of HTTP/1.1, for agents and servers of this benchmark: it reads four header fields.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::measure::Failure;
use super::messages::find;

/// What a read may take at once.
const CHUNK: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct HttpWire {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer is read and not taken yet.
    held: std::ops::Range<usize>,
    /// The first line of the latest message.
    pub(crate) first_line: String,
    /// Its session.
    pub(crate) session: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl HttpWire {
    pub(crate) fn new(stream: TcpStream) -> Result<Self, Failure> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![0; CHUNK],
            held: 0..0,
            first_line: String::new(),
            session: None,
            body: Vec::new(),
        })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Reads one message; false at the end of the connection.
    pub(crate) fn receive(&mut self) -> Result<bool, Failure> {
        let Some(head) = self.head()? else {
            return Ok(false);
        };
        let mut lines = head.lines();
        lines
            .next()
            .unwrap_or_default()
            .clone_into(&mut self.first_line);
        let (mut length, mut chunked) = (0, false);
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse()?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                chunked = true;
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                self.session = Some(value.to_owned());
            }
        }
        self.body.clear();
        if chunked {
            self.chunks()?;
        } else {
            self.take(length)?;
        }
        Ok(true)
    }

    fn held(&self) -> &[u8] {
        self.buffer.get(self.held.clone()).unwrap_or_default()
    }

    /// Reads more; false at the end.
    fn fill(&mut self) -> Result<bool, Failure> {
        if self.held.is_empty() {
            self.held = 0..0;
        } else if self.held.end == self.buffer.len() {
            self.buffer.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
        }
        let room = self.buffer.get_mut(self.held.end..).unwrap_or_default();
        let read = self.stream.read(room)?;
        self.held.end += read;
        Ok(read > 0)
    }

    fn head(&mut self) -> Result<Option<String>, Failure> {
        loop {
            if let Some(end) = find(self.held(), b"\r\n\r\n") {
                let head = self.held().get(..end).unwrap_or_default();
                let head = String::from_utf8_lossy(head).into_owned();
                self.held.start += end + 4;
                return Ok(Some(head));
            }
            if self.held.len() == CHUNK {
                return Err("a head of over 64 KiB".into());
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Appends so many bytes to the body.
    fn take(&mut self, length: usize) -> Result<(), Failure> {
        let held = self.held.len().min(length);
        let part = self.held().get(..held).unwrap_or_default().to_vec();
        self.body.extend_from_slice(&part);
        self.held.start += held;
        let start = self.body.len();
        self.body.resize(start + length - held, 0);
        let rest = self.body.get_mut(start..).unwrap_or_default();
        Ok(self.stream.read_exact(rest)?)
    }

    /// The body of a stream of events comes in chunks.
    fn chunks(&mut self) -> Result<(), Failure> {
        loop {
            let end = loop {
                if let Some(end) = find(self.held(), b"\r\n") {
                    break end;
                }
                if !self.fill()? {
                    return Err("the body ends early".into());
                }
            };
            let line = self.held().get(..end).unwrap_or_default();
            let length = usize::from_str_radix(std::str::from_utf8(line)?, 16)?;
            self.held.start += end + 2;
            self.take(length + 2)?;
            self.body.truncate(self.body.len() - 2);
            if length == 0 {
                return Ok(());
            }
        }
    }
}
