//! Who the gate is to an authorization server, and which one that is.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use crate::outward::PrivateAddresses;

/// What the gate says of itself to get an access token, and whom.
#[derive(Clone)]
pub struct ClientCredentials {
    pub client_id: String,
    pub secret: ClientSecret,
    pub server: TokenServer,
    /// How the secret is shown; `None` is what the server's metadata says, and `Basic` without any.
    pub client_auth: Option<ClientAuth>,
    pub scopes: Vec<String>,
    /// For whom the token is to be good (RFC 8707). `None` is what the server calls itself in its
    /// metadata, or its URL without the query; empty is nothing at all.
    pub resource: Option<String>,
    /// What some servers ask for in its place.
    pub audience: Option<String>,
    /// Whether what others name may be in a private network.
    pub private: PrivateAddresses,
}

#[derive(Debug, Clone)]
pub enum ClientSecret {
    Value(SecretString),
    /// A file that holds nothing else; read before each request for a token.
    File(PathBuf),
}

/// Where tokens come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenServer {
    /// From this endpoint.
    At(Url),
    /// From the endpoint in the metadata of this issuer (RFC 8414), byte for byte.
    Of(String),
    /// From the issuer that the protected server names (RFC 9728). Whoever speaks for the server says
    /// with it who is shown the secret. The first one that is named is the one for as long as the gate
    /// runs.
    Named,
}

/// How a client shows its secret (RFC 6749, section 2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// In a header.
    Basic,
    /// In the form.
    Post,
}

/// How the gate gets a token for one server and one agent in exchange for the agent's own (RFC 8693).
#[derive(Clone)]
pub struct TokenExchange {
    /// The only place that is ever sent the agent's token.
    pub token_url: Url,
    /// Who the gate is there, if it must say so.
    pub client: Option<ExchangeClient>,
    /// The most that the token may be good for; the authorization server chooses where there is none.
    pub scopes: Vec<String>,
    /// For whom the token is to be good (RFC 8707). `None` is the server's URL without the query where there is
    /// no audience; empty is nothing at all.
    pub resource: Option<String>,
    /// By the name that the authorization server has for it.
    pub audience: Option<String>,
    pub subject_type: TokenType,
    pub requested_type: TokenType,
    /// Who acts for the agent's user.
    pub actor: Option<Actor>,
    /// No token is used for longer, whatever the authorization server says.
    pub max_lifetime: Duration,
}

/// Who the gate is where tokens are exchanged.
#[derive(Debug, Clone)]
pub struct ExchangeClient {
    pub id: String,
    /// `None`: it says its name alone (RFC 6749, section 3.2.1).
    pub secret: Option<ClientSecret>,
    pub auth: ClientAuth,
}

/// A token of who acts for the agent's user.
#[derive(Debug, Clone)]
pub struct Actor {
    pub token: ClientSecret,
    pub token_type: TokenType,
}

/// RFC 8693, section 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenType {
    AccessToken,
    Jwt,
}

impl TokenExchange {
    /// The longest use of a token, unless another one is configured.
    pub const MAX_LIFETIME: Duration = Duration::from_mins(15);
}

impl TokenType {
    pub(super) const ALL: [Self; 2] = [Self::AccessToken, Self::Jwt];

    pub fn urn(self) -> &'static str {
        match self {
            Self::AccessToken => "urn:ietf:params:oauth:token-type:access_token",
            Self::Jwt => "urn:ietf:params:oauth:token-type:jwt",
        }
    }
}

/// Without the place: a URL may hold a key.
impl fmt::Debug for TokenExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenExchange")
            .field("client", &self.client)
            .field("scopes", &self.scopes)
            .field("audience", &self.audience)
            .field("max_lifetime", &self.max_lifetime)
            .finish_non_exhaustive()
    }
}

/// Without the place: a URL may hold a key.
impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials")
            .field("client_id", &self.client_id)
            .field("secret", &self.secret)
            .field("scopes", &self.scopes)
            .field("private", &self.private)
            .finish_non_exhaustive()
    }
}
