//! What every conversation of a gate shares.

use std::sync::Arc;

use tracing::error;

use crate::admin::Metrics;
use crate::agent::http::Endpoint;
use crate::audit::Audit;
use crate::bridge::{self, Bridge};
use crate::clock::Clock;
use crate::config::{Config, ServerNeed};
use crate::gate::Gate;
use crate::memory::Memory;
use crate::policy::{self, Agent, ServerKey};
use crate::session::{Session, SessionId};
use crate::shutdown::Shutdown;

use super::conversations::Conversations;
use super::reading::Names;
use super::restart::Restart;
use super::trials::Tried;

/// What every conversation of a gate shares.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) gate: Arc<Gate>,
    pub(super) audit: Audit,
    /// The server of sessions that begin.
    pub(super) open: Tried,
    /// The one that they may move to.
    pub(super) isolated: Vec<Tried>,
    pub(super) conversations: Conversations,
    pub(super) for_operators: ForOperators,
    /// The protected server.
    pub(super) server: policy::Server,
    /// Stops with the gate, or when the server is removed.
    pub(super) shutdown: Shutdown,
    /// What stands before agents whose server may speak another revision, if anything may.
    pub(super) bridging: Option<bridge::Settings>,
    pub(super) for_agents: ForAgents,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) memory: Memory,
}

/// How agents over HTTP reach the server.
#[derive(Debug, Clone)]
pub(super) struct ForAgents {
    pub(super) endpoint: Endpoint,
    /// Whether somebody is to name their sessions.
    pub(super) names: Names,
}

/// What operators are shown beside that.
#[derive(Debug, Clone)]
pub(super) struct ForOperators {
    /// Whether the gate is ready without the server.
    pub(super) need: ServerNeed,
    /// Counts, if somebody may look.
    pub(super) metrics: Option<Arc<Metrics>>,
    /// What of the configuration is not in force.
    pub(super) restart: Restart,
    /// The public key by which servers check assertions, as a JWK Set, if there are any.
    pub(super) key_set: Option<Arc<str>>,
}

impl Parts {
    /// The key of the server, if there are several.
    pub(super) fn key(&self) -> Option<ServerKey> {
        self.server.key.clone()
    }

    /// Whether the policies in force leave an agent this server.
    pub(super) fn is_left_to(&self, agent: &Agent) -> bool {
        let key = self.server.key.as_ref();
        key.is_none_or(|key| self.gate.policies().labels().leave_server(agent, key))
    }

    /// A bridge for one conversation.
    pub(super) fn bridge(&self) -> Option<Bridge> {
        let mut settings = self.bridging.clone()?;
        if let Some(terms) = self.gate.policies().terms() {
            settings = settings.under(terms);
        }
        Some(Bridge::new(settings, Arc::clone(&self.clock)))
    }
}

/// A session before this server.
pub(super) fn session(
    server: &policy::Server,
    transport: &'static str,
    gate: &Gate,
) -> Option<Session> {
    let mut bits = [0; 16];
    if getrandom::fill(&mut bits).is_err() {
        error!("the operating system gives no random numbers");
        return None;
    }
    let id = SessionId::from_random(u128::from_be_bytes(bits));
    let session = Session::new(id, transport, server.clone(), gate.now_ms());
    Some(session.reaching(gate.over_http()))
}

/// The server of such a configuration, as policies know it.
pub(in crate::cli) fn server(config: &Config) -> policy::Server {
    let facts = &config.upstream.facts;
    policy::Server {
        name: config.upstream.name.clone(),
        key: config.key.clone(),
        groups: facts.groups.clone(),
        clearance: facts.clearance,
        untrusted: facts.untrusted,
        ..policy::Server::default()
    }
}
