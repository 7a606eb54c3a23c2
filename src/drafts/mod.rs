//! Drafts of policy from what an audit log has seen, or from the tools that a server lists.
//!
//! What was allowed is observed (`observation`), what arguments have in common is found (`narrowing`), and files
//! of a policy directory are written from it (`policies`, `labels`, `tests_file`), for a person to review.
//! Without a log, names and hints of tools give the labels (`listed_tools`), and these decide (`listed_servers`); what
//! one session over several servers may leak decides, too, for `init` (`several_servers`).

mod argument_effects;
mod draft;
mod effects;
mod example_arguments;
mod labels;
mod listed_servers;
mod listed_tools;
mod narrowing;
mod observation;
mod permits;
mod policies;
mod quote;
mod server_item;
mod several_servers;
mod tests_file;
mod tool_draft;
mod words;

#[cfg(test)]
mod tests;

pub use draft::Draft;
pub use listed_servers::ListedServers;
pub use listed_tools::{ListedTools, ToolCounts};
pub use observation::Observations;
pub use several_servers::{ListedServer, ServerPlace, SeveralServers, ToxicFlow};
