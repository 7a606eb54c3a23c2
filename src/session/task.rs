//! What a request has to do with tasks.

use std::sync::Arc;

/// What a request has to do with tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Task {
    #[default]
    None,
    /// Its result may be a task.
    MayBegin {
        /// Its params as JSON text: what comes of the task is judged as what comes of them.
        params: Arc<str>,
        /// The calls of the session before it.
        calls: i64,
    },
    /// It is about the task with this id.
    Named(Arc<str>),
}

impl Task {
    /// The id of the task that a request is about.
    pub fn id(&self) -> Option<Arc<str>> {
        match self {
            Self::Named(id) => Some(Arc::clone(id)),
            Self::None | Self::MayBegin { .. } => None,
        }
    }
}
