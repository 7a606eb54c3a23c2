//! Connections that a server wants of the egress proxy. Each has a decision, and its record is written
//! before the connection is made.

use std::sync::Arc;

use crate::audit::{self, Kind, Record};
use crate::policy::{
    Action, Consent, Decision, Environment, Facts, Host, Obligation, Principal, Resource,
    SessionSensitivity, SessionState,
};
use crate::session::Instance;

use super::Gate;
use super::record::{explain, named_once, sensitivity};
use super::rejection::Rejection;
use super::stage::Stage;
use super::talk::Talk;

/// The connection is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionRefused {
    #[error("it is denied")]
    Denied,
    #[error("no record could be written")]
    Unrecorded,
}

/// Why the proxy makes no connection.
#[derive(Debug)]
pub struct ConnectionFailure<'f> {
    /// A stable word.
    pub code: &'static str,
    pub text: String,
    pub decision: audit::Decision,
    /// The name of the record of the decision that permitted it.
    pub reference: Option<&'f str>,
}

impl Gate {
    /// Decides whether the server may connect, and records that. Yields the name of the record.
    ///
    /// # Errors
    /// Then it may not.
    pub async fn judge_connection<U, A>(
        &self,
        talk: &Talk<U, A>,
        from: Instance,
        host: &Host,
    ) -> Result<Arc<str>, ConnectionRefused> {
        let (kept, fault) = self.stores.ratchet.kept(&talk.session).await;
        let reference = talk.next_reference();
        let mut record = connection(talk, from)
            .target(host.id())
            .reference(&reference);
        record.sensitivity = sensitivity(&kept.held, &kept.held);
        let policies = self.policies();
        record = record.revision(policies.revision().as_str());
        let decision = match fault {
            Some(fault) => Err(Rejection::from(fault)),
            None => self.permits(talk, from, host, &kept.held),
        };
        let outcome = match &decision {
            Ok(permitted) => {
                record = record.decision(audit::Decision::Allow, Stage::Decide.name());
                record.policies.clone_from(permitted);
                Ok(reference)
            }
            Err(rejection) => {
                let reason = audit::Reason::code(rejection.reason());
                record = record
                    .decision(rejection.decision(), rejection.stage().name())
                    .reason(reason.with_text(rejection.to_string()));
                if let Some(denial) = rejection.denial() {
                    explain(&mut record, denial);
                }
                Err(ConnectionRefused::Denied)
            }
        };
        match self.recorder.record(record).await {
            Ok(()) => outcome,
            Err(fault) => {
                tracing::error!("a connection of the server is refused: {fault}");
                Err(ConnectionRefused::Unrecorded)
            }
        }
    }

    /// Records that the egress proxy makes no connection.
    pub async fn connection_failed<U, A>(
        &self,
        talk: &Talk<U, A>,
        from: Instance,
        target: &str,
        failure: ConnectionFailure<'_>,
    ) {
        let ConnectionFailure {
            code,
            text,
            decision,
            reference,
        } = failure;
        let reference = reference.map_or_else(|| talk.next_reference(), Arc::from);
        let record = connection(talk, from)
            .target(target)
            .reference(&reference)
            .revision(&*self.revision())
            .decision(decision, Stage::Egress.name())
            .reason(audit::Reason::code(code).with_text(text));
        if let Err(fault) = self.recorder.record(record).await {
            tracing::error!("a refused connection of the server could not be recorded: {fault}");
        }
    }

    /// The policies that permit it.
    fn permits<U, A>(
        &self,
        talk: &Talk<U, A>,
        from: Instance,
        host: &Host,
        held: &SessionSensitivity,
    ) -> Result<Vec<audit::Text>, Rejection> {
        let session = &talk.session;
        let (server, version, calls, started_ms) = {
            let state = session.state();
            let handshake = state.protocol.lifecycle.handshake();
            let version = handshake.map(|it| it.spoken.version.clone());
            let server = Arc::clone(&state.parties.server);
            (server, version, state.security.calls, state.started_ms)
        };
        let facts = Facts {
            principal: Principal::Server(&server),
            action: Action::ConnectHost {
                isolated: !from.is_open(),
            },
            resource: Resource::Host(host),
            env: Environment {
                server: &server,
                transport: session.transport,
                protocol: version.as_deref().unwrap_or_default(),
                now_ms: self.now_ms(),
                peer: None,
                session: SessionState::of(held, calls, started_ms),
                consent: Consent::default(),
            },
        };
        match self.policies().judge(&facts) {
            Decision::Deny(denial) => Err(Rejection::denied(denial)),
            Decision::Allow(allowed) => {
                // The others are about a message, and there is none.
                let is_due = |it: &Obligation| !matches!(it, Obligation::Annotate(_));
                if allowed.obligations.iter().any(is_due) {
                    return Err(Rejection::unfit_obligation());
                }
                Ok(named_once(&allowed.reasons))
            }
        }
    }
}

/// A record of a connection that this server wants, wherever its session is by now.
fn connection<U, A>(talk: &Talk<U, A>, from: Instance) -> Record {
    let record = Record::new(Kind::EgressConnection).within(&talk.scope());
    let server = talk.session.state().parties.server.name.clone();
    record.upstream(from.name_of(&server))
}
