//! Which resources an agent follows, and which not any more (revisions before `2026-07-28`).
//!
//! A server may send updates for parts of a subscribed resource (MCP 2025-11-25,
//! `ResourceUpdatedNotification`), and only the server knows the parts. So while there is a subscription,
//! an update passes unless it is for a resource that was unsubscribed, or for one below it.

use std::collections::HashSet;

use crate::policy::canonical_uri;

/// Bytes of URIs that are kept of either kind.
const MOST: usize = 1 << 20;

/// The resources that one session follows.
#[derive(Debug, Default)]
pub struct Followed {
    uris: Uris,
    /// More were followed than are kept.
    is_more: bool,
    left: Uris,
    /// More were left than are kept: what is not known to be followed is not told.
    has_left_more: bool,
}

#[derive(Debug, Default)]
struct Uris {
    all: HashSet<Box<str>>,
    bytes: usize,
}

impl Followed {
    pub fn follow(&mut self, uri: &str) {
        let uri = spelled(uri);
        self.left.remove(&uri);
        self.is_more |= !self.uris.insert(&uri);
    }

    pub fn leave(&mut self, uri: &str) {
        let uri = spelled(uri);
        self.uris.remove(&uri);
        self.has_left_more |= !self.left.insert(&uri);
    }

    /// Whether the agent is to hear of a resource.
    pub fn hears_of(&self, uri: &str) -> bool {
        if self.uris.all.is_empty() && !self.is_more {
            return false;
        }
        let uri = spelled(uri);
        match (self.uris.closest(&uri), self.left.closest(&uri)) {
            (Some(followed), Some(left)) => followed >= left,
            (None, Some(_)) => false,
            (followed, None) => followed.is_some() || !self.has_left_more,
        }
    }
}

impl Uris {
    /// False if there is no room.
    fn insert(&mut self, uri: &str) -> bool {
        if self.all.contains(uri) {
            return true;
        }
        let bytes = self.bytes.saturating_add(uri.len());
        let has_room = bytes <= MOST;
        if has_room {
            self.bytes = bytes;
            self.all.insert(uri.into());
        }
        has_room
    }

    fn remove(&mut self, uri: &str) {
        if self.all.remove(uri) {
            self.bytes = self.bytes.saturating_sub(uri.len());
        }
    }

    /// The length of the longest of which this is a part.
    fn closest(&self, uri: &str) -> Option<usize> {
        let wholes = self.all.iter().filter(|whole| is_part(uri, whole));
        wholes.map(|whole| whole.len()).max()
    }
}

fn is_part(uri: &str, whole: &str) -> bool {
    let rest = uri.strip_prefix(whole);
    rest.is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

fn spelled(uri: &str) -> String {
    canonical_uri(uri).unwrap_or_else(|| uri.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_heard_of_no_more_and_nor_is_a_part_of_it() {
        let mut followed = Followed::default();
        assert!(!followed.hears_of("notes://a"));
        followed.follow("notes://a/x");
        followed.follow("notes://b");
        // What is a part of what is the server's business.
        for told in ["notes://a/x", "notes://a/x/1", "notes://b", "other:1"] {
            assert!(followed.hears_of(told), "{told}");
        }
        followed.leave("notes://a/x");
        for told in [
            "notes://a/x",
            "NOTES://A/x",
            "notes://a/x/1",
            "notes://a/x?y",
        ] {
            assert!(!followed.hears_of(told), "{told}");
        }
        for told in ["notes://a/xy", "notes://b", "other:1"] {
            assert!(followed.hears_of(told), "{told}");
        }
        // A part may be followed that lies below what was left.
        followed.follow("notes://a/x/1");
        assert!(followed.hears_of("notes://a/x/1"));
        assert!(!followed.hears_of("notes://a/x/2"));
        followed.follow("notes://a/x");
        assert!(followed.hears_of("notes://a/x/2"));
        for uri in ["notes://a/x", "notes://a/x/1", "notes://b"] {
            followed.leave(uri);
        }
        assert!(!followed.hears_of("other:1"), "nothing is followed");
    }

    #[test]
    fn beyond_what_is_kept_nothing_is_told_that_may_have_been_left() {
        let mut followed = Followed::default();
        followed.follow("notes://a");
        let long = "x".repeat(1 << 16);
        for number in 0..17 {
            followed.leave(&format!("notes://{number}/{long}"));
        }
        assert!(followed.hears_of("notes://a"));
        assert!(!followed.hears_of(&format!("notes://16/{long}")));
        assert!(!followed.hears_of("other:1"));
    }
}
