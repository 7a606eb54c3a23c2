//! The gate in front of servers that others wrote, driven by clients that others wrote.
//!
//! `.ci/real-servers` installs them; `MCP_PROTECTOR_REAL_SERVERS` names the directory. Without it
//! these tests are ignored, and fail if they are asked for.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod inspector;
#[cfg(test)]
mod isolated;
#[cfg(test)]
#[path = "../support/isolation.rs"]
mod isolation;
#[cfg(test)]
#[path = "../support/json.rs"]
mod json;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod over_http;
#[cfg(test)]
#[path = "../support/peer.rs"]
mod peer;
#[cfg(test)]
#[path = "../support/processes.rs"]
mod processes;
#[cfg(test)]
mod real;
#[cfg(test)]
mod sandboxed;
#[cfg(test)]
#[path = "../support/serving.rs"]
mod serving;
#[cfg(test)]
#[path = "../support/setup.rs"]
mod setup;
#[cfg(test)]
#[path = "../support/transcript.rs"]
mod transcript;
#[cfg(test)]
mod transparency;
