//! A call that the server does not take because of its headers, where the gate has made them: the
//! definition that they were made by has changed. The tools are listed anew, and the call is judged again
//! from its first byte and made once more (MCP 2026-07-28, basic/transports/streamable-http, client
//! behavior). Its agent could not do that: it knows of no headers.
//!
//! Why only then: `docs/decisions/0012-headers-subscriptions-caches.md`.

use std::sync::Arc;

use crate::session::{Attempt, OverHttp, Parked, Waits};
use crate::wire::{ArrivalForm, KnownMethod};

use super::Gate;
use super::classified::{Identified, Role};
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::forward::{Agent, Upstream};
use super::page::Headers;
use super::parked::PARKED_FRAMES;
use super::record::Trail;
use super::rejection::HEADER_MISMATCH;
use super::stop::Stop;
use super::talk::Talk;

/// Compares a call with the headers that repeat it. Keeps a call whose headers the gate makes, to be made
/// once more should the server not take it.
#[derive(Debug)]
pub(super) struct HeaderMirror {
    pub(super) over_http: OverHttp,
}

impl Filter for HeaderMirror {
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let repeated = cx.trail.carried.headers.repeated.as_ref();
        super::repeated::check(&cx.understood, cx.session, repeated, cx.frame, cx.limits)?;
        self.keep(cx);
        Flow::DONE
    }
}

impl HeaderMirror {
    /// A call that was made twice is not kept, nor is one for which there is no room: its agent gets the
    /// server's error.
    fn keep(&self, cx: &mut RequestContext<'_>) {
        let Role::Request {
            asker,
            method: KnownMethod::ToolsCall,
        } = &cx.understood.identified.role
        else {
            return;
        };
        let headers = Headers::of(cx.session, self.over_http);
        if cx.trail.retry.attempt == Attempt::Second || headers == Headers::Agents {
            return;
        }
        let kept: usize = {
            let state = cx.session.state();
            let calls = state.waiting.to_upstream.in_flight();
            let calls = calls.filter_map(|(_, exchange)| exchange.again.as_ref());
            calls.map(|call| call.frame.len()).sum()
        };
        if kept.saturating_add(cx.frame.len()) > PARKED_FRAMES * cx.limits.max_bytes {
            return;
        }
        let timeout = cx.terms.timeout(&cx.trail.about.target);
        let deadline = cx.trail.received.started.saturating_add(timeout);
        cx.trail.retry.again = Some(Arc::new(Parked {
            attempt: Attempt::Second,
            agreed: cx.trail.consent.agreed.clone(),
            ..cx.trail.as_it_came(asker, cx.frame, deadline)
        }));
    }
}

impl Gate {
    /// Has a call made once more that the server has not taken. What it took of its session's calls is
    /// given back.
    ///
    /// # Errors
    /// [`AuditFault`](crate::audit::AuditFault) when that cannot be recorded: then it is not made.
    pub(super) async fn call_again<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        call: Arc<Parked>,
        trail: &Trail,
    ) -> Result<(), Stop> {
        let asker = call.asker.clone();
        // INVARIANT: nothing is awaited between the reply and here, or its asker could neither cancel it
        // nor be kept from asking under the same id.
        {
            let mut state = talk.session.state();
            state.security.calls = state.security.calls.saturating_sub(1);
            state.lists.tools.forget();
            talk.session.arm(&state, Some(call.deadline));
            state.waiting.parked.push_back(Arc::unwrap_or_clone(call));
        }
        let record = trail.not_taken(self.clock.elapsed());
        if let Err(fault) = self.recorder.record(record).await {
            let mut state = talk.session.state();
            let waiting = state.waiting.parked.len();
            state.waiting.parked.retain(|parked| parked.asker != asker);
            // It may have been seen to meanwhile.
            return if state.waiting.parked.len() < waiting {
                Err(fault.into())
            } else {
                Err(Stop::Settled)
            };
        }
        let begins = talk.session.state().lists.tools.begin_fetch();
        if begins {
            self.fetch(talk, None).await;
        }
        Ok(())
    }
}

/// Whether a reply says that a call was not taken because of its headers that may be made once more. The
/// status says that nothing of it was done, as long as nothing was told of it before.
pub(super) fn is_not_taken(identified: &Identified<'_>) -> bool {
    let Role::Reply(taken) = &identified.role else {
        return false;
    };
    let error = identified.message.error();
    let code = error.and_then(|error| error.get("code")?.as_i64());
    let is_untouched = identified.form == ArrivalForm::Rejected && !taken.has_progressed;
    let is_here = taken.waits == Waits::Here && !taken.has_replied;
    code == Some(HEADER_MISMATCH) && is_untouched && is_here && taken.exchange.again.is_some()
}
