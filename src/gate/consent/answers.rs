//! What comes of a question.

use tracing::error;

use crate::audit::{self, Event};
use crate::consent::{Answer, Binding, By, Outcome, TicketId};
use crate::policy::Denial;
use crate::session::{Asked, AskedStage, Asking, Replied, Run, Waiting};
use crate::wire::{Id, Message, Method, Side, Stream, Value};

use crate::gate::arrival::{AnswerTo, Arrival, Source};
use crate::gate::faults::{AgentGone, UpstreamFault};
use crate::gate::forward::{Agent, Upstream};
use crate::gate::own::{Occasion, OwnMessage};
use crate::gate::query::Understood;
use crate::gate::record::Trail;
use crate::gate::rejection::Rejection;
use crate::gate::stop::Stop;
use crate::gate::talk::Talk;
use crate::gate::{Gate, runs};

use super::ConsentFilter;
use super::along::settled;
use super::ask::TELLS_EVERY;
use super::brought::{Brought, KEY};
use super::why::Unconsented;

/// Which requests go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    All,
    /// Those that have no yes.
    Refused,
}

/// How a request ceased to wait for a person.
#[derive(Debug)]
enum End {
    Answered(Box<Outcome>),
    Cancelled(Told),
    /// What it was for is not to be had any more: the server has ended, or the session has left it.
    Lost(UpstreamFault, Told),
}

/// What became of a question by then, if anything did: it is good for nothing but the audit.
type Told = Option<Box<Outcome>>;

impl Gate {
    /// Goes on with the requests that have waited long enough for a person: there is an answer, or
    /// there will be none.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn answered<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        while let Some((asked, end)) = self.next_answered(talk, Pick::All) {
            Box::pin(self.go_on(talk, asked, end)).await?;
        }
        Ok(())
    }

    /// Ends those for which there will be no yes. One that was granted is left to whoever hears the
    /// bell: it may have to wait, and what it waits for may be a time that runs out here.
    pub(in crate::gate) async fn unanswered<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), AgentGone> {
        while let Some((asked, end)) = self.next_answered(talk, Pick::Refused) {
            Box::pin(self.go_on(talk, asked, end)).await?;
        }
        Ok(())
    }

    /// Ends all requests that wait for a person: there is nobody any more who could carry them out.
    pub(in crate::gate) async fn end_questions<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        fault: &UpstreamFault,
    ) -> Result<(), AgentGone> {
        let waiting = std::mem::take(&mut talk.session.state().waiting.asking.waiting);
        let mut told = Ok(());
        for asked in waiting {
            let end = End::Lost(fault.clone(), self.unask(&asked));
            told = told.and(self.go_on(talk, asked, end).await);
        }
        told
    }

    /// Ends what the server asked that the session leaves: nobody would hear the answer.
    pub(in crate::gate) async fn leave_questions<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        questions: Vec<Asked>,
    ) -> Result<(), AgentGone> {
        let mut told = Ok(());
        for asked in questions {
            let end = End::Lost(UpstreamFault::Left, self.unask(&asked));
            told = told.and(self.go_on(talk, asked, end).await);
        }
        told
    }

    /// Nobody is asked about it any more.
    fn unask(&self, asked: &Asked) -> Told {
        let (desk, ticket) = self
            .people
            .desk
            .as_ref()
            .zip(TicketId::parse(&asked.ticket))?;
        desk.withdraw(&ticket).map(Box::new)
    }

    /// Tells those who wait for a person that they still do, if they want to hear of progress and it is
    /// time to: their clients have timeouts of their own.
    pub(in crate::gate) async fn tell_who_waits<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), AgentGone> {
        let now = self.clock.elapsed();
        let due: Vec<_> = {
            let mut state = talk.session.state();
            let waiting = state.waiting.asking.waiting.iter_mut();
            let waiting = waiting.filter(|asked| asked.stage == AskedStage::Asked);
            let due = waiting.filter_map(|asked| {
                let progress = asked.progress.as_mut().filter(|it| it.next <= now)?;
                progress.told = progress.told.saturating_add(1);
                progress.next = now.saturating_add(TELLS_EVERY);
                let ids = asked.request.ids.clone();
                let token = progress.token.clone();
                Some((asked.shown_on, ids, token, progress.told))
            });
            due.collect()
        };
        for (stream, ids, token, told) in due {
            let progress = OwnMessage::progress(&token, told);
            let occasion = Occasion::Waiting(&ids.reference, &ids.correlation, &progress);
            if let Err(fault) = self.record_own(talk, occasion, Side::Agent).await {
                error!("a notification could not be recorded, and is not sent: {fault}");
                continue;
            }
            self.tell(talk, Side::Agent, stream, progress).await?;
        }
        Ok(())
    }

    /// Takes in what the agent's client says to a form.
    pub(in crate::gate) async fn absorb_answer<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
        ticket: &str,
        trail: &Trail,
    ) -> Result<(), Stop> {
        let taken_in = trail.taken_in(self.clock.elapsed());
        self.recorder.record(taken_in).await?;
        let principal = talk.session.state().parties.agent.id.clone();
        if let (Some(desk), Some(ticket)) = (&self.people.desk, TicketId::parse(ticket)) {
            // One that comes too late changes nothing, and is nobody's fault.
            let _ = desk.answer(&ticket, said(message.result()), By::agent_ui(principal));
        }
        Ok(())
    }

    fn next_answered<U, A>(&self, talk: &Talk<U, A>, pick: Pick) -> Option<(Asked, End)> {
        let desk = self.people.desk.as_ref()?;
        let mut state = talk.session.state();
        let Waiting {
            asking: Asking { waiting, .. },
            to_upstream,
            ..
        } = &mut state.waiting;
        let mut asked = waiting.iter().enumerate();
        let (at, end) = asked.find_map(|(at, asked)| {
            if asked.stage == AskedStage::BeingRecorded {
                return None;
            }
            let Some(ticket) = TicketId::parse(&asked.ticket) else {
                return Some((at, End::Answered(Box::new(Outcome::TimedOut))));
            };
            let has_ended = |reply: Replied| !to_upstream.has_replied(reply.minted);
            if asked.request.cancelled || asked.reply.is_some_and(has_ended) {
                let told = desk.withdraw(&ticket).map(Box::new);
                return Some((at, End::Cancelled(told)));
            }
            let outcome = match pick {
                Pick::Refused => {
                    let outcome = desk.take_what_is_no_yes(&ticket);
                    if outcome.is_none() && desk.is_granted(&ticket) {
                        talk.session.bell().notify_one();
                    }
                    outcome
                }
                Pick::All => desk.take(&ticket),
            };
            Some((at, End::Answered(Box::new(outcome?))))
        })?;
        Some((waiting.remove(at), end))
    }

    async fn go_on<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        asked: Asked,
        end: End,
    ) -> Result<(), AgentGone> {
        let told = self.take_form_back(talk, &asked).await;
        // Nothing begins for an agent that has gone; what it has asked still ends, and is recorded.
        let end = match (&told, end) {
            (Ok(()), end) => end,
            (Err(AgentGone), End::Answered(outcome)) => {
                End::Lost(UpstreamFault::SessionOver, Some(outcome))
            }
            (Err(AgentGone), End::Cancelled(told) | End::Lost(_, told)) => {
                End::Lost(UpstreamFault::SessionOver, told)
            }
        };
        told.and(self.conclude(talk, asked, end).await)
    }

    async fn conclude<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        asked: Asked,
        end: End,
    ) -> Result<(), AgentGone> {
        let Asked {
            from,
            ticket,
            request,
            reply,
            denial,
            snapshot,
            stage: _,
            shown_on: _,
            progress: _,
            form: _,
            run,
        } = asked;
        let source = Source {
            peer: request.received.peer,
            trace: request.carried.trace,
            ..Source::on(request.received.stream)
        };
        // What a person took to answer is no time of the server's.
        let mut arrival = Arrival::with(&source, from, self.clock.elapsed());
        if let Some(reply) = reply {
            arrival.form = reply.form;
            // The stream of its request is the agent's.
            arrival.stream = Stream::MAIN;
        }
        let mut trail = Trail::begin(talk, arrival)
            .known_as(request.ids.reference)
            .carried_by(request.carried.headers)
            .since(run);
        trail.belongs_to(&request.ids.correlation);
        trail.retry.attempt = request.attempt;
        if let Ok(message) = Message::decode(&request.frame, self.limits(from)) {
            trail.decoded(talk, &message, from);
            trail.envelope.method = message.method().and_then(Method::known);
            trail.asks(&request.target, &message, self.content_recorder(&snapshot));
            trail.needs(&request.target, &talk.session, &snapshot);
        }
        trail.judged_under(&snapshot);
        let outcome = match end {
            End::Answered(outcome) => *outcome,
            End::Cancelled(told) => {
                let refusal = Rejection::cancelled();
                self.close_question(&mut trail, &ticket, &denial, told.as_deref(), &refusal)
                    .await;
                // Its request is ended by whoever ends it here.
                if reply.is_some() {
                    return Ok(());
                }
                // Who cancels expects no answer.
                trail.envelope.answer_to = AnswerTo::None;
                if from == Side::Agent {
                    talk.agent.release(request.received.stream);
                }
                return self.refuse(talk, &trail, Rejection::cancelled()).await;
            }
            End::Lost(fault, told) => {
                let refusal = fault.into();
                self.close_question(&mut trail, &ticket, &denial, told.as_deref(), &refusal)
                    .await;
                if reply.is_some() {
                    return Ok(());
                }
                // Nobody is left who could be answered.
                if from == Side::Upstream {
                    trail.envelope.answer_to = AnswerTo::None;
                }
                return self.refuse(talk, &trail, refusal).await;
            }
        };
        let record = trail.outcome_of_consent(&ticket, &outcome);
        trail.was_asked_about(&ticket, &outcome);
        let record = about(&denial, record);
        if let Err(fault) = self.recorder.record(record).await {
            return match reply {
                Some(reply) => self.give_up_reply(talk, reply, fault.into()).await,
                None => self.refuse(talk, &trail, fault.into()).await,
            };
        }
        if let Some(reply) = reply {
            let trail = trail.of_the_same(talk, arrival).since(run);
            let taking = self.take_in(talk, arrival, reply, &request.frame, trail, outcome);
            return Box::pin(taking).await;
        }
        // While the answer was told and recorded, nobody ended what no longer waits.
        if from == Side::Upstream
            && let Some(fault) = runs::gone(&talk.session, run)
        {
            trail.envelope.answer_to = AnswerTo::None;
            return self.refuse(talk, &trail, fault.into()).await;
        }
        let why = match outcome {
            Outcome::Granted(receipt) => {
                let mut trail = trail.of_the_same(talk, arrival).since(run);
                trail.consent.brought = Brought::Receipt(receipt);
                return Box::pin(self.handle_on(talk, arrival, &request.frame, &mut trail)).await;
            }
            Outcome::Denied(by) => Unconsented::Denied(by),
            Outcome::TimedOut => Unconsented::TimedOut,
            Outcome::Withdrawn(void) => Unconsented::withdrawn(void),
        };
        let refusal = why.rejection(denial);
        self.refuse(talk, &trail, refusal).await
    }

    /// Records that a question which was asked is so no more: its message ends, whether or not
    /// somebody has answered it.
    pub(super) async fn close_question(
        &self,
        trail: &mut Trail,
        ticket: &str,
        denial: &Denial,
        told: Option<&Outcome>,
        why: &Rejection,
    ) {
        let record = if let Some(outcome) = told {
            trail.outcome_of_consent(ticket, outcome)
        } else {
            let mut record = trail.closing(ticket);
            record.event = Some(Event::Cancelled);
            record.reason = audit::Reason::code(why.reason()).with_text(why.to_string());
            record
        };
        match told {
            Some(outcome) => trail.was_asked_about(ticket, outcome),
            None => trail.is_not_asked_about(ticket),
        }
        let record = about(denial, record);
        if let Err(fault) = self.recorder.record(record).await {
            error!("the end of a question could not be recorded: {fault}");
        }
    }

    /// Nobody needs the form any more that the agent's client may still show.
    async fn take_form_back<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        asked: &Asked,
    ) -> Result<(), AgentGone> {
        let Some(minted) = asked.form else {
            return Ok(());
        };
        let id = Id::integer(minted);
        if talk.session.state().waiting.to_agent.take(&id).is_none() {
            return Ok(());
        }
        let occasion = Occasion::Answered(&asked.request.ids.correlation);
        if let Err(fault) = self.record_own(talk, occasion, Side::Agent).await {
            error!("a cancellation could not be recorded, and is not sent: {fault}");
            return Ok(());
        }
        let cancel = OwnMessage::cancel(minted, "the question is settled");
        self.tell(talk, Side::Agent, asked.shown_on, cancel).await
    }
}

impl ConsentFilter {
    /// What an agent without a session brings back.
    pub(super) async fn brought_back(
        &self,
        understood: &Understood<'_>,
        binding: &Binding,
        state: &str,
        trail: &mut Trail,
    ) -> Result<Brought, Stop> {
        let desk = &self.desk;
        let Some(ticket) = desk.open(state, binding) else {
            return Err(Rejection::foreign_state().into());
        };
        if let Some(receipt) = desk.kept(&ticket) {
            return Ok(Brought::Receipt(receipt));
        }
        if !self.along.has_come_back(&ticket) {
            return Ok(Brought::Refused(Unconsented::settled(desk, &ticket)));
        }
        let params = understood.identified.message.params();
        let answer = params.and_then(|params| params.at(&["inputResponses", KEY]));
        let by = By::agent_ui(&*binding.principal);
        // The first answer counts.
        let _ = desk.answer(&ticket, said(answer), by);
        let outcome = desk.take(&ticket).unwrap_or(Outcome::TimedOut);
        let record = trail.outcome_of_consent(ticket.as_str(), &outcome);
        trail.was_asked_about(ticket.as_str(), &outcome);
        self.recorder.record(record).await?;
        Ok(Brought::of(outcome))
    }
}

/// With the policies that wanted somebody to be asked.
pub(super) fn about(denial: &Denial, mut record: audit::Record) -> audit::Record {
    let policies = denial.reasons.iter();
    record.policies = policies.map(|one| one.policy.as_str().into()).collect();
    record
}

/// Only what says so is a yes: a form that was accepted, with its one field true.
pub(super) fn said(result: Option<Value<'_>>) -> Answer {
    let action = result.and_then(|result| result.get("action"));
    let approve = result.and_then(|result| result.at(&["content", "approve"]));
    let accepts = action.and_then(Value::as_str).as_deref() == Some("accept");
    if accepts && approve.and_then(Value::as_bool) == Some(true) {
        Answer::Approve
    } else {
        Answer::Deny
    }
}

impl Trail {
    /// It is a message that came when its session spoke to this server.
    fn since(mut self, run: Run) -> Self {
        self.server.run = run;
        self
    }

    pub(super) fn outcome_of_consent(&self, ticket: &str, outcome: &Outcome) -> audit::Record {
        settled(self.closing(ticket), outcome)
    }

    /// The record of what a question with this number comes to, while that is silence.
    pub(super) fn closing(&self, ticket: &str) -> audit::Record {
        let mut record = self.record_of_consent();
        record.event = Some(Event::ConsentTimeout);
        record.consent = Some(audit::Consent {
            ticket: Some(ticket.into()),
            ..audit::Consent::default()
        });
        record
    }
}
