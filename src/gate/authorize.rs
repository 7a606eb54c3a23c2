//! Whether a message may leave, by policy and by every filter.

use crate::audit::Finding;
use crate::session::StoreFault;
use crate::wire::Message;

use super::context::RequestContext;
use super::filter::{Chain, Step};
use super::oblige;
use super::permit::{self, Allowed};
use super::rejection::Rejection;
use super::stop::Stop;

/// How often policy is asked about one message, at most.
const MAX_PASSES: usize = 6;

impl Chain {
    /// The findings of all filters in a message that policy allows.
    ///
    /// # Errors
    /// The first filter that rejects the message, as it came or as it will be sent.
    pub(super) fn check(
        &self,
        cx: &RequestContext<'_>,
        allowed: &Allowed,
    ) -> Result<Vec<Finding>, Stop> {
        let message = cx.understood.identified.message;
        let sent = oblige::respelled(message, &allowed.respelled, cx.limits)?;
        self.check_in(cx, sent.as_ref())
    }

    /// The findings in a message that is sent as it came.
    ///
    /// # Errors
    /// The first filter that rejects the message.
    pub(super) fn check_as_it_came(&self, cx: &RequestContext<'_>) -> Result<Vec<Finding>, Stop> {
        self.check_in(cx, None)
    }

    fn check_in(
        &self,
        cx: &RequestContext<'_>,
        sent: Option<&Message>,
    ) -> Result<Vec<Finding>, Stop> {
        let mut findings = Vec::new();
        for filter in self.filters() {
            findings.extend(filter.check(cx, sent)?);
        }
        Ok(findings)
    }

    /// Lets the filters find out about a message, then asks policy about it, then the filters about policy's
    /// answer. A filter that changes what policy was asked has it asked again.
    ///
    /// # Errors
    /// [`Stop`]: the message does not leave.
    pub(super) async fn authorize(&self, cx: &mut RequestContext<'_>) -> Result<Allowed, Stop> {
        self.on_request(cx).await?;
        for _ in 0..MAX_PASSES {
            match permit::decide(&cx.understood, cx.snapshot, cx.pins, cx.now) {
                Ok(allowed) => {
                    let findings = self.check(cx, &allowed)?;
                    if self.on_allowed(cx, &allowed).await? == Step::Continue {
                        cx.trail.allowed(&allowed);
                        cx.trail.found(findings);
                        return Ok(allowed);
                    }
                }
                Err(denied) => self.on_denied(cx, denied).await?,
            }
        }
        Err(Rejection::from(StoreFault::new("it rises again and again")).into())
    }
}
