//! The header fields of the protocol's own.

pub(super) const SESSION: &str = "Mcp-Session-Id";
pub(super) const VERSION: &str = "MCP-Protocol-Version";
pub(super) const METHOD: &str = "Mcp-Method";
pub(super) const NAME: &str = "Mcp-Name";
pub(super) const LAST_EVENT_ID: &str = "Last-Event-ID";
