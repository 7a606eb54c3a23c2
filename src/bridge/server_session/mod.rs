//! A session that exists on the server's side only: requests that belong to none are carried in it (2026-07-28
//! before a server that needs `initialize`).
//!
//! The gate gives over the first request that needs it. One session is for all requests of a conversation: those
//! of one agent, or over HTTP of one principal.

mod inward;
mod outward;
mod session;
mod translated;
mod words;

pub(super) use inward::take;
pub(super) use outward::{Goes, translate};
pub(super) use session::ServerSession;
pub(super) use words::can_be_asked;
