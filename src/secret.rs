//! What is done with the text of a secret. No other module reads it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use hyper::header::HeaderValue;
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use url::form_urlencoded::{Serializer, byte_serialize};

/// Bytes of the shortest secret that redaction can tell from ordinary text: replacing each `ab` in a
/// log would say what the secret is instead of hiding it.
pub const SHORTEST: usize = 4;

/// In bytes.
pub fn length(secret: &SecretString) -> usize {
    text(secret).len()
}

/// Takes as long for secrets that differ early as for those that differ late.
pub fn are_same(one: &SecretString, other: &SecretString) -> bool {
    text(one).as_bytes().ct_eq(text(other).as_bytes()).into()
}

pub fn is_made_of(secret: &SecretString, is_allowed: impl Fn(u8) -> bool) -> bool {
    text(secret).bytes().all(is_allowed)
}

pub fn sha256(secret: &SecretString) -> [u8; 32] {
    Sha256::digest(text(secret)).into()
}

/// Tells secrets apart without holding them. Without the key it says nothing of them.
pub fn keyed(key: &hmac::Key, secret: &SecretString) -> [u8; 32] {
    let tag = hmac::sign(key, text(secret).as_bytes());
    let mut bytes = [0; 32];
    // INVARIANT: a tag of SHA-256 has 32 bytes.
    for (byte, of_tag) in bytes.iter_mut().zip(tag.as_ref()) {
        *byte = *of_tag;
    }
    bytes
}

/// As lenient readers decode it.
const ANYHOW: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The claims of a token that calls itself a JSON Web Token (RFC 7515, section 7.1), as JSON; its signature is
/// not looked at.
pub fn claims(token: &SecretString) -> TokenClaims {
    let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
    let mut parts = text(token).split('.');
    let (Some(header), Some(claims), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return TokenClaims::Opaque;
    };
    // Other tokens have dots too. However an object is encoded, it is one: its claims are looked into.
    let alike = header.replace('+', "-").replace('/', "_");
    let first = ANYHOW.decode(alike);
    let is_object = first.is_ok_and(|it| it.trim_ascii_start().starts_with(b"{"));
    if !is_object && !header.starts_with("eyJ") {
        return TokenClaims::Opaque;
    }
    decoded(claims).map_or(TokenClaims::Unreadable, TokenClaims::Json)
}

/// The claims that a token shows.
pub enum TokenClaims {
    /// It is none that shows any.
    Opaque,
    /// It should show some.
    Unreadable,
    Json(Vec<u8>),
}

impl fmt::Debug for TokenClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenClaims")
    }
}

/// The words of a header's value, such as `Bearer` and a token.
pub fn words(secret: &SecretString) -> impl Iterator<Item = SecretString> {
    text(secret).split(' ').map(SecretString::from)
}

/// `None` if no header can hold it.
pub fn header(before: &str, secret: &SecretString) -> Option<HeaderValue> {
    sensitive(format!("{before}{}", text(secret)))
}

/// HTTP basic authentication. Each part is encoded as in a form before they are joined (RFC 6749,
/// section 2.3.1).
pub fn basic(id: &str, secret: &SecretString) -> Option<HeaderValue> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let joined = format!("{}:{}", encoded(id), encoded(text(secret)));
    sensitive(format!("Basic {}", BASE64_STANDARD.encode(joined)))
}

pub fn append(form: &mut Serializer<'_, String>, name: &str, secret: &SecretString) {
    form.append_pair(name, text(secret));
}

/// The value of an environment variable.
pub fn variable(secret: &SecretString) -> OsString {
    OsString::from(text(secret))
}

/// As a file of secrets has it.
pub fn written(secret: &SecretString, quote: impl Fn(&str) -> String) -> String {
    quote(text(secret))
}

/// The forms in which redaction looks for the secret: its text, and what each encoding makes of that.
pub fn patterns(secret: &SecretString, encodings: &[fn(&str) -> String]) -> BTreeSet<String> {
    let text = text(secret);
    let encoded = encodings.iter().map(|encoding| encoding(text));
    encoded.chain([text.to_owned()]).collect()
}

/// The line with the mark in place of the secret and, if the line was cut, of a beginning of the
/// secret at its end.
pub fn without(line: &str, is_cut: bool, secret: &SecretString, mark: &str) -> String {
    let secret = text(secret);
    let mut line = line.replace(secret, mark);
    let begun = secret
        .char_indices()
        .rev()
        .filter_map(|(end, _)| secret.get(..end))
        .find(|start| is_cut && !start.is_empty() && line.ends_with(start));
    if let Some(start) = begun {
        line.truncate(line.len().saturating_sub(start.len()));
        line.push_str(mark);
    }
    line
}

fn sensitive(value: String) -> Option<HeaderValue> {
    let mut header = HeaderValue::try_from(value).ok()?;
    header.set_sensitive(true);
    Some(header)
}

fn text(secret: &SecretString) -> &str {
    secret.expose_secret()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_a_colon_cannot_take_the_place_of_a_secret() {
        let header = basic("a:b c", &"p%:w\u{f6}".into()).unwrap();
        let text = header.to_str().unwrap().strip_prefix("Basic ").unwrap();
        let text = BASE64_STANDARD.decode(text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "a%3Ab+c:p%25%3Aw%C3%B6");
        assert!(header.is_sensitive());
    }

    #[test]
    fn a_line_shows_neither_a_secret_nor_the_beginning_that_a_cut_leaves() {
        let check = |line: &str, is_cut: bool, expected: &str| {
            assert_eq!(
                without(line, is_cut, &"s3cr3t".into(), "[x]"),
                expected,
                "{line}"
            );
        };
        check("a s3cr3t, s3cr3t", false, "a [x], [x]");
        check("a s3cr", true, "a [x]");
        check("a s3cr", false, "a s3cr");
        check("a", true, "a");
    }

    #[test]
    fn only_equal_secrets_are_the_same() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(
                are_same(&one.into(), &other.into()),
                expected,
                "{one} {other}"
            );
        };
        check("s3cr3t", "s3cr3t", true);
        check("s3cr3t", "s3cr3T", false);
        check("s3cr3t", "s3cr3t1", false);
        check("", "", true);
    }
}
