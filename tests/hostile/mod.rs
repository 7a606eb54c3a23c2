//! The gate between hostile peers: servers that misbehave in every way of `fixtures/servers/hostile`,
//! and agents that write whatever bytes they like. All of it with real processes, and on Linux only,
//! because only there the tests can see what was left behind.

#![cfg(target_os = "linux")]

mod agent;
mod dialogue;
mod drafts;
mod envelope;
mod isolated;
mod journal;
mod modes;
mod pins;
mod reload;
