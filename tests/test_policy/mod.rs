//! `mcp-protector test-policy` as scripts and people meet it.

mod bad_input;
mod program;
mod watching;
