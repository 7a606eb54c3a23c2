//! Digests of arguments, under a key: without it, guessed arguments cannot be compared with a digest.

use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use ring::hmac;
use secrecy::zeroize::Zeroizing;

use super::checkpoint::{KeyError, read_secret};

/// Bytes of a key that the gate makes, and the fewest of one that it reads.
const KEY_BYTES: usize = 32;

/// The name of the algorithm before each digest.
const ALGORITHM: &str = "hmac-sha256:";

/// The key of the digests in a log.
#[derive(Clone)]
pub struct DigestKey(Arc<hmac::Key>);

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigestKey").finish_non_exhaustive()
    }
}

impl DigestKey {
    /// A key of this run of the gate alone.
    ///
    /// # Errors
    /// [`KeyError::NoRandomBytes`] if the system has none.
    pub fn random() -> Result<Self, KeyError> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(&mut *bytes).map_err(|_| KeyError::NoRandomBytes)?;
        Ok(Self::of_bytes(&*bytes))
    }

    /// The bytes of a file, such as `head -c 32 /dev/urandom` gives.
    ///
    /// # Errors
    /// [`KeyError`] for a file that cannot be read, that other users can read, or that is too short.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let bytes = read_secret(path)?;
        if bytes.len() < KEY_BYTES {
            return Err(KeyError::TooShort);
        }
        Ok(Self::of_bytes(&bytes))
    }

    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// The algorithm's name and the digest in hexadecimal.
    pub fn digest(&self, text: &str) -> String {
        let tag = hmac::sign(&self.0, text.as_bytes());
        let mut digest = String::with_capacity(ALGORITHM.len() + 64);
        digest.push_str(ALGORITHM);
        let (parts, _) = tag.as_ref().as_chunks();
        for part in parts {
            // Writing to a string cannot fail.
            let _ = write!(digest, "{:016x}", u64::from_be_bytes(*part));
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::write_private;
    use super::*;

    #[test]
    fn a_digest_is_that_of_rfc_4231_and_differs_with_the_key() {
        // Test case 2.
        let key = DigestKey::of_bytes(b"Jefe");
        assert_eq!(
            key.digest("what do ya want for nothing?"),
            "hmac-sha256:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let (one, other) = (DigestKey::random().unwrap(), DigestKey::random().unwrap());
        assert_eq!(one.digest("{}"), one.clone().digest("{}"));
        assert_ne!(one.digest("{}"), other.digest("{}"));
        assert_eq!(format!("{one:?}"), "DigestKey { .. }");
    }

    #[test]
    fn a_key_of_a_file_is_the_same_after_a_restart_and_has_at_least_32_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("digest.key");
        write_private(&path, &[7; 31]);
        assert!(matches!(DigestKey::read(&path), Err(KeyError::TooShort)));
        write_private(&path, &[7; 32]);
        let digest = || DigestKey::read(&path).unwrap().digest("{}");
        assert_eq!(digest(), digest());
        assert_eq!(digest(), DigestKey::of_bytes(&[7; 32]).digest("{}"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let open = std::fs::Permissions::from_mode(0o604);
            std::fs::set_permissions(&path, open).unwrap();
            assert!(matches!(DigestKey::read(&path), Err(KeyError::NotSecret)));
        }
    }
}
