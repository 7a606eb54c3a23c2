//! The least server that does the job, over HTTP and over standard streams: it looks at nothing but the id, the method
//! and the text, which it sends back.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use super::http_wire::HttpWire;
use super::measure::Failure;
use super::messages::Era;

/// What a server says of itself.
#[derive(Debug)]
struct Server {
    era: Era,
    /// The result of `tools/list`.
    tools: String,
}

impl Server {
    /// By the words of the command line: the revision, and the number of tools.
    fn new(words: &[String]) -> Result<Self, Failure> {
        let era = match words.first().map(String::as_str) {
            Some("2026-07-28") => Era::Stateless,
            _ => Era::Sessions,
        };
        let count: usize = words.get(1).map_or(Ok(1), |word| word.parse())?;
        let mut tools = r#"{"name":"echo","inputSchema":{"type":"object"}}"#.to_owned();
        for number in 1..count {
            write!(
                tools,
                r#",{{"name":"tool_{number}","description":"Reads the record with this number.","inputSchema":{{"type":"object","properties":{{"number":{{"type":"integer"}},"text":{{"type":"string","maxLength":4096}}}},"required":["number"]}}}}"#
            )?;
        }
        let ending = match era {
            Era::Sessions => "",
            Era::Stateless => r#","resultType":"complete","ttlMs":60000,"cacheScope":"private""#,
        };
        Ok(Self {
            era,
            tools: format!(r#"{{"tools":[{tools}]{ending}}}"#),
        })
    }

    /// Nothing for a notification.
    fn reply(&self, message: &str) -> Option<String> {
        let (_, after_id) = message.split_once("\"id\":")?;
        let id = after_id.split([',', '}']).next()?;
        let (_, method) = message.split_once("\"method\":\"")?;
        let method = method.split('"').next()?;
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        let reply = match (method, self.era) {
            ("initialize", Era::Sessions) => format!(
                r#"{start}"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
            ),
            ("server/discover", Era::Stateless) => format!(
                r#"{start}"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}},"ttlMs":60000,"cacheScope":"private"}}}}"#
            ),
            ("tools/list", _) => format!(r#"{start}"result":{}}}"#, self.tools),
            ("tools/call", era) => {
                let text = message.split_once("\"text\":\"").map(|(_, text)| text);
                let text = text.and_then(|text| text.split('"').next());
                let text = text.unwrap_or_default();
                let ending = match era {
                    Era::Sessions => "",
                    Era::Stateless => r#","resultType":"complete""#,
                };
                format!(
                    r#"{start}"result":{{"content":[{{"type":"text","text":"{text}"}}]{ending}}}}}"#
                )
            }
            _ => format!(r#"{start}"error":{{"code":-32601,"message":"no such method"}}}}"#),
        };
        Some(reply)
    }
}

/// Serves until it is killed; says first where it listens.
pub(crate) fn serve_http(words: &[String]) -> Result<(), Failure> {
    let server = Arc::new(Server::new(words)?);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    for stream in listener.incoming() {
        let (stream, server) = (stream?, Arc::clone(&server));
        // A client that goes away ends its thread, and nothing else.
        std::thread::spawn(move || drop(converse(stream, &server)));
    }
    Ok(())
}

fn converse(stream: TcpStream, server: &Server) -> Result<(), Failure> {
    let mut wire = HttpWire::new(stream)?;
    while wire.receive()? {
        let answer = match server.reply(std::str::from_utf8(&wire.body)?) {
            Some(reply) => format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{reply}",
                reply.len()
            ),
            None if wire.body.is_empty() => {
                "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".to_owned()
            }
            None => "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
        };
        wire.send(answer.as_bytes())?;
    }
    Ok(())
}

/// Serves until its standard input ends.
pub(crate) fn serve_lines(words: &[String]) -> Result<(), Failure> {
    let server = Server::new(words)?;
    let mut input = BufReader::with_capacity(64 * 1024, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let (mut line, mut replies) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(reply) = server.reply(std::str::from_utf8(&line)?) {
            replies.extend_from_slice(reply.as_bytes());
            replies.push(b'\n');
        }
        // Requests that came together are answered together.
        if !input.buffer().contains(&b'\n') {
            output.write_all(&replies)?;
            output.flush()?;
            replies.clear();
        }
    }
}
