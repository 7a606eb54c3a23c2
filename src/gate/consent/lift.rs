//! Whether consent lifts what forbids a request.

use std::sync::Arc;
use std::time::Duration;

use crate::audit::{Finding, Guard, Redactor};
use crate::consent::{Binding, Desk};
use crate::mcp::revisions::FIRST_STATELESS;
use crate::policy::{Consent, Denial, DenialCause, OnDeny};
use crate::session::{Agreed, Attempt, Established, Offer, Session};
use crate::wire::{KnownMethod, Message, Side, Stream};

use crate::gate::classified::{Role, Scene};
use crate::gate::consent::{Along, Brought};
use crate::gate::context::RequestContext;
use crate::gate::filter::{Chain, Filter, Flow, Hook, Placement, Step};
use crate::gate::query::Understood;
use crate::gate::record::Trail;
use crate::gate::recorder::Recorder;
use crate::gate::rejection::{Property, Rejection};
use crate::gate::rounds::{AtTheGate, Rounds};
use crate::gate::stop::{Asking, Form, Reply, Stop};
use crate::gate::{Gate, route};

use super::bound::{self, asks, binding, ours};
use super::kept::put_by_for;
use super::standing::{StandingConsents, keep_for_the_session};
use super::why::Unconsented;
use super::{in_result, vain};

impl Gate {
    /// The same, where people are asked.
    #[must_use]
    pub fn asking(mut self, desk: Arc<Desk>) -> Self {
        self.people.desk = Some(desk);
        self.assemble();
        self
    }

    /// With questions that agents have taken along that are common to all of them.
    #[must_use]
    pub fn sharing_questions(mut self, along: Arc<Along>) -> Self {
        self.people.along = along;
        self.assemble();
        self
    }

    /// Where people are asked, if anybody is.
    pub fn desk(&self) -> Option<&Arc<Desk>> {
        self.people.desk.as_ref()
    }

    /// The gate stops: nobody is asked any more, and what waits for a person is refused by whoever
    /// goes on with [what was answered](Self::answered).
    pub fn stop_asking(&self) {
        if let Some(desk) = &self.people.desk {
            desk.stop();
        }
    }
}

/// Whom a request answers where people are asked: what answers the gate is no business of the server's.
pub(in crate::gate) fn at_the_gate(understood: &Understood<'_>) -> AtTheGate {
    match ours(understood) {
        Some(_) => AtTheGate::Asked,
        None => AtTheGate::Unasked,
    }
}

/// Has people asked about messages that policy denies until they agree.
#[derive(Debug)]
pub(in crate::gate) struct ConsentFilter {
    pub(in crate::gate) desk: Arc<Desk>,
    pub(in crate::gate) along: Arc<Along>,
    pub(in crate::gate) rounds: Arc<Rounds>,
    pub(in crate::gate) recorder: Recorder,
    pub(in crate::gate) secrets: Redactor,
}

impl Filter for ConsentFilter {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        if !brings_consent(&cx.understood, cx.trail) {
            return Flow::DONE;
        }
        Flow::wait(async move {
            let counted = cx.session.state().security.calls;
            self.consented(cx).await?;
            // An answer is recorded first, and others may go on meanwhile. Of a task it is the count of
            // the call that began it.
            let scene = &mut cx.understood.identified.scene;
            if scene.calls == counted {
                scene.calls = cx.session.state().security.calls;
            }
            Ok(())
        })
    }

    /// What a person said no to does not pass, whatever policies have become meanwhile.
    fn check(&self, cx: &RequestContext<'_>, _: Option<&Message>) -> Result<Vec<Finding>, Stop> {
        match &cx.trail.consent.brought {
            Brought::Refused(why) => {
                let denial = Denial {
                    cause: DenialCause::Forbidden,
                    reasons: Vec::new(),
                };
                Err(why.clone().rejection(denial).into())
            }
            Brought::Nothing | Brought::Receipt(_) | Brought::Fits(_) | Brought::Spent => {
                Ok(Vec::new())
            }
        }
    }

    /// The request goes on: what it brought is good for nothing else.
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        cx.trail.consent.begun_with = cx.trail.consent.brought.spend();
        Flow::DONE
    }

    fn on_sent(&self, cx: &mut RequestContext<'_>, _: Placement) {
        keep_for_the_session(cx.session, cx.trail);
    }

    /// What went on with a request that was not finished, and could not be made use of, is had by the next
    /// one that brings the same.
    fn on_stopped(&self, cx: &mut RequestContext<'_>, stop: &Stop) {
        let may_come_again = match stop {
            // One that is sent a second time waits together with what was agreed to.
            Stop::Park | Stop::Hold => cx.trail.retry.attempt == Attempt::First,
            Stop::Refused(rejection) => rejection.has(Property::KeepsConsent),
            Stop::Ask(_) | Stop::Elsewhere | Stop::Settled | Stop::AgentGone => false,
        };
        let (Brought::Spent, Some(agreed), true) = (
            &cx.trail.consent.brought,
            &cx.trail.consent.agreed,
            may_come_again,
        ) else {
            return;
        };
        if bound::goes_on(&cx.understood) {
            self.rounds.give_back(&cx.understood, agreed, cx.now.at);
        }
    }

    fn on_denied<'f>(
        &'f self,
        cx: &'f mut RequestContext<'_>,
        denied: &'f Stop,
        chain: &'f Chain,
    ) -> Hook<'f, Step> {
        let denial = denied.rejection().and_then(Rejection::open_denial);
        match denial {
            Some(denial) if denial.remedy() == Some(OnDeny::AskConsent) => {
                self.lift(cx, denial, chain).map(Flow::Now)
            }
            Some(_) | None => Flow::CONTINUE,
        }
    }
}

/// Whether there is anything to be done before it is judged.
fn brings_consent(understood: &Understood<'_>, trail: &Trail) -> bool {
    !matches!(trail.consent.brought, Brought::Nothing)
        || asks(understood).is_some() && bound::goes_on(understood)
}

impl ConsentFilter {
    /// Has a request judged under what it brings.
    ///
    /// # Errors
    /// [`Rejection`] when its state was sealed for another request, or by another gate.
    /// [`Stop::Park`] while it is not known how the tool is defined: so neither is whether that is
    /// what was agreed to.
    async fn consented(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        let (session, snapshot) = (cx.session, cx.snapshot);
        let (understood, trail) = (&mut cx.understood, &mut *cx.trail);
        if let Some(tool) = understood.called_tool()
            && session.state().lists.tools.offers(tool) == Offer::Unknown
        {
            return Err(Stop::Park);
        }
        let Some(binding) = binding(understood, snapshot, session) else {
            return Ok(());
        };
        let is_new = matches!(trail.consent.brought, Brought::Nothing);
        if let Some(state) = ours(understood).filter(|_| is_new) {
            let brought = Box::pin(self.brought_back(understood, &binding, &state, trail));
            trail.consent.brought = brought.await?;
        }
        trail.consent.agreed = self.agreed_to(understood, &binding, trail, cx.now.at);
        if let Some(agreed) = &trail.consent.agreed {
            in_result::agree(understood, &agreed.consent);
        }
        Ok(())
    }

    /// The consent that a request brings.
    fn agreed_to(
        &self,
        understood: &Understood<'_>,
        binding: &Binding,
        trail: &mut Trail,
        now: Duration,
    ) -> Option<Agreed> {
        let all = binding.of_any_round().of_all();
        // It may have been judged before, of another server's tool.
        let before = trail.consent.agreed.take().filter(|it| it.binding == all);
        match std::mem::take(&mut trail.consent.brought) {
            Brought::Receipt(receipt) | Brought::Fits(receipt) => {
                match receipt.fits(binding, now) {
                    Ok(consent) => {
                        let ticket = receipt.ticket().as_str().into();
                        trail.consent.brought = Brought::Fits(receipt);
                        Some(Agreed {
                            binding: all,
                            ticket,
                            consent,
                        })
                    }
                    Err(misfit) => {
                        trail.consent.brought = Brought::Refused(Unconsented::of(misfit));
                        None
                    }
                }
            }
            Brought::Nothing | Brought::Spent => {
                let agreed = before.or_else(|| self.rounds.agreed(understood, &all, now));
                if agreed.is_some() {
                    trail.consent.brought = Brought::Spent;
                }
                agreed
            }
            refused @ Brought::Refused(_) => {
                trail.consent.brought = refused;
                None
            }
        }
    }

    /// Has a denied message judged again under the consent that holds for it, or a person asked.
    fn lift(
        &self,
        cx: &mut RequestContext<'_>,
        denial: &Denial,
        chain: &Chain,
    ) -> Result<Step, Stop> {
        match &cx.trail.consent.brought {
            Brought::Nothing | Brought::Receipt(_) => {}
            // A person's yes was not enough.
            Brought::Fits(_) | Brought::Spent => return Ok(Step::Continue),
            Brought::Refused(why) => return Err(why.clone().rejection(denial.clone()).into()),
        }
        let (session, snapshot, now) = (cx.session, cx.snapshot, cx.now);
        let (understood, trail) = (&mut cx.understood, &mut *cx.trail);
        let binding = binding(understood, snapshot, session)
            .filter(|_| in_result::is_all_that_is_missing(understood, snapshot, now));
        let Some(binding) = binding else {
            return Ok(Step::Continue);
        };
        let asked_again = (cx.terms.asked_again, now);
        let standing = StandingConsents::of(understood, snapshot, session, asked_again);
        if let Some(agreed) = standing.lifting(session) {
            understood.identified.scene.agrees(&agreed.consent);
            let by = agreed.consent.by.as_deref().unwrap_or_default();
            let ticket = &agreed.ticket;
            trail.found(vec![Finding {
                guard: Guard::Consent,
                code: "approved_for_session".into(),
                detail: format!("question {ticket} was answered by {by}, for the session").into(),
            }]);
            trail.consent.brought = Brought::Spent;
            trail.consent.agreed = Some(Agreed {
                binding: binding.of_any_round().of_all(),
                ..agreed
            });
            return Ok(Step::Rejudge);
        }
        if let Some(consent) = put_by_for(&self.desk, &binding, cx.now.at, trail) {
            understood.identified.scene.agrees(&consent);
            return Ok(Step::Rejudge);
        }
        let (form, shown_on) = form(understood, session);
        let answering = vain::answering(&self.desk, &binding, form);
        vain::could_be_agreed_to(cx, chain, &binding, answering)?;
        let understood = &cx.understood;
        let secrets = &self.secrets;
        let mut question = bound::question(understood, snapshot, session, denial, now, secrets);
        question.holds = standing.holds();
        let longest = self.desk.settings().longest;
        if question.arguments.len().max(question.name.len()) > longest {
            let why = Unconsented::TooLong(longest);
            return Err(why.rejection(denial.clone()).into());
        }
        standing.offer(binding.of_any_round().of_all(), session);
        Err(Stop::Ask(Box::new(Asking {
            binding,
            question,
            anew: bound::begun_anew(understood, secrets),
            denial: denial.clone(),
            snapshot: Arc::clone(snapshot),
            form,
            shown_on,
            progress: progress_token(understood),
            reply: Reply::of(understood),
        })))
    }
}

impl Scene {
    /// A person has agreed to what is judged here.
    pub(in crate::gate) fn agrees(&mut self, consent: &Consent) {
        self.agrees_to_request(consent);
        self.of_server = Arc::clone(&self.established);
    }

    /// A person has agreed to the request of the agent's that is answered here; to nothing that the
    /// server asks for in return.
    pub(in crate::gate) fn agrees_to_request(&mut self, consent: &Consent) {
        let consent = consent.clone();
        self.established = Arc::new(Established { consent });
    }
}

/// How the agent's client is to show a form, and on which of its streams.
fn form(understood: &Understood<'_>, session: &Session) -> (Form, Stream) {
    let identified = &understood.identified;
    let spoken = &identified.scene.spoken;
    // Of most requests the result is the end.
    let may_be_repeated = match &identified.role {
        Role::Reply(taken) => taken.exchange.about.turn.subject.is_some(),
        Role::Request { .. } | Role::Notification { .. } => true,
    };
    let form = match (
        spoken.elicitation,
        *spoken.version >= *FIRST_STATELESS,
        bound::method(understood),
    ) {
        // Who would see the server's form must not be the one to permit it by another.
        (false, _, _) | (_, _, Some(KnownMethod::Elicit)) => Form::None,
        (true, false, _) => Form::Request,
        (true, true, _) if may_be_repeated => Form::Result,
        (true, true, _) => Form::None,
    };
    match identified.from {
        Side::Agent => (form, identified.stream),
        Side::Upstream => match route::belongs_on(identified, session, &session.state()) {
            Ok(stream) => (form, stream),
            Err(_) => (Form::None, Stream::MAIN),
        },
    }
}

/// What an agent wants to hear of progress by, as JSON text. What it was told already by the server would
/// be more than what the gate has to tell, and numbers only rise.
fn progress_token(understood: &Understood<'_>) -> Option<String> {
    let identified = &understood.identified;
    match (&identified.role, identified.from) {
        (Role::Reply(taken), _) if taken.has_progressed => None,
        (Role::Reply(taken), _) => taken.exchange.asks.progress_token.clone(),
        (Role::Request { .. } | Role::Notification { .. }, Side::Agent) => {
            let meta = identified.message.meta();
            let token = meta.and_then(|meta| meta.get("progressToken"));
            token.map(route::token_text)
        }
        (Role::Request { .. } | Role::Notification { .. }, Side::Upstream) => None,
    }
}
