//! The token in a request (RFC 6750 §2.1). Never from the query or the body.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use secrecy::SecretString;

use crate::secret;

use super::Challenge;

/// The longest token that is looked at, in bytes. Tokens with many groups reach a few thousand.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The token of the one `Authorization` header, or what to answer.
pub(super) fn token(headers: &HeaderMap) -> Result<&str, Challenge> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let value = match (all.next(), all.next()) {
        (None, _) => return Err(Challenge::Missing),
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Err(Challenge::Malformed("the header stands twice")),
    };
    let value = value
        .to_str()
        .map_err(|_| Challenge::Malformed("it is not plain text"))?;
    // RFC 9110 §11.1: the scheme in any case, then one or more spaces.
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Challenge::Missing);
    }
    let token = token.trim_matches(' ');
    if !is_token(token) {
        return Err(Challenge::Malformed("it is no bearer token"));
    }
    Ok(token)
}

/// What RFC 6750 §2.1 lets stand in a token and a little more: operators make tokens up.
fn is_token(text: &str) -> bool {
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    (1..=MAX_TOKEN_BYTES).contains(&text.len()) && visible
}

/// The same of a token that an agent is to show.
pub(super) fn can_be(token: &SecretString) -> bool {
    let visible = secret::is_made_of(token, |byte| byte.is_ascii_graphic());
    (1..=MAX_TOKEN_BYTES).contains(&secret::length(token)) && visible
}
