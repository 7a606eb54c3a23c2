//! How often requests may come, and how many calls a session may make.
//!
//! What policies forbid is never counted as a call of its tool, or an agent that may not call it
//! could take it from those who may. So a request is looked at before it is judged, which keeps a
//! flood from costing a judgement each, and its tokens are taken when policy has allowed it. What is
//! judged and comes to nothing costs its principal, and all together, one all the same.

pub(in crate::gate) mod budget;

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::session::{Attempt, Buckets, Empty, TokenStore, Tokens};
use crate::wire::{Fragment, Side};

use super::context::RequestContext;
use super::dues::Counted;
use super::extensions;
use super::filter::{Filter, Flow, Hook, Leaving};
use super::rejection::{Property, RATE_LIMITED, Rejection};
use super::settings::Rates;
use super::stage::Stage;
use super::stop::Stop;

pub use crate::session::{Limit, Rate};

/// What was taken so far. A bucket is a point in time, so that it goes on under another rate.
#[derive(Debug)]
pub(super) struct Pace {
    tokens: Arc<dyn TokenStore>,
}

impl Rates {
    pub(super) fn are_limits(&self) -> bool {
        self.global.is_some() || self.principal.is_some() || !self.tools.is_empty()
    }

    fn buckets<'b>(&'b self, principal: &'b str, tool: Option<&str>) -> Buckets<'b> {
        let tool = tool.and_then(|tool| self.tools.get_key_value(tool));
        Buckets {
            global: self.global.as_ref(),
            principal: self.principal.as_ref().map(|rate| (principal, rate)),
            tool: tool.map(|(name, rate)| (name.as_str(), rate)),
        }
    }
}

impl Pace {
    pub(super) async fn pay(&self, cx: &mut RequestContext<'_>) -> Result<(), Rejection> {
        let Counted::Owed(principal) = std::mem::take(&mut cx.trail.holds.counted) else {
            return Ok(());
        };
        let rates = &cx.terms.rates;
        let buckets = rates.buckets(&principal, cx.understood.called_tool());
        match self.tokens.take(buckets).get().await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(empty)) => Err(empty.into()),
            Err(fault) => Err(fault.into()),
        }
    }

    pub(super) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self {
            tokens: Arc::new(Tokens::new(Arc::clone(clock))),
        }
    }

    /// The same with tokens that several gates share.
    pub(super) fn sharing(tokens: Arc<dyn TokenStore>) -> Self {
        Self { tokens }
    }

    /// A request cost the gate its work, and came to nothing: it is charged to each bucket in which there
    /// is something, so that nobody is ever in debt.
    pub(super) async fn charge(&self, rates: &Rates, principal: &str) {
        let Buckets {
            global, principal, ..
        } = rates.buckets(principal, None);
        let of_all = Buckets {
            global,
            ..Buckets::default()
        };
        let of_principal = Buckets {
            principal,
            ..Buckets::default()
        };
        for buckets in [of_all, of_principal] {
            // Where it cannot be kept, nothing that is allowed passes meanwhile.
            let _ = self.tokens.take(buckets).get().await;
        }
    }
}

/// Takes the tokens of a request that policy has allowed. They stay taken, whatever becomes of it.
#[derive(Debug)]
pub(super) struct RateLimit(pub(super) Arc<Pace>);

impl Filter for RateLimit {
    /// Whether a request of the agent's may come now. The protocol's own notifications are not counted:
    /// to drop one could be to drop a cancellation, and none is answered. Those of extensions are, for
    /// they may do whatever a call does.
    fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        let (rates, identified) = (&cx.terms.rates, &cx.understood.identified);
        let is_counted = identified.is_request() || extensions::method(&identified.role).is_some();
        // What was sent before was paid for then.
        let is_first = cx.trail.retry.attempt == Attempt::First && identified.from == Side::Agent;
        if rates.are_limits() && is_first && is_counted {
            let principal = &identified.scene.agent.id;
            let looked = self.0.tokens.look(rates.buckets(principal, None));
            looked.map_err(Rejection::from)?;
            cx.trail.holds.counted = Counted::Owed(principal.to_owned());
        }
        Ok(())
    }

    fn on_leaving<'f>(&'f self, cx: &'f mut RequestContext<'_>, _: &'f Leaving<'_>) -> Hook<'f> {
        if cx.trail.holds.counted == Counted::No {
            return Flow::DONE;
        }
        Flow::wait(async { Ok(self.0.pay(cx).await?) })
    }
}

impl From<Empty> for Rejection {
    fn from(Empty { limit, wait }: Empty) -> Self {
        // Nothing of it was done: the same request may come again after that time.
        let after = milliseconds(wait);
        let text = format!("too many {}: retry after {after} ms", limit.counts());
        Self::new(Stage::Limit, "rate_limited", RATE_LIMITED, text)
            .with_reason_in_answer()
            .with_data([
                ("limit", Fragment::string(limit.name())),
                ("retryAfterMs", Fragment::integer(after)),
            ])
            .with_properties(&[Property::KeepsConsent, Property::ReadByModelsIfConfigured])
    }
}

/// Rounded up: who comes back after that is not too early.
fn milliseconds(wait: Duration) -> i64 {
    i64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

impl Limit {
    /// What there are too many of.
    pub(super) fn counts(self) -> &'static str {
        match self {
            Self::Global => "requests of all agents",
            Self::Principal => "requests of this agent",
            Self::Tool => "calls of this tool",
        }
    }

    /// A stable word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Principal => "principal",
            Self::Tool => "tool",
        }
    }
}
