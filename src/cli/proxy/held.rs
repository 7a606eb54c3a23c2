//! One of many conversations, each with a session and a server of its own.

use std::time::Duration;

use tracing::{error, warn};

use crate::audit;
use crate::bridge::{Bridge, Bridged};
use crate::gate::{Talk, holder};
use crate::session::Session;

use super::agents::{Inbox, Outbox};
use super::converse::{self, FLUSH};
use super::parts::Parts;
use super::renew::News;
use super::{isolated, lines};

/// A conversation that is about to begin.
pub(super) struct Held {
    pub(super) session: Session,
    pub(super) outbox: Outbox,
    pub(super) inbox: Inbox,
    pub(super) bridge: Option<Bridge>,
}

impl Held {
    /// From its first record to its last. What is under way when it ends may take as long as `drain`.
    pub(super) async fn until_its_end(self, parts: &Parts, news: &News, drain: Duration) {
        let Self {
            session,
            outbox,
            inbox,
            bridge,
        } = self;
        let gate = &*parts.gate;
        session.described_by(gate.policies().labels());
        let holder = holder(&session);
        let open = parts.open.upstreams.of_holder(&holder);
        let isolated = parts.isolated.iter();
        let isolated: Result<Vec<_>, _> =
            isolated.map(|it| it.upstreams.of_holder(&holder)).collect();
        let (open, isolated) = match (open, isolated) {
            (Ok(open), Ok(isolated)) => (open, isolated),
            (Err(problem), _) | (_, Err(problem)) => {
                error!("a session has no roots of its own: the path of one {problem}");
                return;
            }
        };
        let (server, events) = isolated::connect_later(&open, &isolated, &parts.memory);
        let last = outbox.clone();
        let talk = Talk::new(session, server.clone(), Bridged::new(outbox, bridge));
        parts.conversations.enrol(&talk.session);
        lines::begins(
            talk.session.transport,
            talk.session.id.as_str(),
            &parts.server.name,
        );
        if let Err(fault) = gate.session_started(&talk).await {
            error!("the start of a session could not be recorded: {fault}");
            server.kill().await;
            return;
        }
        if parts.open.upstreams.is_there_already() {
            let started = gate.upstream_state(&talk, audit::Event::Started);
            converse::note(&parts.audit, started).await;
        }
        let stop = parts.shutdown.branch(drain);
        let news = news.clone();
        let conversation =
            converse::converse(gate, &talk, inbox, events, news, &stop, &parts.audit);
        let end = Box::pin(conversation).await;
        let writer = match last {
            Outbox::Http(_) => None,
            Outbox::Stdio(writer) => Some(writer),
        };
        server.end(&stop).await;
        if let Some(writer) = writer
            && writer.close(FLUSH).await.is_err()
        {
            warn!("the agent did not take everything that was for it");
        }
        if let Err(fault) = gate.session_ended(&talk).await {
            error!("the end of a session could not be recorded: {fault}");
        }
        lines::ended(talk.session.id.as_str(), &end);
    }
}
