//! The log as its callers meet it, and its published contract.

mod contract;
mod faulty;
mod kill;
mod log;
mod outage;
pub(super) mod samples;
