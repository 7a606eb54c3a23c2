//! A token as it stands in a header.

use hyper::header::HeaderValue;
use secrecy::SecretString;

use crate::secret;

use super::secret_file::MAX_SECRET;

/// A token as it stands in a header.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) header: HeaderValue,
    /// Tells it from the tokens before and after it.
    pub(super) number: u64,
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
