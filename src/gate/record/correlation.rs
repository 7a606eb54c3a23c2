//! What the agent's own systems call a piece of work.

use crate::audit;
use crate::wire::Value;

/// The keys of `_meta` by which an agent's own systems know a piece of work.
const CORRELATION: [&str; 6] = [
    "mcp-protector/job_id",
    "mcp-protector/trace_id",
    "mcp-protector/workflow_run_id",
    "mcp-protector/task_id",
    "mcp-protector/session_id",
    "traceparent",
];

/// Those of the keys that are there, and their values.
pub(super) fn named(meta: Value<'_>) -> Vec<(&'static str, String)> {
    let named = |key: &'static str| Some((key, meta.get(key)?.as_str()?.into_owned()));
    CORRELATION.into_iter().filter_map(named).collect()
}

/// The same in a record.
pub(super) fn recorded(named: &[(&'static str, String)]) -> audit::Correlation {
    let get = |key: &str| {
        named
            .iter()
            .find(|(name, _)| name.ends_with(key))
            .map(|(_, value)| value.into())
    };
    audit::Correlation {
        job_id: get("/job_id"),
        trace_id: get("/trace_id"),
        workflow_run_id: get("/workflow_run_id"),
        task_id: get("/task_id"),
        session_id: get("/session_id"),
        traceparent: get("traceparent"),
    }
}
