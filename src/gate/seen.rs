//! Definitions that the gate has seen, in whatever session, as long as it runs.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::policy::{ChangeKinds, DefinitionFingerprint, Pin};

/// The definitions that were seen first, and the changes that were told.
///
/// INVARIANT: what was seen first is never replaced, so that two sessions, or one before and after
/// its server was restarted, are held to the same.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    first: HashMap<String, First>,
    /// Bytes of the texts of all.
    bytes: usize,
    /// Other definitions that count as the first one where such changes pass, by name.
    passed: HashMap<String, HashMap<DefinitionFingerprint, ChangeKinds>>,
    told: HashSet<(String, DefinitionFingerprint)>,
}

impl State {
    fn counts(&self, name: &str, print: DefinitionFingerprint, passing: ChangeKinds) -> bool {
        let passed = self.passed.get(name).and_then(|passed| passed.get(&print));
        passed.is_some_and(|kinds| kinds.are_among(passing))
    }
}

/// How a definition stands to the first one of its name.
#[derive(Debug)]
pub(super) enum Meeting {
    Same,
    /// With the text of the first one, if that was kept.
    Differs(Option<Arc<str>>),
}

#[derive(Debug)]
struct First {
    print: DefinitionFingerprint,
    /// Of a tool, as JSON; `None` where there was no room.
    text: Option<Arc<str>>,
}

/// The most bytes of texts that are kept. Of a tool that comes after them no change passes.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// The most definitions of one tool that count as the first.
const MAX_PASSING_CHANGES: usize = 64;

/// The most names whose first definition is kept. A server can list any number; what comes after them
/// is held to a definition that nobody has seen.
const MOST: usize = 65_536;

/// The most changes that are told one by one.
const MOST_TOLD: usize = 4_096;

/// What stands before the name of a prompt; no tool has a name with controls.
pub(super) const PROMPT: &str = "prompt\0";

/// What stands before the name of a tool whose change passes.
pub(super) const PASSES: &str = "passes\0";

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
        passing: ChangeKinds,
    ) -> Pin {
        let mut defined = defined.into_iter().peekable();
        let mut state = self.state();
        let first = state.first.get(name).map(|first| first.print);
        let first = match (first, defined.peek().copied()) {
            (Some(first), _) => first,
            (None, Some(print)) if state.first.len() < MOST => {
                state
                    .first
                    .insert(name.to_owned(), First { print, text: None });
                print
            }
            (None, Some(_)) => {
                return Pin {
                    known: true,
                    ..Pin::default()
                };
            }
            (None, None) => return Pin::default(),
        };
        first.pin(defined.map(|print| {
            if state.counts(name, print, passing) {
                first
            } else {
                print
            }
        }))
    }

    /// Notes a tool as it is defined, and tells whether that is the first definition, or counts as it.
    pub(super) fn meet(
        &self,
        name: &str,
        print: DefinitionFingerprint,
        text: &str,
        passing: ChangeKinds,
    ) -> Meeting {
        let mut state = self.state();
        if let Some(first) = state.first.get(name) {
            return if first.print == print || state.counts(name, print, passing) {
                Meeting::Same
            } else {
                Meeting::Differs(first.text.clone())
            };
        }
        if state.first.len() < MOST {
            let bytes = state.bytes.saturating_add(text.len());
            let text = (bytes <= MAX_TEXT_BYTES).then(|| Arc::from(text));
            if text.is_some() {
                state.bytes = bytes;
            }
            state.first.insert(name.to_owned(), First { print, text });
        }
        Meeting::Same
    }

    /// The first definition of a tool as JSON, if it was kept.
    pub(super) fn first_text(&self, name: &str) -> Option<Arc<str>> {
        let state = self.state();
        state.first.get(name).and_then(|first| first.text.clone())
    }

    /// From now on a definition counts as the first one where such changes pass. Yields whether it does: not
    /// where too many do, or no more changes could be told.
    pub(super) fn pass(
        &self,
        name: &str,
        print: DefinitionFingerprint,
        kinds: ChangeKinds,
    ) -> bool {
        let mut state = self.state();
        if state.told.len() >= MOST_TOLD {
            return false;
        }
        let passed = state.passed.entry(name.to_owned()).or_default();
        let has_room = passed.len() < MAX_PASSING_CHANGES;
        if has_room {
            passed.insert(print, kinds);
        }
        has_room
    }

    /// A change could not be told, so the definition no longer counts as the first one.
    pub(super) fn unpass(&self, name: &str, print: DefinitionFingerprint) {
        if let Some(passed) = self.state().passed.get_mut(name) {
            passed.remove(&print);
        }
    }

    /// The same of a prompt; one that was never shown has misled nobody.
    pub(super) fn prompt_pin(&self, name: &str, shown: Option<DefinitionFingerprint>) -> Pin {
        let key = format!("{PROMPT}{name}");
        let shown = shown.or_else(|| self.state().first.get(&key).map(|first| first.print));
        self.pin(&key, shown, ChangeKinds::default())
    }

    /// Whether instructions are what they were at first.
    pub(super) fn has_same_instructions(&self, text: &str) -> bool {
        let pin = self.pin(
            INSTRUCTIONS,
            [DefinitionFingerprint::of("", text)],
            ChangeKinds::default(),
        );
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
        assert_eq!(seen.pin("a", [], ChangeKinds::default()), Pin::default());
        for (words, ok) in [("1", true), ("2", false), ("2", false), ("1", true)] {
            assert_eq!(
                is_ok(seen.pin("a", [print(words)], ChangeKinds::default())),
                ok,
                "{words}"
            );
        }
        assert!(!is_ok(seen.pin(
            "a",
            [print("1"), print("2")],
            ChangeKinds::default()
        )));
        assert!(!is_ok(seen.pin(
            "b",
            [print("1"), print("2")],
            ChangeKinds::default()
        )));
        assert!(is_ok(seen.pin("b", [print("1")], ChangeKinds::default())));
        // It is known, and nothing of it is in order.
        assert!(
            seen.pin("a", [], ChangeKinds::default()).known
                && !is_ok(seen.pin("a", [], ChangeKinds::default()))
        );
    }

    #[test]
    fn there_is_an_end_to_what_is_kept_and_what_comes_after_it_is_not_approved() {
        let seen = Seen::default();
        for number in 0..MOST {
            assert!(is_ok(seen.pin(
                &number.to_string(),
                [print("1")],
                ChangeKinds::default()
            )));
        }
        let after = seen.pin("after", [print("1")], ChangeKinds::default());
        assert!(after.known && !is_ok(after));
        assert!(is_ok(seen.pin("7", [print("1")], ChangeKinds::default())));
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
