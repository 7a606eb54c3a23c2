//! The configuration files of MCP clients: which there are, the servers that they name, and how they
//! are rewritten so that each server is reached through the gate, and back.
//!
//! A wrapped entry starts `mcp-protector attach KEY --config PATH`. Its name stays, so tools keep the
//! names that the client gives them. Nothing outside the wrapped entries changes by a byte.

mod client;
mod document;
mod entries;
mod entry;
mod errors;
mod file;
mod gate_server;
mod json;
#[cfg(test)]
mod oracle;
mod parsing;
mod references;
mod server_names;
mod toml;
mod variable_names;
mod wrapping;
mod yaml;

pub use client::{CLIENTS, Client, Format, Os, References};
pub use entries::read;
pub use entry::{Attachment, Entry, Launch, Piece, Template};
pub use errors::{ClientErrors, ClientProblem, ProblemKind};
pub use file::{ClientFile, FileChange};
pub use gate_server::{GateLaunch, GateServer, ServerVariable, gate_server};
pub use server_names::ServerNames;
pub use variable_names::VariableNames;
pub use wrapping::{unwrap, wrap};

#[cfg(test)]
mod tests;
