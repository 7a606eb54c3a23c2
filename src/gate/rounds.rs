//! Results that are not finished: what an agent answers goes to the request that asked, and nowhere
//! else (MCP 2026-07-28, basic/patterns/mrtr).
//!
//! A server that needs something of the agent's user says so in its result, with a `requestState` of
//! its own; the agent repeats its request with the answers and the state. Each such request is judged
//! like any other. Here it is made sure that the state was given to this agent for the same method,
//! name and arguments, and that only what was asked is answered.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::{Agreed, Instance, Keep, Ledger, Origin, Taken, Target, TooLarge, Turn};
use crate::wire::{KnownMethod, Message, Side, Value, pointer_step};

use super::asking::lending;
use super::classified::{Role, asks};
use super::consent::{KEY, KeptReply};
use super::context::RequestContext;
use super::digest::{Digest, digest, digest_of};
use super::edits::Removal;
use super::faults::UpstreamFault;
use super::filter::{Filter, Flow, Hook, Placement};
use super::local::LocalAnswer;
use super::query::Understood;
use super::rejection::Rejection;

/// How often one request may be asked to be repeated: what rmcp's client does at most.
pub(super) const MAX_ROUNDS: u32 = 10;

/// How long an answer may take. Those who answer are people.
const KEPT_FOR: Duration = Duration::from_hours(1);

/// How many questions without a state are known of one request.
const MAX_ASKED: usize = 64;

/// What was asked, by whom and for what: the other instance of a server did not ask it.
#[derive(Debug, Default)]
pub(super) struct Rounds(Ledger<(Instance, Digest), Round>);

#[derive(Debug, Clone)]
struct Round {
    /// Counted from 1.
    number: u32,
    /// The keys under which there may be answers.
    asked: HashSet<Digest>,
    /// What a person agreed to: it goes on with the request, once.
    agreed: Option<Agreed>,
    /// The answer, if the gate has it already and asks whether it may be given.
    reply: Option<KeptReply>,
}

/// Whom a request answers that brings a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtTheGate {
    /// The gate, which asked on its own behalf.
    Asked,
    /// The server, if anybody.
    Unasked,
}

/// Where a request stands.
#[derive(Debug, Default)]
pub(super) struct Standing<'m> {
    pub(super) turn: Turn,
    /// Answers to what was not asked.
    pub(super) unasked: Vec<Removal<'m>>,
    /// The answer, if the gate has it already.
    pub(super) reply: Option<KeptReply>,
    /// The unfinished result that it answers.
    pub(super) answers: Option<Digest>,
}

/// Finds the round that a request answers, and keeps what servers ask for in their results.
#[derive(Debug)]
pub(super) struct RoundFilter {
    pub(super) rounds: Arc<Rounds>,
    /// Whom a request answers.
    pub(super) at_the_gate: fn(&Understood<'_>) -> AtTheGate,
}

impl Filter for RoundFilter {
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let at_the_gate = (self.at_the_gate)(&cx.understood);
        let at = cx.now.at;
        let standing = self.rounds.standing(&cx.understood, at_the_gate, at)?;
        lending::answered_within(cx.session, standing.answers);
        cx.plan.removals.extend(standing.unasked);
        cx.trail.about.turn = standing.turn;
        let reply = standing.reply.map(Box::new);
        cx.trail.effects.local_answer = reply.map(LocalAnswer::Reply);
        Flow::DONE
    }

    fn on_sent(&self, cx: &mut RequestContext<'_>, placement: Placement) {
        // While it was recorded, the session may have left the server that asks.
        if placement == Placement::Left {
            return;
        }
        let (at, lasts) = (cx.now.at, cx.terms.request_timeout);
        if let Some(round) = self.rounds.note(&cx.understood, at) {
            lending::asked_within(&cx.understood, cx.session, round, at, lasts);
        }
    }
}

impl Rounds {
    /// Where a request of the agent's stands.
    ///
    /// # Errors
    /// [`Rejection`] when its state was not given to this agent for this request.
    pub(super) fn standing<'m>(
        &self,
        understood: &Understood<'m>,
        at_the_gate: AtTheGate,
        now: Duration,
    ) -> Result<Standing<'m>, Rejection> {
        let identified = &understood.identified;
        let Role::Request { method, .. } = identified.role else {
            return Ok(Standing::default());
        };
        // Answers to a task stand beside its id (`tasks.rs`).
        if identified.from == Side::Upstream {
            return Ok(Standing::default());
        }
        if method == KnownMethod::TasksUpdate {
            return Ok(Standing::default());
        }
        let get = |key| identified.message.params().and_then(|it| it.get(key));
        let (state, answers) = (get("requestState"), get("inputResponses"));
        let may_be_asked = asks(method) && *identified.scene.spoken.version >= *FIRST_STATELESS;
        if !may_be_asked && state.is_none() && answers.is_none() {
            return Ok(Standing::default());
        }
        let subject = subject(method, &understood.target, identified.message);
        let mut standing = Standing::default();
        standing.turn.subject = Some(subject);
        if state.is_none() && answers.is_none() {
            return Ok(standing);
        }
        if at_the_gate == AtTheGate::Asked {
            // The server has asked nothing yet.
            let of_the_gate = [("requestState", state), ("inputResponses", answers)];
            let of_the_gate = of_the_gate.into_iter();
            standing
                .unasked
                .extend(of_the_gate.filter_map(|(key, item)| {
                    Some(Removal {
                        item: item?,
                        pointer: format!("/params/{key}"),
                        because: "it answers the gate".to_owned(),
                    })
                }));
            return Ok(standing);
        }
        let state = state.and_then(Value::as_str);
        let bound_to = bound(&subject, state.as_deref());
        let key = (identified.scene.run.instance, bound_to);
        let known = self.0.get(&identified.scene.agent.id, &key, now);
        if state.is_some() && known.is_none() {
            return Err(Rejection::foreign_state());
        }
        standing.turn.round = known.as_ref().map_or(0, |round| round.number);
        standing.reply = known.as_ref().and_then(|round| round.reply.clone());
        for (key, answer) in answers.into_iter().flat_map(Value::entries) {
            let was_asked = known.as_ref();
            if was_asked.is_some_and(|round| round.asked.contains(&digest(key.as_bytes()))) {
                standing.turn.answers += 1;
                standing.answers = Some(bound_to);
            } else {
                standing.unasked.push(Removal {
                    item: answer,
                    pointer: format!("/params/inputResponses/{}", pointer_step(&key)),
                    because: "nothing of the kind was asked".to_owned(),
                });
            }
        }
        Ok(standing)
    }

    /// The consent under which a request goes on that was not finished: the one that it began with, if
    /// it is bound to the same. Whoever takes it has it alone.
    pub(super) fn agreed(
        &self,
        understood: &Understood<'_>,
        binding: &Digest,
        now: Duration,
    ) -> Option<Agreed> {
        // Without a state a new request could not be told from one that goes on.
        let place = Place::of(understood)?;
        let known = self.0.get(place.owner, &place.key, now)?;
        let is_bound = |agreed: &Agreed| agreed.binding == *binding;
        known.agreed.as_ref().filter(|it| is_bound(it))?;
        let mut taken = None;
        // Two that bring the same state at once: what one has taken the other does not find.
        self.change(&place, now, |round| {
            taken = round.agreed.take_if(|it| is_bound(it));
        });
        taken
    }

    /// What was taken is had by the next one that brings the same state: the one that took it could
    /// not make use of it.
    pub(super) fn give_back(&self, understood: &Understood<'_>, agreed: &Agreed, now: Duration) {
        if let Some(place) = Place::of(understood) {
            self.change(&place, now, |round| {
                round.agreed.get_or_insert_with(|| agreed.clone());
            });
        }
    }

    /// The agent has come back for the answer that was kept with its state, and nobody gets it again.
    pub(super) fn spend_reply(&self, understood: &Understood<'_>, now: Duration) {
        if let Some(place) = Place::of(understood) {
            self.change(&place, now, |round| {
                round.reply = round.reply.as_ref().map(KeptReply::spent);
            });
        }
    }

    /// Changes what is known of a round, if anything is.
    fn change(&self, place: &Place<'_>, now: Duration, change: impl FnOnce(&mut Round)) {
        let Some(known) = self.0.get(place.owner, &place.key, now) else {
            return;
        };
        let make = |current: Option<Round>| {
            let mut round = current.unwrap_or(known);
            change(&mut round);
            let keep = round.kept(now);
            (round, keep)
        };
        // INVARIANT: it is no larger than it was once.
        let _ = self.0.note(place.owner, place.key, now, make);
    }

    /// Remembers what a result asks for that is about to be delivered, and tells by what it is known.
    fn note(&self, understood: &Understood<'_>, now: Duration) -> Option<Digest> {
        let (taken, result) = unfinished(understood)?;
        let subject = taken.exchange.about.turn.subject.as_ref()?;
        let state = result.get("requestState").and_then(Value::as_str);
        let bound_to = bound(subject, state.as_deref());
        let scene = &understood.identified.scene;
        let requests = result.get("inputRequests");
        let asked = requests.into_iter().flat_map(Value::entries);
        let asked: HashSet<Digest> = asked.map(|(key, _)| digest(key.as_bytes())).collect();
        let number = taken.exchange.about.turn.round.saturating_add(1);
        let make = |known: Option<Round>| {
            let mut round = Round {
                number,
                asked,
                agreed: taken.exchange.admission.agreed.clone(),
                reply: None,
            };
            // Without a state, equal requests that are under way at once cannot be told apart.
            if let (None, Some(known)) = (&state, known)
                && known.asked.len() + round.asked.len() <= MAX_ASKED
            {
                round.asked.extend(known.asked);
                round.number = round.number.max(known.number);
            }
            let keep = round.kept(now);
            (round, keep)
        };
        let key = (scene.run.instance, bound_to);
        // INVARIANT: an entry of 96 digests is never too large.
        let _ = self.0.note(&scene.agent.id, key, now, make);
        Some(bound_to)
    }
}

impl Rounds {
    /// Keeps the answer to a request until its agent repeats it with this state, which nobody else
    /// knows. Such a round is none of the server's.
    ///
    /// # Errors
    /// [`TooLarge`] when it cannot be kept.
    pub(super) fn keep_reply(
        &self,
        state: &str,
        reply: &KeptReply,
        until: Duration,
        now: Duration,
    ) -> Result<(), TooLarge> {
        let exchange = reply.exchange().ok_or(TooLarge)?;
        let (Some(subject), Some(agent)) =
            (&exchange.about.turn.subject, &exchange.admission.agent)
        else {
            return Err(TooLarge);
        };
        let round = Round {
            number: exchange.about.turn.round,
            asked: [digest(KEY.as_bytes())].into(),
            agreed: exchange.admission.agreed.clone(),
            reply: Some(reply.clone()),
        };
        let keep = Keep {
            until,
            ..round.kept(now)
        };
        let make = |_| (round, keep);
        let key = (reply.run().instance, bound(subject, Some(state)));
        self.0.note(&agent.id, key, now, make)
    }
}

/// Where it is remembered what a request goes on with that brings a state.
struct Place<'u> {
    owner: &'u str,
    key: (Instance, Digest),
}

impl<'u> Place<'u> {
    fn of(understood: &'u Understood<'_>) -> Option<Self> {
        let identified = &understood.identified;
        let Role::Request { method, .. } = identified.role else {
            return None;
        };
        let state = identified.message.params()?.get("requestState")?.as_str()?;
        let subject = subject(method, &understood.target, identified.message);
        Some(Self {
            owner: &identified.scene.agent.id,
            key: (identified.scene.run.instance, bound(&subject, Some(&state))),
        })
    }
}

impl Round {
    fn kept(&self, now: Duration) -> Keep {
        let consent = self.agreed.as_ref().map_or(0, Agreed::weight);
        let reply = self.reply.as_ref().map_or(0, KeptReply::weight);
        Keep {
            until: now.saturating_add(KEPT_FOR),
            bytes: self.asked.len() * size_of::<Digest>() + consent + reply,
        }
    }
}

/// Whether a result may be one that is not finished.
///
/// # Errors
/// [`UpstreamFault::BadReply`] when nobody could answer it: the method knows no questions, the state
/// is none, or it is one round too many.
pub(super) fn check(taken: &Taken, result: Value<'_>) -> Result<(), Rejection> {
    let state = result.get("requestState").filter(|state| !state.is_null());
    let kind = result.get("resultType").and_then(Value::as_str);
    if kind.as_deref() != Some("input_required") && state.is_none() {
        return Ok(());
    }
    let exchange = &taken.exchange;
    let problem = if !asks(exchange.method) {
        "a result of this method cannot be unfinished"
    } else if state.is_some_and(|state| state.as_str().is_none()) {
        "its `requestState` is not a string"
    } else if exchange.about.turn.round >= MAX_ROUNDS {
        "it asks for more than 10 rounds"
    } else {
        return Ok(());
    };
    Err(UpstreamFault::BadReply(problem.to_owned()).into())
}

/// Whether a message is a result that asks for more.
pub(super) fn is_unfinished(understood: &Understood<'_>) -> bool {
    unfinished(understood).is_some()
}

/// A result that asks for more, and the request that it answers.
fn unfinished<'u, 'm>(understood: &'u Understood<'m>) -> Option<(&'u Taken, Value<'m>)> {
    let Role::Reply(taken) = &understood.identified.role else {
        return None;
    };
    let is_agents = matches!(taken.exchange.origin, Origin::Peer(_));
    let result = understood.identified.message.result()?;
    let asks = ["inputRequests", "requestState"]
        .iter()
        .any(|member| result.get(member).is_some());
    (is_agents && asks && understood.identified.from == Side::Upstream).then_some((taken, result))
}

/// What a request is, whoever wrote it down: an agent may write the same arguments in another order
/// when it repeats them.
fn subject(method: KnownMethod, target: &Target, message: &Message) -> Digest {
    let arguments = message.params().and_then(|params| params.get("arguments"));
    let arguments = arguments.map_or_else(|| "{}".to_owned(), Value::canonical);
    let name = target.name().unwrap_or_default();
    digest_of([method.name(), name, &arguments].map(str::as_bytes))
}

fn bound(subject: &Digest, state: Option<&str>) -> Digest {
    match state {
        Some(state) => digest_of([subject.as_slice(), b"state", state.as_bytes()]),
        None => digest_of([subject.as_slice(), b"none", b""]),
    }
}
