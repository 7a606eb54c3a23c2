//! Rules whose conditions are CEL expressions, in files `*.cel.toml`.
//!
//! CEL has no budget of its own and lets an error beside a value that decides pass (`err || true`).
//! So each expression is rewritten when it is loaded (`bound.rs`): every turn of a loop and every
//! operand of unbounded size is counted, and `&&` and `||` stop at the first error.

mod bound;
mod file;
mod judge;
mod length;
mod meter;
mod names;
mod open_rules;
mod patterns;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use toml::de::DeTable;

use self::file::CelRule;
use super::cedar::ToolGroups;
use super::document;
use super::is_cel;
use super::stack::on_big_stack;
use crate::policy::{
    ActionName, CompiledPolicies, EngineFault, EngineKind, EngineName, ExposedActions,
    ExposedTools, Facts, ListFacts, ListMode, PolicyErrors, PolicyOutline, PolicySource,
    RequiredDetectors, Resource, RuleEffect, RuleEngine, Trace, Verdict, Visibility,
};

pub(super) use open_rules::open_permits;

const NAME: EngineName = EngineName("cel");

/// How CEL sources are compiled.
#[derive(Debug, Default)]
pub struct Cel {
    pub groups: ToolGroups,
}

/// Compiled rules.
#[derive(Debug)]
struct CelEngine {
    groups: ToolGroups,
    rules: Vec<CelRule>,
    patterns: patterns::PatternTable,
    sources: Vec<PolicySource>,
}

impl EngineKind for Cel {
    fn name(&self) -> EngineName {
        NAME
    }

    fn claims(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| is_cel(&name.to_string_lossy()))
    }

    fn compile(&self, sources: &[PolicySource]) -> Result<CompiledPolicies, PolicyErrors> {
        let read = on_big_stack(|| file::read(sources))?;
        if !read.problems.is_empty() {
            return Err(PolicyErrors {
                problems: read.problems,
            });
        }
        let surfaces = surfaces(&read.rules);
        Ok(CompiledPolicies {
            engine: Box::new(CelEngine {
                groups: self.groups.clone(),
                rules: read.rules,
                patterns: read.patterns,
                sources: sources.to_vec(),
            }),
            policies: read.policies,
            notices: Vec::new(),
            surfaces,
        })
    }

    fn lost(&self, old: &[PolicySource], new: &[PolicySource]) -> Vec<String> {
        lost(old, new)
    }
}

impl RuleEngine for CelEngine {
    fn name(&self) -> EngineName {
        NAME
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        self.verdict(facts)
    }

    fn looks_for(&self) -> RequiredDetectors {
        RequiredDetectors::named_in(self.sources.iter().map(|source| &*source.text))
    }

    /// Each item is shown, hidden or passed over as the rules for `list_…` say.
    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        document::visible(facts, items, |asked| self.verdict(asked))
    }

    fn trace(&self, facts: &Facts<'_>) -> Option<Trace> {
        Some(self.traced(facts))
    }

    fn outlines(&self) -> Vec<Arc<PolicyOutline>> {
        self.rules
            .iter()
            .map(|rule| Arc::clone(&rule.outline))
            .collect()
    }

    fn shows(&self) -> ListMode {
        ListMode::WhatMayBeListed
    }
}

/// What the rules leave open, for the line that the gate writes at start. Which tools is always a matter of conditions; so is everything that a rule has one for.
fn surfaces(rules: &[CelRule]) -> ExposedActions {
    let any = |action: ActionName, wanted: &dyn Fn(&CelRule) -> bool| {
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
    let permitted =
        |action: &ActionName| any(*action, &|rule| rule.outline.effect == RuleEffect::Permit);
    let open: Vec<ActionName> = ActionName::ALL
        .into_iter()
        .filter(|action| permitted(action) && !closed.contains(action))
        .collect();
    let tools = if open.contains(&ActionName::CallTool) {
        ExposedTools::ByPolicy
    } else {
        ExposedTools::None
    };
    ExposedActions {
        tools,
        open,
        by_policy: Vec::new(),
        closed,
    }
}

/// Keys that rules of the same name do not have any more: a rule without its last keys is about more
/// than it was.
fn lost(old: &[PolicySource], new: &[PolicySource]) -> Vec<String> {
    let now: BTreeMap<String, BTreeSet<String>> = new.iter().flat_map(keys_of_rules).collect();
    let mut lost = Vec::new();
    for source in old {
        for (id, keys) in keys_of_rules(source) {
            // Whether the rule itself is there, its name tells.
            let Some(now) = now.get(&id) else {
                continue;
            };
            lost.extend(keys.difference(now).map(|key| {
                let file = &source.name;
                format!("`{file}`: the `{key}` of the policy `{id}` is in force and is not there")
            }));
        }
    }
    lost
}

/// The keys of each rule.
fn keys_of_rules(source: &PolicySource) -> Vec<(String, BTreeSet<String>)> {
    let Ok(parsed) = DeTable::parse(&source.text) else {
        return Vec::new();
    };
    let rules = parsed.get_ref().get("rule");
    let rules = rules.and_then(|rules| rules.get_ref().as_array());
    let rules = rules.into_iter().flat_map(|rules| rules.iter());
    rules
        .filter_map(|rule| {
            let rule = rule.get_ref().as_table()?;
            let id = rule.get("id")?.get_ref().as_str()?;
            let keys = rule.keys().map(|key| key.get_ref().to_string());
            Some((id.to_owned(), keys.collect()))
        })
        .collect()
}
