//! Rego policies: the files `*.rego` of a directory are one package `mcp`, asked for its `decision`.
//!
//! Measured before it is parsed (`limits.rs`), held to functions that are pure (`functions.rs`),
//! evaluated strictly and for a bounded time. What is undefined is no opinion; any error, and any
//! answer of another shape, is a fault.

mod answer;
mod compile;
mod evaluation;
mod functions;
mod limits;
mod open_rules;
mod removed_rules;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::Path;
use std::time::Duration;

use regorus::Engine;

use self::compile::ReasonIds;
use self::evaluation::{ENTRY, evaluated, object};
use super::cedar::ToolGroups;
use super::document;
use super::is_rego;
use super::stack::on_big_stack;
use crate::policy::{
    ActionName, CompiledPolicies, EngineFault, EngineKind, EngineName, ExposedActions,
    ExposedTools, Facts, FaultKind, ListFacts, ListMode, PolicyErrors, PolicySource,
    RequiredDetectors, Resource, RuleEngine, Verdict, Visibility,
};

pub(super) use open_rules::open_permits;

const NAME: EngineName = EngineName("rego");

/// How long one evaluation may take. Only a program that runs away comes near it:
/// ordinary rules take some ten microseconds, and a busy machine must not make them faults.
const LIMIT: Duration = Duration::from_millis(250);

/// A machine that runs tests may be busy for longer than [`LIMIT`] in the middle of any evaluation.
#[cfg(test)]
const PATIENT: Duration = Duration::from_mins(10);

/// How Rego sources are compiled.
#[derive(Debug)]
pub struct Rego {
    pub groups: ToolGroups,
    limit: Duration,
}

/// A compiled package.
struct RegoEngine {
    groups: ToolGroups,
    limit: Duration,
    /// Copied for each question, which costs a fraction of a microsecond: evaluating changes it.
    engine: Engine,
    ids: ReasonIds,
    sources: Vec<PolicySource>,
}

impl Rego {
    pub fn new(groups: ToolGroups) -> Self {
        #[cfg(not(test))]
        let limit = LIMIT;
        #[cfg(test)]
        let limit = PATIENT;
        Self { groups, limit }
    }
}

impl EngineKind for Rego {
    fn name(&self) -> EngineName {
        NAME
    }

    fn claims(&self, path: &Path) -> bool {
        is_rego(&path.to_string_lossy())
    }

    fn compile(&self, sources: &[PolicySource]) -> Result<CompiledPolicies, PolicyErrors> {
        let (engine, policies, ids) =
            on_big_stack(|| compile::compile(sources, self.limit)).flatten()?;
        Ok(CompiledPolicies {
            engine: Box::new(RegoEngine {
                groups: self.groups.clone(),
                limit: self.limit,
                engine,
                ids,
                sources: sources.to_vec(),
            }),
            policies,
            notices: Vec::new(),
            // What a program permits, only asking tells.
            surfaces: ExposedActions {
                tools: ExposedTools::ByPolicy,
                open: Vec::new(),
                by_policy: ActionName::ALL.to_vec(),
                closed: Vec::new(),
            },
        })
    }

    fn lost(&self, old: &[PolicySource], new: &[PolicySource]) -> Vec<String> {
        removed_rules::lost(old, new)
    }
}

impl RuleEngine for RegoEngine {
    fn name(&self) -> EngineName {
        NAME
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let members = asked(facts, &self.groups)?;
        let answer = evaluated(&self.engine, ENTRY, object(members), self.limit);
        answer
            .and_then(|answer| answer::verdict(&answer, &self.ids))
            .map_err(|problem| fault(FaultKind::Evaluation, &problem))
    }

    fn looks_for(&self) -> RequiredDetectors {
        RequiredDetectors::named_in(self.sources.iter().map(|source| &*source.text))
    }

    /// Each item is shown, hidden or passed over as the package answers for `list_…`.
    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        document::visible(facts, items, |asked| self.judge(asked))
    }

    fn shows(&self) -> ListMode {
        ListMode::WhatMayBeListed
    }
}

impl std::fmt::Debug for RegoEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegoEngine").finish_non_exhaustive()
    }
}

/// What the package is asked.
fn asked<'a>(
    facts: &'a Facts<'_>,
    groups: &'a ToolGroups,
) -> Result<document::Object<'a>, EngineFault> {
    let members = document::of(facts, groups);
    members.map_err(|error| fault(FaultKind::Facts, &error.to_string()))
}

fn fault(kind: FaultKind, problem: &str) -> EngineFault {
    EngineFault {
        engine: NAME,
        kind,
        policy: None,
        problem: problem.to_owned(),
    }
}
