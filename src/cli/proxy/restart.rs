//! What the configuration says otherwise than the gate was started with, and cannot come into force while it
//! runs.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::{info, warn};

/// The keys of it, for whoever asks.
#[derive(Debug, Clone, Default)]
pub(super) struct Restart(Arc<Mutex<Vec<String>>>);

impl Restart {
    pub(super) fn keys(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// These from now on; what is new is told.
    pub(super) fn needed_for(&self, keys: &[String], file: &Path) {
        let before = std::mem::replace(&mut *self.lock(), keys.to_vec());
        if keys == before {
            return;
        }
        self.tell(file);
        if keys.is_empty() {
            info!(
                "`{}` says again what the gate was started with: no restart is needed any more",
                file.display()
            );
        }
    }

    /// Tells of it, if there is any.
    pub(super) fn tell(&self, file: &Path) {
        let keys: Vec<String> = self.keys().iter().map(|key| format!("`{key}`")).collect();
        if !keys.is_empty() {
            warn!(
                "`{}` says otherwise than the gate was started with, and a restart is needed for it to be in \
                 force: {}",
                file.display(),
                keys.join(", ")
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
