//! What sessions have read: a state that only rises, and where it is kept.
//!
//! A session that nobody can come back to keeps it itself. What outlives a session, or is common to
//! several, stands in a [`RatchetStore`] under a [`RatchetKey`].

mod key;
mod memory;
mod store;

pub use key::{RatchetKey, Whose};
pub use memory::InMemory;
pub use store::{Answer, Raised, RatchetStore, StoreFault};
