//! A rule as its author writes it.

use std::fmt;

/// A kind of secret that an author adds to those built in.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretRule {
    /// Stands in place of the secret: 1 to 64 lower-case letters, digits and hyphens.
    pub id: String,
    /// The pattern is tried only where one of these stands, in whatever case (ASCII). Each has at
    /// least three bytes.
    pub keywords: Vec<String>,
    /// What is to be found, in the syntax of the `regex` crate. The secret is the group `secret`,
    /// or all of the match. Looked at are 256 bytes before a keyword and 2 KiB after it.
    pub pattern: String,
    /// The least entropy of the secret (Shannon), in tenths of a bit per byte. Random hexadecimal
    /// digits have about 35, random letters and digits about 45, English words below 30.
    pub min_entropy: Option<u8>,
}

impl fmt::Debug for SecretRule {
    // A pattern may hold what it looks for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Entropy as [`SecretRule`] has it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is from 0 to 8, as was checked"
)]
pub fn tenths(bits: f64) -> u8 {
    (bits * 10.0).round() as u8
}
