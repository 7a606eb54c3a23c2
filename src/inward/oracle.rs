//! What must hold of every head, whatever bytes it is made of: the reader behind the gate's own,
//! `httparse` and hyper's rule for bodies, sees the same request in what the gate's own lets pass.

use super::head::{Limits, Scanned, Scanner};

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
            assert_eq!(request.version, Some(1), "{input:?}");
            assert_eq!(body_of(request.headers), Some(body), "{input:?}");
            assert!(head <= LIMITS.bytes);
            lines(input.get(..head).unwrap_or_default());
        }
        // What is held back would be no request for the other reader either.
        Ok(Scanned::Partial) => assert!(!matches!(other, Ok(it) if it.is_complete()), "{input:?}"),
        Err(cause) => assert!((400..=505).contains(&cause.status())),
    }
}

/// One byte after the other.
fn in_pieces(input: &[u8]) -> Result<Scanned, super::head::Misframed> {
    let mut scanner = Scanner::new(LIMITS);
    for length in 1..=input.len() {
        match scanner.scan(input.get(..length).unwrap_or_default())? {
            Scanned::Partial => {}
            whole @ Scanned::Whole { .. } => return Ok(whole),
        }
    }
    Ok(Scanned::Partial)
}

/// How hyper finds the end of a body, where everything that it tolerates is wrong.
fn body_of(fields: &[httparse::Header<'_>]) -> Option<u64> {
    let named = |name: &str| {
        let name = name.to_owned();
        let fields = fields.iter();
        fields.filter(move |field| field.name.eq_ignore_ascii_case(&name))
    };
    let mut lengths = named("content-length");
    let length = lengths.next();
    if named("transfer-encoding").next().is_some() || lengths.next().is_some() {
        return None;
    }
    match length {
        None => Some(0),
        Some(length) => str::from_utf8(length.value).ok()?.parse().ok(),
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
