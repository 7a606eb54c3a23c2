//! The agent's side of a gate that agents reach over HTTP: a Streamable HTTP server of our own.
//!
//! It carries bytes and decides nothing about them. Each legacy session, and all stateless requests
//! of one identity together, are one [`Arrival`]: frames come out of its inbox with the number of
//! the POST that brought them, and what is permitted goes back through its [`Streams`]. What is
//! refused here never was a message: it is a bad host, token, header or body, and whoever records it
//! is told as a [`HttpRefusal`].
//!
//! Rules: MCP 2025-11-25 and 2026-07-28, basic/transports (Streamable HTTP); RFC 9110 and 9112.
//!
//! Where to start reading: `answer` in `answer.rs`, which every request passes, then `post.rs`.

mod alarm;
mod answer;
mod at_once;
mod body;
mod caller;
mod channel;
mod conversation;
mod conversations;
mod door;
mod endpoints;
mod event_id;
mod field_names;
mod fields;
mod health;
mod inbound;
mod listen;
mod post;
mod refusal;
mod repeated;
mod reply;
mod respond;
mod revisions;
mod room;
mod serve;
mod server;
mod settings;
mod share;
mod shares;
mod stateless;
mod streams;

#[cfg(test)]
mod tests;

pub use caller::Endpoint;
pub use conversations::Arrival;
pub use endpoints::{EndpointPaths, Endpoints};
pub use health::{AskHealth, Health};
pub use inbound::{Brought, ConversationKind, Inbound, Router};
pub use refusal::{HttpRefusal, Origin};
pub use serve::{Connections, Listener};
pub use server::{LetsIn, Outside};
pub use settings::Settings;
pub use streams::Streams;
