//! Which traces are kept, and the spans of a message in one.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::wire::{Sampled, Span, SpanId, TraceContext, TraceId};

/// Whether messages have a place in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracing {
    /// The gate makes no traces.
    #[default]
    Off,
    /// Of the traces that begin here this share is kept, and of others as is said.
    On(Share, Others),
}

/// Which of the traces are kept that others began, and want kept. Those that they do not want kept are
/// not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// All.
    AsTheySay,
    /// The same share as of our own.
    Shared(Salt),
}

/// Makes the choice among ids that somebody else chose one that they cannot know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt([u8; 16]);

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
        self.keeps_of(random)
    }

    /// The same by eight bytes that no peer can choose.
    fn keeps_of(self, random: &[u8]) -> Sampled {
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

impl Others {
    /// The same share, chosen by trace ids and a secret salt: another gate keeps other traces.
    pub fn shared() -> Self {
        let mut salt = [0; 16];
        // Without random numbers there is no trace at all.
        let _ = getrandom::fill(&mut salt);
        Self::Shared(Salt(salt))
    }

    fn keep(self, parent: &TraceContext, share: Share) -> Sampled {
        match (parent.sampled, self) {
            (Sampled::No, Self::AsTheySay | Self::Shared(_)) => Sampled::No,
            (Sampled::Yes, Self::AsTheySay) => Sampled::Yes,
            (Sampled::Yes, Self::Shared(Salt(salt))) => {
                let mut digest = Sha256::new();
                digest.update(salt);
                digest.update(parent.trace.bytes());
                let digest: [u8; 32] = digest.finalize().into();
                let (random, _) = digest.split_at(8);
                share.keeps_of(random)
            }
        }
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt")
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
        let Self::On(share, others) = self else {
            return None;
        };
        let mut random = [0; 32];
        // Without random numbers there is no trace; messages need none.
        getrandom::fill(&mut random).ok()?;
        let (trace, spans) = random.split_first_chunk::<16>()?;
        let (own, onward) = spans.split_first_chunk::<8>()?;
        let onward = SpanId::new(*onward.first_chunk::<8>()?)?;
        let span = SpanId::new(*own)?;
        let parent = said.or(beside);
        let own = if let Some(parent) = parent {
            TraceContext {
                span,
                sampled: others.keep(&parent, share),
                ..parent
            }
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
        let tracing = Tracing::On(Share::of(0.5), Others::AsTheySay);
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
            let share = Tracing::On(Share::of(ratio), Others::AsTheySay);
            let kept = (0..1000).filter(|_| {
                let span = share.begin(None, None).unwrap();
                span.own.sampled == Sampled::Yes
            });
            let kept = kept.count();
            assert!((least..=most).contains(&kept), "{ratio}: {kept}");
        }
    }

    /// How many are kept of a thousand traces that an agent began, with ids of its choice.
    fn kept(ratio: f64, others: Others, said: &str) -> usize {
        let tracing = Tracing::On(Share::of(ratio), others);
        let agents = (1..=1000_u64).map(|n| {
            let mut id = [0; 16];
            // The half by which shares are told is the least there is.
            id[..8].copy_from_slice(&n.to_be_bytes());
            TraceContext {
                trace: TraceId::new(id).unwrap(),
                ..context(said)
            }
        });
        agents
            .filter(|parent| {
                tracing.begin(Some(*parent), None).unwrap().own.sampled == Sampled::Yes
            })
            .count()
    }

    #[test]
    fn an_agent_cannot_have_its_traces_kept_unless_it_is_believed() {
        for (ratio, least, most) in [(0.0, 0, 0), (0.25, 150, 350), (1.0, 1000, 1000)] {
            let kept = kept(ratio, Others::shared(), MESSAGE);
            assert!((least..=most).contains(&kept), "{ratio}: {kept}");
        }
        for ratio in [0.0, 1.0] {
            assert_eq!(kept(ratio, Others::AsTheySay, MESSAGE), 1000);
            // What its agent does not want kept is not.
            for others in [Others::AsTheySay, Others::shared()] {
                assert_eq!(kept(ratio, others, HTTP), 0);
            }
        }
    }

    #[test]
    fn all_messages_of_a_trace_are_kept_or_none() {
        let tracing = Tracing::On(Share::of(0.5), Others::shared());
        let sampled = || {
            tracing
                .begin(Some(context(MESSAGE)), None)
                .unwrap()
                .own
                .sampled
        };
        let first = sampled();
        assert!((0..100).all(|_| sampled() == first));
    }
}
