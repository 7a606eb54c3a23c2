//! Finds out whether the server shakes hands, while no agent has (decision 15): at the start, and again
//! after it was lost. Each time in a conversation without an agent.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::audit::{self, Audit};
use crate::gate::{Agent, AgentGone, Carried, Gate, Permit, Talk, UpstreamFault};
use crate::policy;
use crate::session::{Opening, Place, Trial};
use crate::upstream::http::Reach;
use crate::upstream::{Backoff, ChildProcess, Delays};
use crate::wire::{KnownMethod, Side};

use super::connections;
use super::converse::{self, note};
use super::parts::{Parts, session};
use super::servers::{Occurrence, Server, ServerEvents, Upstreams};
use super::trials::{MOST_HEARD, NoHandshake, PATIENCE, Tried};

/// How long after a trial that came to nothing the next one begins: twice as long each time.
const FIRST: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_secs(30);

/// How often is looked whether a trial is needed.
const LOOK: Duration = Duration::from_millis(500);

/// The agent that is not there: nothing reaches anybody.
#[derive(Debug, Default)]
struct Nobody {
    /// What the server has asked that even nobody answers, by the ids that the gate minted.
    pings: Mutex<Vec<u64>>,
}

impl Agent for Nobody {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        if let Carried::Request {
            id,
            method: KnownMethod::Ping,
            ..
        } = permit.passage().carried
        {
            self.pings().push(id);
        }
        Ok(())
    }
}

impl Nobody {
    fn pings(&self) -> MutexGuard<'_, Vec<u64>> {
        self.pings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes trials until the gate stops, in a task of its own. It is to be waited for then: a trial that is
/// under way ends in good order.
pub(super) fn keep(parts: Parts, tried: Tried) -> JoinHandle<()> {
    tokio::spawn(keep_trying(parts, tried))
}

async fn keep_trying(parts: Parts, server: Tried) {
    let mut delays = Delays::new(&Backoff {
        first: FIRST,
        max: LAST,
        ..Backoff::default()
    });
    let (upstreams, trials) = (&server.upstreams, &server.trials);
    while !parts.shutdown.is_requested() {
        if !is_needed(upstreams) {
            delays.reset();
            trials.not_needed();
            unless_stopped(&parts, sleep(LOOK)).await;
            continue;
        }
        // Each in a task of its own: a panic ends this handshake and no other.
        let tried = tokio::spawn(shake_hands(parts.clone(), server.clone())).await;
        match tried.unwrap_or(Err(NoHandshake::BrokeOff)) {
            Err(NoHandshake::Stopping) => return,
            // The log says so already.
            Err(why) if is_lost(upstreams) && server.instance.is_open() => {
                debug!("no handshake: {why}");
            }
            tried => trials.note(tried),
        }
        let delay = delays.next_delay();
        unless_stopped(&parts, until_next(upstreams, delay)).await;
    }
}

async fn unless_stopped(parts: &Parts, waiting: impl Future<Output = ()>) {
    tokio::select! {
        _ = parts.shutdown.requested() => {}
        () = waiting => {}
    }
}

/// Waits for as long, unless something has changed before.
async fn until_next(upstreams: &Upstreams, delay: Duration) {
    let was_lost = is_lost(upstreams);
    let changed = async {
        while is_needed(upstreams) && is_lost(upstreams) == was_lost {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = sleep(delay) => {}
        () = changed => {}
    }
}

/// Whether the server had no handshake since it was last there.
fn is_needed(upstreams: &Upstreams) -> bool {
    match upstreams {
        Upstreams::Http(client) => !client.is_shaken(),
        Upstreams::Command { starts, .. } => !starts.are_good() || is_lost(upstreams),
    }
}

/// Whether it is known not to be there, whatever it would say.
fn is_lost(upstreams: &Upstreams) -> bool {
    match upstreams {
        Upstreams::Http(client) => client.reach() == Reach::Failed,
        Upstreams::Command { settings, .. } => ChildProcess::check(settings).is_err(),
    }
}

/// Begins a conversation, shakes hands, and ends it.
async fn shake_hands(parts: Parts, server_of_trial: Tried) -> Result<(), NoHandshake> {
    let upstreams = &server_of_trial.upstreams;
    let gate = &*parts.gate;
    let began = parts.clock.elapsed();
    let session = session(&parts.server, "http", gate)
        .ok_or_else(|| NoHandshake::Because("there are no random numbers".to_owned()))?;
    let session = session.of(policy::Agent {
        id: "mcp-protector".to_owned(),
        ..policy::Agent::default()
    });
    session.state().connection.place = Place::At(server_of_trial.instance);
    session.described_by(gate.policies().labels());
    let connected = upstreams.connect();
    let (server, mut events) =
        connected.map_err(|cause| NoHandshake::Because(cause.to_string()))?;
    let talk = Talk::new(session, server.clone(), Nobody::default());
    if !upstreams.is_there_already() {
        note(
            &parts.audit,
            gate.upstream_state(&talk, audit::Event::Started),
        )
        .await;
    }
    let tried = tokio::select! {
        biased;
        _ = parts.shutdown.requested() => Err(NoHandshake::Stopping),
        tried = timeout(PATIENCE, hear(&parts, upstreams, &talk, &mut events)) => {
            tried.unwrap_or(Err(NoHandshake::Silent))
        }
    };
    if tried.is_ok() {
        let now = parts.clock.elapsed();
        server_of_trial.trials.took(now.saturating_sub(began));
    }
    // What was asked and will not be answered has an outcome like all that was asked.
    let fault = match &tried {
        Err(NoHandshake::Silent) => UpstreamFault::TimedOut(PATIENCE),
        Err(why @ NoHandshake::Chatters) => UpstreamFault::BadReply(why.to_string()),
        Ok(()) | Err(_) => UpstreamFault::Down,
    };
    let (Ok(()) | Err(AgentGone)) = gate.upstream_lost(&talk, fault).await;
    let ended = async {
        if tried.is_ok() {
            // Or the session might end before it has begun.
            server.flushed().await;
        }
        drop(events);
        server.stop().await;
    };
    tokio::select! {
        () = ended => {}
        () = parts.shutdown.forced() => server.kill().await,
    }
    tried
}

/// What the server is asked, one after the other, until it answers as one that speaks so. Over HTTP nothing is
/// to come before `server/discover` at a server that knows no sessions; some processes end when anything
/// comes before `initialize`.
fn openings(upstreams: &Upstreams) -> [Opening; 2] {
    match upstreams {
        Upstreams::Http(_) => [Opening::Discover, Opening::Initialize],
        Upstreams::Command { .. } => [Opening::Initialize, Opening::Discover],
    }
}

/// Asks, and hears what the server says until something has come of it.
async fn hear(
    parts: &Parts,
    upstreams: &Upstreams,
    talk: &Talk<Server, Nobody>,
    events: &mut ServerEvents,
) -> Result<(), NoHandshake> {
    let mut reasons = Vec::new();
    let mut heard = 0;
    for opening in openings(upstreams) {
        parts.gate.try_out(talk, opening).await;
        loop {
            let trial = talk.session.state().protocol.trial.clone();
            match trial.unwrap_or_default() {
                Trial::Open if heard == MOST_HEARD => return Err(NoHandshake::Chatters),
                Trial::Open => {}
                Trial::Passed => return Ok(()),
                Trial::Failed(why) => return Err(NoHandshake::Because(why.to_string())),
                Trial::Otherwise(how) => {
                    reasons.push(how);
                    break;
                }
            }
            heard += 1;
            hear_one(&parts.gate, &parts.audit, talk, events).await?;
        }
    }
    Err(NoHandshake::Because(reasons.join(", and ")))
}

/// Takes what happens next through the gate.
async fn hear_one(
    gate: &Gate,
    audit: &Audit,
    talk: &Talk<Server, Nobody>,
    events: &mut ServerEvents,
) -> Result<(), NoHandshake> {
    let due = talk.session.until_next_deadline(gate.elapsed());
    let occurrence = tokio::select! {
        occurrence = events.next() => occurrence,
        () = converse::sleep(due) => {
            let (Ok(()) | Err(AgentGone)) = gate.expire(talk).await;
            return Ok(());
        }
    };
    // Nobody never goes.
    let (Ok(()) | Err(AgentGone)) = match occurrence {
        Occurrence::Frame(stream, form, frame) => {
            gate.handle_upstreams(talk, stream, form, frame).await
        }
        Occurrence::Unread(stream, why) => {
            gate.handle_unread(talk, Side::Upstream, stream, why).await
        }
        Occurrence::Failed(stream, fault) => {
            gate.upstream_failed(talk, stream.number(), fault).await
        }
        Occurrence::Started | Occurrence::Restarted | Occurrence::TriedAgain => Ok(()),
        // Nothing has ended that had begun.
        Occurrence::Lost { how, .. } => return Err(NoHandshake::Because(how)),
        Occurrence::Died { how, .. } => {
            let died = gate.upstream_state(talk, audit::Event::Down);
            note(audit, died.reason(audit::Reason::text(how.clone()))).await;
            return Err(NoHandshake::Because(format!("it ended ({how})")));
        }
        Occurrence::GaveUp(reason) => return Err(NoHandshake::Because(reason)),
        Occurrence::Connects(attempt) => {
            connections::settle(gate, talk, talk.session.run().instance, attempt).await;
            Ok(())
        }
    };
    let pings = std::mem::take(&mut *talk.agent.pings());
    for minted in pings {
        let (Ok(()) | Err(AgentGone)) = gate.answer_ping(talk, minted).await;
    }
    Ok(())
}
