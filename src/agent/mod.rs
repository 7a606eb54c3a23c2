//! Bytes from agents to frames, outcomes back to bytes.

pub mod http;
pub mod stdio;
