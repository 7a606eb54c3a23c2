//! What the rules leave open, for the line that the gate writes at start.

use std::collections::BTreeSet;

use cedar_policy_core::ast::Effect;

use super::rules::{Key, Rules};
use super::subjects::ToolGroups;
use super::vocabulary::Vocabulary;
use crate::policy::{ActionName, OpenTools, Surfaces};

pub(super) fn of(words: &Vocabulary, groups: &ToolGroups, rules: &Rules) -> Surfaces {
    let open = ActionName::ALL
        .into_iter()
        .filter(|action| is_open(rules, *action))
        .collect();
    Surfaces {
        tools: tools(words, groups, rules),
        open,
    }
}

/// Some policy may permit it and none forbids all of it.
fn is_open(rules: &Rules, action: ActionName) -> bool {
    let mut permitted = false;
    for (rule, _) in rules.of_action(action) {
        match rule.effect {
            Effect::Permit => permitted = true,
            Effect::Forbid if rule.unconditional => return false,
            Effect::Forbid => {}
        }
    }
    permitted
}

fn tools(words: &Vocabulary, groups: &ToolGroups, rules: &Rules) -> OpenTools {
    if !is_open(rules, ActionName::CallTool) {
        return OpenTools::None;
    }
    let mut names = BTreeSet::new();
    for (rule, key) in rules.of_action(ActionName::CallTool) {
        match (rule.effect, key) {
            (Effect::Forbid, _) => {}
            (Effect::Permit, Key::Resource(uid)) if *uid.entity_type() == words.tool => {
                names.insert(AsRef::<str>::as_ref(uid.eid()).to_owned());
            }
            (Effect::Permit, Key::Resource(uid)) if *uid.entity_type() == words.tool_group => {
                names.extend(
                    groups
                        .members(AsRef::<str>::as_ref(uid.eid()))
                        .map(str::to_owned),
                );
            }
            (Effect::Permit, _) => return OpenTools::ByPolicy,
        }
    }
    if names.is_empty() {
        return OpenTools::None;
    }
    OpenTools::Named(names.into_iter().collect())
}
