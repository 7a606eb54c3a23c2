//! The one extension point of policy: a new engine is one file in `engines/` and one line there.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::action::ActionName;
use super::decision::{EngineFault, Verdict};
use super::errors::{PolicyErrors, PolicyProblem};
use super::facts::{Environment, Facts, Principal, Resource};
use super::mutant::Mutant;
use super::outlook::{OpenQuestion, Outlook};
use super::snapshot::{PolicyEntry, PolicySource};
use super::trace::{PolicyOutline, Trace};

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

    /// Why `judge` answers as it does, part by part, at many times its cost; `None` from an engine
    /// that cannot tell.
    fn trace(&self, _facts: &Facts<'_>) -> Option<Trace> {
        None
    }

    /// Rules that are one step away from these, in the order of the sources.
    fn mutants(&self) -> Vec<Mutant> {
        Vec::new()
    }

    /// The shapes of all rules that [`RuleEngine::trace`] can tell about, in the order of the
    /// sources.
    fn outlines(&self) -> Vec<Arc<PolicyOutline>> {
        Vec::new()
    }

    /// What the rules come to, whatever is not known. An engine that cannot tell says so.
    fn outlook(&self, _: &OpenQuestion<'_>) -> Outlook {
        Outlook::OPEN
    }

    /// What its answers about lists depend on, beside the revision, the principal and the item.
    fn lists_by(&self) -> ListsBy {
        ListsBy::Moment
    }
}

/// A kind of engine: which files it reads and how it compiles them.
pub trait EngineKind: fmt::Debug + Send + Sync {
    fn name(&self) -> EngineName;
    fn claims(&self, path: &Path) -> bool;
    /// All problems of all sources at once, or an engine.
    fn compile(&self, sources: &[PolicySource]) -> Result<Compiled, PolicyErrors>;
}

/// What came of sources that are in order.
#[derive(Debug)]
pub struct Compiled {
    pub engine: Box<dyn RuleEngine>,
    pub policies: Vec<PolicyEntry>,
    /// Warnings that the settings let pass.
    pub notices: Vec<PolicyProblem>,
    pub surfaces: Surfaces,
}

/// Whether a warning about a policy refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Warnings {
    #[default]
    Error,
    Allow,
}

/// What the rules leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surfaces {
    pub tools: OpenTools,
    /// Actions that some policy may permit, tools included, and none forbids outright.
    pub open: Vec<ActionName>,
}

/// Which tools can be called, as far as that can be said without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenTools {
    None,
    /// No others; each may still be subject to conditions. Sorted.
    Named(Vec<String>),
    /// Policies decide by more than the name.
    ByPolicy,
}

/// Who lists, and in what circumstances.
#[derive(Debug, Clone)]
pub struct ListFacts<'a> {
    pub principal: Principal<'a>,
    pub env: Environment<'a>,
}

/// What decides about an item of a list, beside its name, the principal and the revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListsBy {
    /// Nothing else.
    Names,
    /// The protocol, and what the session has been through.
    Session,
    /// The time as well.
    Moment,
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

impl Surfaces {
    pub fn is_open(&self, action: ActionName) -> bool {
        self.open.contains(&action)
    }
}

/// One line, for example `tools: echo, add; open: resources, prompts; closed: sampling`.
impl fmt::Display for Surfaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tools {
            OpenTools::None => f.write_str("tools: none")?,
            OpenTools::Named(names) => write!(f, "tools: {}", names.join(", "))?,
            OpenTools::ByPolicy => f.write_str("tools: by policy")?,
        }
        for (word, wanted) in [("open", true), ("closed", false)] {
            let words = SURFACES
                .iter()
                .filter(|(_, action)| self.is_open(*action) == wanted);
            let words: Vec<&str> = words.map(|(word, _)| *word).collect();
            if !words.is_empty() {
                write!(f, "; {word}: {}", words.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What operators call the actions that matter at start.
const SURFACES: [(&str, ActionName); 8] = [
    ("resources", ActionName::ReadResource),
    ("prompts", ActionName::GetPrompt),
    ("completion", ActionName::Complete),
    ("logging", ActionName::SetLevel),
    ("subscriptions", ActionName::Listen),
    ("sampling", ActionName::Sample),
    ("elicitation", ActionName::Elicit),
    ("roots", ActionName::ListRoots),
];
