//! What an agent knows of tools whose definition is not the approved one.

use std::collections::HashSet;

use crate::policy::DefinitionFingerprint;

/// So that an agent is told once that its list has changed, and not each time the gate looks.
#[derive(Debug, Default)]
pub struct Drifts {
    known: HashSet<(String, DefinitionFingerprint)>,
    /// It was told that the list has changed, and has not asked for it since.
    is_told: bool,
}

/// The most changes that are told apart; no more are told after them.
const MOST: usize = 1_024;

impl Drifts {
    /// The server told the agent itself.
    pub fn told(&mut self) {
        self.is_told = true;
    }

    /// The agent gets the list, without these.
    pub fn listed<'n>(&mut self, changed: impl Iterator<Item = (&'n str, DefinitionFingerprint)>) {
        self.is_told = false;
        self.take(changed);
    }

    /// The gate has found these: whether the agent is to be told.
    pub fn found<'n>(
        &mut self,
        changed: impl Iterator<Item = (&'n str, DefinitionFingerprint)>,
    ) -> bool {
        let tells = self.take(changed) && !self.is_told;
        self.is_told |= tells;
        tells
    }

    /// Whether any of them was not known.
    fn take<'n>(
        &mut self,
        changed: impl Iterator<Item = (&'n str, DefinitionFingerprint)>,
    ) -> bool {
        let mut any = false;
        for (name, print) in changed {
            any |= self.known.len() < MOST && self.known.insert((name.to_owned(), print));
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(words: &str) -> DefinitionFingerprint {
        DefinitionFingerprint::of("{}", words)
    }

    #[test]
    fn an_agent_is_told_once_of_each_change_that_it_cannot_know() {
        let mut drifts = Drifts::default();
        assert!(!drifts.found(std::iter::empty()));
        assert!(drifts.found([("a", print("1"))].into_iter()));
        assert!(!drifts.found([("a", print("1"))].into_iter()));
        // It has not asked again, so it would learn nothing by a second word.
        assert!(!drifts.found([("a", print("2"))].into_iter()));
        drifts.listed([("b", print("1"))].into_iter());
        assert!(!drifts.found([("a", print("2")), ("b", print("1"))].into_iter()));
        assert!(drifts.found([("b", print("2"))].into_iter()));
        drifts.listed(std::iter::empty());
        drifts.told();
        assert!(!drifts.found([("b", print("3"))].into_iter()));
    }

    #[test]
    fn there_is_an_end_to_what_is_told() {
        let mut drifts = Drifts::default();
        let mut told = 0;
        for number in 0..3 * MOST {
            told += usize::from(drifts.found([("a", print(&number.to_string()))].into_iter()));
            drifts.listed(std::iter::empty());
        }
        assert_eq!(told, MOST);
    }
}
