//! Who acts for the subject of a token (RFC 8693, section 4.1).

use super::Value;

/// Actors of one token that are followed. A longer chain is malformed.
pub const MAX_ACTORS: usize = 4;

/// The longest name of an actor, in bytes.
const MAX_ACTOR_BYTES: usize = 256;

/// Why the actors of a token cannot be relied on. Nothing in it comes from the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ActorsError {
    #[error("its claim `act` is not an object with a `sub`")]
    Malformed,
    #[error("its claim `act` names more than {MAX_ACTORS} actors")]
    TooMany,
}

/// The `sub` of each actor in `act`, the present one first; none without this claim.
pub fn actors<'v>(claims: Value<'v>) -> Result<Vec<String>, ActorsError> {
    let mut actors = Vec::new();
    // Some issuers write null for a missing value.
    let actor = |of: Value<'v>| of.get("act").filter(|act| !act.is_null());
    let mut next = actor(claims);
    while let Some(act) = next {
        if actors.len() == MAX_ACTORS {
            return Err(ActorsError::TooMany);
        }
        let subject = act.get("sub").and_then(Value::as_str);
        let subject = subject
            .filter(|_| act.is_object())
            .filter(|it| (1..=MAX_ACTOR_BYTES).contains(&it.len()))
            .filter(|it| !it.chars().any(char::is_control))
            .ok_or(ActorsError::Malformed)?;
        actors.push(subject.into_owned());
        next = actor(act);
    }
    Ok(actors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    #[track_caller]
    fn check(claims: &str, expected: Result<&[&str], ActorsError>) {
        let read = Document::decode(claims.as_bytes(), &Limits::default()).unwrap();
        let expected = expected.map(|names| names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(actors(read.root()), expected, "{claims}");
    }

    fn chain(depth: usize) -> String {
        let nested = (0..depth).fold(String::new(), |inner, number| {
            let inner = if inner.is_empty() {
                inner
            } else {
                format!(",\"act\":{inner}")
            };
            format!(r#"{{"sub":"a{number}"{inner}}}"#)
        });
        format!(r#"{{"act":{nested}}}"#)
    }

    #[test]
    fn a_chain_of_actors_is_read_from_the_present_one_and_is_bounded() {
        check("{}", Ok(&[]));
        check(r#"{"act":null}"#, Ok(&[]));
        check(r#"{"act":{"sub":"a","act":null}}"#, Ok(&["a"]));
        check(&chain(1), Ok(&["a0"]));
        check(&chain(2), Ok(&["a1", "a0"]));
        check(&chain(4), Ok(&["a3", "a2", "a1", "a0"]));
        check(&chain(5), Err(ActorsError::TooMany));
        check(&chain(40), Err(ActorsError::TooMany));
        let long = "x".repeat(257);
        for odd in [
            "1",
            "\"a\"",
            "[]",
            "{}",
            r#"[{"sub":"a"}]"#,
            r#"{"sub":1}"#,
            r#"{"sub":""}"#,
            r#"{"sub":"a\u0000"}"#,
            r#"{"sub":"a","act":{"sub":["b"]}}"#,
            &format!(r#"{{"sub":"{long}"}}"#),
        ] {
            check(&format!(r#"{{"act":{odd}}}"#), Err(ActorsError::Malformed));
        }
    }
}
