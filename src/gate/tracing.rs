//! The place of a message in a trace, where somebody collects traces.
//!
//! Ids are made when a message comes, because the other side may be told them when it leaves; what
//! a trace tells of the message is made from its records.

use crate::audit::{Named, Traced};
use crate::wire::{KnownMethod, Sampled, Span, SpanId, TraceContext, TraceId};

use super::record::Trail;

/// Whether messages have a place in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracing {
    /// Nobody collects them.
    #[default]
    Off,
    /// Of the traces that begin here this share is kept; others as whoever began them says.
    On(Share),
}

/// A share of all traces, told by their ids, so that everybody who asks for the same share keeps
/// the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Ids below this are kept, by the 63 bits that are random in all of them.
    below: u64,
}

impl Share {
    /// A ratio between 0 and 1; what is beyond counts as the nearer of them.
    pub fn of(ratio: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "between 0 and 2^63, where the last bits of a share do not matter"
        )]
        let below = (ratio.clamp(0.0, 1.0) * (1_u64 << 63) as f64) as u64;
        Self { below }
    }

    fn keeps(self, trace: TraceId) -> Sampled {
        let bytes = trace.bytes();
        let (_, random) = bytes.split_at(8);
        let random = random
            .iter()
            .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        if random >> 1 < self.below {
            Sampled::Yes
        } else {
            Sampled::No
        }
    }
}

impl Tracing {
    /// The spans of a message. What it says itself comes before what the HTTP request says that
    /// brought it (OpenTelemetry semantic conventions for MCP): a request may bring many.
    pub(super) fn begin(
        self,
        said: Option<TraceContext>,
        beside: Option<TraceContext>,
    ) -> Option<Span> {
        let Self::On(share) = self else { return None };
        let mut random = [0; 32];
        // Without random numbers there is no trace; messages need none.
        getrandom::fill(&mut random).ok()?;
        let (trace, spans) = random.split_first_chunk::<16>()?;
        let (own, onward) = spans.split_first_chunk::<8>()?;
        let onward = SpanId::new(*onward.first_chunk::<8>()?)?;
        let span = SpanId::new(*own)?;
        let parent = said.or(beside);
        let own = if let Some(parent) = parent {
            TraceContext { span, ..parent }
        } else {
            let trace = TraceId::new(*trace)?;
            TraceContext {
                trace,
                span,
                sampled: share.keeps(trace),
            }
        };
        Some(Span {
            own,
            parent: parent.map(|parent| parent.span),
            beside: beside.filter(|beside| said.is_some_and(|said| said != *beside)),
            onward,
        })
    }
}

impl Trail {
    /// The message asks for something, or tells it.
    pub(super) fn take_place(&mut self, tracing: Tracing) {
        if tracing == Tracing::Off {
            return;
        }
        let said = self
            .correlation
            .iter()
            .find(|(name, _)| *name == "traceparent");
        let said = said.and_then(|(_, text)| TraceContext::parse(text));
        self.span = tracing.begin(said, self.told_by_http);
    }

    /// What the other side is told of the trace.
    pub(super) fn onward(&self) -> Option<TraceContext> {
        self.span.as_ref().map(Span::onward)
    }

    /// What is told of it besides the record, if the trace is kept.
    pub(super) fn traced(&self, method: Option<&str>, named: Named) -> Option<Box<Traced>> {
        let span = self.span.filter(|span| span.own.sampled == Sampled::Yes)?;
        Some(Box::new(Traced {
            span,
            method: self.method.or_else(|| KnownMethod::from_name(method?)),
            version: self.version.as_ref().map(Into::into),
            named,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(text: &str) -> TraceContext {
        TraceContext::parse(text).unwrap()
    }

    const MESSAGE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const HTTP: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

    #[track_caller]
    fn check(said: Option<&str>, http: Option<&str>, parent: Option<&str>, beside: Option<&str>) {
        let tracing = Tracing::On(Share::of(0.5));
        let span = tracing.begin(said.map(context), http.map(context)).unwrap();
        assert_eq!(span.parent, parent.map(|parent| context(parent).span));
        assert_eq!(span.beside, beside.map(context));
        if let Some(parent) = parent.map(context) {
            assert_eq!(span.own.trace, parent.trace);
            assert_eq!(span.own.sampled, parent.sampled);
            assert_ne!(span.own.span, parent.span);
        }
        assert_eq!(span.onward().trace, span.own.trace);
        assert_ne!(span.onward().span, span.own.span);
    }

    #[test]
    fn what_a_message_says_of_its_trace_comes_before_what_its_request_says() {
        check(None, None, None, None);
        check(Some(MESSAGE), None, Some(MESSAGE), None);
        check(None, Some(HTTP), Some(HTTP), None);
        check(Some(MESSAGE), Some(HTTP), Some(MESSAGE), Some(HTTP));
        check(Some(MESSAGE), Some(MESSAGE), Some(MESSAGE), None);
        let off = Tracing::Off.begin(Some(context(MESSAGE)), None);
        assert_eq!(off, None);
    }

    #[test]
    fn a_share_of_the_traces_that_begin_here_is_kept() {
        for (ratio, least, most) in [
            (0.0, 0, 0),
            (-1.0, 0, 0),
            (f64::NAN, 0, 0),
            (0.25, 150, 350),
            (1.0, 1000, 1000),
            (7.0, 1000, 1000),
        ] {
            let share = Tracing::On(Share::of(ratio));
            let kept = (0..1000).filter(|_| {
                let span = share.begin(None, None).unwrap();
                span.own.sampled == Sampled::Yes
            });
            let kept = kept.count();
            assert!((least..=most).contains(&kept), "{ratio}: {kept}");
        }
        // Whoever began it decides, whatever the share.
        for ratio in [0.0, 1.0] {
            for (said, sampled) in [(MESSAGE, Sampled::Yes), (HTTP, Sampled::No)] {
                let span = Tracing::On(Share::of(ratio)).begin(Some(context(said)), None);
                assert_eq!(span.unwrap().own.sampled, sampled);
            }
        }
    }
}
