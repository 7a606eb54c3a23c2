//! The gate in front of servers that others wrote, driven by clients that others wrote.
//!
//! `.ci/real-servers` installs them; `MCP_PROTECTOR_REAL_SERVERS` names the directory. Without it
//! these tests are ignored, and fail if they are asked for.

#![cfg(target_os = "linux")]

mod approvals;
mod drafts;
mod egress;
mod inspector;
mod isolated;
mod kit;
mod over_http;
mod printed;
mod real;
mod sandboxed;
mod transparency;
mod unified;
mod wrapped;
