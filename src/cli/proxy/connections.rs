//! Connections that servers want of the egress proxy: from its questions to the gate's decisions.

use crate::audit;
use crate::egress::{Asks, Attempt, EgressRefusal, Verdict};
use crate::gate::{ConnectionFailure, ConnectionRefused, Gate, Talk};
use crate::policy::Host;
use crate::session::Instance;

/// Answers the proxy when the decision is recorded.
pub(super) async fn settle<U, A>(gate: &Gate, talk: &Talk<U, A>, from: Instance, attempt: Attempt) {
    let (asks, answer) = attempt.into_parts();
    let verdict = match asks {
        Asks::Decision(to) => {
            let host = Host {
                name: to.host().to_owned(),
                port: to.port(),
            };
            match gate.judge_connection(talk, from, &host).await {
                Ok(reference) => Verdict::Permitted(reference),
                Err(ConnectionRefused::Denied) => Verdict::Denied,
                Err(ConnectionRefused::Unrecorded) => Verdict::NotJudged,
            }
        }
        Asks::Record {
            target,
            refusal,
            reference,
        } => {
            let failure = ConnectionFailure {
                code: refusal.code(),
                text: refusal.to_string(),
                decision: decision(&refusal),
                reference: reference.as_deref(),
            };
            gate.connection_failed(talk, from, &target, failure).await;
            Verdict::Denied
        }
    };
    // The server may have gone meanwhile.
    let _ = answer.send(verdict);
}

fn decision(refusal: &EgressRefusal) -> audit::Decision {
    if refusal.is_failure() {
        audit::Decision::Error
    } else {
        audit::Decision::Block
    }
}
