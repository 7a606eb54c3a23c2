//! What is kept of sessions beyond their conversations, and where: what they have read, which only rises,
//! the calls of their budgets, and that they have ended.
//!
//! A session that nobody can come back to keeps it itself. What outlives a session, or is common to
//! several, stands in a [`SessionStore`] under a [`SessionKey`]. What is kept so, and what is not:
//! `docs/decisions/0023-session-store.md`.

mod answer;
mod batch;
mod budget;
mod disk;
mod file;
mod journal;
mod key;
mod key_file;
mod memory;
#[cfg(test)]
mod oracle;
mod private_files;
mod room;
mod seal;
mod store;
#[cfg(test)]
mod tampering;
mod writer;

pub use answer::{Answer, StoreFault};
pub use budget::{Budget, Calls, Rest};
pub use disk::OnDisk;
pub use journal::JournalError;
pub use key::{SessionKey, Whose};
pub use memory::InMemory;
pub use store::{Counted, Kept, Places, Raised, Room, SessionStore};
