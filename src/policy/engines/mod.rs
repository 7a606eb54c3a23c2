//! The engines. A new one is one file here and one line below.

pub mod allowlist;
pub mod cedar;
pub mod cel;
mod document;
pub mod rego;
mod stack;

#[cfg(test)]
mod tests;
