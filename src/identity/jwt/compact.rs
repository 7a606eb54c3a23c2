//! The compact form of a signed token (RFC 7515 §7.1).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::wire::{Document, Limits, Value};

/// A token that was read and not believed yet.
#[derive(Debug)]
pub(super) struct CompactToken<'t> {
    signed: &'t str,
    signature: Vec<u8>,
    algorithm: String,
    key_id: Option<String>,
    claims: Document,
}

/// The longest name of a key, in bytes.
const MAX_KEY_ID: usize = 256;

const LIMITS: Limits = Limits {
    max_bytes: 16 * 1024,
    max_depth: 8,
    max_nodes: 4096,
};

impl<'t> CompactToken<'t> {
    /// Reads the three parts; an error says what is wrong without a word of the token.
    pub(super) fn read(token: &'t str) -> Result<Self, &'static str> {
        let (signed, signature) = token.rsplit_once('.').ok_or("it has not three parts")?;
        let (header, claims) = signed.split_once('.').ok_or("it has not three parts")?;
        if claims.contains('.') {
            return Err("it has not three parts");
        }
        let header = object(header).ok_or("its header cannot be read")?;
        let root = header.root();
        let text = |key: &str| root.get(key).map(Value::as_str);
        // RFC 7515 §4.1.11: what must be understood and is not, is refused.
        if root.get("crit").is_some() {
            return Err("it asks for an extension");
        }
        match text("typ") {
            None => {}
            Some(Some(kind)) if is_token(&kind) => {}
            Some(_) => return Err("it is of another type"),
        }
        let key_id = match text("kid") {
            None => None,
            Some(Some(name)) if name.len() <= MAX_KEY_ID => Some(name.into_owned()),
            Some(_) => return Err("its key has no proper name"),
        };
        let Some(Some(algorithm)) = text("alg") else {
            return Err("it names no algorithm");
        };
        Ok(Self {
            signed,
            signature: decode(signature).ok_or("its signature cannot be read")?,
            algorithm: algorithm.into_owned(),
            key_id,
            claims: object(claims).ok_or("its claims cannot be read")?,
        })
    }

    pub(super) fn algorithm(&self) -> &str {
        &self.algorithm
    }

    pub(super) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    pub(super) fn claims(&self) -> Value<'_> {
        self.claims.root()
    }

    /// What was signed.
    pub(super) fn signed(&self) -> &[u8] {
        self.signed.as_bytes()
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }
}

/// RFC 7519 §5.1 and RFC 9068 §2.1, in any case.
fn is_token(kind: &str) -> bool {
    ["jwt", "at+jwt", "application/at+jwt"]
        .iter()
        .any(|known| kind.eq_ignore_ascii_case(known))
}

/// RFC 7515 §2: base64url without padding; bits beyond the end are zero.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

fn object(text: &str) -> Option<Document> {
    let document = Document::decode(&decode(text)?, &LIMITS).ok()?;
    document.root().is_object().then_some(document)
}
