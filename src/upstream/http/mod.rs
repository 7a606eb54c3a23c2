//! A server over Streamable HTTP (MCP 2025-11-25 and 2026-07-28, basic/transports).
//!
//! `HttpClient` holds what all conversations share: connections, TLS, what the gate shows to the server.
//! `HttpClient::connect` begins a conversation. Its present *life* lasts from a handshake to the
//! loss of the session; a task sends what must arrive in order, and each request has a task of its
//! own, so that one that is never answered holds up no other.

mod answer;
mod bearer;
mod client;
mod conceal;
mod connections;
mod credential;
mod events;
mod exchange;
mod failure;
mod headers;
mod http_event;
mod life;
mod listening;
mod named;
mod notice;
mod oauth;
mod parts;
mod reach;
mod reading;
mod secret_file;
mod sender;
mod sending;
mod settings;
mod tls;
mod token_file;

#[cfg(test)]
mod tests;

pub use client::HttpClient;
pub use conceal::{Conceal, TooShort};
pub use events::HttpEvents;
pub use failure::Loss;
pub use http_event::{HttpEvent, HttpGiveUp};
pub use oauth::{
    Actor, ClientAuth, ClientCredentials, ClientSecret, ExchangeClient, MAX_EXCHANGED_TOKENS,
    TokenExchange, TokenServer, TokenType,
};
pub use reach::Reach;
pub use secret_file::SecretFault;
pub use sender::HttpSender;
pub use settings::{Auth, HttpClientError, HttpSettings, PlainHttp};
pub use tls::{client_tls, other_tls};
