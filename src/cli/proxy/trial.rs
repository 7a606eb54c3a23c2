//! One handshake with the server in a conversation with nobody (decision 15).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use crate::audit::{self, Audit};
use crate::gate::{Agent, AgentGone, Carried, Gate, Permit, Talk, UpstreamFault};
use crate::policy;
use crate::session::{Opening, Trial};
use crate::wire::{KnownMethod, Side};

use super::converse::{note, sleep};
use super::servers::{Occurrence, Server, ServerEvents, Upstreams};
use super::trials::Tried;
use super::{Parts, session};

/// How long all of it may take, without the end of the server.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many messages of the server's are heard. Each has its record: one that talks and talks must not fill
/// the log.
const MOST_HEARD: usize = 100;

/// Why there was no handshake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoHandshake {
    #[error("{0}")]
    Because(String),
    #[error("it has not answered within {} s", PATIENCE.as_secs())]
    Silent,
    #[error("it has said {MOST_HEARD} things, and none of them is its answer")]
    Chatters,
    #[error("the startup probe stopped early")]
    BrokeOff,
    #[error("the gate stops")]
    Stopping,
}

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

/// Begins a conversation, shakes hands, and ends it.
pub(super) async fn shake_hands(parts: Parts, tried: Tried) -> Result<(), NoHandshake> {
    let upstreams = &tried.upstreams;
    let gate = &*parts.gate;
    let session = session(&parts.upstream, "http", gate)
        .ok_or_else(|| NoHandshake::Because("there are no random numbers".to_owned()))?;
    let session = session.of(policy::Agent {
        id: "mcp-protector".to_owned(),
        ..policy::Agent::default()
    });
    session.state().place = tried.place;
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
            let trial = talk.session.state().trial.clone();
            match trial {
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
        () = sleep(due) => {
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
    };
    let pings = std::mem::take(&mut *talk.agent.pings());
    for minted in pings {
        let (Ok(()) | Err(AgentGone)) = gate.answer_ping(talk, minted).await;
    }
    Ok(())
}
