//! Cursors of lists that the agent was given.

use std::collections::hash_map::RandomState;
use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasher;

use crate::wire::KnownMethod;

/// The cursors that the server has given to the agent of a session. Only digests are kept, under a random
/// key of the process: an agent cannot construct a cursor with a known digest.
#[derive(Debug, Default)]
pub struct Cursors {
    key: RandomState,
    given: HashSet<u64>,
    /// The same, in the order in which they were given first.
    order: VecDeque<u64>,
}

impl Cursors {
    /// The most that are kept; the oldest ones make room.
    const MOST: usize = 4_096;

    pub fn give(&mut self, list: KnownMethod, cursor: &str) {
        let digest = self.key.hash_one((list, cursor));
        if !self.given.insert(digest) {
            return;
        }
        self.order.push_back(digest);
        if self.order.len() > Self::MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.given.remove(&oldest);
        }
    }

    pub fn was_given(&self, list: KnownMethod, cursor: &str) -> bool {
        self.given.contains(&self.key.hash_one((list, cursor)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_known_for_the_list_that_it_was_given_for() {
        let mut cursors = Cursors::default();
        cursors.give(KnownMethod::ToolsList, "2");
        assert!(cursors.was_given(KnownMethod::ToolsList, "2"));
        assert!(!cursors.was_given(KnownMethod::ToolsList, "3"));
        assert!(!cursors.was_given(KnownMethod::PromptsList, "2"));
    }

    #[test]
    fn the_oldest_cursors_make_room() {
        let mut cursors = Cursors::default();
        for number in 0..=Cursors::MOST {
            // Given again, it takes no second place.
            for _ in 0..2 {
                cursors.give(KnownMethod::ToolsList, &number.to_string());
            }
        }
        assert!(!cursors.was_given(KnownMethod::ToolsList, "0"));
        assert!(cursors.was_given(KnownMethod::ToolsList, "1"));
        assert_eq!(cursors.given.len(), Cursors::MOST);
        assert_eq!(cursors.order.len(), Cursors::MOST);
    }
}
