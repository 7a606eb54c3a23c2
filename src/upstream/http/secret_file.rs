//! A file that holds one secret and nothing else.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

use super::conceal::TooShort;

/// Bytes of such a file. A JWT has hundreds.
pub(super) const MAX_SECRET: usize = 64 * 1024;

/// Why a file gives no secret; quotes nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretFault {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("takes too long to be read")]
    Late,
    #[error("holds no bearer token (RFC 6750, section 2.1)")]
    NoToken,
    #[error("is empty, or longer than {MAX_SECRET} bytes")]
    NoSecret,
    #[error("{0}; use a longer one")]
    Short(#[from] TooShort),
}

/// What stands in the file but for white space round it.
pub(super) fn read(path: &Path) -> Result<SecretString, SecretFault> {
    let unreadable = |error: std::io::Error| SecretFault::Unreadable(error.to_string());
    let most = u64::try_from(MAX_SECRET).unwrap_or(u64::MAX);
    let file = File::open(path).map_err(unreadable)?;
    // Room for all of it beforehand: a buffer that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(MAX_SECRET.saturating_add(2)));
    file.take(most.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let secret = text.trim();
    if secret.is_empty() || text.len() > MAX_SECRET {
        return Err(SecretFault::NoSecret);
    }
    Ok(SecretString::from(secret))
}
