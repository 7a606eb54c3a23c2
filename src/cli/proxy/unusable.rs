//! Servers that a configuration cannot reach.

use crate::upstream::http::HttpClientError;

use super::confinement;

/// Why no server can be reached with this configuration.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("{0}")]
    Http(HttpClientError),
    /// Which says no key: there are others with such files.
    #[error("`upstream.ca_file`: {0}")]
    Authorities(HttpClientError),
    #[error("`upstream.sandbox.roots`: {0}")]
    Sandbox(#[from] confinement::Nested),
}

impl Unusable {
    pub(super) fn of(cause: HttpClientError) -> Self {
        if matches!(cause, HttpClientError::Authorities { .. }) {
            Self::Authorities(cause)
        } else {
            Self::Http(cause)
        }
    }
}
