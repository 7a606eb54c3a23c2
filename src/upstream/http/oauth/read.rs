//! What an authorization server, and the protected server, say of themselves and of a token.
//!
//! Problems are told in words of ours: nothing of what a peer wrote is repeated.

use std::time::Duration;

use url::Url;

use crate::outward::HttpResponse;
use crate::wire::{Document, Limits, Value};

use super::places::{client_auth, is_within};
use super::settings::ClientAuth;

/// A lifetime that is longer is as good as none: the token is used until it is refused.
const LONGEST: Duration = Duration::from_hours(24 * 365);

pub(super) fn json(answer: &HttpResponse) -> Option<Document> {
    answer.is_json().then(|| object(&answer.body))?
}

/// As strictly as messages: two readers see one token.
pub(super) fn object(body: &[u8]) -> Option<Document> {
    let limits = Limits {
        max_bytes: body.len(),
        ..Limits::default()
    };
    let read = Document::decode(body, &limits).ok();
    read.filter(|read| read.root().is_object())
}

/// A token, and how long it is good if somebody says so.
pub(super) fn token(root: Value<'_>) -> Result<(String, Option<Duration>), &'static str> {
    let kind = root.get("token_type").and_then(Value::as_str);
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("is no bearer token");
    }
    let token = root.get("access_token").and_then(Value::as_str);
    let token = token.ok_or("holds no `access_token`")?;
    let lifetime = lifetime(root.get("expires_in"));
    let lifetime = lifetime.map_err(|()| "has an `expires_in` that is no time to come")?;
    Ok((token.into_owned(), lifetime))
}

/// The error of an answer, if there is such a one.
pub(super) fn error(root: Value<'_>) -> Option<&'static str> {
    known(&root.get("error")?.as_str()?)
}

/// What the server calls itself (RFC 9728), and the issuer that it names first, if any.
pub(super) fn of_server(
    root: Value<'_>,
    server: &Url,
) -> Result<(String, Option<String>), &'static str> {
    let resource = root.get("resource").and_then(Value::as_str);
    let resource = resource.ok_or("holds no `resource`")?;
    // RFC 9728, section 3.3: it must be the metadata of whom it was asked for.
    if !Url::parse(&resource).is_ok_and(|it| is_within(server, &it)) {
        return Err("is about another server");
    }
    let servers = root.get("authorization_servers");
    let issuer = servers.and_then(|servers| servers.items().next());
    let issuer = issuer.and_then(Value::as_str);
    Ok((resource.into_owned(), issuer.map(Into::into)))
}

/// Where an issuer gives tokens (RFC 8414), and how it wants to be shown a secret.
pub(super) fn of_issuer(root: Value<'_>, issuer: &str) -> Result<(Url, ClientAuth), &'static str> {
    let said = root.get("issuer").and_then(Value::as_str);
    // RFC 8414, section 3.3: or somebody else's endpoint would be shown the secret.
    if said.as_deref() != Some(issuer) {
        return Err("is about another issuer");
    }
    let endpoint = root.get("token_endpoint").and_then(Value::as_str);
    let endpoint = endpoint.ok_or("holds no `token_endpoint`")?;
    let endpoint = Url::parse(&endpoint);
    let endpoint = endpoint.map_err(|_| "has a `token_endpoint` that is no URL")?;
    let client_auth = client_auth(root.get("token_endpoint_auth_methods_supported"));
    let client_auth = client_auth.ok_or("names no way of showing a secret that the gate knows")?;
    Ok((endpoint, client_auth))
}

/// Some servers write the number as a string.
fn lifetime(written: Option<Value<'_>>) -> Result<Option<Duration>, ()> {
    let Some(written) = written.filter(|written| !written.is_null()) else {
        return Ok(None);
    };
    let text = written.as_str();
    let text = text.as_deref().or(written.as_number()).ok_or(())?;
    let seconds: f64 = text.parse().map_err(|_| ())?;
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(());
    }
    let lifetime = Duration::try_from_secs_f64(seconds).ok();
    Ok(lifetime.filter(|lifetime| *lifetime < LONGEST))
}

/// The errors that there are (RFC 6749, section 5.2; RFC 8707, section 2). Others are not repeated.
fn known(name: &str) -> Option<&'static str> {
    const ERRORS: [&str; 7] = [
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "invalid_target",
        "unauthorized_client",
        "unsupported_grant_type",
    ];
    ERRORS.into_iter().find(|known| *known == name)
}
