//! The policies in force with the roots of one session, made once for each revision.

use std::sync::Arc;

use crate::policy::PolicySnapshot;

/// The policies in force with the roots of one session.
#[derive(Debug, Default)]
pub struct OwnPolicies(Option<Held>);

#[derive(Debug)]
struct Held {
    /// For all sessions.
    common: Arc<PolicySnapshot>,
    own: Arc<PolicySnapshot>,
    /// Its directories are there.
    is_ready: bool,
}

impl OwnPolicies {
    /// The same policies for this session, as far as they are known.
    pub fn of(&self, common: &Arc<PolicySnapshot>) -> Option<Arc<PolicySnapshot>> {
        let held = self.0.as_ref()?;
        Arc::ptr_eq(&held.common, common).then(|| Arc::clone(&held.own))
    }

    /// Keeps those of the current revision.
    pub fn keep(&mut self, common: &Arc<PolicySnapshot>, own: &Arc<PolicySnapshot>) {
        self.0 = Some(Held {
            common: Arc::clone(common),
            own: Arc::clone(own),
            is_ready: false,
        });
    }

    /// Whether [`Self::are_ready`] was said of these.
    pub fn is_ready(&self, own: &Arc<PolicySnapshot>) -> bool {
        let held = self.0.as_ref();
        held.is_some_and(|held| held.is_ready && Arc::ptr_eq(&held.own, own))
    }

    /// The directories of these are there.
    pub fn are_ready(&mut self, own: &Arc<PolicySnapshot>) {
        if let Some(held) = self.0.as_mut().filter(|it| Arc::ptr_eq(&it.own, own)) {
            held.is_ready = true;
        }
    }
}
