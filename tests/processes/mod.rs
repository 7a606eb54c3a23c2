//! Real processes: nothing is left behind, nothing is inherited, nothing blocks.
#![cfg(target_os = "linux")]

mod egress;
mod environment;
mod kills;
mod orphans;
mod packs;
mod restarts;
mod sandbox;
mod shutdowns;
mod standard_streams;
mod streams;
pub(crate) mod support;
mod unread_stderr;
