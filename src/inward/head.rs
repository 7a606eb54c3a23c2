//! The head of a request (RFC 9112 §2 to §6), read so strictly that no other reader can see another
//! one in the same bytes. The rules are those of hyper's parser, and here what they leave open.

use httparse::{EMPTY_HEADER, Error, Request, Status};

use super::chunks::Chunks;
use super::misframed::Misframed;

/// Bounds of one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes, the empty line at its end included.
    pub bytes: usize,
    /// Header fields.
    pub fields: usize,
}

/// What requests may be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// What the listener has itself.
    OfServer,
    /// What others have, and CONNECT to them (RFC 9112 §3.2.3).
    OfProxy,
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
    /// No body: all that follows is for another.
    Tunnel,
}

impl Rest {
    /// Goes on in what has come next; yields how many of these bytes are the body's if it ends there.
    ///
    /// # Errors
    /// If where it ends is not certain.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Option<usize>, Misframed> {
        match self {
            Self::Tunnel => Ok(None),
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

/// Reads one head, which may come in pieces, with hyper's own parser, and refuses what that one takes
/// and another reader could take for another request.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    limits: Limits,
    targets: Targets,
    /// Up to where the scanner looked for the ends of lines and for control characters.
    looked: usize,
    /// Up to where the lines that ended were checked.
    seen: usize,
}

/// Fields for which there is room without an allocation.
const FEW: usize = 64;

/// Digits of a length: more than anybody has bytes, and no number overflows.
const DIGITS: usize = 18;

impl Scanner {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            targets: Targets::OfServer,
            looked: 0,
            seen: 0,
        }
    }

    /// The same for requests that may be for these.
    pub(super) fn taking(self, targets: Targets) -> Self {
        Self { targets, ..self }
    }

    /// Goes on in all bytes that came since the head began, those of earlier calls included.
    ///
    /// # Errors
    /// As soon as it is known that they are no head that is taken.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Result<Scanned, Misframed> {
        // The parser begins anew each time. So a head that comes byte by byte is parsed at the ends of its
        // lines and at control characters alone.
        let decides = |at: usize| {
            let byte = bytes.get(at).copied().unwrap_or_default();
            let follows_return = at > 0 && bytes.get(at - 1) == Some(&b'\r');
            follows_return || byte.is_ascii_control() && byte != b'\t'
        };
        let is_full = bytes.len() >= self.limits.bytes;
        let Some(last) = (self.looked..bytes.len()).rev().find(|at| decides(*at)) else {
            self.looked = bytes.len();
            return if is_full {
                Err(Misframed::TooLarge)
            } else {
                Ok(Scanned::Partial)
            };
        };
        self.looked = bytes.len();
        let bytes = bytes.get(..=last).unwrap_or_default();
        empty_lines(bytes)?;
        let (mut few, mut many) = ([EMPTY_HEADER; FEW], Vec::new());
        let fields = if let Some(few) = few.get_mut(..self.limits.fields) {
            few
        } else {
            many.resize(self.limits.fields, EMPTY_HEADER);
            &mut many
        };
        let mut request = Request::new(fields);
        let parsed = request
            .parse(bytes)
            .map_err(|error| misframed(error, bytes))?;
        let head = match parsed {
            Status::Complete(head) => head,
            Status::Partial => bytes.len(),
        };
        self.line_ends(bytes, head)?;
        let is_whole = parsed.is_complete();
        if head > self.limits.bytes || (!is_whole && is_full) {
            return Err(Misframed::TooLarge);
        }
        let tunnels = self.targets == Targets::OfProxy && request.method == Some("CONNECT");
        if let Some(target) = request.path {
            // That of CONNECT is a host with its port.
            if !tunnels {
                check_form(target)?;
            }
            check_characters(target)?;
        }
        // Of a head that goes on, the fields so far: an ambiguous length is refused before its end.
        let mut body = body(&request)?;
        if tunnels {
            if body != Rest::Bytes(0) {
                return Err(Misframed::Ambiguous("CONNECT has no body"));
            }
            body = Rest::Tunnel;
        }
        Ok(if is_whole {
            Scanned::Whole { head, body }
        } else {
            Scanned::Partial
        })
    }

    /// hyper takes `X: a\nContent-Length: 4\r\n`; a reader that ends lines at `\r\n` alone sees no length
    /// there.
    fn line_ends(&mut self, bytes: &[u8], end: usize) -> Result<(), Misframed> {
        let is_bare = |at: usize| at == 0 || bytes.get(at - 1) != Some(&b'\r');
        let fresh = bytes.get(self.seen..end).unwrap_or_default();
        if memchr::memchr_iter(b'\n', fresh).any(|at| is_bare(self.seen + at)) {
            return Err(Misframed::Malformed(
                "a line without a carriage return at its end",
            ));
        }
        self.seen = end;
        Ok(())
    }
}

/// hyper takes `\r\n\r\nGET / HTTP/1.1`, and `\nGET / HTTP/1.1`; to others a request of no line comes first.
/// RFC 9112 §2.2 allows one empty line.
fn empty_lines(bytes: &[u8]) -> Result<(), Misframed> {
    let rest = bytes.strip_prefix(b"\r\n").unwrap_or(bytes);
    if rest.starts_with(b"\n") || rest.starts_with(b"\r\n") {
        return Err(Misframed::Malformed("empty lines before the request"));
    }
    Ok(())
}

/// A known form of another version, as `PRI * HTTP/2.0`, gets its own error.
fn misframed(error: Error, bytes: &[u8]) -> Misframed {
    let mut lines = bytes.trim_ascii_start().split(u8::is_ascii_control);
    let version = lines
        .next()
        .and_then(|line| line.rsplit(|it| *it == b' ').next());
    let number = version.and_then(|version| version.strip_prefix(b"HTTP/"));
    match (error, number) {
        (Error::Version, Some(b"1.0" | b"1.1")) => {
            Misframed::Malformed("two spaces before the version")
        }
        (
            Error::Version,
            Some([b'0'..=b'9'] | [b'0'..=b'9', b'.'] | [b'0'..=b'9', b'.', b'0'..=b'9']),
        ) => Misframed::Version,
        (Error::Version, _) => Misframed::Malformed("the version"),
        (Error::TooManyHeaders, _) => Misframed::TooLarge,
        (Error::HeaderName, _) => Misframed::Malformed("the name of a field"),
        (Error::HeaderValue, _) => Misframed::Malformed("the value of a field"),
        (Error::NewLine, _) => Misframed::Malformed("the end of a line"),
        (Error::Token | Error::Status, _) => Misframed::Malformed("the request line"),
    }
}

/// hyper takes the form of CONNECT with other methods: `GET localhost:1 HTTP/1.1`.
fn check_form(target: &str) -> Result<(), Misframed> {
    let is_absolute = |scheme: &str| {
        let start = target.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let is_known = target == "*"
        || target.starts_with('/')
        || is_absolute("http://")
        || is_absolute("https://");
    is_known.then_some(()).ok_or(ODD_TARGET)
}

const ODD_TARGET: Misframed = Misframed::Malformed("the target");

/// hyper takes `GET /mcp#a HTTP/1.1` for `/mcp`, `GET /m\cp`, which others read as `/m/cp`, and bytes
/// outside ASCII.
fn check_characters(target: &str) -> Result<(), Misframed> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}".contains(&byte);
    let is_plain = target.bytes().all(is_plain);
    is_plain.then_some(()).ok_or(ODD_TARGET)
}

/// RFC 9112 §6.3: a length or chunks, and never both. hyper takes `Content-Length: 4` twice, beside
/// `Transfer-Encoding: chunked`, and `Content-Length: 010`, which others read as eight; and codings
/// before the last one, as in `Transfer-Encoding: gzip, chunked`.
fn body(request: &Request<'_, '_>) -> Result<Rest, Misframed> {
    let named = |name: &'static str| {
        let fields = request.headers.iter();
        let fields = fields.filter(move |field| field.name.eq_ignore_ascii_case(name));
        fields.map(|field| field.value)
    };
    let (mut lengths, mut codings) = (named("content-length"), named("transfer-encoding"));
    let (length, coding) = (lengths.next(), codings.next());
    if lengths.next().is_some() {
        return Err(Misframed::Ambiguous("two lengths"));
    }
    if codings.next().is_some() {
        return Err(Misframed::Ambiguous("two transfer codings"));
    }
    match (coding, length) {
        (None, None) => Ok(Rest::Bytes(0)),
        (None, Some(length)) => number(length).map(Rest::Bytes),
        (Some(_), Some(_)) => Err(Misframed::Ambiguous("a length, and a coding")),
        (Some(_), None) if request.version == Some(0) => {
            Err(Misframed::Ambiguous("a coding in HTTP/1.0"))
        }
        (Some(b"chunked"), None) => Ok(Rest::Chunks(Chunks::new())),
        (Some(_), None) => Err(Misframed::Ambiguous(
            "a transfer coding other than `chunked`",
        )),
    }
}

/// One number, in the one way to write it.
fn number(value: &[u8]) -> Result<u64, Misframed> {
    const NONE: Misframed = Misframed::Ambiguous("the length is no number");
    let is_plain = value == b"0" || !value.starts_with(b"0");
    if value.len() > DIGITS || !is_plain || !value.iter().all(u8::is_ascii_digit) {
        return Err(NONE);
    }
    let digits = str::from_utf8(value).map_err(|_| NONE)?;
    digits.parse().map_err(|_| NONE)
}
