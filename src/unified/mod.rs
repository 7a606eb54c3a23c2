//! One endpoint for several servers. Start reading at [`UnifiedSession::route`] and [`UnifiedSession::deliver`].
//!
//! It stands between the agent and the conversations with the servers, and judges nothing: each server's gate judges
//! what that server gets and says, under its own names. What the agent gets is made of permitted text, by edits and
//! out of pieces.

mod cursor;
mod endpoint_names;
mod from_agent;
mod from_server;
#[cfg(test)]
mod late_tests;
mod list_changes;
mod merge;
mod name_map;
mod open_requests;
mod pattern;
mod rename;
mod routing_state;
mod server_names;
mod session;
#[cfg(test)]
mod session_tests;
mod subscribed_names;
mod subscription;
#[cfg(test)]
mod tests;

pub use endpoint_names::{EndpointNames, ItemKind, Route};
pub use name_map::Alias;
pub use open_requests::Unanswered;
pub use pattern::matches;
pub use session::{InboxMessage, Settings, UnifiedSession, View};
