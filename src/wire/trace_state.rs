//! What tracing systems say to themselves along a trace (W3C Trace Context, `tracestate`).

use std::fmt;
use std::sync::Arc;

use super::TraceContext;

/// A list of keys and values, read exactly and bounded; clones share it. It belongs to the
/// `traceparent` that it came with, and means nothing to the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceState(Arc<str>);

/// The trace context for the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingTrace {
    pub context: TraceContext,
    pub state: Option<TraceState>,
}

/// What every system must be able to pass on, in bytes; more is dropped.
const LONGEST: usize = 512;
const MOST_MEMBERS: usize = 32;

/// The longest key and the longest value, in bytes.
const LONGEST_PART: usize = 256;

impl TraceState {
    /// Reads `tracestate`, of which one request may have several, in their order. Anything that is not
    /// exactly one is none: keys of another form or twice, values that no header holds, too much of
    /// it.
    pub fn parse<'s>(said: impl IntoIterator<Item = &'s str>) -> Option<Self> {
        let mut members: Vec<(&str, &str)> = Vec::new();
        let mut length = 0_usize;
        for text in said {
            length = length.saturating_add(text.len());
            if length > LONGEST {
                return None;
            }
            for member in text.split(',') {
                let member = member.trim_matches([' ', '\t']);
                if member.is_empty() {
                    continue;
                }
                let (key, value) = member.split_once('=')?;
                let twice = members.iter().any(|(known, _)| *known == key);
                if !is_key(key) || !is_value(value) || twice || members.len() == MOST_MEMBERS {
                    return None;
                }
                members.push((key, value));
            }
        }
        let members: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let text = members.join(",");
        (!text.is_empty()).then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TraceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `vendor`, or `tenant@vendor`.
fn is_key(key: &str) -> bool {
    let begins =
        |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(&byte);
    let mut parts = key.split('@');
    let right = parts
        .by_ref()
        .take(2)
        .all(|part| begins(part) && part.bytes().all(fits));
    right && parts.next().is_none() && key.len() <= LONGEST_PART
}

/// Printable, without what separates members; the last one is no space.
fn is_value(value: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    !value.is_empty()
        && value.len() <= LONGEST_PART
        && value.bytes().all(fits)
        && !value.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &[&str], expected: Option<&str>) {
        let read = TraceState::parse(said.iter().copied());
        assert_eq!(read.as_ref().map(TraceState::as_str), expected, "{said:?}");
    }

    #[test]
    fn a_state_is_read_exactly_or_not_at_all() {
        check(&["vendor=one"], Some("vendor=one"));
        check(
            &["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"],
            Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
        );
        check(&["a=1 , b=2\t,,", "3c=x y"], Some("a=1,b=2,3c=x y"));
        check(
            &["fw529a3039@dt=FfAA:;/+", "t_-*/1@v=~"],
            Some("fw529a3039@dt=FfAA:;/+,t_-*/1@v=~"),
        );
        let long = format!("a={}", "x".repeat(256));
        check(&[&long], Some(&long));
        let many = |count: usize| {
            (0..count)
                .map(|n| format!("k{n}=v"))
                .collect::<Vec<_>>()
                .join(",")
        };
        check(&[&many(32)], Some(&many(32)));
        for bad in [
            "",
            ",, ,",
            "a",
            "=1",
            "a=",
            "A=1",
            "_a=1",
            "a b=1",
            "a =1",
            "a@=1",
            "@a=1",
            "a@b@c=1",
            "a=1,a=2",
            "a=b=c",
            "a=\u{e9}",
            "a=1\r\nb: 2",
            "a=\t",
            "a=\u{7f}",
            "a=1,b",
            &format!("{long}x"),
            &format!("{}=1", "k".repeat(257)),
            &many(33),
            &format!("a={0},b={0}", "x".repeat(254)),
        ] {
            check(&[bad], None);
        }
        check(&["a=1", "a=2"], None);
        check(&["a=1", &"b".repeat(1_000_000)], None);
        check(&[], None);
    }
}
