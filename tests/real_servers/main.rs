//! The gate in front of servers that others wrote, driven by clients that others wrote.
//!
//! `.ci/real-servers` installs them; `MCP_PROTECTOR_REAL_SERVERS` names the directory. Without it
//! these tests are ignored, and fail if they are asked for.

#[cfg(all(test, target_os = "linux"))]
mod inspector;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/json.rs"]
mod json;
#[cfg(all(test, target_os = "linux"))]
mod kit;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/peer.rs"]
mod peer;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/processes.rs"]
mod processes;
#[cfg(all(test, target_os = "linux"))]
mod real;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/setup.rs"]
mod setup;
#[cfg(all(test, target_os = "linux"))]
#[path = "../support/transcript.rs"]
mod transcript;
#[cfg(all(test, target_os = "linux"))]
mod transparency;
