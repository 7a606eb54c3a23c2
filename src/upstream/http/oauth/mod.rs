//! Access tokens by the client-credentials grant (RFC 6749, section 4.4).
//!
//! [`AccessTokens`] holds the present token and says when another one is needed; `exchange` gets one,
//! from the token endpoint that `discovery` finds if nobody has written it down. A request of our own
//! instead of a library's, for the reasons in decision 17.

mod discovery;
mod exchange;
mod fault;
#[cfg(test)]
mod oracle;
mod places;
mod read;
mod settings;
mod tokens;

pub use settings::{ClientAuth, ClientCredentials, ClientSecret, TokenServer};
pub(super) use tokens::AccessTokens;
