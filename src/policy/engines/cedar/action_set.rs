//! Sets of actions of the schema.

use std::sync::Arc;

use cedar_policy_core::ast::{Entity, EntityUID};

use super::schema_action::{CallIndex, SchemaAction};
use super::vocabulary::Vocabulary;
use crate::policy::ActionName;

/// A set of actions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ActionSet {
    /// By `ActionName as usize`.
    named: u32,
    calls: CallSet,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum CallSet {
    #[default]
    None,
    /// INVARIANT: sorted.
    Some(Vec<CallIndex>),
    All,
}

impl ActionSet {
    /// Those that are one of these entities.
    pub(super) fn same(words: &Vocabulary, among: &[EntityUID]) -> Self {
        let mut verbs = Self::default();
        for name in ActionName::ALL {
            let action = words.action(SchemaAction::Named(name));
            if action.is_some_and(|action| among.contains(action.uid())) {
                verbs.named |= bit(name);
            }
        }
        verbs.add_calls(words, among);
        verbs
    }

    /// Those that are, or are in, one of these entities.
    pub(super) fn within(words: &Vocabulary, among: &[EntityUID]) -> Self {
        let mut verbs = Self::default();
        for name in ActionName::ALL {
            let within = |action: &Arc<Entity>| {
                let mut among = among.iter();
                among.any(|uid| action.uid() == uid || action.is_descendant_of(uid))
            };
            if words.action(SchemaAction::Named(name)).is_some_and(within) {
                verbs.named |= bit(name);
            }
        }
        // INVARIANT: each of them is in `call_tool`, and in nothing that this is not in.
        if verbs.named & bit(ActionName::CallTool) == 0 {
            verbs.add_calls(words, among);
        } else {
            verbs.calls = CallSet::All;
        }
        verbs
    }

    pub(super) fn everything() -> Self {
        Self {
            named: u32::MAX,
            calls: CallSet::All,
        }
    }

    pub(super) fn has(&self, verb: SchemaAction) -> bool {
        match verb {
            SchemaAction::Named(name) => self.named & bit(name) != 0,
            SchemaAction::Call(call) => match &self.calls {
                CallSet::None => false,
                CallSet::Some(calls) => calls.binary_search(&call).is_ok(),
                CallSet::All => true,
            },
        }
    }

    /// Each of them; of the calls, those that `call_tool` does not stand for.
    pub(super) fn each(&self) -> impl Iterator<Item = SchemaAction> {
        let named = ActionName::ALL.into_iter().map(SchemaAction::Named);
        let calls = match &self.calls {
            CallSet::Some(calls) => calls.as_slice(),
            CallSet::None | CallSet::All => &[],
        };
        let named = named.filter(|verb| self.has(*verb));
        named.chain(calls.iter().copied().map(SchemaAction::Call))
    }

    fn add_calls(&mut self, words: &Vocabulary, among: &[EntityUID]) {
        let mut calls: Vec<CallIndex> = among.iter().filter_map(|uid| words.call_of(uid)).collect();
        calls.sort_unstable();
        calls.dedup();
        if !calls.is_empty() {
            self.calls = CallSet::Some(calls);
        }
    }
}

fn bit(name: ActionName) -> u32 {
    1 << (name as u32)
}
