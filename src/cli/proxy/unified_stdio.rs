//! One agent on standard streams, with several servers.

use std::sync::Arc;

use tokio::time::sleep;
use tracing::{error, warn};

use crate::agent::stdio;
use crate::config::Ratchet;
use crate::shutdown::ShutdownCause;
use crate::wire::{LineReader, Side};

use super::agents::{AgentEnd, Inbox, Outbox};
use super::converse::FLUSH;
use super::end::End;
use super::parts::{Parts, session};
use super::reading;
use super::server_set::LAST_RECORDS;
use super::service::Inside;
use super::single::{AGENT_QUEUE_BYTES, stop_asking};
use super::unified::{AgentConnection, UnifiedConversation};

/// The conversations with all servers from their first record to their last.
pub(super) async fn serve(inside: Inside, ratchet: &Ratchet) -> End {
    let Inside {
        servers,
        changes,
        shutdown,
        renewal,
        unified,
        ..
    } = inside;
    let first = servers.current().servers.first().cloned();
    let (Some(settings), Some(first)) = (unified.into_iter().next(), first) else {
        return End::UpstreamGone("no server is enabled".to_owned());
    };
    let (input, writer) = stdio::open(AGENT_QUEUE_BYTES);
    let lines = LineReader::new(input, first.gate.limits(Side::Agent).max_bytes);
    let agent = AgentConnection {
        outbox: Outbox::Stdio(writer.clone()),
        inbox: Inbox::Stdio(lines.within(first.memory.clone())),
        end: AgentEnd::Closed,
    };
    let before = |parts: &Parts| {
        let session = session(&parts.server, "stdio", &parts.gate)?;
        let session = reading::of_user(session, ratchet);
        let number = parts.conversations.next_number();
        Some((session.numbered(number), parts.bridge()))
    };
    let agent_of = before(&first).map(|(session, _)| Arc::clone(&session.state().parties.agent));
    let current = servers.current();
    let has_server = |of: &Arc<_>| current.servers.iter().any(|parts| parts.is_left_to(of));
    if agent_of.as_ref().is_some_and(|of| !has_server(of)) {
        let why = "`agents.toml` leaves the agent `stdio` no server (`servers`, `not_servers`)";
        return End::UpstreamGone(why.to_owned());
    }
    let Some(mut conversation) = UnifiedConversation::begin(&servers, settings, agent, before)
    else {
        return End::AuditFault;
    };
    let overdue = async {
        shutdown.forced().await;
        sleep(LAST_RECORDS).await;
    };
    tokio::select! {
        () = Box::pin(conversation.until_its_end()) => {}
        () = overdue => {
            error!("conversations that have not ended are broken off, and have no last record");
            return End::AuditFault;
        }
        never = stop_asking(&first.gate, &shutdown) => match never {},
        never = renewal.run(changes) => match never {},
    }
    shutdown.request(ShutdownCause::AgentGone);
    if writer.close(FLUSH).await.is_err() {
        warn!("the agent did not take everything that was for it");
    }
    End::Stopped(shutdown.requested().await)
}
