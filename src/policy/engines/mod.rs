//! The engines. A new one is one file here and one line below.

pub mod allowlist;
pub mod cedar;
#[cfg(feature = "cel")]
pub mod cel;
#[cfg(any(test, not(all(feature = "cel", feature = "rego"))))]
pub mod disabled;
#[cfg(any(feature = "cel", feature = "rego"))]
mod document;
mod files;
mod open_rule;
mod open_rules;
#[cfg(feature = "rego")]
pub mod rego;
mod stack;

pub use files::{is_cel, is_rego, is_rego_or_cel};
pub use open_rule::OpenRule;
pub use open_rules::open_permits;

#[cfg(all(feature = "cel", feature = "rego"))]
#[cfg(test)]
mod tests;
