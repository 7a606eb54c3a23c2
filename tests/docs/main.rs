//! What the documents say is true: their commands run, their snippets are valid, and what they name
//! is there.
//!
//! `config-schema.md`, `audit-log-schema.md`, `policy-guide.md` and `lints.md` have tests of their own,
//! beside the code that they describe; here only their links are followed.

// Servers that stand in for others are shell scripts.
#![cfg(unix)]
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod blocks;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod names;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod workshop;
