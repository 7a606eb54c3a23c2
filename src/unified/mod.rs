//! One endpoint for several servers. Start reading at [`Unified::take`] and [`Unified::deliver`].
//!
//! It stands between the agent and the conversations with the servers, and judges nothing: each server's gate judges
//! what that server gets and says, under its own names. What the agent gets is made of permitted text, by edits and
//! out of pieces.

mod cursor;
mod inward;
mod merge;
mod naming;
mod outward;
mod rename;
mod server_names;
mod session;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;
mod waiting;

pub use naming::Naming;
pub use outward::Unanswered;
pub use session::{Inward, Settings, Unified};
