//! Bytes from agents to frames, outcomes back to bytes.

pub mod stdio;
