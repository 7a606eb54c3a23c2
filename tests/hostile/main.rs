//! The gate between hostile peers: servers that misbehave in every way of `fixtures/servers/hostile`,
//! and agents that write whatever bytes they like. All of it with real processes, and on Linux only,
//! because only there the tests can see what was left behind.

#[cfg(all(test, target_os = "linux"))]
mod agent;
#[cfg(all(test, target_os = "linux"))]
mod dialogue;
#[cfg(all(test, target_os = "linux"))]
mod envelope;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/json.rs"]
mod json;
#[cfg(all(test, target_os = "linux"))]
mod modes;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/peer.rs"]
mod peer;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/processes.rs"]
mod processes;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/setup.rs"]
mod setup;
