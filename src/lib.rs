//! mcp-protector: a policy gate in front of MCP servers.
//!
//! An agent's message is decoded strictly, understood in its session, judged against one policy
//! revision, recorded, forwarded only with a permit, judged again on the way back, and recorded
//! again. Start reading at [`gate::Gate::handle`].

// The path of a message.
// Bytes from agents to frames, outcomes back to bytes.
pub mod agent;
// Agents of one era before servers of the other.
pub mod bridge;
// One endpoint for several servers.
pub mod unified;
// What comes to a listener, before any of it is a request.
pub mod inward;
// Who sends a request over HTTP.
pub mod identity;
// The path of one message; the only place the steps meet.
pub mod gate;
// Speaks to the protected server.
pub mod upstream;
// What is asked of others than the server, and where that may lead.
pub mod outward;
// The one way out of a server whose network is proxied.
pub mod egress;

// What the gate consults.
// Signed assertions of who an agent is, for its server.
pub mod assertion;
// Structured records of every decision.
pub mod audit;
// Asking a person, and the receipts of what they agreed to.
pub mod consent;
// Pure checks on what messages hold.
pub mod guard;
// Files to policy snapshot, at start and on change.
pub mod loading;
// Judges facts; knows nothing of MCP transports, files or time.
pub mod policy;
// What is remembered between one agent's messages.
pub mod session;

// The edges.
// Where operators reach the gate: health and metrics.
pub mod admin;
// Traces for operators, as OTLP.
pub mod telemetry;
// The subcommands.
pub mod cli;
// Drafts of policy from what an audit log has seen.
pub mod drafts;
// Configuration files of MCP clients, and their servers.
pub mod clients;
// The only caller of the system clock.
pub mod clock;
// A bounded queue that takes no room while it is empty.
pub mod mailbox;
// Something that happens at most once.
pub mod once;
// How much memory the process may take.
pub mod memory;
// What was written in `gate.toml`, and what it means.
pub mod config;
// What is wrong with an author's files, in the formats in which programs take it.
pub mod findings;
// What looks wrong in policies that are valid.
pub mod lint;
// Why one message is allowed or denied.
pub mod explain;
// Policy fixtures, judged by the path that the gate itself uses.
pub mod policy_tests;
// Directories of one principal or session.
pub mod directories;
// One signal, one deadline, everything drains.
pub mod shutdown;
// What is done with the text of a secret.
pub mod secret;
// Invisible characters.
pub mod unseen;
// Keys and revisions of MCP.
pub mod mcp;
// JSON-RPC and MCP as bytes and names.
pub mod wire;
