//! What a server asks of the agent inside of a result, where a person has to agree to it.
//!
//! The result waits as it came, and the request that it answers with it. An agent whose client is to
//! show the form has no other place for that than the result of its request: it is answered, and what
//! the server said is kept until it comes back. Then the request goes no further than the gate, which
//! has its answer.

use std::sync::Arc;
use std::time::Duration;

use crate::consent::{By, NotAsked, Outcome, Receipt, TicketId};
use crate::policy::{Denial, Reason};
use crate::session::{
    About, Admission, Asker, Asks, Exchange, Origin, Reception, Replied, Run, Session,
};
use crate::wire::{Side, Stream};

use crate::gate::arrival::{AnswerTo, Arrival, Waited};
use crate::gate::classified::Role;
use crate::gate::context::RequestContext;
use crate::gate::faults::{AgentGone, UpstreamFault};
use crate::gate::forward::{Agent, Upstream};
use crate::gate::query::Understood;
use crate::gate::record::Trail;
use crate::gate::rejection::Rejection;
use crate::gate::stop::{Reply, Stop};
use crate::gate::talk::Talk;
use crate::gate::{Gate, exchange};

use super::KeptReply;
use super::answers::said;
use super::brought::{Brought, KEY};
use super::kept_reply::{Whole, take_replied};
use super::why::Unconsented;

impl Reply {
    pub(super) fn of(understood: &Understood<'_>) -> Option<Self> {
        let Role::Reply(taken) = &understood.identified.role else {
            return None;
        };
        Some(Self {
            minted: taken.minted,
            exchange: Exchange {
                // Its server has taken it, and is not sent it once more.
                again: None,
                ..taken.exchange.clone()
            },
            form: understood.identified.form,
        })
    }

    /// How it is known among what waits.
    pub(super) fn replied(&self) -> Replied {
        Replied {
            minted: self.minted,
            form: self.form,
        }
    }

    pub(super) fn kept(
        self,
        session: &Session,
        ticket: TicketId,
        denial: Denial,
        frame: &[u8],
        run: Run,
    ) -> KeptReply {
        KeptReply {
            session: session.id.clone(),
            ticket,
            denial,
            run,
            whole: Some(Arc::new(Whole {
                frame: frame.to_vec(),
                reply: self,
            })),
        }
    }
}

impl KeptReply {
    /// The bytes that it takes, about.
    pub(in crate::gate) fn weight(&self) -> usize {
        let whole = self.whole.as_ref().map_or(0, |whole| {
            size_of::<Whole>() + whole.frame.len() + exchange::weight(&whole.reply.exchange)
        });
        size_of::<Self>() + self.denial.reasons.len() * size_of::<Reason>() + whole
    }

    /// The server that it is of.
    pub(in crate::gate) fn run(&self) -> Run {
        self.run
    }

    /// The request that it answers, until its agent has come back.
    pub(in crate::gate) fn exchange(&self) -> Option<&Exchange> {
        self.whole.as_ref().map(|whole| &whole.reply.exchange)
    }

    /// Its agent has come back: what is left of it.
    pub(in crate::gate) fn spent(&self) -> Self {
        Self {
            whole: None,
            ..self.clone()
        }
    }
}

impl Gate {
    /// Goes on with a result that has waited long enough. Where its request has been ended, that has
    /// been recorded, and its agent was told.
    pub(super) async fn take_in<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        mut arrival: Arrival,
        replied: Replied,
        frame: &[u8],
        mut trail: Trail,
        outcome: Outcome,
    ) -> Result<(), AgentGone> {
        if !talk
            .session
            .state()
            .waiting
            .to_upstream
            .has_replied(replied.minted)
        {
            return Ok(());
        }
        arrival.waited = Waited::ForAPerson(replied.minted);
        trail.consent.brought = Brought::of(outcome);
        Box::pin(self.handle_on(talk, arrival, frame, &mut trail)).await
    }

    /// What a person says to a result cannot be recorded: it does not pass.
    pub(super) async fn give_up_reply<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        replied: Replied,
        refusal: Rejection,
    ) -> Result<(), AgentGone> {
        let taken = take_replied(&mut talk.session.state(), replied);
        match taken {
            Some(taken) => self.give_up(talk, Side::Agent, &taken, refusal).await,
            None => Ok(()),
        }
    }

    /// Keeps a result until its agent comes back, and yields what it is to bring.
    ///
    /// # Errors
    /// [`Rejection`] when it is too large, or nothing random can be had.
    pub(super) fn keep_reply(
        &self,
        reply: KeptReply,
        until: Duration,
    ) -> Result<String, Rejection> {
        let no_room = |denial| {
            let why = Unconsented::NotAsked(NotAsked::Memory);
            why.rejection(denial)
        };
        let mut random = [0; 16];
        if getrandom::fill(&mut random).is_err() {
            return Err(no_room(reply.denial));
        }
        let state = format!(
            "mcp-protector.within.1.{:032x}",
            u128::from_be_bytes(random)
        );
        let now = self.clock.elapsed();
        match self.stores.rounds.keep_reply(&state, &reply, until, now) {
            Ok(()) => Ok(state),
            Err(_) => Err(no_room(reply.denial)),
        }
    }

    /// Answers a request with the result that was kept for it, if the person has agreed.
    pub(in crate::gate) async fn answer_with<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cx: &mut RequestContext<'_>,
        reply: &KeptReply,
    ) -> Result<(), Stop> {
        self.stores.pace.pay(cx).await?;
        let (understood, trail) = (&cx.understood, &mut *cx.trail);
        let (Some(desk), Role::Request { asker, .. }) =
            (&self.people.desk, &understood.identified.role)
        else {
            return Err(Rejection::foreign_state().into());
        };
        // The id under which its server knows it means something in its own session alone.
        if reply.session != talk.session.id {
            return Err(Rejection::foreign_state().into());
        }
        // Whoever answers what the open server asks would answer the isolated one.
        if reply.run.instance != talk.session.run().instance {
            return Err(UpstreamFault::Left.into());
        }
        let scene = &understood.identified.scene;
        let params = understood.identified.message.params();
        let answer = params.and_then(|params| params.at(&["inputResponses", KEY]));
        let by = By::agent_ui(scene.agent.id.as_str());
        let has_come_back = self.people.along.has_come_back(&reply.ticket);
        let Some(whole) = reply.whole.as_ref().filter(|_| has_come_back) else {
            let why = Unconsented::settled(desk, &reply.ticket);
            let denial = reply.denial.clone();
            return Err(why.rejection(denial).into());
        };
        self.stores
            .rounds
            .spend_reply(understood, self.clock.elapsed());
        // If somebody was faster, that counts.
        let _ = desk.answer(&reply.ticket, said(answer), by);
        let outcome = desk.take(&reply.ticket).unwrap_or(Outcome::TimedOut);
        // Before anything is recorded: its id is taken from here on.
        let waits = match &outcome {
            Outcome::Granted(_) => {
                let asked = Asked { understood, asker };
                wait_again(&talk.session, asked, (&whole.reply, reply.run), trail)
            }
            Outcome::Denied(_) | Outcome::TimedOut | Outcome::Withdrawn(_) => Ok(()),
        };
        let record = trail.outcome_of_consent(reply.ticket.as_str(), &outcome);
        trail.was_asked_about(reply.ticket.as_str(), &outcome);
        let recorded = self.recorder.record(record).await;
        waits?;
        let why = match outcome {
            Outcome::Granted(receipt) => {
                let recorded = match recorded {
                    Ok(()) => {
                        let record = trail.kept(self.clock.elapsed());
                        self.recorder.record(record).await
                    }
                    Err(fault) => Err(fault),
                };
                if let Err(fault) = recorded {
                    talk.session
                        .state()
                        .waiting
                        .to_upstream
                        .end(whole.reply.minted);
                    return Err(fault.into());
                }
                return self.answer_again(talk, whole, receipt, trail).await;
            }
            Outcome::Denied(by) => Unconsented::Denied(by),
            Outcome::TimedOut => Unconsented::TimedOut,
            Outcome::Withdrawn(void) => Unconsented::withdrawn(void),
        };
        recorded?;
        let denial = reply.denial.clone();
        Err(why.rejection(denial).into())
    }

    /// Takes in the result that was kept for a request which waits for it.
    async fn answer_again<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        Whole { reply, frame }: &Whole,
        receipt: Receipt,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        trail.departed();
        // What it takes is allocated, and the result waits for room of its own.
        trail.holds.room = None;
        // While that was recorded it may have been cancelled, or its session has moved: then that was
        // recorded, and its agent was told.
        if !talk
            .session
            .state()
            .waiting
            .to_upstream
            .has_replied(reply.minted)
        {
            return Err(Stop::Settled);
        }
        let mut arrival = Arrival::of_the_server(Stream::MAIN, reply.form, self.clock.elapsed());
        arrival.waited = Waited::ForAPerson(reply.minted);
        let mut answering = Trail::begin(talk, arrival);
        answering.consent.brought = Brought::Receipt(receipt);
        trail.envelope.answer_to = AnswerTo::None;
        Box::pin(self.handle_on(talk, arrival, frame, &mut answering))
            .await
            .map_err(|AgentGone| Stop::AgentGone)
    }
}

/// A request waits for the result that was kept for it.
///
/// # Errors
/// [`Rejection`] when its agent has another under the same id by now, [`UpstreamFault::Left`] when
/// the session has moved.
fn wait_again(
    session: &Session,
    Asked { understood, asker }: Asked<'_, '_>,
    (reply, run): (&Reply, Run),
    trail: &Trail,
) -> Result<(), Rejection> {
    let scene = &understood.identified.scene;
    let before = reply.exchange.clone();
    let exchange = Exchange {
        origin: Origin::Peer(asker.clone()),
        received: Reception {
            started: trail.received.started,
            stream: understood.identified.stream,
            peer: scene.peer,
        },
        ids: trail.ids.clone(),
        about: About {
            call: trail.about.call.clone(),
            ..before.about
        },
        asks: Asks {
            spoken: scene.spoken.clone(),
            ..before.asks
        },
        admission: Admission {
            agent: Some(Arc::clone(&scene.agent)),
            ..before.admission
        },
        ..before
    };
    let mut state = session.state();
    if run.instance != state.run().instance {
        return Err(UpstreamFault::Left.into());
    }
    let waits = state
        .waiting
        .to_upstream
        .wait_replied(reply.minted, exchange);
    waits.map_err(|_| Rejection::reused_id())
}

/// A request that is answered by the gate.
struct Asked<'u, 'm> {
    understood: &'u Understood<'m>,
    asker: &'u Asker,
}
