//! The engines. A new one is one file here and one line below.

pub mod allowlist;
pub mod cedar;
pub mod cel;
mod document;
mod open;
pub mod rego;
mod stack;

pub use open::{OpenRule, open_permits};

/// Whether a file holds rules in Rego or CEL, which are judged as a whole.
pub fn is_rego_or_cel(file: &str) -> bool {
    rego::is_file(file) || cel::is_file(file)
}

#[cfg(test)]
mod tests;
