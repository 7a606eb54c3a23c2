//! The engines. A new one is one file here and one line below.

pub mod allowlist;
pub mod cedar;
pub mod cel;
mod comments;
mod document;
mod open;
pub mod rego;
mod stack;

pub use comments::comments;
pub use open::{OpenRule, open_permits};

#[cfg(test)]
mod tests;
