//! The engines. A new one is one file here and one line below.

#[cfg(any(test, not(all(feature = "cel", feature = "rego"))))]
pub mod absent;
pub mod allowlist;
pub mod cedar;
#[cfg(feature = "cel")]
pub mod cel;
#[cfg(any(feature = "cel", feature = "rego"))]
mod document;
mod files;
mod open;
#[cfg(feature = "rego")]
pub mod rego;
mod stack;

pub use files::{is_cel, is_rego, is_rego_or_cel};
pub use open::{OpenRule, open_permits};

#[cfg(all(feature = "cel", feature = "rego"))]
#[cfg(test)]
mod tests;
