//! The keys of `gate.toml` that differ from those that the gate was started with, and need a restart.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::{info, warn};

/// Those keys, for the log, health and metrics.
#[derive(Debug, Clone, Default)]
pub(super) struct Restart(Arc<Mutex<Vec<String>>>);

impl Restart {
    pub(super) fn keys(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// These keys need a restart from now on. The log names them if they are others than before.
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

    /// Names them in the log, if there are any.
    pub(super) fn tell(&self, file: &Path) {
        let keys: Vec<String> = self.keys().iter().map(|key| format!("`{key}`")).collect();
        if !keys.is_empty() {
            warn!(
                "these keys of `{}` differ from those that the gate was started with, and need a restart: {}",
                file.display(),
                keys.join(", ")
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
