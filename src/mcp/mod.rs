//! The Model Context Protocol as data.

pub mod meta;
pub mod revisions;

/// The extension that an agent declares before a server may make a task of its call (since 2026-07-28).
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
