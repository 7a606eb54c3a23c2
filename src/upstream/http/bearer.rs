//! The bearer token, in the one place where it is exposed.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use super::failure::Failure;
use super::settings::{Bearer, HttpClientError};

/// What is shown to the server with each request.
pub(super) enum Credential {
    None,
    Fixed(HeaderValue),
    /// Read before each request, so that a token that was exchanged is shown at once.
    File(PathBuf),
}

/// Bytes of a file with a token. A JWT has hundreds.
const MAX_TOKEN: u64 = 64 * 1024;

impl Credential {
    /// A file is read here to see whether it can be.
    pub(super) fn new(bearer: Option<&Bearer>) -> Result<Self, HttpClientError> {
        match bearer {
            None => Ok(Self::None),
            Some(Bearer::Value(token)) => {
                header(token).map(Self::Fixed).ok_or(HttpClientError::Token)
            }
            Some(Bearer::File(path)) => match read(path) {
                Ok(_) => Ok(Self::File(path.clone())),
                Err(cause) => Err(HttpClientError::TokenFile {
                    path: path.clone(),
                    cause,
                }),
            },
        }
    }

    pub(super) async fn header(&self) -> Result<Option<HeaderValue>, Failure> {
        let path = match self {
            Self::None => return Ok(None),
            Self::Fixed(header) => return Ok(Some(header.clone())),
            Self::File(path) => path.clone(),
        };
        // The file may lie where reading takes long.
        let read = tokio::task::spawn_blocking(move || read(&path)).await;
        match read {
            Ok(Ok(header)) => Ok(Some(header)),
            Ok(Err(cause)) => Err(Failure::Unreachable(format!("the token's file {cause}"))),
            Err(_) => Err(Failure::Unreachable(
                "the token's file was not read".to_owned(),
            )),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

/// The token stands alone in its file, but for white space round it. Errors are told without it.
fn read(path: &Path) -> Result<HeaderValue, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let mut text = String::new();
    File::open(path)
        .map_err(unreadable)?
        .take(MAX_TOKEN + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let token = SecretString::from(text.trim());
    header(&token).ok_or_else(|| "holds no bearer token (RFC 6750, section 2.1)".to_owned())
}

fn header(token: &SecretString) -> Option<HeaderValue> {
    let token = token.expose_secret();
    let well_formed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let length = u64::try_from(token.len()).unwrap_or(u64::MAX);
    if token.is_empty() || length > MAX_TOKEN || !token.bytes().all(well_formed) {
        return None;
    }
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}
