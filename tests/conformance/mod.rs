//! The official conformance suite, run against a server alone and through a gate that permits
//! everything: what it finds must be the same, check by check.
//!
//! `.ci/real-servers` installs the suite; `MCP_PROTECTOR_REAL_SERVERS` names the directory. Without it
//! these tests are ignored, and fail if they are asked for.

#![cfg(target_os = "linux")]

mod checks;
mod client;
mod compare;
mod gate;
mod names;
mod peers;
mod relay;
mod server;
mod suite;
