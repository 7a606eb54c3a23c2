//! Lets an agent of the session era (`initialize`, until 2025-11-25) work before a server that has
//! no sessions (2026-07-28). Start reading at [`Bridge::take`] and `deliver` of [`Bridged`].
//!
//! The bridge stands between the agent and the gate, on the agent's side: what the gate judges,
//! permits and records is what the server gets and says. Where agent and server have a revision in
//! common it does nothing. What an agent gets of it is made of permitted text, by edits and out of
//! pieces; what it says of its own accord the gate says, and records.

mod agent;
mod call;
mod carry;
mod handshake;
mod inward;
mod lists;
mod news;
mod opening;
mod outward;
mod rounds;
mod server_session;
mod session;
mod settings;
mod shared;
mod state;
mod step;
mod words;

#[cfg(test)]
mod tests;

pub use agent::Bridged;
pub use settings::Settings;
pub use shared::Bridge;
pub use step::{Step, Taken};
