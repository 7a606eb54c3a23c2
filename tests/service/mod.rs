//! A gate that agents reach over HTTP, with real processes: who is who, what belongs to whom, and
//! what is left behind. On Linux only, because only there the tests can see what runs.

#![cfg(target_os = "linux")]

mod admin_api;
mod agent_servers;
mod agents;
mod attach;
mod bombs;
mod certificates;
mod configuration;
mod credentials;
mod crowd;
mod exchanges;
mod flow;
mod guarded;
mod identities;
mod isolated;
mod issuers;
mod lives;
mod logs;
mod memory;
mod neighbours;
mod operators;
mod own_roots;
mod policies;
mod questions;
mod reading;
mod server_changes;
mod servers;
mod several;
mod shipping;
mod tools;
mod traces;
mod trials;
mod unified;
mod without_sessions;
