//! Where a piece of work stands in a trace (W3C Trace Context, level 1).
//!
//! Of what a peer says two ids and one flag are taken, and the state that belongs to them
//! (`trace_state.rs`). `baggage` is a text of the peer's own, which the gate does not evaluate: it goes as
//! far as the message that holds it, and no further.

use std::fmt;

/// The trace that a piece of work belongs to; never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// One step of it; never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// Whether the trace's author samples it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampled {
    Yes,
    No,
}

/// What one step says of itself to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    pub trace: TraceId,
    pub span: SpanId,
    pub sampled: Sampled,
}

/// The spans of one message at the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// From its arrival until its sender has the outcome.
    pub own: TraceContext,
    /// The step that sent it, if it said so.
    pub parent: Option<SpanId>,
    /// What the HTTP request said, where the message itself said something else.
    pub beside: Option<TraceContext>,
    /// From its leaving the gate until the reply: the parent of what the other side does.
    pub onward: SpanId,
}

/// What is longer is not read: a later version may add to the 55 bytes of the first.
const LONGEST: usize = 256;

/// `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
const FIRST_VERSION: usize = 55;

impl TraceId {
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl SpanId {
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    pub fn bytes(self) -> [u8; 8] {
        self.0
    }
}

impl TraceContext {
    /// Reads `traceparent`. Anything that is not exactly one is none: lower-case digits, ids that
    /// are not zero, nothing behind the first version, and after a later one only what a dash
    /// begins.
    pub fn parse(traceparent: &str) -> Option<Self> {
        if traceparent.len() > LONGEST {
            return None;
        }
        let mut parts = traceparent.splitn(5, '-');
        let version: [u8; 1] = digits(parts.next()?)?;
        let trace = TraceId::new(digits(parts.next()?)?)?;
        let span = SpanId::new(digits(parts.next()?)?)?;
        let [flags] = digits(parts.next()?)?;
        match version {
            [0] if traceparent.len() != FIRST_VERSION => return None,
            [0xff] => return None,
            [_] => {}
        }
        let sampled = if flags & 1 == 1 {
            Sampled::Yes
        } else {
            Sampled::No
        };
        Some(Self {
            trace,
            span,
            sampled,
        })
    }
}

impl Span {
    /// The context for the other side: its parent is the round trip.
    pub fn onward(&self) -> TraceContext {
        TraceContext {
            span: self.onward,
            ..self.own
        }
    }
}

/// As `traceparent` says it.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = match self.sampled {
            Sampled::Yes => "01",
            Sampled::No => "00",
        };
        write!(f, "00-{}-{}-{flags}", self.trace, self.span)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Exactly so many bytes, in lower-case hexadecimal.
fn digits<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    if text.len() != 2 * BYTES {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        for digit in pair {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            *byte = *byte << 4 | value;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[track_caller]
    fn check(text: &str, sampled: Option<Sampled>) {
        let read = TraceContext::parse(text);
        assert_eq!(read.map(|read| read.sampled), sampled, "{text:?}");
        if let Some(read) = read {
            assert_eq!(read.trace.to_string(), TRACE);
            assert_eq!(read.span.to_string(), SPAN);
        }
    }

    #[test]
    fn a_trace_context_is_read_exactly_or_not_at_all() {
        use Sampled::{No, Yes};
        let good = format!("00-{TRACE}-{SPAN}");
        for (flags, sampled) in [
            ("00", No),
            ("01", Yes),
            ("02", No),
            ("03", Yes),
            ("ff", Yes),
        ] {
            check(&format!("{good}-{flags}"), Some(sampled));
        }
        // Later versions say more, behind a dash.
        check(&format!("01-{TRACE}-{SPAN}-01"), Some(Yes));
        check(
            &format!("cc-{TRACE}-{SPAN}-01-what-the-future-brings"),
            Some(Yes),
        );
        let zeros = "0".repeat(32);
        for bad in [
            String::new(),
            "-".repeat(55),
            good.clone(),
            format!("{good}-"),
            format!("{good}-1"),
            format!("{good}-001"),
            format!("{good}-01-"),
            format!("{good}-01-more"),
            format!("{good}-01 "),
            format!(" {good}-01"),
            format!("{good}-0g"),
            format!("{good}-+1"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("000-{TRACE}-{SPAN}-01"),
            format!("01-{TRACE}-{SPAN}-01x"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{SPAN}-{TRACE}-01"),
            format!("00_{TRACE}_{SPAN}_01"),
            format!("00-{TRACE}é-{SPAN}-01"),
            format!("01-{TRACE}-{SPAN}-01-{}", "x".repeat(1_000_000)),
            "00-".repeat(100_000),
        ] {
            check(&bad, None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            trace in any::<[u8; 16]>(), span in any::<[u8; 8]>(), sampled in any::<bool>(),
        ) {
            let ids = TraceId::new(trace).zip(SpanId::new(span));
            prop_assume!(ids.is_some());
            let (trace, span) = ids.unwrap();
            let sampled = if sampled { Sampled::Yes } else { Sampled::No };
            let context = TraceContext { trace, span, sampled };
            prop_assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
        }

        #[test]
        fn nothing_that_a_peer_says_does_harm(text in "[0-9a-f-]{0,80}|.{0,80}") {
            if let Some(read) = TraceContext::parse(&text) {
                prop_assert_eq!(TraceContext::parse(&read.to_string()), Some(read));
            }
        }
    }
}
