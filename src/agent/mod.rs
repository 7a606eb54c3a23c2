//! Bytes from agents to frames, outcomes back to bytes.

pub mod http;
#[cfg(unix)]
pub mod local;
pub mod stdio;
