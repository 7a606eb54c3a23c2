//! The log as its callers meet it, and its published contract.

mod contract;
mod faulty;
mod followers;
mod log;
mod outage;
mod processes;
pub(super) mod samples;
