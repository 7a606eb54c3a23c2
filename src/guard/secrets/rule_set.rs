//! All rules that a text is searched by.

use std::fmt;

use super::compiled::CompiledSecretRule;
use super::members::SecretMembers;
use super::probes::AllCaches;
use crate::guard::keywords::Keywords;

/// Secrets that are told apart in one text. From the last of them on all of the text is one.
pub(super) const MOST_FINDINGS: usize = 4096;

/// What counts as a secret.
pub struct SecretRules {
    /// Those of authors come first: of several rules for one secret the first names it.
    pub(super) compiled: Vec<CompiledSecretRule>,
    pub(super) keywords: Keywords,
    pub(super) caches: AllCaches,
    pub(super) members: SecretMembers,
}

impl fmt::Debug for SecretRules {
    // Patterns of authors may hold what they look for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("rules", &self.compiled.len())
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}
