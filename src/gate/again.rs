//! A call that the server does not take because of its headers, where the gate has made them: the
//! definition that they were made by has changed. The tools are listed anew, and the call is judged again
//! from its first byte and made once more (MCP 2026-07-28, basic/transports/streamable-http, client
//! behavior). Its agent could not do that: it knows of no headers.
//!
//! Why only then: `docs/decisions/0012-headers-subscriptions-caches.md`.

use std::sync::Arc;

use crate::session::{Attempt, Parked, Session, Waits};
use crate::wire::{ArrivalForm, KnownMethod};

use super::Gate;
use super::classified::{Identified, Role};
use super::forward::{Agent, Upstream};
use super::page::Headers;
use super::parked::PARKED_FRAMES;
use super::record::Trail;
use super::rejection::HEADER_MISMATCH;
use super::stop::Stop;
use super::talk::Talk;

impl Gate {
    /// Keeps the call that a request is, to be made once more should the server not take it. One that was
    /// made twice is not kept, nor is one for which there is no room: its agent gets the server's error.
    pub(super) fn may_come_again(
        &self,
        identified: &Identified<'_>,
        session: &Session,
        frame: &[u8],
        trail: &mut Trail,
    ) {
        let Role::Request {
            asker,
            method: KnownMethod::ToolsCall,
        } = &identified.role
        else {
            return;
        };
        if trail.attempt == Attempt::Second || self.headers(session) == Headers::Agents {
            return;
        }
        let kept: usize = {
            let state = session.state();
            let calls = state.to_upstream.in_flight();
            let calls = calls.filter_map(|(_, exchange)| exchange.again.as_ref());
            calls.map(|call| call.frame.len()).sum()
        };
        if kept.saturating_add(frame.len()) > PARKED_FRAMES * self.settings.from_agent.max_bytes {
            return;
        }
        let timeout = self.timeout(&trail.target, &self.policy.current());
        let deadline = trail.started.saturating_add(timeout);
        trail.again = Some(Arc::new(Parked {
            attempt: Attempt::Second,
            agreed: trail.agreed.clone(),
            ..trail.as_it_came(asker, frame, deadline)
        }));
    }

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
            state.calls = state.calls.saturating_sub(1);
            state.tools.forget();
            talk.session.arm(&state, Some(call.deadline));
            state.parked.push_back(Arc::unwrap_or_clone(call));
        }
        let record = trail.not_taken(self.clock.elapsed());
        if let Err(fault) = self.recorder.record(record).await {
            let mut state = talk.session.state();
            let waiting = state.parked.len();
            state.parked.retain(|parked| parked.asker != asker);
            // It may have been seen to meanwhile.
            return if state.parked.len() < waiting {
                Err(fault.into())
            } else {
                Err(Stop::Settled)
            };
        }
        let begins = talk.session.state().tools.begin_fetch();
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
