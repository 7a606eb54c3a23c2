//! One of many conversations, each with a session and a server of its own.

use std::time::Duration;

use tracing::{error, info, warn};

use crate::audit;
use crate::bridge::{Bridge, Bridged};
use crate::gate::{Talk, holder};
use crate::session::Session;
use crate::shutdown::ShutdownCause;

use super::agents::{ConversationAgent, Inbox, Outbox};
use super::converse::{self, FLUSH};
use super::end::End;
use super::isolated::{self, Placed, PlacedEvents};
use super::lines;
use super::news::News;
use super::parts::Parts;

/// A conversation that is about to begin.
pub(super) struct Held {
    pub(super) session: Session,
    pub(super) agent: ConversationAgent,
    pub(super) inbox: Inbox,
    pub(super) bridge: Option<Bridge>,
}

/// A conversation with its server, before its first record.
///
/// It is made outside of the future that carries it out: an async function keeps room for an argument that it moves
/// twice, for as long as the session lives.
pub(super) struct Begun {
    talk: Talk<Placed, Bridged<ConversationAgent>>,
    server: Placed,
    inbox: Inbox,
    events: PlacedEvents,
}

impl Held {
    /// With a server that is started or reached when the agent needs it; `None` where the session has no roots of its
    /// own.
    pub(super) fn begin(self, parts: &Parts) -> Option<Box<Begun>> {
        let Self {
            session,
            agent,
            inbox,
            bridge,
        } = self;
        session.described_by(parts.gate.policies().labels());
        let holder = holder(&session);
        let open = parts.open.upstreams.of_holder(&holder);
        let isolated = parts.isolated.iter();
        let isolated: Result<Vec<_>, _> =
            isolated.map(|it| it.upstreams.of_holder(&holder)).collect();
        let (open, isolated) = match (open, isolated) {
            (Ok(open), Ok(isolated)) => (open, isolated),
            (Err(problem), _) | (_, Err(problem)) => {
                error!("a session has no roots of its own: the path of one {problem}");
                return None;
            }
        };
        let (server, events) = isolated::connect_later(&open, &isolated, &parts.memory);
        let talk = Talk::new(session, server.clone(), Bridged::new(agent, bridge));
        parts.conversations.enrol(&talk.session);
        Some(Box::new(Begun {
            talk,
            server,
            inbox,
            events,
        }))
    }
}

impl Begun {
    /// From its first record to its last. What is under way when it ends may take as long as `drain`.
    pub(super) async fn until_its_end(&mut self, parts: &Parts, news: &News, drain: Duration) {
        let Self {
            talk,
            server,
            inbox,
            events,
        } = self;
        let (talk, gate) = (&*talk, &*parts.gate);
        lines::begins(
            talk.session.transport,
            talk.session.id.as_str(),
            &parts.server.name,
        );
        if let Err(fault) = Box::pin(gate.session_started(talk)).await {
            error!("the start of a session could not be recorded: {fault}");
            Box::pin(server.kill()).await;
            return;
        }
        if parts.open.upstreams.is_there_already() {
            let note = || {
                converse::note(
                    &parts.audit,
                    gate.upstream_state(talk, audit::Event::Started),
                )
            };
            Box::pin(note()).await;
        }
        let stop = parts.shutdown.branch(drain);
        let end = Box::pin(converse::converse(
            gate,
            talk,
            inbox,
            events,
            news.clone(),
            &stop,
            &parts.audit,
        ))
        .await;
        let is_gone = matches!(
            end,
            End::Stopped(ShutdownCause::ServerRemoved) | End::NotPermitted
        );
        if is_gone && Box::pin(gate.removed(talk)).await.is_err() {
            info!("the agent has gone before it knew that a server was removed");
        }
        inbox.close();
        events.close_all();
        Box::pin(server.end(&stop)).await;
        if let ConversationAgent::Direct(Outbox::Stdio(writer)) = talk.agent.inner()
            && Box::pin(writer.clone().close(FLUSH)).await.is_err()
        {
            warn!("the agent did not take everything that was for it");
        }
        if let Err(fault) = Box::pin(gate.session_ended(talk)).await {
            error!("the end of a session could not be recorded: {fault}");
        }
        lines::ended(talk.session.id.as_str(), &end);
    }
}
