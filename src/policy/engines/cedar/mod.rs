//! Cedar policies.
//!
//! Texts are compiled once, to rules that are found by action and by the entity that their scope
//! names. A request is made of Cedar values by our own bridge; no JSON is ever given to Cedar, whose
//! reader would turn an agent's `{"__entity": …}` into an entity. Any failure denies.

mod annotations;
mod arguments;
mod balance;
mod check;
mod compile;
mod context;
mod draft;
mod entities;
mod glance;
mod idle;
mod inspect;
mod judge;
mod nesting;
mod numbers;
mod outcomes;
mod plain;
mod rules;
mod seen;
mod subjects;
mod surfaces;
#[cfg(test)]
mod tests;
mod value;
mod visible;
mod vocabulary;
mod wildcard;

use std::path::Path;

use miette::Severity;

pub(super) use numbers::Exact;
pub use subjects::ToolGroups;
pub use vocabulary::BASE_SCHEMA;

use self::idle::Idle;
use self::rules::Rules;
use self::vocabulary::Vocabulary;
use super::super::{
    Compiled, EngineFault, EngineKind, EngineName, Facts, ListFacts, PolicyErrors, PolicyProblem,
    PolicySource, Resource, RuleEngine, Verdict, Visibility, Warnings,
};
use super::stack::on_big_stack;

const NAME: EngineName = EngineName("cedar");

/// How Cedar sources are compiled.
#[derive(Debug, Default)]
pub struct Cedar {
    pub groups: ToolGroups,
    pub warnings: Warnings,
}

/// Compiled Cedar policies.
struct CedarEngine {
    words: &'static Vocabulary,
    groups: ToolGroups,
    rules: Rules,
    idle: &'static Idle,
}

impl CedarEngine {
    fn new(words: &'static Vocabulary, groups: ToolGroups, rules: Rules) -> Result<Self, String> {
        Ok(Self {
            words,
            groups,
            rules,
            idle: Idle::get()?,
        })
    }
}

impl EngineKind for Cedar {
    fn name(&self) -> EngineName {
        NAME
    }

    fn claims(&self, path: &Path) -> bool {
        path.extension()
            .is_some_and(|extension| extension == "cedar")
    }

    fn compile(&self, sources: &[PolicySource]) -> Result<Compiled, PolicyErrors> {
        let words = Vocabulary::get().map_err(fault)?;
        let mut output = on_big_stack(|| compile::compile(words, sources))?;
        if self.warnings == Warnings::Error {
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
        let surfaces = surfaces::of(words, &self.groups, &output.rules);
        let engine = CedarEngine::new(words, self.groups.clone(), output.rules).map_err(fault)?;
        Ok(Compiled {
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
}

impl std::fmt::Debug for CedarEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CedarEngine").finish_non_exhaustive()
    }
}

fn fault(message: String) -> PolicyErrors {
    PolicyProblem::error("policy::internal", message).into()
}
