//! The engines. A new one is one file here and one line below.

pub mod allowlist;
pub mod cedar;
pub mod cel;
mod comments;
mod document;
pub mod rego;
mod stack;

pub use comments::comments;

#[cfg(test)]
mod tests;
