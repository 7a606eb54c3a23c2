//! Access tokens by the client-credentials grant (RFC 6749, section 4.4), and in exchange for those of
//! agents (RFC 8693).
//!
//! [`AccessTokens`] holds the present token and says when another one is needed; `exchange` gets one,
//! from the token endpoint that `discovery` finds if nobody has written it down. A request of our own
//! instead of a library's, for the reasons in decision 17.

mod client_secret;
mod discovery;
mod exchange;
mod exchanged_token;
mod exchanged_tokens;
mod fault;
#[cfg(test)]
mod oracle;
mod places;
mod read;
mod settings;
mod token_exchange;
mod tokens;

pub(super) use exchanged_tokens::ExchangedTokens;
pub use exchanged_tokens::MAX_EXCHANGED_TOKENS;
pub use settings::{
    Actor, ClientAuth, ClientCredentials, ClientSecret, ExchangeClient, TokenExchange, TokenServer,
    TokenType,
};
#[cfg(test)]
pub(super) use token_exchange::MOST_AT_ONCE;
pub(super) use token_exchange::Subject;
pub(super) use tokens::AccessTokens;
