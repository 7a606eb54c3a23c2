//! What is found and what is not.

mod around;
mod authors;
mod benign;
mod corpus;
mod effort;
mod laws;
mod oracle;
mod pairs;
mod places;
mod recall;
mod seeds;

use std::sync::LazyLock;

// The fuzz crate has it under this name.
use super::super::secrets;

use super::Rules;

/// Compiled once for all tests.
static BUILTIN: LazyLock<Rules> = LazyLock::new(Rules::builtin);
