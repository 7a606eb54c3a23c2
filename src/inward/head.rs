//! The head of a request (RFC 9112 §2 to §6), read so strictly that no other reader can see another
//! one in the same bytes.

use super::chunks::Chunks;

/// Bounds of one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes, the empty line at its end included.
    pub bytes: usize,
    /// Header fields.
    pub fields: usize,
}

/// How far a head has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scanned {
    /// Nothing is wrong so far, and more must come.
    Partial,
    Whole {
        /// Bytes of the head.
        head: usize,
        /// How the end of the body that follows it is found.
        body: Rest,
    },
}

/// What of a body is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Bytes(u64),
    Chunks(Chunks),
}

impl Rest {
    /// Goes on in what has come next; yields how many of these bytes are the body's if it ends there.
    ///
    /// # Errors
    /// If where it ends is not certain.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Option<usize>, Misframed> {
        match self {
            Self::Chunks(chunks) => chunks.take(bytes),
            Self::Bytes(left) => {
                let came = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                match left.checked_sub(came).filter(|left| *left > 0) {
                    Some(more) => {
                        *left = more;
                        Ok(None)
                    }
                    // INVARIANT: it is no longer than what has come.
                    None => Ok(usize::try_from(*left).ok()),
                }
            }
        }
    }
}

/// Why bytes are no head that is taken. Nothing of the peer's is quoted. Where the next request
/// would begin is not known then, so that the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misframed {
    #[error("this is no HTTP/1.1: {0}")]
    Malformed(&'static str),
    #[error("the end of the body could be seen at two places: {0}")]
    Ambiguous(&'static str),
    #[error("the body does not come in proper chunks: {0}")]
    Chunks(&'static str),
    #[error("the head is too large")]
    TooLarge,
    #[error("only HTTP/1.1 and HTTP/1.0 are spoken here")]
    Version,
}

impl Misframed {
    /// The status that it is answered with.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed(_) | Self::Ambiguous(_) | Self::Chunks(_) => 400,
            Self::TooLarge => 431,
            Self::Version => 505,
        }
    }

    /// A stable word for records and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed(_) => "head_malformed",
            Self::Ambiguous(_) => "length_ambiguous",
            Self::Chunks(_) => "body_aborted",
            Self::TooLarge => "head_too_large",
            Self::Version => "http_version",
        }
    }
}

/// Reads one head, which may come in pieces: each byte is looked at once, or twice.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    limits: Limits,
    /// Where the line begins that has not ended yet.
    line: usize,
    /// Up to where everything was looked at.
    seen: usize,
    read: Read,
    fields: usize,
    length: Option<u64>,
    coded: bool,
    /// HTTP/1.0, which has no chunks.
    is_old: bool,
}

/// What has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    Nothing,
    /// RFC 9112 §2.2: one may come before the request line.
    EmptyLine,
    RequestLine,
}

/// Digits of a length: more than anybody has bytes, and no number overflows.
const DIGITS: usize = 18;

impl Scanner {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            line: 0,
            seen: 0,
            read: Read::Nothing,
            fields: 0,
            length: None,
            coded: false,
            is_old: false,
        }
    }

    /// Goes on in all bytes that came since the head began, those of earlier calls included.
    ///
    /// # Errors
    /// As soon as it is known that they are no head that is taken.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Result<Scanned, Misframed> {
        loop {
            let fresh = bytes.get(self.seen..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', fresh) else {
                return self.unended(bytes.len(), fresh);
            };
            let end = self.seen + length;
            if end >= self.limits.bytes {
                return Err(Misframed::TooLarge);
            }
            let line = bytes.get(self.line..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").ok_or(BARE)?;
            (self.line, self.seen) = (end + 1, end + 1);
            match (self.read, line.is_empty()) {
                (Read::Nothing, true) => self.read = Read::EmptyLine,
                (Read::EmptyLine, true) => {
                    return Err(Misframed::Malformed("empty lines before the request"));
                }
                (Read::Nothing | Read::EmptyLine, false) => {
                    self.is_old = request_line(line)?;
                    self.read = Read::RequestLine;
                }
                (Read::RequestLine, false) => self.field(line)?,
                (Read::RequestLine, true) => {
                    let body = self.body()?;
                    let head = self.line;
                    return Ok(Scanned::Whole { head, body });
                }
            }
        }
    }

    /// What cannot become a line is refused before its end.
    fn unended(&mut self, length: usize, fresh: &[u8]) -> Result<Scanned, Misframed> {
        if fresh.iter().any(|byte| *byte != b'\r' && !is_text(*byte)) {
            return Err(CONTROL);
        }
        if length >= self.limits.bytes {
            return Err(Misframed::TooLarge);
        }
        self.seen = length;
        Ok(Scanned::Partial)
    }

    fn field(&mut self, line: &[u8]) -> Result<(), Misframed> {
        if line.first().is_some_and(|byte| is_blank(*byte)) {
            return Err(Misframed::Malformed("a field goes on in another line"));
        }
        let colon = memchr::memchr(b':', line);
        let colon = colon.ok_or(Misframed::Malformed("a field without a colon"))?;
        let (name, value) = line.split_at_checked(colon).unwrap_or_default();
        let value = value.get(1..).unwrap_or_default();
        if name.last().is_some_and(|byte| is_blank(*byte)) {
            return Err(Misframed::Malformed("a space before a colon"));
        }
        if !is_token(name) {
            return Err(Misframed::Malformed("the name of a field"));
        }
        if !value.iter().all(|byte| is_text(*byte)) {
            return Err(CONTROL);
        }
        self.fields += 1;
        if self.fields > self.limits.fields {
            return Err(Misframed::TooLarge);
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if std::mem::replace(&mut self.coded, true) {
                return Err(Misframed::Ambiguous("two transfer codings"));
            }
            if trimmed(value) != b"chunked" {
                return Err(Misframed::Ambiguous(
                    "a transfer coding other than `chunked`",
                ));
            }
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let length = number(trimmed(value))?;
            if self.length.replace(length).is_some() {
                return Err(Misframed::Ambiguous("two lengths"));
            }
        }
        Ok(())
    }

    /// RFC 9112 §6.3: a length or chunks, and never both.
    fn body(&self) -> Result<Rest, Misframed> {
        match (self.coded, self.length) {
            (true, Some(_)) => Err(Misframed::Ambiguous("a length, and a coding")),
            (true, None) if self.is_old => Err(Misframed::Ambiguous("a coding in HTTP/1.0")),
            (true, None) => Ok(Rest::Chunks(Chunks::new())),
            (false, length) => Ok(Rest::Bytes(length.unwrap_or_default())),
        }
    }
}

const BARE: Misframed = Misframed::Malformed("a line without a carriage return at its end");
const CONTROL: Misframed = Misframed::Malformed("a control character");

/// Yields whether it is of HTTP/1.0.
fn request_line(line: &[u8]) -> Result<bool, Misframed> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Misframed::Malformed("the request line has not three parts"));
    };
    if !is_token(method) {
        return Err(Misframed::Malformed("the method"));
    }
    let is_old = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            return Err(Misframed::Version);
        }
        _ => return Err(Misframed::Malformed("the version")),
    };
    let is_known = target.starts_with(b"/") || target == b"*" || is_absolute(target);
    if !is_known || !target.iter().all(|byte| is_of_target(*byte)) {
        return Err(Misframed::Malformed("the target"));
    }
    Ok(is_old)
}

fn is_absolute(target: &[u8]) -> bool {
    let starts = |with: &[u8]| {
        let start = target.get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    starts(b"http://") || starts(b"https://")
}

/// One number, in the one way to write it: others read `010` as eight.
fn number(value: &[u8]) -> Result<u64, Misframed> {
    let is_plain = value == b"0" || !value.starts_with(b"0");
    if value.is_empty() || value.len() > DIGITS || !is_plain {
        return Err(Misframed::Ambiguous("the length is no number"));
    }
    value.iter().try_fold(0_u64, |number, byte| match byte {
        b'0'..=b'9' => Ok(number * 10 + u64::from(byte - b'0')),
        _ => Err(Misframed::Ambiguous("the length is no number")),
    })
}

/// RFC 9110 §5.5: spaces and tabs round a value are no part of it.
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// RFC 9110 §5.6.2.
fn is_token(name: &[u8]) -> bool {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            )
    };
    !name.is_empty() && name.iter().all(is_part)
}

/// What RFC 3986 lets stand in a URI, but for the fragment, which is never sent.
fn is_of_target(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b':'
                | b'@'
                | b'/'
                | b'?'
                | b'%'
                | b'['
                | b']'
        )
}

/// RFC 9110 §5.5: what is visible, blank, or no ASCII.
fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}
