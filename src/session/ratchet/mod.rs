//! What sessions have read: a state that only rises, and where it is kept.
//!
//! A session that nobody can come back to keeps it itself. What outlives a session, or is common to
//! several, stands in a [`RatchetStore`] under a [`RatchetKey`].

mod disk;
mod journal;
mod key;
mod memory;
#[cfg(test)]
mod oracle;
mod store;

pub use disk::OnDisk;
pub use journal::JournalError;
pub use key::{RatchetKey, Whose};
pub use memory::InMemory;
pub use store::{Answer, Raised, RatchetStore, StoreFault};
