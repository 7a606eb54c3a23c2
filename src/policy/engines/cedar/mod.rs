//! Cedar policies.
//!
//! Texts are compiled once, to rules that are found by action and by the entity that their scope
//! names. A request is made of Cedar values by our own bridge; no JSON is ever given to Cedar, whose
//! reader would turn an agent's `{"__entity": …}` into an entity. Any failure denies.

mod action_set;
mod annotations;
mod argument_schema;
mod arguments;
mod attribute_reads;
mod check;
mod compile;
mod context;
mod dedupe_diagnostics;
mod engine;
mod entities;
mod entity_kind;
mod exposed;
mod fact_values;
mod fast_path;
mod fast_path_compiler;
mod hints;
mod inspect;
mod judge;
mod mutants;
mod nesting;
mod outline;
mod own_policies;
mod partial;
mod placeholder;
mod policy_draft;
mod possible_values;
mod rebalance;
mod rebuild;
mod rules;
mod schema_action;
mod scope_actions;
mod server_ids;
mod subjects;
#[cfg(test)]
mod tests;
mod trace;
mod traced_policies;
mod trees;
mod typed;
mod value;
mod visibility;
mod vocabulary;
mod wildcard;

use std::path::Path;
use std::sync::Arc;

use miette::Severity;

pub use engine::Cedar;
pub use inspect::children;
pub use nesting::comments;
pub use subjects::ToolGroups;
pub use trees::{PolicyTree, read_trees, schema_text};
pub use vocabulary::BASE_SCHEMA;

use self::engine::{CedarEngine, NAME};
use self::vocabulary::Vocabulary;
use super::super::{
    ActionName, CheckedPolicies, CompiledPolicies, EngineFault, EngineKind, EngineName, Facts,
    ListDependency, ListFacts, Mutant, PartialDecision, PartialRequest, PolicyErrors,
    PolicyOutline, PolicyProblem, PolicySource, RequiredDetectors, Resource, RuleEngine, Trace,
    Verdict, Visibility, WarningMode,
};
use super::stack::on_big_stack;

impl EngineKind for Cedar {
    fn name(&self) -> EngineName {
        NAME
    }

    fn claims(&self, path: &Path) -> bool {
        path.extension()
            .is_some_and(|extension| extension == "cedar")
    }

    fn compile(&self, sources: &[PolicySource]) -> Result<CompiledPolicies, PolicyErrors> {
        let words = on_big_stack(|| Vocabulary::with(&self.lock))?.map_err(fault)?;
        let configured = (self.claims.as_deref(), &*self.servers);
        let compile = || compile::compile(&words, &self.lock, configured, &self.checked, sources);
        let mut output = on_big_stack(compile)?;
        if self.warnings == WarningMode::Error {
            for problem in &mut output.problems {
                problem.severity = Severity::Error;
            }
        }
        if output
            .problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
        {
            return Err(PolicyErrors {
                problems: output.problems,
            });
        }
        let surfaces = exposed::of(&words, &self.groups, &output.rules);
        let checked = CheckedPolicies::new(&self.lock, output.sound);
        let engine = CedarEngine::new(words, self, output.rules, sources, checked);
        let engine = engine.map_err(fault)?;
        Ok(CompiledPolicies {
            engine: Box::new(engine),
            policies: output.policies,
            notices: output.problems,
            surfaces,
        })
    }
}

impl RuleEngine for CedarEngine {
    fn name(&self) -> EngineName {
        NAME
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        self.verdict(facts)
    }

    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        self.visibility(facts, items)
    }

    fn trace(&self, facts: &Facts<'_>) -> Option<Trace> {
        Some(self.traced(facts))
    }

    fn mutants(&self) -> Vec<Mutant> {
        on_big_stack(|| self.all_mutants()).unwrap_or_default()
    }

    fn outlines(&self) -> Vec<Arc<PolicyOutline>> {
        self.tracer().outlines().map(Arc::clone).collect()
    }

    fn outlook(&self, question: &PartialRequest<'_>) -> PartialDecision {
        self.outlook_of(question)
    }

    fn checked(&self) -> CheckedPolicies {
        self.checked.clone()
    }

    fn looks_for(&self) -> RequiredDetectors {
        self.looks_for
    }

    fn lists_by(&self, list: ActionName) -> ListDependency {
        let all = ListDependency::LISTS.into_iter().zip(self.lists_by);
        let mut by = all.filter_map(|(of, by)| (of == list).then_some(by));
        by.next().unwrap_or(ListDependency::Moment)
    }
}

fn fault(message: String) -> PolicyErrors {
    PolicyProblem::error("policy::internal", message).into()
}
