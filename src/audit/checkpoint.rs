//! Signed checkpoints. A signature over the hash of the line before covers each line before it.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use secrecy::zeroize::Zeroizing;
use sha2::{Digest as _, Sha256};

use super::chain::LineHash;

/// Bytes of the longest key file.
const LONGEST_FILE: u64 = 16 << 10;

/// The bytes of a public key's DER form before the key itself (RFC 8410).
const PUBLIC_PREFIX: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// The place of a checkpoint in the log, which it signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CheckpointPlace<'l> {
    pub(super) instance: &'l str,
    pub(super) seq: u64,
    pub(super) timestamp: &'l str,
    /// The hash of the line before.
    pub(super) prev: LineHash,
}

impl CheckpointPlace<'_> {
    /// The header and payload of a JSON Web Signature in compact form.
    fn signing_input(&self, key_id: &str) -> String {
        let Self {
            instance,
            seq,
            timestamp,
            prev,
        } = self;
        let header = format!(r#"{{"alg":"EdDSA","kid":"{key_id}"}}"#);
        let payload = format!(
            r#"{{"instance":"{instance}","seq":{seq},"timestamp":"{timestamp}","prev":"{prev}"}}"#
        );
        let mut input = BASE64_URL_SAFE_NO_PAD.encode(header);
        input.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(payload, &mut input);
        input
    }
}

/// The private key that signs checkpoints.
pub(super) struct SigningKey {
    pair: Ed25519KeyPair,
    id: String,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a key in PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` writes it.
    pub(super) fn read(path: &Path) -> Result<Self, KeyError> {
        let text = read_secret(path)?;
        let der = PrivatePkcs8KeyDer::from_pem_slice(&text).map_err(|_| KeyError::NoPrivateKey)?;
        // `openssl` leaves out the public key, which is no part of what is signed.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der())
            .map_err(|_| KeyError::NoPrivateKey)?;
        let id = key_id(pair.public_key().as_ref());
        Ok(Self { pair, id })
    }

    /// The JSON Web Signature of a checkpoint, in compact form.
    pub(super) fn sign(&self, place: &CheckpointPlace<'_>) -> String {
        let mut token = place.signing_input(&self.id);
        let signature = self.pair.sign(token.as_bytes());
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        token
    }
}

/// Whether a file has a key that can sign checkpoints.
///
/// # Errors
/// [`KeyError`] if it has none.
pub fn check_signing_key(path: &Path) -> Result<(), KeyError> {
    SigningKey::read(path).map(drop)
}

/// A public key that checks checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    bytes: Vec<u8>,
    id: String,
}

impl VerifyingKey {
    /// Reads a key in PEM, as `openssl pkey -pubout` writes it.
    ///
    /// # Errors
    /// [`KeyError`] for a file that cannot be read or has no such key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = read(open(path)?)?;
        let der =
            SubjectPublicKeyInfoDer::from_pem_slice(&text).map_err(|_| KeyError::NoPublicKey)?;
        let bytes = der.strip_prefix(PUBLIC_PREFIX);
        let bytes = bytes.filter(|key| key.len() == 32);
        let bytes = bytes.ok_or(KeyError::NoPublicKey)?;
        Ok(Self {
            bytes: bytes.to_vec(),
            id: key_id(bytes),
        })
    }

    /// Whether this key signed a checkpoint at this place.
    pub(super) fn has_signed(&self, token: &str, place: &CheckpointPlace<'_>) -> bool {
        let Some((input, signature)) = token.rsplit_once('.') else {
            return false;
        };
        let Ok(signature) = BASE64_URL_SAFE_NO_PAD.decode(signature) else {
            return false;
        };
        let key = UnparsedPublicKey::new(&ED25519, &self.bytes);
        input == place.signing_input(&self.id) && key.verify(input.as_bytes(), &signature).is_ok()
    }
}

/// A key file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot be read: {0}")]
    Read(io::Error),
    #[error("is not a regular file")]
    NotAFile,
    #[error("is larger than {LONGEST_FILE} bytes")]
    TooLarge,
    #[error("has fewer than 32 bytes")]
    TooShort,
    #[error("cannot be made: the system has no random bytes")]
    NoRandomBytes,
    #[error("can be read or written by other users: remove their access (`chmod 600`)")]
    NotSecret,
    #[error("has no Ed25519 private key in PEM: `openssl genpkey -algorithm ed25519` makes one")]
    NoPrivateKey,
    #[error(
        "has no Ed25519 public key in PEM: `openssl pkey -pubout` writes that of a private key"
    )]
    NoPublicKey,
}

/// Reads a file that no other user can read.
pub(super) fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let file = open(path)?;
    check_owner_only(&file)?;
    read(file)
}

/// Opens a regular file, perhaps behind links. A FIFO is not waited for.
fn open(path: &Path) -> Result<File, KeyError> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
    }
    let file = options.open(path).map_err(KeyError::Read)?;
    if file.metadata().map_err(KeyError::Read)?.is_file() {
        Ok(file)
    } else {
        Err(KeyError::NotAFile)
    }
}

fn read(file: File) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let mut text = Zeroizing::new(Vec::new());
    let mut file = file.take(LONGEST_FILE + 1);
    file.read_to_end(&mut text).map_err(KeyError::Read)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(KeyError::TooLarge);
    }
    Ok(text)
}

/// The first 64 bits of the key's SHA-256.
fn key_id(public: &[u8]) -> String {
    let mut id = String::new();
    for byte in Sha256::digest(public).iter().take(8) {
        // A string takes all that is written.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

#[cfg(unix)]
fn check_owner_only(file: &File) -> Result<(), KeyError> {
    use std::os::unix::fs::MetadataExt;
    let mode = file.metadata().map_err(KeyError::Read)?.mode();
    if mode & 0o077 != 0 {
        return Err(KeyError::NotSecret);
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner_only(_: &File) -> Result<(), KeyError> {
    Ok(())
}

/// A pair of keys in files, as `openssl` writes them.
#[cfg(test)]
pub(crate) struct KeyFiles {
    directory: std::path::PathBuf,
    _own: Option<tempfile::TempDir>,
}

#[cfg(test)]
impl KeyFiles {
    pub(crate) fn new() -> Self {
        let own = tempfile::tempdir().unwrap();
        let files = Self::new_in(own.path());
        Self {
            _own: Some(own),
            ..files
        }
    }

    pub(crate) fn new_in(directory: &Path) -> Self {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let files = Self::at(directory);
        write_private(&files.private(), pair.serialize_pem().as_bytes());
        std::fs::write(files.public(), pair.public_key_pem()).unwrap();
        files
    }

    /// Those that are there.
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            _own: None,
        }
    }

    pub(crate) fn private(&self) -> std::path::PathBuf {
        self.directory.join("audit.pem")
    }

    pub(crate) fn public(&self) -> std::path::PathBuf {
        self.directory.join("audit.pub.pem")
    }

    pub(super) fn read(&self) -> (SigningKey, VerifyingKey) {
        let signing = SigningKey::read(&self.private()).unwrap();
        (signing, VerifyingKey::read(&self.public()).unwrap())
    }
}

#[cfg(test)]
pub(super) fn write_private(path: &Path, text: &[u8]) {
    use std::io::Write as _;
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).unwrap().write_all(text).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: CheckpointPlace<'_> = CheckpointPlace {
        instance: "00000000000000a1",
        seq: 7,
        timestamp: "1970-01-01T00:00:00.000000Z",
        prev: LineHash::START,
    };

    #[test]
    fn a_checkpoint_is_a_web_signature_of_its_place() {
        let (signing, verifying) = KeyFiles::new().read();
        let token = signing.sign(&PLACE);
        assert!(verifying.has_signed(&token, &PLACE));
        let parts: Vec<_> = token.split('.').collect();
        let decoded = |part: &str| {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let id = &verifying.id;
        let zeros = "0".repeat(64);
        assert_eq!(
            decoded(parts[0]),
            format!(r#"{{"alg":"EdDSA","kid":"{id}"}}"#)
        );
        assert_eq!(
            decoded(parts[1]),
            format!(
                r#"{{"instance":"00000000000000a1","seq":7,"timestamp":"1970-01-01T00:00:00.000000Z","prev":"{zeros}"}}"#
            )
        );
        for other in [
            CheckpointPlace {
                instance: "00000000000000a2",
                ..PLACE
            },
            CheckpointPlace { seq: 8, ..PLACE },
            CheckpointPlace {
                timestamp: "1970-01-01T00:00:00.000001Z",
                ..PLACE
            },
            CheckpointPlace {
                prev: LineHash::of(b"other"),
                ..PLACE
            },
        ] {
            assert!(!verifying.has_signed(&token, &other), "{other:?}");
        }
        let (other, _) = KeyFiles::new().read();
        assert!(!verifying.has_signed(&other.sign(&PLACE), &PLACE));
    }

    #[test]
    fn a_key_file_that_cannot_be_used_says_why() {
        let files = KeyFiles::new();
        let rsa_like = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
        let check = |path: &Path, text: &[u8], expected: &str| {
            write_private(path, text);
            let private = SigningKey::read(path).map(drop);
            let public = VerifyingKey::read(path).map(drop);
            let told = format!("{} / {}", private.unwrap_err(), public.unwrap_err());
            assert_eq!(told.matches(expected).count(), 2, "{told}");
        };
        let path = files.directory.join("wrong.pem");
        check(&path, b"", "in PEM");
        check(&path, b"\xff\x00", "in PEM");
        check(&path, rsa_like.as_bytes(), "in PEM");
        check(
            &path,
            &"a".repeat(20_000).into_bytes(),
            "is larger than 16384 bytes",
        );
        let missing = files.directory.join("missing");
        let error = SigningKey::read(&missing).unwrap_err().to_string();
        assert!(error.starts_with("cannot be read: "), "{error}");
        // A public key signs nothing, and a private one is for the gate alone.
        SigningKey::read(&files.public()).unwrap_err();
        VerifyingKey::read(&files.private()).unwrap_err();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let fifo = files.directory.join("fifo");
            let made = std::process::Command::new("mkfifo").arg(&fifo).status();
            assert!(made.unwrap().success());
            for error in [
                SigningKey::read(&fifo).map(drop).unwrap_err(),
                VerifyingKey::read(&fifo).map(drop).unwrap_err(),
            ] {
                assert!(matches!(error, KeyError::NotAFile), "{error}");
            }
            let open = std::fs::Permissions::from_mode(0o640);
            std::fs::set_permissions(files.private(), open).unwrap();
            let error = SigningKey::read(&files.private()).unwrap_err();
            assert!(matches!(error, KeyError::NotSecret), "{error}");
        }
        let shown = format!("{:?}", KeyFiles::new().read().0);
        assert!(
            shown.starts_with("SigningKey { id: ") && shown.len() < 50,
            "{shown}"
        );
    }
}
