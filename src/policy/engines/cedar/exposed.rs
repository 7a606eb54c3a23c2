//! What the rules leave open, for the line that the gate writes at start.

use std::collections::BTreeSet;

use cedar_policy_core::ast::{Effect, EntityUID};

use super::rules::{CompiledRule, RuleSet, ScopeKey};
use super::subjects::ToolGroups;
use super::vocabulary::Vocabulary;
use crate::policy::{ActionName, ExposedActions, ExposedTools};

pub(super) fn of(words: &Vocabulary, groups: &ToolGroups, rules: &RuleSet) -> ExposedActions {
    let view = ExposureView {
        words,
        groups,
        rules,
    };
    let open = ActionName::ALL
        .into_iter()
        .filter(|action| view.is_open(*action))
        .collect();
    let closed = ActionName::ALL
        .into_iter()
        .filter(|action| view.is_closed(*action))
        .collect();
    ExposedActions {
        tools: view.tools(),
        open,
        by_policy: Vec::new(),
        closed,
    }
}

struct ExposureView<'a> {
    words: &'a Vocabulary,
    groups: &'a ToolGroups,
    rules: &'a RuleSet,
}

impl ExposureView<'_> {
    /// Some policy may permit it and none forbids all of it.
    fn is_open(&self, action: ActionName) -> bool {
        let mut permitted = false;
        for (rule, key) in self.rules.of_action(action) {
            match rule.effect {
                Effect::Permit => permitted |= !self.names_nothing(&key),
                Effect::Forbid if rule.unconditional => return false,
                Effect::Forbid => {}
            }
        }
        permitted || (action == ActionName::CallTool && self.calls().next().is_some())
    }

    /// The tools whose own action some policy may permit and none forbids outright.
    fn calls(&self) -> impl Iterator<Item = &str> {
        let calls = self.words.calls().filter(|(_, call)| {
            let rules = || self.rules.of_call(*call);
            let closed = |rule: &CompiledRule| rule.effect == Effect::Forbid && rule.unconditional;
            rules().any(|rule| rule.effect == Effect::Permit) && !rules().any(closed)
        });
        calls.map(|(name, _)| name)
    }

    /// Some policy forbids all of it.
    fn is_closed(&self, action: ActionName) -> bool {
        let mut rules = self.rules.of_action(action);
        rules.any(|(rule, _)| rule.effect == Effect::Forbid && rule.unconditional)
    }

    fn tools(&self) -> ExposedTools {
        if !self.is_open(ActionName::CallTool) {
            return ExposedTools::None;
        }
        let mut names: BTreeSet<String> = self.calls().map(str::to_owned).collect();
        for (rule, key) in self.rules.of_action(ActionName::CallTool) {
            match (rule.effect, key) {
                (Effect::Forbid, _) => {}
                (Effect::Permit, ScopeKey::Resource(uid))
                    if *uid.entity_type() == self.words.tool =>
                {
                    names.insert(name(&uid).to_owned());
                }
                (Effect::Permit, ScopeKey::Resource(uid)) if self.is_group(&uid) => {
                    names.extend(self.groups.members(name(&uid)).map(str::to_owned));
                }
                (Effect::Permit, _) => return ExposedTools::ByPolicy,
            }
        }
        ExposedTools::Named(names.into_iter().collect())
    }

    /// A group without members, such as that of an empty allowlist.
    fn names_nothing(&self, key: &ScopeKey) -> bool {
        match key {
            ScopeKey::Resource(uid) => {
                self.is_group(uid) && self.groups.members(name(uid)).next().is_none()
            }
            ScopeKey::Principal(_) | ScopeKey::Any => false,
        }
    }

    fn is_group(&self, uid: &EntityUID) -> bool {
        *uid.entity_type() == self.words.tool_group
    }
}

fn name(uid: &EntityUID) -> &str {
    uid.eid().as_ref()
}
