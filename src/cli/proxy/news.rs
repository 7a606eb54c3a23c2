//! New policies, for conversations.

use std::future::pending;

use tokio::sync::watch;

/// Tells a conversation that there are new policies.
#[derive(Debug, Clone)]
pub(super) struct News(watch::Receiver<u64>);

impl News {
    /// A sender counts how often policies were replaced.
    pub(super) fn of(replaced: &watch::Sender<u64>) -> Self {
        Self(replaced.subscribe())
    }

    /// Resolves when policies were replaced since it last did. Never again once no task replaces
    /// them.
    pub(super) async fn come(&mut self) {
        if self.0.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}
