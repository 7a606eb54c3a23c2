//! The keys of `_meta` that the protocol defines.

/// The revision of a message without a session.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The name of its agent.
pub const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The capabilities of its agent.
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The least level of the log messages that its agent asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The name of the server, in a reply to such a message.
pub const SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// The subscription that a notification belongs to.
pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The task that a message belongs to (2025-11-25).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
