//! The one extension point of policy: a new engine is one file in `engines/` and one line there.

use std::fmt;
use std::path::Path;

use super::decision::{EngineFault, Verdict};
use super::errors::PolicyErrors;
use super::facts::{Environment, Facts, Principal, Resource};
use super::snapshot::PolicySource;

/// The name of an engine, in diagnostics and records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EngineName(pub &'static str);

/// Compiled rules. Pure: the same facts give the same verdict, with no I/O, clock or memory.
pub trait RuleEngine: fmt::Debug + Send + Sync {
    fn name(&self) -> EngineName;

    /// A fault denies the message, whatever the other engines say.
    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault>;

    /// For each item of a list: could some use of it be permitted, and is listing it not forbidden?
    ///
    /// One answer for each item, in order. A fault hides the item.
    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>>;
}

/// A kind of engine: which files it reads and how it compiles them.
pub trait EngineKind: fmt::Debug + Send + Sync {
    fn name(&self) -> EngineName;
    fn claims(&self, path: &Path) -> bool;
    /// All problems of all sources at once, or an engine.
    fn compile(&self, sources: &[PolicySource]) -> Result<Box<dyn RuleEngine>, PolicyErrors>;
}

/// Who lists, and in what circumstances.
#[derive(Debug, Clone)]
pub struct ListFacts<'a> {
    pub principal: Principal<'a>,
    pub env: Environment<'a>,
}

/// What one engine thinks of showing one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Visibility {
    /// Some use of the item could be permitted.
    Shown,
    /// Listing it, or every use of it, is forbidden.
    Hidden,
    /// The engine permits nothing and forbids nothing.
    Abstain,
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
