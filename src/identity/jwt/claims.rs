//! What a token says, once its signature is right.

use std::sync::Arc;

use crate::wire::{Value, WorkIds, actors};

use super::super::{Challenge, Identity};
use super::settings::{ClaimPath, JwtSettings, NamedClaim};
use crate::policy::{ClaimType, ClaimValue, Claims};

/// The longest name, in bytes, and the largest number of names.
const MAX_NAME: usize = 256;
const MAX_NAMES: usize = 256;

/// The longest string of a claim that policies may look at, in bytes.
const MAX_TEXT: usize = 1024;

/// Turns claims into an identity, at this many seconds since 1970, and tells until when they are good.
pub(super) fn check(
    claims: Value<'_>,
    settings: &JwtSettings,
    now: i64,
) -> Result<(Identity, i64), Challenge> {
    if claims.get("iss").and_then(Value::as_str).as_deref() != Some(&*settings.issuer) {
        return Err(Challenge::Invalid("it has another issuer"));
    }
    if !is_for(claims, &settings.audience) {
        return Err(Challenge::Invalid("its audience is another one"));
    }
    let skew = i64::try_from(settings.skew.as_secs()).unwrap_or(0);
    let expires = seconds(claims, "exp")?.ok_or(Challenge::Invalid("it never expires"))?;
    let until = expires.saturating_add(skew);
    if now >= until {
        return Err(Challenge::Invalid("it has expired"));
    }
    if seconds(claims, "nbf")?.is_some_and(|begins| now.saturating_add(skew) < begins) {
        return Err(Challenge::Invalid("it is not valid yet"));
    }
    let actors = actors(claims).map_err(Challenge::Actors)?;
    let subject = name(claims, "sub")?.ok_or(Challenge::Invalid("it has no subject"))?;
    let identity = Identity {
        subject,
        user: name(claims, "preferred_username")?,
        actors,
        roles: names(stated(claims, "roles"))?,
        groups: names(stated(claims, &settings.groups_claim))?,
        capabilities: match &settings.capabilities_claim {
            Some(path) => {
                let list = at(claims, path);
                names(list.map_err(|NoObject| Challenge::Invalid("a list in it cannot be read"))?)?
            }
            None => Vec::new(),
        },
        claims: named(claims, &settings.claims)?,
        session: name(claims, &settings.session_claim)?,
    };
    let granted = scopes(claims);
    if settings.scopes.iter().all(|scope| granted.contains(scope)) {
        Ok((identity, until))
    } else {
        Err(Challenge::Insufficient(settings.scopes.clone()))
    }
}

/// What a token says of the work that it was issued for. A claim that is no name says nothing.
pub(super) fn work(claims: Value<'_>, settings: &JwtSettings) -> WorkIds {
    let get = |key: &str| name(claims, key).ok().flatten().map(Into::into);
    WorkIds {
        job_id: get("job_id"),
        trace_id: get("trace_id"),
        workflow_run_id: get("workflow_run_id"),
        task_id: get("task_id"),
        session_id: get(&settings.session_claim),
        traceparent: None,
    }
}

/// The servers that a token was issued for, of those that may have it.
pub(super) fn servers(claims: Value<'_>, settings: &JwtSettings) -> Vec<Arc<str>> {
    let servers = settings.servers.iter();
    servers
        .filter(|server| is_for(claims, server))
        .cloned()
        .collect()
}

/// RFC 7519 §4.1.3: one audience, or a list of them.
fn is_for(claims: Value<'_>, audience: &str) -> bool {
    let Some(named) = claims.get("aud") else {
        return false;
    };
    let is_it = |value: Value<'_>| value.as_str().as_deref() == Some(audience);
    is_it(named) || (named.is_array() && named.items().any(is_it))
}

/// A NumericDate (RFC 7519 §2): seconds since 1970, of which some issuers write fractions.
fn seconds(claims: Value<'_>, key: &str) -> Result<Option<i64>, Challenge> {
    let Some(value) = claims.get(key) else {
        return Ok(None);
    };
    let whole = value
        .as_number()
        .and_then(|text| text.split('.').next()?.parse().ok());
    match whole {
        Some(seconds) => Ok(Some(seconds)),
        None => Err(Challenge::Invalid("a time in it cannot be read")),
    }
}

/// The claims that the configuration names, as far as the token has them.
fn named(claims: Value<'_>, wanted: &[NamedClaim]) -> Result<Claims, Challenge> {
    let found = wanted.iter().filter_map(|claim| {
        let value = match at(claims, &claim.path) {
            Ok(value) => typed(value?, claim.claim_type),
            Err(NoObject) => None,
        };
        Some(match value {
            Some(value) => Ok((claim.name.clone(), value)),
            None => Err(Challenge::Claim {
                name: claim.name.clone(),
                expected: claim.claim_type,
            }),
        })
    });
    found.collect()
}

/// `None` for a value of another type, and for one that is too long.
fn typed(value: Value<'_>, expected: ClaimType) -> Option<ClaimValue> {
    match expected {
        ClaimType::String => text(value).map(ClaimValue::String),
        ClaimType::Long => value.as_i64().map(ClaimValue::Long),
        ClaimType::Bool => value.as_bool().map(ClaimValue::Bool),
        ClaimType::Strings if value.is_array() && value.len() <= MAX_NAMES => {
            let items: Option<Vec<String>> = value.items().map(text).collect();
            items.map(ClaimValue::set)
        }
        ClaimType::Strings => None,
    }
}

/// A string that can stand in policies. It may be empty.
fn text(value: Value<'_>) -> Option<String> {
    let text = value.as_str()?;
    let fits = text.len() <= MAX_TEXT && !text.chars().any(char::is_control);
    fits.then(|| text.into_owned())
}

/// What a path leads to. Some issuers write null for a missing value.
///
/// # Errors
/// [`NoObject`] where the path goes through something else than an object: what is meant cannot be told.
fn at<'v>(claims: Value<'v>, path: &ClaimPath) -> Result<Option<Value<'v>>, NoObject> {
    let mut place = claims;
    for name in path.names() {
        if !place.is_object() {
            return Err(NoObject);
        }
        match place.get(name).filter(|value| !value.is_null()) {
            Some(value) => place = value,
            None => return Ok(None),
        }
    }
    Ok(Some(place))
}

/// The path of a claim goes through a value that is no object.
struct NoObject;

/// Some issuers write null for a missing value.
fn stated<'v>(claims: Value<'v>, key: &str) -> Option<Value<'v>> {
    claims.get(key).filter(|claim| !claim.is_null())
}

fn name(claims: Value<'_>, key: &str) -> Result<Option<String>, Challenge> {
    stated(claims, key).map(proper).transpose()
}

/// In one order, each once: issuers promise none, and who comes with the same names is the same.
fn names(claim: Option<Value<'_>>) -> Result<Vec<String>, Challenge> {
    let mut names: Vec<String> = match claim {
        None => Vec::new(),
        Some(list) if list.is_array() && list.len() <= MAX_NAMES => {
            list.items().map(proper).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(Challenge::Invalid("a list in it cannot be read")),
    };
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// A name that can stand in records and policies.
fn proper(value: Value<'_>) -> Result<String, Challenge> {
    value
        .as_str()
        .filter(|name| !name.is_empty() && name.len() <= MAX_NAME)
        .filter(|name| !name.chars().any(char::is_control))
        .map(std::borrow::Cow::into_owned)
        .ok_or(Challenge::Invalid("a name in it is none"))
}

/// `scope` (RFC 8693 §4.2) and `scp`, each as words in a text or as a list: issuers write both.
fn scopes(claims: Value<'_>) -> Vec<String> {
    let mut scopes = Vec::new();
    for claim in ["scope", "scp"]
        .into_iter()
        .filter_map(|key| claims.get(key))
    {
        let words = claim.as_str();
        let words = words.iter().flat_map(|text| text.split(' '));
        scopes.extend(words.map(str::to_owned));
        // One with a blank in it is none (RFC 6749, 3.3), and not two.
        let items = claim.items().filter_map(Value::as_str);
        scopes.extend(items.map(std::borrow::Cow::into_owned));
    }
    scopes
}
