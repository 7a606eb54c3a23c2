//! The two lines before the protocol: which server an agent is for, and whether it may be.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::wire::{Document, Fragment, Limits, Value};

/// Bytes of a line before the protocol, with its end.
pub const MAX_LINE_BYTES: usize = 8 * 1024;

/// The version of these lines and of everything else: a gate and what attaches to it are of one release.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const LIMITS: Limits = Limits {
    max_bytes: MAX_LINE_BYTES,
    max_depth: 8,
    max_nodes: 32,
};

/// What an agent says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The key of a server.
    pub server: String,
}

/// What the gate answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Accepted,
    /// And why.
    Refused(String),
}

/// The line with which `attach` begins, with its end.
pub fn greeting(server: &str) -> String {
    let members = [
        ("attach", Fragment::string(server)),
        ("version", Fragment::string(VERSION)),
    ];
    Fragment::object(members).into_string() + "\n"
}

/// The line with which the gate answers, with its end.
pub fn answer(answer: &Answer) -> String {
    let member = match answer {
        Answer::Accepted => ("accepted", Fragment::truth()),
        Answer::Refused(why) => ("refused", Fragment::string(why)),
    };
    Fragment::object([member]).into_string() + "\n"
}

impl Hello {
    /// From a line without its end.
    ///
    /// # Errors
    /// For the sender.
    pub fn of(line: &[u8]) -> Result<Self, String> {
        let unreadable = || "the first line is not that of `mcp-protector attach`".to_owned();
        let document = Document::decode(line, &LIMITS).map_err(|_| unreadable())?;
        let text = |key| Some(document.root().get(key)?.as_str()?.into_owned());
        let version = text("version").ok_or_else(unreadable)?;
        if version != VERSION {
            return Err(format!(
                "this gate is mcp-protector {VERSION}, and `attach` is {version}: close every agent that is \
                 attached, or end the gate (process {}); the next `attach` starts a new one",
                std::process::id()
            ));
        }
        let server = text("attach").ok_or_else(unreadable)?;
        Ok(Self { server })
    }
}

impl Answer {
    /// From a line without its end; `None` if it is no answer.
    pub fn of(line: &[u8]) -> Option<Self> {
        let document = Document::decode(line, &LIMITS).ok()?;
        let root = document.root();
        if root.get("accepted").and_then(Value::as_bool) == Some(true) {
            return Some(Self::Accepted);
        }
        let why = root.get("refused")?.as_str()?;
        Some(Self::Refused(why.into_owned()))
    }

    /// The line before the protocol, and nothing after it. `None` if there is none in the first
    /// [`MAX_LINE_BYTES`], or the other side has gone before.
    ///
    /// # Errors
    /// When the stream cannot be read.
    pub async fn line<R: AsyncRead + Unpin>(stream: &mut R) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        // Byte by byte: what follows belongs to the protocol.
        while line.len() < MAX_LINE_BYTES {
            let mut byte = [0];
            if stream.read(&mut byte).await? == 0 {
                return Ok(None);
            }
            let [byte] = byte;
            if byte == b'\n' {
                return Ok(Some(line));
            }
            line.push(byte);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_before_the_protocol_is_read_as_it_was_meant() {
        let line = greeting("crm");
        let read = Hello::of(line.trim_end().as_bytes());
        let server = "crm".to_owned();
        assert_eq!(read, Ok(Hello { server }));
        for said in [Answer::Accepted, Answer::Refused("no \"x\"\n".to_owned())] {
            let line = answer(&said);
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(Answer::of(line.trim_end().as_bytes()), Some(said));
        }
    }

    #[test]
    fn what_is_no_greeting_is_refused_and_another_version_told_what_to_do() {
        let check = |line: &str, told: &str| {
            let refused = Hello::of(line.as_bytes()).unwrap_err();
            assert!(refused.contains(told), "{line}: {refused}");
        };
        let other = greeting("crm").replace(VERSION, "9.9.9");
        check(other.trim_end(), "`attach` is 9.9.9: close every agent");
        for line in [
            "",
            "{}",
            "x",
            "[]",
            r#"{"attach":"crm"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        ] {
            check(line, "the first line is not that of");
        }
        for line in ["", "{}", r#"{"accepted":false}"#, r#"{"accepted":"true"}"#] {
            assert_eq!(Answer::of(line.as_bytes()), None, "{line}");
        }
    }

    #[tokio::test]
    async fn the_line_before_the_protocol_has_an_end_and_takes_nothing_after_it() {
        let mut stream: &[u8] = b"first\nsecond\n";
        let line = Answer::line(&mut stream).await.unwrap();
        assert_eq!(
            (line.as_deref(), stream),
            (Some(&b"first"[..]), &b"second\n"[..])
        );
        let long = vec![b'x'; 2 * MAX_LINE_BYTES];
        assert_eq!(Answer::line(&mut &*long).await.unwrap(), None);
        assert_eq!(Answer::line(&mut &b"half"[..]).await.unwrap(), None);
    }
}
