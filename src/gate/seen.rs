//! Definitions that the gate has seen, in whatever session, as long as it runs.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::policy::{DefinitionFingerprint, Pin};

/// The definitions that were seen first, and the changes that were told.
///
/// INVARIANT: what was seen first is never replaced, so that two sessions, or one before and after
/// its server was restarted, are held to the same.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    first: HashMap<String, DefinitionFingerprint>,
    told: HashSet<(String, DefinitionFingerprint)>,
}

/// The most names whose first definition is kept. A server can list any number; what comes after them
/// is held to a definition that nobody has seen.
const MOST: usize = 65_536;

/// The most changes that are told one by one.
const MOST_TOLD: usize = 4_096;

/// What stands before the name of a prompt; no tool has a name with controls.
pub(super) const PROMPT: &str = "prompt\0";

pub(super) const INSTRUCTIONS: &str = "instructions\0";

/// Whether a change is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    New,
    /// Nothing is told of changes any more after this one.
    Last,
    Old,
}

impl Seen {
    /// Whether a tool is what it was at first. What is seen now for the first time is.
    pub(super) fn pin(
        &self,
        name: &str,
        defined: impl IntoIterator<Item = DefinitionFingerprint>,
    ) -> Pin {
        let mut defined = defined.into_iter().peekable();
        let mut state = self.state();
        let first = match (state.first.get(name).copied(), defined.peek().copied()) {
            (Some(first), _) => first,
            (None, Some(first)) if state.first.len() < MOST => {
                state.first.insert(name.to_owned(), first);
                first
            }
            (None, Some(_)) => {
                return Pin {
                    known: true,
                    ..Pin::default()
                };
            }
            (None, None) => return Pin::default(),
        };
        drop(state);
        first.pin(defined)
    }

    /// The same of a prompt; one that was never shown has misled nobody.
    pub(super) fn prompt_pin(&self, name: &str, shown: Option<DefinitionFingerprint>) -> Pin {
        let key = format!("{PROMPT}{name}");
        let shown = shown.or_else(|| self.state().first.get(&key).copied());
        self.pin(&key, shown)
    }

    /// Whether instructions are what they were at first.
    pub(super) fn has_same_instructions(&self, text: &str) -> bool {
        let pin = self.pin(INSTRUCTIONS, [DefinitionFingerprint::of("", text)]);
        pin.schema_ok && pin.description_ok
    }

    /// Notes that a changed definition is told.
    pub(super) fn tell(&self, name: &str, changed: DefinitionFingerprint) -> News {
        let mut state = self.state();
        let told = state.told.len();
        if told >= MOST_TOLD || !state.told.insert((name.to_owned(), changed)) {
            News::Old
        } else if told + 1 == MOST_TOLD {
            News::Last
        } else {
            News::New
        }
    }

    /// It could not be told.
    pub(super) fn forget(&self, name: &str, changed: DefinitionFingerprint) {
        self.state().told.remove(&(name.to_owned(), changed));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(words: &str) -> DefinitionFingerprint {
        DefinitionFingerprint::of("{}", words)
    }

    fn is_ok(pin: Pin) -> bool {
        pin.known && pin.schema_ok && pin.description_ok
    }

    #[test]
    fn a_definition_that_was_seen_first_stays_whatever_comes_after_it() {
        let seen = Seen::default();
        assert_eq!(seen.pin("a", []), Pin::default());
        for (words, ok) in [("1", true), ("2", false), ("2", false), ("1", true)] {
            assert_eq!(is_ok(seen.pin("a", [print(words)])), ok, "{words}");
        }
        assert!(!is_ok(seen.pin("a", [print("1"), print("2")])));
        assert!(!is_ok(seen.pin("b", [print("1"), print("2")])));
        assert!(is_ok(seen.pin("b", [print("1")])));
        // It is known, and nothing of it is in order.
        assert!(seen.pin("a", []).known && !is_ok(seen.pin("a", [])));
    }

    #[test]
    fn there_is_an_end_to_what_is_kept_and_what_comes_after_it_is_not_approved() {
        let seen = Seen::default();
        for number in 0..MOST {
            assert!(is_ok(seen.pin(&number.to_string(), [print("1")])));
        }
        let after = seen.pin("after", [print("1")]);
        assert!(after.known && !is_ok(after));
        assert!(is_ok(seen.pin("7", [print("1")])));
    }

    #[test]
    fn each_change_is_told_once_and_there_is_an_end_to_it() {
        let seen = Seen::default();
        assert_eq!(seen.tell("a", print("1")), News::New);
        assert_eq!(seen.tell("a", print("1")), News::Old);
        assert_eq!(seen.tell("a", print("2")), News::New);
        assert_eq!(seen.tell("b", print("2")), News::New);
        seen.forget("b", print("2"));
        assert_eq!(seen.tell("b", print("2")), News::New);
        let told = (0..2 * MOST_TOLD).map(|number| seen.tell(&number.to_string(), print("1")));
        let told: Vec<News> = told.collect();
        let count = |of| told.iter().filter(|news| **news == of).count();
        assert_eq!((count(News::New), count(News::Last)), (MOST_TOLD - 4, 1));
    }
}
