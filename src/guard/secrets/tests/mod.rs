//! What is found and what is not.

mod around;
mod authors;
mod benign;
mod corpus;
mod cost;
mod laws;
mod oracle;
mod pairs;
mod positions;
mod recall;
mod seeds;

use std::sync::LazyLock;

// The fuzz crate has it under this name.
use super::super::secrets;

use super::SecretRules;

/// Compiled once for all tests.
static BUILTIN: LazyLock<SecretRules> = LazyLock::new(SecretRules::builtin);
