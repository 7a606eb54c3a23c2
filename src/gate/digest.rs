//! Digests by which states and names are known again.

use std::fmt::Write as _;

use sha2::Digest as _;
use sha2::Sha256;

pub(super) type Digest = [u8; 32];

/// Parts cannot be shifted: each has its length before it.
pub(super) fn digest_of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hash.update(length.to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

pub(super) fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// The digest of a definition, as `tools.lock` says it.
pub(super) fn locked_digest(definition: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in digest(definition.as_bytes()) {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
