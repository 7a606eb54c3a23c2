//! Percent escapes, as in URLs and in forms.

use std::ops::{ControlFlow, Range};

use memchr::memchr;

use super::bytes::Bytes;
use super::hex;

/// Bytes on either side of a secret that go with it, at most: a run can be as long as the text, and
/// each secret of it is widened apart.
const WIDEST: usize = 4096;

/// What stands in a URL or a form, more or less: quotes and brackets of what surrounds it end it.
static OF_URLS: Bytes = Bytes::new(
    b"!#$%&'()*+,-./:;=?@_~|",
    &[b'0'..=b'9', b'A'..=b'Z', b'a'..=b'z'],
);

/// What an encoder leaves as it is, and its escapes.
static OF_RUNS: Bytes = Bytes::new(b"-._~%", &[b'0'..=b'9', b'A'..=b'Z', b'a'..=b'z']);

/// Something with escapes in it.
pub(super) struct Encoded<'t> {
    text: &'t [u8],
    bytes: Vec<u8>,
    /// Where each decoded byte begins in the text, and where the last one ends.
    places: Vec<u32>,
}

/// Calls back with everything that has an escape, until that says to stop.
pub(super) fn each(
    text: &str,
    mut found: impl FnMut(&Encoded<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let text = text.as_bytes();
    let mut done = 0;
    let mut from = 0;
    while let Some(at) = memchr(b'%', text.get(from..).unwrap_or_default()) {
        let at = from + at;
        if escape(text, at).is_none() {
            from = at + 1;
            continue;
        }
        let before = text.get(done..at).unwrap_or_default();
        let start = before.iter().rposition(|&byte| !OF_URLS.has(byte));
        let start = start.map_or(done, |other| done + other + 1);
        let rest = text.get(at..).unwrap_or_default();
        let length = rest.iter().position(|&byte| !OF_URLS.has(byte));
        let end = at + length.unwrap_or(rest.len());
        found(&Encoded::new(text, start..end))?;
        done = end;
        from = end;
    }
    ControlFlow::Continue(())
}

impl<'t> Encoded<'t> {
    fn new(text: &'t [u8], range: Range<usize>) -> Self {
        let mut bytes = Vec::with_capacity(range.len());
        let mut places = Vec::with_capacity(range.len() + 1);
        let mut at = range.start;
        while at < range.end
            && let Some(&plain) = text.get(at)
        {
            places.push(place(at));
            if let Some(byte) = escape(text, at) {
                bytes.push(byte);
                at += 3;
            } else {
                bytes.push(plain);
                at += 1;
            }
        }
        places.push(place(at));
        Self {
            text,
            bytes,
            places,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the text these decoded bytes stand, and what is written with them in one go.
    pub(super) fn run_of(&self, decoded: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let place = self.places.get(at).or(self.places.last());
            place.map_or(0, |place| *place as usize)
        };
        let (start, end) = (place(decoded.start), place(decoded.end));
        let before = self.text.get(start.saturating_sub(WIDEST)..start);
        let after = self.text.get(end..).unwrap_or_default();
        let of_run = |&&byte: &&u8| OF_RUNS.has(byte);
        let wider = before.unwrap_or_default().iter().rev().take_while(of_run);
        let longer = after.iter().take(WIDEST).take_while(of_run);
        start - wider.count()..end + longer.count()
    }
}

/// Half as wide as a place: there is one for each byte. A message has far fewer bytes than that holds.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn escape(text: &[u8], at: usize) -> Option<u8> {
    match text.get(at..at + 3)? {
        &[b'%', high, low] => hex::byte(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        let all = each(text, |encoded| {
            found.push(String::from_utf8_lossy(encoded.bytes()).into_owned());
            ControlFlow::Continue(())
        });
        assert!(all.is_continue());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn only_what_has_escapes_is_decoded() {
        check("", &[]);
        check("100% of it", &[]);
        check("%zz %4", &[]);
        check(
            "see https://a.b/?q=x%20y%3D1 there",
            &["https://a.b/?q=x y=1"],
        );
        check("\"a%2fb\" 'c' d%2Fe", &["a/b", "d/e"]);
        check("%25%zz%41", &["%%zzA"]);
        check("a%zz%41", &["a%zzA"]);
    }

    #[test]
    fn the_run_of_a_secret_is_all_that_is_written_in_one_go() {
        let all = each("a=1&b=x%20secret%21y&c=2", |encoded| {
            let decoded = String::from_utf8_lossy(encoded.bytes()).into_owned();
            let at = decoded.find("secret").unwrap();
            assert_eq!(encoded.run_of(&(at..at + 6)), 6..20);
            ControlFlow::Continue(())
        });
        assert!(all.is_continue());
    }
}
