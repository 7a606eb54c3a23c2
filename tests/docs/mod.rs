//! What the documents say is true: their commands run, their snippets are valid, and what they name
//! is there.
//!
//! `config-schema.md`, `audit-log-schema.md`, `policy-guide.md` and `lints.md` have tests of their own,
//! beside the code that they describe; here only their links are followed.

// Servers that stand in for others are shell scripts.
#![cfg(unix)]
mod architecture;
mod blocks;
mod codes;
pub(crate) mod commands;
mod decisions;
mod demo;
mod fields;
mod generated;
mod help;
mod keys;
mod lints;
mod metrics;
mod names;
mod pages;
pub(crate) mod workshop;
