//! The same policies for one session or one server.

use std::sync::Arc;

use super::PolicySnapshot;
use crate::policy::{Holder, Labels, RootProblem, ServerKey};

impl PolicySnapshot {
    /// The same with the roots of one principal's session. Everything that is the same for all is shared.
    ///
    /// # Errors
    /// [`RootProblem`] where its own roots would have no place.
    pub fn of_holder(&self, holder: &Holder) -> Result<Self, RootProblem> {
        let shadow = self.shadow().map(|shadow| shadow.of_holder(holder));
        Ok(Self {
            revision: self.revision.clone(),
            engines: self.engines.clone(),
            sources: Arc::clone(&self.sources),
            policies: Arc::clone(&self.policies),
            labels: Labels {
                roots: self.labels.roots.of_holder(holder)?,
                ..self.labels.clone()
            },
            lock: Arc::clone(&self.lock),
            looks_for: self.looks_for,
            has_manifest: self.has_manifest,
            samples: self.samples,
            shadow: shadow.transpose()?.map(Box::new),
            terms: self.terms.clone(),
        })
    }

    /// The same for a server. What is labelled and approved of one of several has the names that it has there.
    #[must_use]
    pub fn of_server(&self, key: Option<&ServerKey>) -> Self {
        let shadow = self.shadow().map(|shadow| Box::new(shadow.of_server(key)));
        let (labels, lock) = match key {
            Some(key) => (
                self.labels.of_server(key),
                Arc::new(self.lock.of_server(key)),
            ),
            None => (self.labels.clone(), Arc::clone(&self.lock)),
        };
        Self {
            revision: self.revision.clone(),
            engines: self.engines.clone(),
            sources: Arc::clone(&self.sources),
            policies: Arc::clone(&self.policies),
            labels,
            lock,
            looks_for: self.looks_for,
            has_manifest: self.has_manifest,
            samples: self.samples,
            shadow,
            terms: self.terms.clone(),
        }
    }
}
