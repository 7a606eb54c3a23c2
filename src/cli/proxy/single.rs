//! A gate that its one agent starts, on standard streams.

use std::convert::Infallible;
use std::future::pending;

use tracing::{error, warn};

use crate::agent::stdio;
use crate::audit;
use crate::bridge::Bridged;
use crate::gate::{Gate, Talk};
use crate::session::Session;
use crate::shutdown::{Shutdown, ShutdownCause};
use crate::wire::{LineReader, Side};

use super::agents::{Inbox, Outbox};
use super::converse::{self, FLUSH};
use super::end::End;
use super::isolated::{Placed, PlacedEvents};
use super::lines;
use super::parts::Parts;
use super::renew::Renewal;
use super::server_changes::ServerChanges;

/// Bytes that may wait for an agent that does not read.
pub(super) const AGENT_QUEUE_BYTES: usize = 1024 * 1024;

/// One conversation from its first record to its last.
pub(super) async fn serve(
    parts: &Parts,
    session: Session,
    server: Placed,
    mut events: PlacedEvents,
    renewal: Renewal,
    changes: ServerChanges,
) -> End {
    let Parts {
        gate,
        audit,
        server: protected,
        shutdown,
        ..
    } = parts;
    let (input, writer) = stdio::open(AGENT_QUEUE_BYTES);
    let lines = LineReader::new(input, gate.limits(Side::Agent).max_bytes);
    let mut inbox = Inbox::Stdio(lines.within(parts.memory.clone()));
    let agent = Bridged::new(Outbox::Stdio(writer.clone()), parts.bridge());
    let talk = Talk::new(session, server.clone(), agent);
    parts.conversations.enrol(&talk.session);
    let id = talk.session.id.as_str();
    lines::begins(talk.session.transport, id, &protected.name);
    if let Err(fault) = gate.session_started(&talk).await {
        error!("the start of the session could not be recorded: {fault}");
        server.kill().await;
        return End::AuditFault;
    }
    converse::note(audit, gate.upstream_state(&talk, audit::Event::Started)).await;
    let news = renewal.news();
    let conversation =
        converse::converse(gate, &talk, &mut inbox, &mut events, news, shutdown, audit);
    let end = tokio::select! {
        end = Box::pin(conversation) => end,
        never = stop_asking(gate, shutdown) => match never {},
        never = renewal.run(changes) => match never {},
    };
    events.close_all();
    server.end(shutdown).await;
    if writer.close(FLUSH).await.is_err() {
        warn!("the agent did not take everything that was for it");
    }
    if let Err(fault) = gate.session_ended(&talk).await {
        error!("the end of the session could not be recorded: {fault}");
    }
    lines::ended(talk.session.id.as_str(), &end);
    end
}

/// Nobody is asked for an agent that says nothing more: the gate stops.
pub(super) async fn stop_asking(gate: &Gate, shutdown: &Shutdown) -> Infallible {
    if shutdown.requested().await == ShutdownCause::AgentGone {
        gate.stop_asking();
    }
    pending().await
}
