//! Who the gate is to an authorization server, and which one that is.

use std::fmt;
use std::path::PathBuf;

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
