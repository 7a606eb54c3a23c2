//! Assertions by which a server knows the agent of a message: JSON Web Tokens (RFC 7519) that the
//! gate signs, short-lived and for this server alone.
//!
//! They say the principal, its roles and its session, and nothing else of what the gate knows.

mod issuer;
mod voucher;

#[cfg(test)]
mod tests;

pub use issuer::{Issuer, SigningError, User};
pub use voucher::Voucher;
