//! What holds for every token, and every set of keys. Also what the fuzz target `token` asks for.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::compact::CompactToken;
use super::keyset::{Algorithm, KeySet};

/// A set of keys, a zero, and a token: it ends, and the gate trusts no unsigned token.
#[track_caller]
pub(super) fn laws(input: &[u8]) {
    let split = input.iter().position(|byte| *byte == 0);
    let (keys, token) = input.split_at(split.unwrap_or(input.len()));
    let text = String::from_utf8_lossy(token.strip_prefix(&[0]).unwrap_or_default());
    read(&text, KeySet::read(keys).as_ref());
    // The parts in the clear, which a fuzzer finds more in.
    let parts = text
        .splitn(3, '.')
        .map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
    let token = parts.collect::<Vec<_>>().join(".");
    read(&token, KeySet::read(keys).as_ref());
}

#[track_caller]
fn read(text: &str, keys: Option<&KeySet>) {
    let Ok(token) = CompactToken::read(text) else {
        return;
    };
    assert_eq!(text.matches('.').count(), 2, "{text:?}");
    assert!(token.claims().is_object(), "{text:?}");
    assert!(text.as_bytes().starts_with(token.signed()));
    for algorithm in Algorithm::ALL {
        let believed = keys.is_some_and(|keys| keys.verify(algorithm, None, &token));
        assert!(!believed, "{text:?}");
    }
}
