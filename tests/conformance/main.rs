//! The official conformance suite, run against a server alone and through a gate that permits
//! everything: what it finds must be the same, check by check.
//!
//! `.ci/real-servers` installs the suite; `MCP_PROTECTOR_REAL_SERVERS` names the directory. Without it
//! these tests are ignored, and fail if they are asked for.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod checks;
#[cfg(test)]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[cfg(test)]
#[path = "../support/json.rs"]
mod json;
#[cfg(test)]
mod peers;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod server;
#[cfg(test)]
#[path = "../support/setup.rs"]
mod setup;
#[cfg(test)]
mod suite;
