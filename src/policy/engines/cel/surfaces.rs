//! What the rules leave open, for the line that the gate writes at start.

use super::file::Rule;
use crate::policy::{ActionName, OpenTools, RuleEffect, Surfaces};

/// Which tools is always a matter of conditions; so is everything that a rule has one for.
pub(super) fn of(rules: &[Rule]) -> Surfaces {
    let any = |action: ActionName, wanted: &dyn Fn(&Rule) -> bool| {
        let mut rules = rules.iter();
        rules.any(|rule| rule.outline.actions.contains(&action) && wanted(rule))
    };
    let closed: Vec<ActionName> = ActionName::ALL
        .into_iter()
        .filter(|action| {
            any(*action, &|rule| {
                rule.outline.effect == RuleEffect::Forbid && rule.condition.is_none()
            })
        })
        .collect();
    let permitted = |action: &ActionName| any(*action, &|rule| rule.outline.effect == RuleEffect::Permit);
    let open: Vec<ActionName> = ActionName::ALL
        .into_iter()
        .filter(|action| permitted(action) && !closed.contains(action))
        .collect();
    let tools = if open.contains(&ActionName::CallTool) {
        OpenTools::ByPolicy
    } else {
        OpenTools::None
    };
    Surfaces {
        tools,
        open,
        by_policy: Vec::new(),
        closed,
    }
}
