//! The current policy, behind one pointer.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::snapshot::PolicySnapshot;

/// Readers take the whole snapshot once per message; a writer replaces it whole. There is no way to
/// change a part.
#[derive(Debug)]
pub struct PolicyStore(ArcSwap<PolicySnapshot>);

impl PolicyStore {
    pub fn new(snapshot: PolicySnapshot) -> Self {
        Self(ArcSwap::from_pointee(snapshot))
    }

    pub fn current(&self) -> Arc<PolicySnapshot> {
        self.0.load_full()
    }

    /// Messages that already hold the previous snapshot finish under it.
    pub fn publish(&self, snapshot: PolicySnapshot) {
        self.0.store(Arc::new(snapshot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicySource;

    #[test]
    fn a_snapshot_in_use_outlives_its_replacement() {
        let store = PolicyStore::new(snapshot("old"));
        let held = store.current();
        store.publish(snapshot("new"));
        assert_eq!(held.revision(), snapshot("old").revision());
        assert_eq!(store.current().revision(), snapshot("new").revision());
    }

    fn snapshot(text: &str) -> PolicySnapshot {
        let source = PolicySource::new("t", text);
        PolicySnapshot::new(vec![], vec![source], vec![])
    }
}
