//! What is shown to the server with each request, in the one place where it is exposed.

use std::fmt;
use std::sync::Arc;

use super::bearer::{Shown, bearer};
use super::connections::Connections;
use super::failure::Failure;
use super::oauth::{AccessTokens, ExchangedTokens, Subject};
use super::settings::{Auth, HttpClientError, HttpSettings};
use super::token_file::TokenFile;

pub(super) enum Credential {
    None,
    Fixed(Shown),
    File(Arc<TokenFile>),
    Client(Arc<AccessTokens>),
    Exchanged(Box<ExchangedTokens>),
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
            Some(Auth::Exchange(written)) => {
                Self::Exchanged(Box::new(ExchangedTokens::new(written, settings)?))
            }
        })
    }

    /// `subject` is the agent's token, which only its exchange needs.
    pub(super) async fn present(&self, subject: Subject<'_>) -> Result<Option<Shown>, Failure> {
        Ok(match self {
            Self::None => None,
            Self::Fixed(shown) => Some(shown.clone()),
            Self::File(file) => Some(file.present().await),
            Self::Client(tokens) => Some(tokens.present(None).await?),
            Self::Exchanged(tokens) => Some(tokens.present(subject).await?),
        })
    }

    /// Whether there may be another one when the server does not accept this one.
    pub(super) fn is_renewed(&self) -> bool {
        match self {
            Self::None | Self::Fixed(_) => false,
            Self::File(_) | Self::Client(_) | Self::Exchanged(_) => true,
        }
    }

    /// Whether there is none without an agent.
    pub(super) fn needs_an_agent(&self) -> bool {
        matches!(self, Self::Exchanged(_))
    }

    /// What to show in place of what the server did not accept, if there is something else.
    pub(super) async fn instead_of(&self, refused: &Shown, subject: Subject<'_>) -> Option<Shown> {
        match self {
            Self::None | Self::Fixed(_) => None,
            Self::File(file) => file.instead_of(refused).await,
            Self::Client(tokens) => tokens.instead_of(refused, None).await,
            Self::Exchanged(tokens) => tokens.instead_of(refused, subject).await,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}
