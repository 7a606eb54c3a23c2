//! Public keys of an issuer (RFC 7517), each good for one algorithm.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

use crate::wire::{Document, Limits, Value};

use super::compact::{CompactToken, decode};

/// A way to sign (RFC 7518 §3.1, RFC 8037 §3.1). There are no others: no secrets shared with the
/// issuer, and not `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// RSA (PKCS #1 v1.5) with SHA-256, keys of 2048 to 8192 bits.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// EdDSA on Curve25519.
    EdDsa,
}

/// Keys of a kind and length that are known here; the others of the set are left out.
#[derive(Debug)]
pub(super) struct KeySet(Vec<VerificationKey>);

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    public: PublicKey,
}

#[derive(Debug)]
enum PublicKey {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The most keys of a set that are looked at.
const MAX_KEYS: usize = 64;

const LIMITS: Limits = Limits {
    max_bytes: 1024 * 1024,
    max_depth: 8,
    max_nodes: 10_000,
};

impl Algorithm {
    pub const ALL: [Self; 3] = [Self::Rs256, Self::Es256, Self::EdDsa];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// By its registered name; names have one case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

impl KeySet {
    /// Reads a JWK Set. None if it is none, or has no key that is good for anything here.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let document = Document::decode(text, &LIMITS).ok()?;
        let keys = document.root().get("keys")?;
        let keys: Vec<VerificationKey> = keys
            .items()
            .take(MAX_KEYS)
            .filter_map(VerificationKey::read)
            .collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    pub(super) fn holds(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        self.candidates(algorithm, id).next().is_some()
    }

    /// Whether a key with this name, or any if there is no name, has signed the token.
    pub(super) fn verify(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
        token: &CompactToken<'_>,
    ) -> bool {
        self.candidates(algorithm, id)
            .any(|key| key.public.verify(token.signed(), token.signature()))
    }

    fn candidates<'s>(
        &'s self,
        algorithm: Algorithm,
        id: Option<&'s str>,
    ) -> impl Iterator<Item = &'s VerificationKey> {
        self.0
            .iter()
            .filter(move |key| key.public.algorithm() == algorithm)
            .filter(move |key| id.is_none_or(|id| key.id.as_deref() == Some(id)))
    }
}

impl VerificationKey {
    fn read(key: Value<'_>) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name: &str| text(name).and_then(|text| decode(&text));
        // RFC 7517 §4.2 and §4.3: a key for something else is none for us.
        let used = key
            .get("use")
            .is_none_or(|used| used.as_str().as_deref() == Some("sig"));
        let verifies = key.get("key_ops").is_none_or(|ops| {
            ops.items()
                .any(|op| op.as_str().as_deref() == Some("verify"))
        });
        let curve = text("crv");
        let public = match (&*text("kty")?, curve.as_deref()) {
            ("RSA", _) => PublicKey::rsa(bytes("n")?, bytes("e")?)?,
            ("EC", Some("P-256")) => PublicKey::p256(&bytes("x")?, &bytes("y")?)?,
            ("OKP", Some("Ed25519")) => PublicKey::ed25519(bytes("x")?)?,
            _ => return None,
        };
        let alone = key
            .get("alg")
            .is_none_or(|alg| alg.as_str().as_deref() == Some(public.algorithm().name()));
        let id = text("kid").map(std::borrow::Cow::into_owned);
        (used && verifies && alone).then_some(Self { id, public })
    }
}

impl PublicKey {
    fn rsa(n: Vec<u8>, e: Vec<u8>) -> Option<Self> {
        let good = (256..=1024).contains(&n.len()) && (1..=8).contains(&e.len());
        good.then_some(Self::Rsa { n, e })
    }

    /// The point without compression (SEC 1 §2.3.3).
    fn p256(x: &[u8], y: &[u8]) -> Option<Self> {
        (x.len() == 32 && y.len() == 32).then(|| Self::P256([&[4], x, y].concat()))
    }

    fn ed25519(x: Vec<u8>) -> Option<Self> {
        (x.len() == 32).then_some(Self::Ed25519(x))
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    fn verify(&self, signed: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                signed,
                signature,
            ),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature)
            }
        };
        verified.is_ok()
    }
}
