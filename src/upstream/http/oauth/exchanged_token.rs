//! A token that is given in exchange for an agent's (RFC 8693, section 2.2.1), and the rules for it.
//!
//! The gate is not its audience and has no key for it: claims are read without their signature. They are checked
//! to find an authorization server that gives more than it was asked for, not to believe a token.

use std::time::Duration;

use secrecy::SecretString;

use crate::secret::{self, TokenClaims};
use crate::wire::{Document, Limits, Value, actors};

use super::read;
use super::settings::TokenType;

/// What was asked for.
pub(super) struct RequestedToken<'a> {
    /// Empty: the authorization server chooses.
    pub(super) scopes: &'a [String],
    /// The audience, the resource, or both.
    pub(super) targets: &'a [&'a str],
    /// The subject of the actor token, if there is one that can be read.
    pub(super) actor: Option<&'a str>,
    /// The tokens that were sent.
    pub(super) sent: &'a [&'a SecretString],
    /// Seconds since 1970.
    pub(super) now: i64,
}

const LIMITS: Limits = Limits {
    max_bytes: 64 * 1024,
    max_depth: 16,
    max_nodes: 4096,
};

/// The token, and how long it is good if the answer or the token itself says so. An error says what the answer
/// is or has, without a word of it.
pub(super) fn read(
    root: Value<'_>,
    asked: &RequestedToken<'_>,
) -> Result<(SecretString, Option<Duration>), &'static str> {
    let (token, lifetime) = read::token(root)?;
    let token = SecretString::from(&*token);
    // Or a server would be shown what was made for others.
    if asked.sent.iter().any(|sent| secret::are_same(sent, &token)) {
        return Err("holds the very token that was to be exchanged");
    }
    let issued = root.get("issued_token_type").and_then(Value::as_str);
    let issued = issued.and_then(|urn| TokenType::ALL.into_iter().find(|it| *it.urn() == *urn));
    let issued = issued.ok_or("has no `issued_token_type` of an access token")?;
    check_scope(root.get("scope"), asked)?;
    let claims = match secret::claims(&token) {
        TokenClaims::Json(claims) => read_claims(&claims).map(Some),
        TokenClaims::Opaque if issued != TokenType::Jwt => Ok(None),
        TokenClaims::Opaque | TokenClaims::Unreadable => Err(UNREADABLE),
    };
    let Some(claims) = claims? else {
        return Ok((token, lifetime));
    };
    let left = check_claims(claims.root(), asked)?;
    let lifetime = lifetime.map_or(left, |lifetime| lifetime.min(left));
    Ok((token, Some(lifetime)))
}

const UNREADABLE: &str = "holds a token whose claims cannot be read";

/// The `sub` of a token that can be read.
pub(super) fn subject_of(token: &SecretString) -> Option<String> {
    let TokenClaims::Json(claims) = secret::claims(token) else {
        return None;
    };
    let claims = read_claims(&claims).ok()?;
    let subject = claims.root().get("sub").and_then(Value::as_str);
    subject.map(std::borrow::Cow::into_owned)
}

fn read_claims(bytes: &[u8]) -> Result<Document, &'static str> {
    let read = Document::decode(bytes, &LIMITS).ok();
    read.filter(|read| read.root().is_object())
        .ok_or(UNREADABLE)
}

/// Until when the token is good by its own claims.
fn check_claims(claims: Value<'_>, asked: &RequestedToken<'_>) -> Result<Duration, &'static str> {
    let is_target = |value: Value<'_>| {
        let name = value.as_str();
        name.is_some_and(|name| asked.targets.contains(&&*name))
    };
    let audience = claims.get("aud").ok_or("holds a token without an `aud`")?;
    let is_for_the_server = if audience.is_array() {
        !audience.is_empty() && audience.items().all(is_target)
    } else {
        is_target(audience)
    };
    if !is_for_the_server {
        return Err("holds a token whose `aud` is not the server alone");
    }
    for key in ["scope", "scp"] {
        check_scope(claims.get(key), asked)?;
    }
    let actors =
        actors(claims).map_err(|_| "holds a token whose `act` is malformed or too long")?;
    // RFC 8693, section 4.1: the outermost one acts now.
    if asked
        .actor
        .is_some_and(|actor| actors.first().map(|it| &**it) != Some(actor))
    {
        return Err("holds a token whose `act` is not the gate's actor");
    }
    let expires = claims.get("exp").and_then(Value::as_number);
    let expires = expires.and_then(|text| text.split('.').next()?.parse::<i64>().ok());
    let expires = expires.ok_or("holds a token without an `exp`")?;
    match u64::try_from(expires.saturating_sub(asked.now)) {
        Ok(left @ 1..) => Ok(Duration::from_secs(left)),
        Ok(0) | Err(_) => Err("holds a token that has expired"),
    }
}

/// The scope may be narrower than what was asked for, and never wider.
fn check_scope(granted: Option<Value<'_>>, asked: &RequestedToken<'_>) -> Result<(), &'static str> {
    let Some(granted) = granted else {
        return Ok(());
    };
    let is_asked = |word: &str| asked.scopes.iter().any(|asked| *asked == *word);
    let is_within = |text: &str| text.split(' ').filter(|it| !it.is_empty()).all(is_asked);
    let is_fine = if granted.is_array() {
        granted
            .items()
            .all(|item| item.as_str().is_some_and(|word| is_asked(&word)))
    } else {
        granted.as_str().is_some_and(|text| is_within(&text))
    };
    if is_fine || asked.scopes.is_empty() {
        Ok(())
    } else {
        Err("grants a scope that the gate did not ask for")
    }
}

#[cfg(test)]
mod tests;
