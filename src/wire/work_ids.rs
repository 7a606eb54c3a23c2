//! What an agent's own systems call a piece of work.

use std::sync::Arc;

/// Names by which an agent's own systems know a piece of work. Not verified, except for those of a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkIds {
    pub job_id: Option<Arc<str>>,
    pub trace_id: Option<Arc<str>>,
    pub workflow_run_id: Option<Arc<str>>,
    pub task_id: Option<Arc<str>>,
    pub session_id: Option<Arc<str>>,
    /// W3C Trace Context.
    pub traceparent: Option<Arc<str>>,
}

impl WorkIds {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Bytes of the texts.
    pub fn weight(&self) -> usize {
        let Self {
            job_id,
            trace_id,
            workflow_run_id,
            task_id,
            session_id,
            traceparent,
        } = self;
        let all = [
            job_id,
            trace_id,
            workflow_run_id,
            task_id,
            session_id,
            traceparent,
        ];
        all.into_iter().flatten().map(|text| text.len()).sum()
    }

    /// These, and of others what is missing here.
    #[must_use]
    pub fn or(self, others: &Self) -> Self {
        let or = |one: Option<Arc<str>>, other: &Option<Arc<str>>| one.or_else(|| other.clone());
        Self {
            job_id: or(self.job_id, &others.job_id),
            trace_id: or(self.trace_id, &others.trace_id),
            workflow_run_id: or(self.workflow_run_id, &others.workflow_run_id),
            task_id: or(self.task_id, &others.task_id),
            session_id: or(self.session_id, &others.session_id),
            traceparent: or(self.traceparent, &others.traceparent),
        }
    }
}
