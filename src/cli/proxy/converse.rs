//! Keeps a conversation going: what the agent sends, what the server sends, and time.

use std::fmt;
use std::future::pending;
use std::time::Duration;

use tracing::{info, warn};

use crate::agent::stdio::AgentInput;
use crate::audit::{self, Audit, Record};
use crate::gate::{Agent, AgentGone, Gate, Talk, Upstream};
use crate::shutdown::{Cause, Shutdown};
use crate::upstream::{ChildEvents, Event};
use crate::wire::{Frame, LineReader, Side, Stream};

use super::super::exit::Exit;
use super::renew::Renewal;

/// Why a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The agent closed its end, and everything it asked was answered.
    AgentClosed,
    /// A signal, or the agent went away before it was answered.
    Stopped(Cause),
    /// The server cannot be brought back.
    UpstreamGone(String),
    /// Nothing could be recorded, so nothing may happen.
    AuditFault,
}

/// Runs until one side has gone or the gate is to stop; what is under way may then finish.
pub(super) async fn converse<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    input: AgentInput,
    events: ChildEvents,
    renewal: Renewal,
    shutdown: &Shutdown,
    audit: &Audit,
) -> End {
    let agent = listen(gate, talk, input, shutdown);
    let upstream = attend(gate, talk, events, audit);
    let waiting = resume(gate, talk);
    let time = keep_time(gate, talk);
    let policies = renewal.run(gate, talk);
    tokio::pin!(agent, upstream, waiting, time, policies);
    let end = tokio::select! {
        end = &mut agent => end,
        end = &mut upstream => end,
        end = &mut waiting => end,
        end = &mut time => end,
        AgentGone = &mut policies => End::Stopped(Cause::AgentGone),
        cause = shutdown.requested() => End::Stopped(cause),
    };
    shutdown.request(match &end {
        End::AgentClosed => Cause::AgentGone,
        End::Stopped(cause) => *cause,
        End::UpstreamGone(_) | End::AuditFault => Cause::UpstreamGone,
    });
    // Only an agent that still listens is worth waiting for. INVARIANT: then none of the futures
    // below has ended yet.
    if matches!(end, End::AgentClosed | End::Stopped(Cause::Signal)) {
        tokio::select! {
            () = idle(talk) => {}
            // The message in its hand; no other is read.
            _ = &mut agent, if end != End::AgentClosed => {}
            _ = &mut upstream => {}
            _ = &mut waiting => {}
            _ = &mut time => {}
            () = shutdown.forced() => {}
        }
    }
    // Whatever could not finish is answered, once, and recorded.
    let told = gate.upstream_died(talk).await;
    if told.and(gate.resume(talk).await).is_err() {
        info!("the agent has gone before it was answered");
    }
    end
}

async fn listen<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    input: AgentInput,
    shutdown: &Shutdown,
) -> End {
    let mut lines = LineReader::new(input, gate.limits(Side::Agent).max_bytes);
    loop {
        let next = tokio::select! {
            biased;
            _ = shutdown.requested() => return pending().await,
            next = lines.next() => next,
        };
        let handled = match next {
            Ok(Some(Frame::Line(frame))) => {
                gate.handle(talk, Side::Agent, Stream::MAIN, frame).await
            }
            Ok(Some(Frame::TooLong)) => gate.handle_too_long(talk, Side::Agent, Stream::MAIN).await,
            Ok(None) => return End::AgentClosed,
            Err(cause) => {
                warn!("cannot read from the agent: {cause}");
                return End::AgentClosed;
            }
        };
        if handled == Err(AgentGone) {
            return End::Stopped(Cause::AgentGone);
        }
    }
}

async fn attend<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    mut events: ChildEvents,
    audit: &Audit,
) -> End {
    loop {
        let handled = match events.next().await {
            Event::Line(frame) => {
                gate.handle(talk, Side::Upstream, Stream::UNTOLD, frame)
                    .await
            }
            Event::TooLong => {
                gate.handle_too_long(talk, Side::Upstream, Stream::UNTOLD)
                    .await
            }
            Event::Died {
                exit,
                will_restart_in,
            } => {
                warn!("the server ended ({exit}); restart in {will_restart_in:?}");
                note(
                    audit,
                    gate.upstream_event(talk, audit::Event::Died)
                        .reason(exit_reason(&exit)),
                )
                .await;
                gate.upstream_died(talk).await
            }
            Event::Restarted => {
                info!("the server runs again");
                note(audit, gate.upstream_event(talk, audit::Event::Restarted)).await;
                gate.upstream_restarted(talk).await;
                Ok(())
            }
            Event::GaveUp { reason } => return End::UpstreamGone(reason.to_string()),
        };
        if handled == Err(AgentGone) {
            return End::Stopped(Cause::AgentGone);
        }
    }
}

/// Judges the calls that waited for the catalogue, when it is known.
async fn resume<U: Upstream, A: Agent>(gate: &Gate, talk: &Talk<U, A>) -> End {
    loop {
        talk.session.until_catalogue_is_settled().await;
        if gate.resume(talk).await == Err(AgentGone) {
            return End::Stopped(Cause::AgentGone);
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
        if gate.expire(talk).await == Err(AgentGone) {
            return End::Stopped(Cause::AgentGone);
        }
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => pending().await,
    }
}

/// Polled only while the gate stops; a signal from every reply would cost each of them something.
async fn idle<U, A>(talk: &Talk<U, A>) {
    while !talk.session.is_idle() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What happens to the server is worth knowing, but no reason to stop.
pub(super) async fn note(audit: &Audit, record: Record) {
    if let Err(fault) = audit.record(record).await {
        warn!("an event of the server could not be recorded: {fault}");
    }
}

fn exit_reason(exit: &impl fmt::Display) -> audit::Reason {
    audit::Reason::text(exit.to_string())
}

impl End {
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::AgentClosed | Self::Stopped(_) => Exit::Success,
            Self::UpstreamGone(_) | Self::AuditFault => Exit::Unrecoverable,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AgentClosed => f.write_str("the agent closed its end"),
            Self::Stopped(Cause::Signal) => f.write_str("a signal"),
            Self::Stopped(Cause::AgentGone) => f.write_str("the agent has gone"),
            Self::Stopped(Cause::UpstreamGone) => f.write_str("the server has gone"),
            Self::UpstreamGone(reason) => f.write_str(reason),
            Self::AuditFault => f.write_str("the audit cannot be written"),
        }
    }
}
