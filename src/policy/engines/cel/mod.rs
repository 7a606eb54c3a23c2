//! Rules whose conditions are CEL expressions, in files `*.cel.toml`.
//!
//! CEL has no budget of its own and lets an error beside a value that decides pass (`err || true`).
//! So each expression is rewritten when it is loaded (`bound.rs`): every turn of a loop and every
//! operand of unbounded size is counted, and `&&` and `||` stop at the first error.

mod bound;
mod comments;
mod file;
mod judge;
mod length;
mod literal;
mod lost;
mod meter;
mod mutants;
mod names;
mod open;
mod parts;
mod patterns;
mod sights;
mod surfaces;
#[cfg(test)]
mod tests;
mod trace;
mod value;
mod written;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use self::file::Rule;
use self::trace::Tracer;
use super::cedar::ToolGroups;
use super::document;
use super::stack::on_big_stack;
use crate::policy::{
    Compiled, EngineFault, EngineKind, EngineName, Facts, ListFacts, LooksFor, Mutant,
    PolicyErrors, PolicyOutline, PolicySource, Resource, RuleEngine, Shows, Trace, Verdict,
    Visibility,
};

pub(super) use comments::comments;
pub(super) use open::open_permits;

const NAME: EngineName = EngineName("cel");

/// Whether a file of this name holds rules in CEL.
pub(super) fn is_file(name: &str) -> bool {
    name.ends_with(".cel.toml")
}

/// How CEL sources are compiled.
#[derive(Debug, Default)]
pub struct Cel {
    pub groups: ToolGroups,
}

/// Compiled rules.
#[derive(Debug)]
struct CelEngine {
    groups: ToolGroups,
    rules: Vec<Rule>,
    patterns: patterns::Patterns,
    sources: Vec<PolicySource>,
    /// Made when somebody asks why.
    tracer: OnceLock<Tracer>,
}

impl EngineKind for Cel {
    fn name(&self) -> EngineName {
        NAME
    }

    fn claims(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| is_file(&name.to_string_lossy()))
    }

    fn compile(&self, sources: &[PolicySource]) -> Result<Compiled, PolicyErrors> {
        let read = on_big_stack(|| file::read(sources))?;
        if !read.problems.is_empty() {
            return Err(PolicyErrors {
                problems: read.problems,
            });
        }
        let surfaces = surfaces::of(&read.rules);
        Ok(Compiled {
            engine: Box::new(CelEngine {
                groups: self.groups.clone(),
                rules: read.rules,
                patterns: read.patterns,
                sources: sources.to_vec(),
                tracer: OnceLock::new(),
            }),
            policies: read.policies,
            notices: Vec::new(),
            surfaces,
        })
    }

    fn lost(&self, old: &[PolicySource], new: &[PolicySource]) -> Vec<String> {
        lost::lost(old, new)
    }
}

impl RuleEngine for CelEngine {
    fn name(&self) -> EngineName {
        NAME
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        self.verdict(facts)
    }

    /// Each item is shown, hidden or passed over as the rules for `list_…` say.
    fn looks_for(&self) -> LooksFor {
        LooksFor::named_in(self.sources.iter().map(|source| &*source.text))
    }

    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        document::visible(facts, items, |asked| self.verdict(asked))
    }

    fn mutants(&self) -> Vec<Mutant> {
        self.all_mutants()
    }

    fn trace(&self, facts: &Facts<'_>) -> Option<Trace> {
        Some(self.traced(facts))
    }

    fn outlines(&self) -> Vec<Arc<PolicyOutline>> {
        self.tracer().outlines().map(Arc::clone).collect()
    }

    fn shows(&self) -> Shows {
        Shows::WhatMayBeListed
    }
}
