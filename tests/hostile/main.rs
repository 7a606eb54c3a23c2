//! The gate between hostile peers: servers that misbehave in every way of `fixtures/servers/hostile`,
//! and agents that write whatever bytes they like. All of it with real processes, and on Linux only,
//! because only there the tests can see what was left behind.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod agent;
#[cfg(test)]
mod dialogue;
#[cfg(test)]
mod envelope;
#[cfg(test)]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[cfg(test)]
mod isolated;
#[cfg(test)]
#[path = "../support/isolation.rs"]
mod isolation;
#[cfg(test)]
mod journal;
#[cfg(test)]
#[path = "../support/json.rs"]
mod json;
#[cfg(test)]
mod modes;
#[cfg(test)]
#[path = "../support/peer.rs"]
mod peer;
#[cfg(test)]
mod pins;
#[cfg(test)]
#[path = "../support/processes.rs"]
mod processes;
#[cfg(test)]
mod reload;
#[cfg(test)]
#[path = "../support/setup.rs"]
mod setup;
