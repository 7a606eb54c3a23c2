//! Real processes: nothing is left behind, nothing is inherited, nothing blocks.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is the report of a test; clippy sees no tests in what they share"
)]

mod environment;
mod orphans;
mod packs;
mod restarts;
mod sandbox;
mod shutdowns;
mod standard_streams;
mod streams;
mod support;
mod unread_stderr;
