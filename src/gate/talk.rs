//! One agent, one upstream, and the session between them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::audit::{self, Scope, Transports};
use crate::session::{Instance, Readiness, Session};
use crate::wire::Side;

use super::faults::UpstreamFault;

/// A conversation that the gate stands in.
#[derive(Debug)]
pub struct Talk<U, A> {
    /// Shared with whoever counts sessions.
    pub session: Arc<Session>,
    pub upstream: U,
    pub agent: A,
    scope: Mutex<Scope>,
    references: AtomicU64,
}

impl<U, A> Talk<U, A> {
    pub fn new(session: Session, upstream: U, agent: A) -> Self {
        let scope = Mutex::new(scope(&session));
        Self {
            session: Arc::new(session),
            upstream,
            agent,
            scope,
            references: AtomicU64::new(0),
        }
    }

    /// What every record of this conversation says.
    pub(super) fn scope(&self) -> Scope {
        self.scope
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What records say of the agent has changed.
    pub(super) fn introduce(&self) {
        let scope = scope(&self.session);
        *self.scope.lock().unwrap_or_else(PoisonError::into_inner) = scope;
    }

    /// Nothing but the handshake goes to an upstream that is not up.
    pub(super) fn reachable(&self, to: Side) -> Result<(), UpstreamFault> {
        if to == Side::Upstream && self.session.state().connection.upstream != Readiness::Up {
            return Err(UpstreamFault::Down);
        }
        Ok(())
    }

    /// A name for one message, unique in all audits: a denied agent is told it, and an operator
    /// finds the record by it.
    pub(super) fn next_reference(&self) -> Arc<str> {
        let number = self.references.fetch_add(1, Ordering::Relaxed);
        let session = self.session.id.as_str();
        let head = session.get(..12).unwrap_or(session);
        format!("{head}-{number}").into()
    }
}

/// How an instance of the server is reached, as the configuration says it.
pub(super) fn transport(session: &Session, instance: Instance) -> &'static str {
    if *session.over_http.of(instance) {
        "http"
    } else {
        "stdio"
    }
}

fn scope(session: &Session) -> Scope {
    let state = session.state();
    let mut agent =
        audit::Agent::new(&state.parties.agent.id).with_roles(state.parties.roles.iter());
    agent = agent.with_actors(state.parties.agent.actors.iter());
    if let Some(user) = &state.parties.agent.user {
        agent = agent.of_user(user);
    }
    agent = match state.parties.agent.client.name.as_str() {
        // Until it has said how it calls itself, it is known by its place in the queue.
        "" => agent.calling_itself(format!("agent-{}", session.number)),
        name => agent.calling_itself(name),
    };
    let transports = Transports {
        agent: session.transport,
        upstream: transport(session, state.run().instance),
    };
    Scope {
        session_id: session.id.as_str().into(),
        agent,
        upstream: state
            .run()
            .instance
            .name_of(&state.parties.server.name)
            .into(),
        transports,
        bridged: state.protocol.bridged.as_ref().map(Into::into),
    }
}
