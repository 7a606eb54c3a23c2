//! Who must know a secret before it is sent.

use std::fmt;

use secrecy::SecretString;

/// Keeps secrets out of what others see, from when they are told.
pub trait Conceal: fmt::Debug + Send + Sync {
    /// Told of each secret that was read or fetched, before it is first sent.
    ///
    /// # Errors
    ///
    /// It cannot be told from ordinary text; then it is not sent.
    fn conceal(&self, secret: &SecretString) -> Result<(), TooShort>;
}

/// A secret that is part of so much other text that nobody could keep it out of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is too short to be told from ordinary text")]
pub struct TooShort;

/// For a client whose messages nobody else sees.
#[derive(Debug)]
pub(super) struct Nobody;

impl Conceal for Nobody {
    fn conceal(&self, _: &SecretString) -> Result<(), TooShort> {
        Ok(())
    }
}
