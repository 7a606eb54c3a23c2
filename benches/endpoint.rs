//! The least server that does the job, over HTTP and over standard streams: it looks at nothing but
//! the id.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use super::measure::Failure;

/// Serves until it is killed; says first where it listens.
pub(crate) fn serve_http() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    for stream in listener.incoming() {
        let stream = stream?;
        // A client that goes away ends its thread, and nothing else.
        std::thread::spawn(move || drop(converse(stream)));
    }
    Ok(())
}

/// Serves until its standard input ends.
pub(crate) fn serve_lines() -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        if let Some(mut reply) = reply(&line?) {
            reply.push('\n');
            output.write_all(reply.as_bytes())?;
            output.flush()?;
        }
    }
    Ok(())
}

fn converse(stream: TcpStream) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let (mut line, mut body) = (String::new(), Vec::new());
    loop {
        let (mut length, mut head) = (0, 0_usize);
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            head += 1;
            let Some((name, value)) = line.trim().split_once(':') else {
                if line.trim().is_empty() && head > 1 {
                    break;
                }
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        let answer = match reply(std::str::from_utf8(&body)?) {
            Some(reply) => format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{reply}",
                reply.len()
            ),
            None if body.is_empty() => {
                "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".to_owned()
            }
            None => "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
        };
        reader.get_mut().write_all(answer.as_bytes())?;
    }
}

fn reply(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("\"id\":")?;
    let id = rest.split([',', '}']).next()?;
    let result = if message.contains("\"initialize\"") {
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#
    } else if message.contains("tools/list") {
        r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#
    } else {
        r#"{"content":[{"type":"text","text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}]}"#
    };
    Some(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
    ))
}
