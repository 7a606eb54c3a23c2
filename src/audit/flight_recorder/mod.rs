//! The audit log as a table of a database, for questions in SQL.
//!
//! A thread reads the log's file and writes its records into the database, with the number of the last one in the
//! same transaction. So a row is there once, however the gate ended, and no call waits: what the database cannot take
//! now is in the file.

mod calls;
mod database;
mod lines;
mod recorder;
mod row;
mod sql;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use database::{DatabaseError, check, prepare};
pub(super) use lines::DatabaseLines;
pub use recorder::FlightRecorder;
pub use sql::{SqlDatabase, SqlRows};

/// The source of what the gate does itself.
const SOURCE: &str = env!("CARGO_PKG_NAME");

/// What `[flight_recorder]` of the configuration means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightRecorderSettings {
    /// Created, or one that has a table `fr_events`, or none.
    pub database: PathBuf,
    /// The audit log.
    pub log: PathBuf,
    pub event_kinds: EventKinds,
}

/// The names of the events of calls and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKinds {
    /// `tool.call` and `tool.result`
    Tool,
    /// `mcp.tool_call` and `mcp.tool_result`
    Mcp,
}

impl EventKinds {
    fn call(self) -> &'static str {
        match self {
            Self::Tool => "tool.call",
            Self::Mcp => "mcp.tool_call",
        }
    }

    fn result(self) -> &'static str {
        match self {
            Self::Tool => "tool.result",
            Self::Mcp => "mcp.tool_result",
        }
    }
}
