//! Where operators reach the gate: `GET /health`, `GET /metrics`, the page of approvals and the admin API, on a listener
//! of their own and on a thread of its own, so that a gate that is busy still says so.
//!
//! Nothing here touches a message. What happens is counted where it is recorded ([`Metrics`] observes
//! the audit); what is so at the moment ([`Gauges`]) is read for each request.
//!
//! Where to start reading: `answer.rs`, which every request passes.

mod answer;
mod api;
mod approvals;
mod attempts;
mod expose;
mod metrics;
mod serve;
mod settings;

#[cfg(test)]
mod tests;

pub use answer::{NotReady, Sources};
pub use api::{
    ApiAnswer, ApiProblem, ApiRequest, CommandRight, Operation, Operations, Operators,
    OperatorsApi, RecordChange, Redact, ServerCondition, ServerConditions,
};
pub use approvals::Approvals;
pub use metrics::{Gauges, Listening, Metrics, Occupancy, ServerLabel, Sessions, TraceCounts};
pub use serve::{Listener, Serving};
pub use settings::Settings;
