//! Destinations beside the record of truth.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::sink::{Lane, Sync};

/// A destination that gets every line of the log that it can take, as the file has it: redacted and cut.
///
/// It has a thread and a bounded queue of its own. It may be as slow as it likes: no call waits for it, and
/// one `audit_gap` takes the place of lines that found no room.
pub trait Follower: Send + fmt::Debug {
    /// For messages: `the syslog server ...`
    fn name(&self) -> Arc<str>;

    /// Bytes of the longest line that it takes, with its line feed; an `audit_gap` takes the place of a
    /// longer one.
    fn longest_line(&self) -> usize {
        usize::MAX
    }

    /// How long lines are gathered at least, where each delivery is dear.
    fn gathers_for(&self) -> Duration {
        Duration::ZERO
    }

    /// Brings whole lines there. After an error the same lines have to be given again, and go on after the
    /// last one that was taken. Must return within about a second, or the thread outlives the log.
    ///
    /// # Errors
    /// The destination does not take lines now.
    fn deliver(&mut self, lines: &[u8]) -> io::Result<()>;
}

/// A sink that follows, such as a standard stream.
#[derive(Debug)]
pub(super) struct SinkFollower(pub(super) Lane);

impl Follower for SinkFollower {
    fn name(&self) -> Arc<str> {
        self.0.name()
    }

    fn deliver(&mut self, lines: &[u8]) -> io::Result<()> {
        self.0.deliver(lines, Sync::NotWanted)?;
        self.0.next();
        Ok(())
    }
}
