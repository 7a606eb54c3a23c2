//! A gate that agents reach over HTTP, with real processes: who is who, what belongs to whom, and
//! what is left behind. On Linux only, because only there the tests can see what runs.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod agents;
#[cfg(test)]
mod bombs;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod crowd;
#[cfg(test)]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod http;
#[cfg(test)]
mod isolated;
#[cfg(test)]
#[path = "../support/isolation.rs"]
mod isolation;
#[cfg(test)]
mod issuers;
#[cfg(test)]
#[path = "../support/json.rs"]
mod json;
#[cfg(test)]
mod lives;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod operators;
#[cfg(test)]
#[path = "../support/peer.rs"]
mod peer;
#[cfg(test)]
mod policies;
#[cfg(test)]
#[path = "../support/processes.rs"]
mod processes;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod servers;
#[cfg(test)]
#[path = "../support/serving.rs"]
mod serving;
#[cfg(test)]
#[path = "../support/setup.rs"]
mod setup;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod trials;
