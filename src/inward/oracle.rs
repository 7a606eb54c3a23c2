//! What must hold of every head, whatever bytes it is made of: the reader behind the gate's own,
//! `httparse` and hyper's rule for bodies, sees the same request in what the gate's own lets pass.

use super::chunks::Chunks;
use super::head::{Limits, Rest, Scanned, Scanner};
use super::misframed::Misframed;

pub(super) const LIMITS: Limits = Limits {
    bytes: 4096,
    fields: 16,
};

/// Checks all of it for one input.
#[track_caller]
pub(super) fn laws(input: &[u8]) {
    let scanned = Scanner::new(LIMITS).scan(input);
    let piecewise = in_pieces(input);
    assert_eq!(scanned.is_err(), piecewise.is_err(), "{input:?}");
    if let (Ok(scanned), Ok(piecewise)) = (scanned, piecewise) {
        assert_eq!(scanned, piecewise, "{input:?}");
    }
    let mut fields = [httparse::EMPTY_HEADER; LIMITS.fields];
    let mut request = httparse::Request::new(&mut fields);
    let other = request.parse(input);
    match scanned {
        Ok(Scanned::Whole { head, body }) => {
            assert_eq!(other, Ok(httparse::Status::Complete(head)), "{input:?}");
            let is_old = request.version == Some(0);
            assert!(is_old || request.version == Some(1), "{input:?}");
            assert_eq!(body_of(request.headers, is_old), Some(body), "{input:?}");
            if let Rest::Chunks(_) = body {
                chunk_laws(input.get(head..).unwrap_or_default());
            }
            assert!(head <= LIMITS.bytes);
            lines(input.get(..head).unwrap_or_default());
        }
        // What is held back would be no request for the other reader either.
        Ok(Scanned::Partial) => assert!(!matches!(other, Ok(it) if it.is_complete()), "{input:?}"),
        Err(cause) => assert!((400..=505).contains(&cause.status())),
    }
}

/// One byte after the other.
fn in_pieces(input: &[u8]) -> Result<Scanned, Misframed> {
    let mut scanner = Scanner::new(LIMITS);
    for length in 1..=input.len() {
        match scanner.scan(input.get(..length).unwrap_or_default())? {
            Scanned::Partial => {}
            whole @ Scanned::Whole { .. } => return Ok(whole),
        }
    }
    Ok(Scanned::Partial)
}

/// Checks all of it for what follows a head that says that chunks come.
#[track_caller]
pub(super) fn chunk_laws(input: &[u8]) {
    let begin = || Rest::Chunks(Chunks::new());
    let mut body = begin();
    let taken = body.take(input);
    let mut piecewise = begin();
    let mut seen = Ok(None);
    for (at, byte) in input.iter().enumerate() {
        seen = piecewise.take(std::slice::from_ref(byte));
        if let Ok(Some(_)) = seen {
            seen = Ok(Some(at + 1));
        }
        if !matches!(seen, Ok(None)) {
            break;
        }
    }
    assert_eq!(taken.is_err(), seen.is_err(), "{input:?}");
    if let (Ok(taken), Ok(seen)) = (taken, seen) {
        assert_eq!(taken, seen, "{input:?}");
    }
    match taken {
        Ok(Some(end)) => {
            let own = input.get(..end).unwrap_or_default();
            assert_eq!(end_of_chunks(own), Some(end), "{input:?}");
        }
        Ok(None) => assert_eq!(end_of_chunks(input), None, "{input:?}"),
        Err(cause) => assert_eq!(cause.status(), 400),
    }
}

/// Where chunks end, as the grammar of RFC 9112 §7.1 says, without extensions and trailers.
fn end_of_chunks(input: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = input.get(at..)?;
        let line = rest.windows(2).position(|pair| pair == b"\r\n")?;
        let size = str::from_utf8(rest.get(..line)?).ok()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        // Of a last chunk nothing follows but the line end that every other has too.
        at = at.checked_add(line + 2)?.checked_add(size)?;
        (input.get(at..at.checked_add(2)?)? == b"\r\n").then_some(())?;
        at += 2;
        if size == 0 {
            return Some(at);
        }
    }
}

/// How hyper finds the end of a body, where everything that it tolerates is wrong.
fn body_of(fields: &[httparse::Header<'_>], is_old: bool) -> Option<Rest> {
    let named = |name: &str| {
        let name = name.to_owned();
        let fields = fields.iter();
        fields.filter(move |field| field.name.eq_ignore_ascii_case(&name))
    };
    let (mut lengths, mut codings) = (named("content-length"), named("transfer-encoding"));
    let (length, coding) = (lengths.next(), codings.next());
    if codings.next().is_some() || lengths.next().is_some() {
        return None;
    }
    match (length, coding) {
        (None, None) => Some(Rest::Bytes(0)),
        (Some(length), None) => {
            let length = str::from_utf8(length.value).ok()?.parse();
            length.ok().map(Rest::Bytes)
        }
        (None, Some(coding)) if !is_old && coding.value == b"chunked" => {
            Some(Rest::Chunks(Chunks::new()))
        }
        (_, Some(_)) => None,
    }
}

/// Whoever ends lines at a carriage return, at a line feed, or at both, sees the same ones.
#[track_caller]
fn lines(head: &[u8]) {
    let count = |wanted: &[u8]| head.windows(1).filter(|byte| *byte == wanted).count();
    let both = head.windows(2).filter(|pair| *pair == b"\r\n").count();
    assert_eq!((count(b"\r"), count(b"\n")), (both, both), "{head:?}");
    assert!(!head.contains(&0), "{head:?}");
}
