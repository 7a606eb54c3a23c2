//! What a candidate for the next policies would have decided. Nothing here changes a decision.

use crate::audit::{Shadow, Would};
use crate::policy::{Decision, DenialCause, PolicySnapshot};

use super::understand::{Circumstances, Understood};

/// Asks the candidate of a snapshot, if it has one, what the snapshot itself is asked: the first
/// denial counts, and without one all that permits.
pub(super) fn shadow(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> Option<Shadow> {
    let candidate = snapshot.candidate()?;
    let scene = &understood.identified.scene;
    let mut shadow = Shadow {
        revision: candidate.revision().as_str().into(),
        would: Would::Allow,
        policies: Vec::new(),
    };
    for question in &understood.questions {
        let decision = candidate.judge(&question.facts(scene, now));
        let ids = decision.reasons().iter();
        let ids = ids.map(|reason| reason.policy.as_str().into());
        match &decision {
            Decision::Allow(_) => shadow.policies.extend(ids),
            Decision::Deny(denial) => {
                shadow.policies = ids.collect();
                shadow.would = match denial.cause {
                    DenialCause::Fault(_) => Would::Fail,
                    DenialCause::Forbidden | DenialCause::NotPermitted => Would::Deny,
                };
                break;
            }
        }
    }
    Some(shadow)
}
