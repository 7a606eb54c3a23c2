//! How many files a process may have open at once.
//!
//! Systems grant programs few at first (1,024 in most), for those that cannot handle numbers above that,
//! and many to those that ask. A gate asks, since each connection and each server takes some; a server
//! is started with what the gate was started with, for it may be one that cannot.

#[cfg(unix)]
use std::sync::OnceLock;

#[cfg(unix)]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What this process was started with, if it has asked for more.
#[cfg(unix)]
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Asks for as many as the system grants, and tells how many that are; none where there is no limit.
///
/// Call it before servers are started.
#[cfg(unix)]
pub fn ask_for_all() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if limit.current == limit.maximum {
        return limit.current;
    }
    match setrlimit(Resource::Nofile, all) {
        Ok(()) => {
            if let Some(before) = limit.current {
                BEFORE.get_or_init(|| before);
            }
            limit.maximum
        }
        // Some systems grant less than they say.
        Err(_) => limit.current,
    }
}

/// What servers are to be started with, if it is not what this process has.
#[cfg(unix)]
pub(super) fn before() -> Option<u64> {
    BEFORE.get().copied()
}

/// Goes back to what the gate was started with.
#[cfg(unix)]
pub fn give_back(before: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(before);
    // A server with more than it needs is none that could not be started.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// There is no limit that could be changed.
#[cfg(not(unix))]
pub fn ask_for_all() -> Option<u64> {
    None
}

#[cfg(not(unix))]
pub(super) fn before() -> Option<u64> {
    None
}
