//! The log as its callers meet it, and its published contract.

mod checked;
mod contract;
mod faults;
mod faulty;
pub(super) mod followers;
pub(super) mod log;
pub(super) mod outage;
mod processes;
pub(super) mod samples;
mod schema;

pub(crate) use checked::{CheckedSink, LineCheck};
pub(crate) use schema::problems as line_problems;
