//! What is shown to the server with each request, in the one place where it is exposed.

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderValue;
use secrecy::SecretString;

use crate::secret;

use super::connections::Connections;
use super::failure::Failure;
use super::oauth::AccessTokens;
use super::secret_file::MAX_SECRET;
use super::settings::{Auth, HttpClientError, HttpSettings};
use super::token_file::TokenFile;

pub(super) enum Credential {
    None,
    Fixed(Shown),
    File(Arc<TokenFile>),
    Client(Arc<AccessTokens>),
}

/// A token as it stands in a header.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) header: HeaderValue,
    /// Tells it from the tokens before and after it.
    pub(super) number: u64,
}

impl Credential {
    /// A file is read here; nothing is asked of anybody. `server` is where messages go.
    pub(super) fn new(
        settings: &HttpSettings,
        server: &Connections,
    ) -> Result<Self, HttpClientError> {
        Ok(match &settings.auth {
            None => Self::None,
            Some(Auth::Token(token)) => {
                let header = bearer(token).ok_or(HttpClientError::Token)?;
                Self::Fixed(Shown { header, number: 0 })
            }
            Some(Auth::TokenFile(path)) => {
                Self::File(Arc::new(TokenFile::open(path.clone(), settings)?))
            }
            Some(Auth::Client(client)) => {
                let tokens = AccessTokens::new(client, settings, server.clone())?;
                Self::Client(Arc::new(tokens))
            }
        })
    }

    pub(super) async fn present(&self) -> Result<Option<Shown>, Failure> {
        Ok(match self {
            Self::None => None,
            Self::Fixed(shown) => Some(shown.clone()),
            Self::File(file) => Some(file.present().await),
            Self::Client(tokens) => Some(tokens.present().await?),
        })
    }

    /// Whether there may be another one when the server does not accept this one.
    pub(super) fn is_renewed(&self) -> bool {
        match self {
            Self::None | Self::Fixed(_) => false,
            Self::File(_) | Self::Client(_) => true,
        }
    }

    /// What to show in place of what the server did not accept, if there is something else.
    pub(super) async fn instead_of(&self, refused: &Shown) -> Option<Shown> {
        match self {
            Self::None | Self::Fixed(_) => None,
            Self::File(file) => file.instead_of(refused).await,
            Self::Client(tokens) => tokens.instead_of(refused).await,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

/// `None` if no header can hold it, or it has characters that no token has (RFC 6750, section 2.1).
pub(super) fn bearer(token: &SecretString) -> Option<HeaderValue> {
    let well_formed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if !(1..=MAX_SECRET).contains(&secret::length(token)) || !secret::is_made_of(token, well_formed)
    {
        return None;
    }
    secret::header("Bearer ", token)
}
