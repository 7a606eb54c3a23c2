//! Keeps a conversation going: what the agent sends, what the server sends, and time.
//!
//! Steps are boxed: each session holds the room of every other step all the time.

use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{error, info, warn};

use crate::audit::{self, Audit, Record};
use crate::bridge::{Bridge, Bridged, Taken};
use crate::gate::{Agent, AgentGone, Gate, Talk, Unsent, Upstream, UpstreamFault};
use crate::session::{Instance, Readiness};
use crate::shutdown::{Shutdown, ShutdownCause};
use crate::wire::Side;

use super::absence::Absence;
use super::agents::{Arrived, Inbox};
use super::connections;
use super::end::End;
use super::isolated::{LAST_WORDS, PlacedEvents};
use super::news::News;
use super::servers::Occurrence;

/// Who may have something in hand that the agent has sent: whoever reads it, and the bridge.
const HANDS: usize = 2;
const WHOLE: u32 = 2;

/// How long the last records and the last lines to the agent may take to be written.
pub(super) const FLUSH: Duration = Duration::from_secs(5);

/// How long what is in hand may take when the server was given up.
const IN_HAND: Duration = Duration::from_secs(5);

/// Runs until one side has gone or the gate is to stop; what is under way may then finish.
pub(super) async fn converse<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, Bridged<A>>,
    inbox: &mut Inbox,
    events: &mut PlacedEvents,
    news: News,
    shutdown: &Shutdown,
    audit: &Audit,
) -> End {
    let hands = Semaphore::new(HANDS);
    let agent = listen(gate, talk, inbox, shutdown, &hands);
    let upstream = attend(gate, talk, events, audit);
    let sending = send_on(gate, talk);
    let waiting = resume(gate, talk);
    let answers = go_on(gate, talk);
    let time = keep_time(gate, talk);
    let policies = follow(gate, talk, news);
    let bridge = cross(gate, talk, &hands);
    tokio::pin!(
        agent, upstream, sending, waiting, answers, time, policies, bridge
    );
    let end = tokio::select! {
        end = &mut agent => end,
        end = &mut upstream => end,
        end = &mut sending => end,
        end = &mut waiting => end,
        end = &mut answers => end,
        end = &mut time => end,
        end = &mut policies => end,
        end = &mut bridge => end,
        cause = shutdown.requested() => End::Stopped(cause),
    };
    shutdown.request(match &end {
        End::AgentClosed | End::NotPermitted => ShutdownCause::AgentGone,
        End::Stopped(cause) => *cause,
        End::UpstreamGone(_) | End::AuditFault => ShutdownCause::UpstreamGone,
    });
    if end == End::Stopped(ShutdownCause::Signal) {
        gate.stop_asking();
    }
    // What was in hand when the server was given up is answered as all is. What waits for another
    // server's first word is answered below.
    if matches!(end, End::UpstreamGone(_)) {
        tokio::select! {
            biased;
            _ = &mut agent => {}
            _ = &mut bridge => {}
            _ = hands.acquire_many(WHOLE) => {}
            () = shutdown.forced() => {}
            () = tokio::time::sleep(IN_HAND) => {}
        }
    }
    // Only an agent that still listens is worth waiting for. INVARIANT: then none of the futures
    // below has ended yet.
    if matches!(end, End::AgentClosed | End::Stopped(ShutdownCause::Signal)) {
        tokio::select! {
            () = drained(gate, talk) => {}
            // The message in its hand; no other is read.
            _ = &mut agent, if end != End::AgentClosed => {}
            _ = &mut upstream => {}
            _ = &mut sending => {}
            _ = &mut waiting => {}
            _ = &mut answers => {}
            _ = &mut time => {}
            _ = &mut bridge => {}
            () = shutdown.forced() => {}
        }
    }
    let server_lives = matches!(end, End::AgentClosed | End::Stopped(_) | End::NotPermitted);
    if server_lives {
        // The server works on what did not finish.
        let _ = timeout(LAST_WORDS, Box::pin(gate.call_off(talk))).await;
    }
    // Whatever could not finish is answered, once, and recorded.
    answer_all(gate, talk, &end.why()).await;
    // INVARIANT: `events` are still held, which keeps a session over HTTP alive.
    if server_lives {
        let _ = timeout(LAST_WORDS, Box::pin(talk.upstream.flushed())).await;
    }
    end
}

/// Answers what waits at the gate, and then what waits at the bridge, also because of those answers.
async fn answer_all<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, Bridged<A>>,
    why: &UpstreamFault,
) {
    let mut told = Box::pin(gate.conversation_ends(talk, why)).await;
    if let Some(bridge) = talk.agent.bridge() {
        told = told.and(Box::pin(bridge.conversation_ends(gate, talk, why)).await);
    }
    if told.is_err() {
        info!("the agent has gone before it was answered");
    }
}

async fn listen<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, Bridged<A>>,
    inbox: &mut Inbox,
    shutdown: &Shutdown,
    hands: &Semaphore,
) -> End {
    loop {
        let bridge = talk.agent.bridge();
        let next = tokio::select! {
            biased;
            _ = shutdown.requested() => return pending().await,
            next = next(inbox, bridge) => next,
        };
        let _in_hand = hands.try_acquire();
        let handled = match next {
            Ok(Arrived::Frame(source, frame)) => {
                match bridge.map_or(Taken::Not, |bridge| bridge.take(&source, frame)) {
                    Taken::Not => Box::pin(gate.handle_from(talk, source, frame)).await,
                    Taken::Yes => Ok(()),
                }
            }
            Ok(Arrived::Unread(stream, why)) => {
                Box::pin(gate.handle_unread(talk, Side::Agent, stream, why)).await
            }
            Ok(Arrived::HungUp(stream)) => {
                bridge.inspect(|bridge| bridge.hung_up(stream));
                Box::pin(gate.hung_up(talk, stream)).await
            }
            Ok(Arrived::Unheard(minted)) => Box::pin(gate.answer_unheard(talk, minted)).await,
            Ok(Arrived::Closed) => {
                bridge.inspect(|bridge| bridge.closed());
                return End::AgentClosed;
            }
            Ok(Arrived::Gone) => return End::Stopped(ShutdownCause::AgentGone),
            Err(cause) => {
                warn!("cannot read from the agent: {cause}");
                return End::AgentClosed;
            }
        };
        if handled == Err(AgentGone) {
            return End::Stopped(ShutdownCause::AgentGone);
        }
    }
}

/// What the agent sends next, when the bridge has room for it. Cancel-safe.
async fn next<'i>(inbox: &'i mut Inbox, bridge: Option<&Bridge>) -> io::Result<Arrived<'i>> {
    if let Some(bridge) = bridge {
        bridge.ready().await;
    }
    inbox.next().await
}

/// Does what the bridge wants of the gate.
async fn cross<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, Bridged<A>>,
    hands: &Semaphore,
) -> End {
    let Some(bridge) = talk.agent.bridge() else {
        return pending().await;
    };
    loop {
        let step = bridge.next().await;
        let _in_hand = hands.try_acquire();
        if Box::pin(bridge.carry_out(gate, talk, step)).await == Err(AgentGone) {
            return End::Stopped(ShutdownCause::AgentGone);
        }
    }
}

/// What happens at the servers, in order. Each is attended to in a future of its own, whose room is not held while
/// nothing happens.
async fn attend<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    events: &mut PlacedEvents,
    audit: &Audit,
) -> End {
    let mut absences: [Absence; Instance::MOST] = std::array::from_fn(|_| Absence::default());
    loop {
        let (speaker, occurrence) = events.next().await;
        let Some(absence) = absences.get_mut(speaker.number()) else {
            continue;
        };
        let heard = Box::pin(attend_to(gate, talk, audit, absence, speaker, occurrence)).await;
        match heard {
            Ok(Heard::More) => {}
            Ok(Heard::Out) => events.close(speaker),
            Err(end) => return end,
        }
    }
}

/// What one of them says, or what becomes of it.
async fn attend_to<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    audit: &Audit,
    absence: &mut Absence,
    speaker: Instance,
    occurrence: Occurrence<'_>,
) -> Result<Heard, End> {
    let record = |event| gate.upstream_state_of(talk, speaker, event);
    if let Occurrence::Started = occurrence {
        note(audit, record(audit::Event::Started)).await;
        return Ok(Heard::More);
    }
    if let Occurrence::Connects(attempt) = occurrence {
        // Wherever the session is by now: this server's process has not ended.
        connections::settle(gate, talk, speaker, attempt).await;
        return Ok(Heard::More);
    }
    if speaker != talk.session.run().instance {
        return elsewhere(gate, talk, speaker, occurrence).await;
    }
    let mut heard = Heard::More;
    let handled = match occurrence {
        Occurrence::Frame(stream, form, frame) => {
            let handled = gate.handle_upstreams(talk, stream, form, frame);
            let handled = handled.await;
            // It has answered, and if that was a handshake, so that it is of use.
            let serves = talk.session.state().connection.upstream == Readiness::Up;
            if serves && absence.ends(gate.elapsed()) {
                note(audit, record(audit::Event::Restarted)).await;
            }
            handled
        }
        Occurrence::Unread(stream, why) => {
            Box::pin(gate.handle_unread(talk, Side::Upstream, stream, why)).await
        }
        Occurrence::Failed(stream, fault) => {
            Box::pin(gate.upstream_failed(talk, stream.number(), fault)).await
        }
        // Done above, wherever the session is by now.
        Occurrence::Started | Occurrence::Connects(_) => Ok(()),
        Occurrence::Died {
            how,
            will_restart_in,
        } => {
            let session_id = talk.session.id.as_str();
            if let Some(delay) = will_restart_in {
                warn!(
                    session_id,
                    "the server ended ({how}); it is started again in {delay:.1?}"
                );
            } else {
                warn!(
                    session_id,
                    "the server ended ({how}), and is not started again"
                );
            }
            let died = record(audit::Event::Down);
            note(audit, died.reason(audit::Reason::text(how))).await;
            Box::pin(gate.lost(talk, speaker, UpstreamFault::Died)).await
        }
        Occurrence::Restarted => {
            let session_id = talk.session.id.as_str();
            info!(session_id, "the server runs again");
            note(audit, record(audit::Event::Restarted)).await;
            Box::pin(gate.upstream_restarted(talk)).await;
            Ok(())
        }
        Occurrence::Lost {
            how,
            fault,
            tried_again_in,
        } => {
            if absence.begins(&how, &fault, tried_again_in, gate.elapsed()) {
                let died = record(audit::Event::Down);
                note(audit, died.reason(audit::Reason::text(how))).await;
            }
            Box::pin(gate.lost(talk, speaker, fault)).await
        }
        Occurrence::TriedAgain => {
            Box::pin(gate.upstream_restarted(talk)).await;
            Ok(())
        }
        Occurrence::GaveUp(reason) if speaker.is_open() => return Err(End::UpstreamGone(reason)),
        // Each message of the agent gets this answer: there is no way back.
        Occurrence::GaveUp(reason) => {
            error!("the isolated server cannot be brought back: {reason}");
            heard = Heard::Out;
            Box::pin(gate.upstream_died(talk)).await
        }
    };
    handled.map(|()| heard).map_err(End::from)
}

/// Whether more is to be heard of a server that is not spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    More,
    Out,
}

/// What a server says, or what becomes of it, that the session has left or may go to.
async fn elsewhere<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    instance: Instance,
    occurrence: Occurrence<'_>,
) -> Result<Heard, End> {
    let mut heard = Heard::More;
    let told = match occurrence {
        Occurrence::Frame(stream, form, frame) => {
            gate.handle_elsewhere(talk, instance, (stream, form), frame)
                .await
        }
        Occurrence::Unread(_, why) => {
            warn!("a message of a server that is not spoken to is thrown away: {why:?}");
            Ok(())
        }
        Occurrence::Failed(stream, fault) => {
            gate.failed_elsewhere(talk, instance, stream.number(), fault)
                .await
        }
        Occurrence::Died { how, .. } | Occurrence::Lost { how, .. } => {
            info!("a server that is not spoken to has ended ({how})");
            gate.died_elsewhere(talk, instance).await
        }
        Occurrence::Restarted | Occurrence::TriedAgain => {
            gate.greet(talk, instance).await;
            Ok(())
        }
        // These are settled before.
        Occurrence::Started | Occurrence::Connects(_) => Ok(()),
        Occurrence::GaveUp(_) => {
            heard = Heard::Out;
            gate.died_elsewhere(talk, instance).await
        }
    };
    told.map(|()| heard).map_err(End::from)
}

/// Sends what waits for room at a server; what it does not take is answered.
async fn send_on<U: Upstream, A: Agent>(gate: &Gate, talk: &Talk<U, A>) -> End {
    loop {
        let Unsent {
            server,
            request,
            fault,
        } = talk.upstream.unsent().await;
        let has_left = server != talk.session.run().instance;
        let told = if has_left {
            Box::pin(gate.failed_elsewhere(talk, server, request, fault)).await
        } else {
            Box::pin(gate.upstream_failed(talk, request, fault)).await
        };
        if let Err(gone) = told {
            return gone.into();
        }
    }
}

/// Judges the calls that waited for the catalogue, when it is known.
async fn resume<U: Upstream, A: Agent>(gate: &Gate, talk: &Talk<U, A>) -> End {
    loop {
        talk.session.until_parked_may_go_on().await;
        if Box::pin(gate.resume(talk)).await == Err(AgentGone) {
            return End::Stopped(ShutdownCause::AgentGone);
        }
    }
}

/// Goes on with the requests that a person has answered for.
async fn go_on<U: Upstream, A: Agent>(gate: &Gate, talk: &Talk<U, A>) -> End {
    loop {
        talk.session.until_the_bell_rings().await;
        if Box::pin(gate.answered(talk)).await == Err(AgentGone) {
            return End::Stopped(ShutdownCause::AgentGone);
        }
    }
}

/// Tells the agent what new policies may have changed.
async fn follow<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, Bridged<A>>,
    mut news: News,
) -> End {
    let mut known = gate.policies();
    loop {
        news.come().await;
        let replaced = std::mem::replace(&mut known, gate.policies());
        if let (Some(bridge), Some(terms)) = (talk.agent.bridge(), known.terms()) {
            bridge.renew(terms);
        }
        if Box::pin(gate.renewed(talk, &replaced)).await == Err(AgentGone) {
            return End::Stopped(ShutdownCause::AgentGone);
        }
        if !gate.leaves_server(&talk.session) {
            return End::NotPermitted;
        }
    }
}

/// Ends requests whose time has run out.
async fn keep_time<U: Upstream, A: Agent>(gate: &Gate, talk: &Talk<U, A>) -> End {
    loop {
        let sleeping = talk.session.until_next_deadline(gate.elapsed());
        tokio::select! {
            () = sleep(sleeping) => {}
            () = talk.session.deadline_is_nearer() => continue,
        }
        if Box::pin(gate.expire(talk)).await == Err(AgentGone) {
            return End::Stopped(ShutdownCause::AgentGone);
        }
    }
}

/// For ever, if nothing is said.
pub(super) async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => pending().await,
    }
}

/// Everything has finished, or the agent's process has ended. Polled only while the gate stops; a signal from
/// every reply would cost each of them something.
async fn drained<U: Upstream, A: Agent>(gate: &Gate, talk: &Talk<U, Bridged<A>>) {
    let crossed = || talk.agent.bridge().is_none_or(Bridge::is_idle);
    while !(talk.session.is_idle() && crossed() || talk.agent.has_gone()) {
        // If the agent has gone, the next answer shows it.
        let _ = Box::pin(gate.hears_no_more(talk)).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What happens to the server is worth knowing, but no reason to stop.
pub(super) async fn note(audit: &Audit, record: Record) {
    if let Err(fault) = audit.record(record).await {
        warn!("an event of the server could not be recorded: {fault}");
    }
}
