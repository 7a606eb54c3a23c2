//! The gate's secret at an authorization server: read when it is needed, and shown in one of two ways.

use std::sync::Arc;

use hyper::header::HeaderValue;
use secrecy::SecretString;
use tokio::task::spawn_blocking;
use url::form_urlencoded::Serializer;

use crate::secret;

use super::super::conceal::Conceal;
use super::super::secret_file::{self, SecretFault};
use super::super::settings::HttpClientError;
use super::fault::TokenFault;
use super::settings::{ClientAuth, ClientSecret};

/// Reads a file once, so that one that cannot be read is a mistake of the configuration.
pub(super) fn check(
    secret: &ClientSecret,
    key: &'static str,
    conceal: &dyn Conceal,
) -> Result<(), HttpClientError> {
    let ClientSecret::File(path) = secret else {
        return Ok(());
    };
    let read = concealed(secret_file::read(path), conceal);
    read.map(|_| ())
        .map_err(|cause| HttpClientError::SecretFile {
            key,
            path: path.clone(),
            cause,
        })
}

/// The secret as it is now; its file may lie where reading takes long.
pub(super) async fn present(
    secret: &ClientSecret,
    conceal: &Arc<dyn Conceal>,
) -> Result<SecretString, TokenFault> {
    let path = match secret {
        ClientSecret::Value(secret) => return Ok(secret.clone()),
        ClientSecret::File(path) => path.clone(),
    };
    let reading = path.clone();
    let read = spawn_blocking(move || secret_file::read(&reading)).await;
    let read = read.unwrap_or(Err(SecretFault::Late));
    concealed(read, &**conceal).map_err(|cause| TokenFault::Secret { path, cause })
}

fn concealed(
    read: Result<SecretString, SecretFault>,
    conceal: &dyn Conceal,
) -> Result<SecretString, SecretFault> {
    let secret = read?;
    conceal.conceal(&secret)?;
    Ok(secret)
}

/// Shows the secret in the form, or returns the header that shows it (RFC 6749, section 2.3.1).
pub(super) fn show(
    form: &mut Serializer<'_, String>,
    id: &str,
    secret: &SecretString,
    auth: ClientAuth,
) -> Option<HeaderValue> {
    match auth {
        ClientAuth::Basic => secret::basic(id, secret),
        ClientAuth::Post => {
            form.append_pair("client_id", id);
            secret::append(form, "client_secret", secret);
            None
        }
    }
}
