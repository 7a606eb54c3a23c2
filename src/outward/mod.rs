//! What the gate asks of others than its server: keys, metadata and tokens of authorization servers.
//!
//! A URL says where it comes from ([`Whence`]), and that says which addresses it may lead to. Answers
//! are bounded in bytes and time; redirects stay within their origin.

mod asker;
mod lookup;
mod whence;

pub use asker::{Answer, AskFault, Asker};
pub use lookup::{Found, Lookup};
pub use whence::{Private, Refused, Whence};
