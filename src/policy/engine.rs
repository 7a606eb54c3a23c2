//! The one extension point of policy: a new engine is one file in `engines/` and one line there.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::action::ActionName;
use super::checked_policies::CheckedPolicies;
use super::decision::{EngineFault, EngineName, Verdict};
use super::errors::{PolicyErrors, PolicyProblem};
use super::facts::{Environment, Facts, Principal, Resource};
use super::mutant::Mutant;
use super::partial::{PartialDecision, PartialRequest};
use super::source::{PolicyEntry, PolicySource};
use super::trace::{PolicyOutline, Trace};

/// Compiled rules. Pure: the same facts give the same verdict, with no I/O, clock or memory.
pub trait RuleEngine: fmt::Debug + Send + Sync {
    fn name(&self) -> EngineName;

    /// A fault denies the message, whatever the other engines say.
    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault>;

    /// Like `judge`, for an alternative call; observers do not see it.
    fn suppose(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        self.judge(facts)
    }

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

    /// Which question an item's place in a list is the answer to.
    fn shows(&self) -> ListMode {
        ListMode::WhatMayBeUsed
    }

    /// What the rules come to, whatever is not known. An engine that cannot tell says so.
    fn outlook(&self, _: &PartialRequest<'_>) -> PartialDecision {
        PartialDecision::OPEN
    }

    /// What need not be checked again where it is met again.
    fn checked(&self) -> CheckedPolicies {
        CheckedPolicies::default()
    }

    /// What its rules may depend on that costs time to be found in a message. What is not looked for
    /// is told as if there were none, so only an engine that can tell says less.
    fn looks_for(&self) -> RequiredDetectors {
        RequiredDetectors::ALL
    }

    /// What its answers about a list depend on, by the action that shows it, beside the revision, the
    /// principal and the item.
    fn lists_by(&self, _list: ActionName) -> ListDependency {
        ListDependency::Moment
    }
}

/// What rules look for in messages, beside what every message shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredDetectors {
    /// `context.targets.secrets` and `context.result.secrets`.
    pub secrets: bool,
    /// `resource.flags` and `context.result.flags`.
    pub flags: bool,
}

impl RequiredDetectors {
    pub const ALL: Self = Self {
        secrets: true,
        flags: true,
    };
    pub const NOTHING: Self = Self {
        secrets: false,
        flags: false,
    };

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            secrets: self.secrets || other.secrets,
            flags: self.flags || other.flags,
        }
    }

    /// What rules may ask for that are written in these words, in a language that looks into records
    /// by names that it computes as well: unless each look is at a member by its name, and nothing is
    /// written as an escape, they may ask for anything.
    pub fn named_in<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let named = texts.into_iter().map(|text| {
            if looks_by_name(text) {
                Self {
                    secrets: text.contains("secrets"),
                    flags: text.contains("flags"),
                }
            } else {
                Self::ALL
            }
        });
        named.fold(Self::NOTHING, Self::and)
    }
}

/// The records that hold what is looked for, and those around them.
const RECORDS: [&str; 5] = ["input", "context", "targets", "result", "resource"];

/// Whether each of [`RECORDS`] is asked for a member by its name wherever it is named.
fn looks_by_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let from = rest.get(start..).unwrap_or_default();
        let end = from.find(|letter| !is_part(letter)).unwrap_or(from.len());
        let (word, after) = from.split_at_checked(end).unwrap_or_default();
        let member = after.strip_prefix('.').and_then(|it| it.chars().next());
        if RECORDS.contains(&word) && !member.is_some_and(is_part) {
            return false;
        }
        rest = after;
    }
    !text.contains('\\')
}

/// A kind of engine: which files it reads and how it compiles them.
pub trait EngineKind: fmt::Debug + Send + Sync {
    fn name(&self) -> EngineName;
    fn claims(&self, path: &Path) -> bool;
    /// All problems of all sources at once, or an engine.
    fn compile(&self, sources: &[PolicySource]) -> Result<CompiledPolicies, PolicyErrors>;

    /// What was in `old` and is not in `new`, beside whole policies, in words: what a text has lost
    /// that was cut and is still valid. Both are in order.
    fn lost(&self, _old: &[PolicySource], _new: &[PolicySource]) -> Vec<String> {
        Vec::new()
    }
}

/// What came of sources that are in order.
#[derive(Debug)]
pub struct CompiledPolicies {
    pub engine: Box<dyn RuleEngine>,
    pub policies: Vec<PolicyEntry>,
    /// Warnings that the settings let pass.
    pub notices: Vec<PolicyProblem>,
    pub surfaces: ExposedActions,
}

/// Whether a warning about a policy refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WarningMode {
    #[default]
    Error,
    Allow,
}

/// What the rules leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExposedActions {
    pub tools: ExposedTools,
    /// Actions that some policy may permit, tools included, and none forbids outright.
    pub open: Vec<ActionName>,
    /// Actions of which only asking tells, as with engines whose rules are programs.
    pub by_policy: Vec<ActionName>,
    /// Actions that some policy forbids outright, whatever others say.
    pub closed: Vec<ActionName>,
}

/// Which tools can be called, as far as that can be said without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExposedTools {
    None,
    /// No others; each may still be subject to conditions. Sorted.
    Named(Vec<String>),
    /// Policies decide by more than the name.
    ByPolicy,
}

impl From<Verdict> for Visibility {
    /// What an engine that is asked about listing itself means by its answer.
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow { .. } => Self::Shown,
            Verdict::Deny { .. } => Self::Hidden,
            Verdict::Abstain => Self::Abstain,
        }
    }
}

/// Who lists, and in what circumstances.
#[derive(Debug, Clone)]
pub struct ListFacts<'a> {
    pub principal: Principal<'a>,
    pub env: Environment<'a>,
    pub uses: UseTime,
}

/// Which uses of an item count for showing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UseTime {
    /// Those of a session that has read what this one has.
    Now,
    /// Those of any session: a denied agent gets the reason, not an unknown item.
    Ever,
}

/// What decides about an item of a list, beside its name, the principal and the revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListDependency {
    /// Nothing else.
    Names,
    /// What the session has read.
    Held,
    /// The protocol, and what the session has been through.
    Session,
    /// The time as well.
    Moment,
}

impl ListDependency {
    /// The actions by which policies show items of lists.
    pub const LISTS: [ActionName; 3] = [
        ActionName::ListTool,
        ActionName::ListResource,
        ActionName::ListPrompt,
    ];
}

/// What a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListMode {
    /// What could be used in some way, and is not forbidden to be listed.
    WhatMayBeUsed,
    /// What the rules on listing permit.
    WhatMayBeListed,
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

impl ExposedActions {
    pub fn is_open(&self, action: ActionName) -> bool {
        self.open.contains(&action)
    }

    /// What the rules of two engines leave open together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.tools = match (self.tools, other.tools) {
            (ExposedTools::ByPolicy, _) | (_, ExposedTools::ByPolicy) => ExposedTools::ByPolicy,
            (ExposedTools::None, tools) | (tools, ExposedTools::None) => tools,
            (ExposedTools::Named(mut names), ExposedTools::Named(more)) => {
                names.extend(more);
                names.sort();
                names.dedup();
                ExposedTools::Named(names)
            }
        };
        join(&mut self.open, other.open);
        join(&mut self.by_policy, other.by_policy);
        join(&mut self.closed, other.closed);
        let closed = &self.closed;
        self.open.retain(|action| !closed.contains(action));
        let open = &self.open;
        self.by_policy
            .retain(|action| !closed.contains(action) && !open.contains(action));
        if closed.contains(&ActionName::CallTool) {
            self.tools = ExposedTools::None;
        }
        self
    }
}

fn join(actions: &mut Vec<ActionName>, more: Vec<ActionName>) {
    actions.extend(more);
    actions.sort_unstable();
    actions.dedup();
}

/// How many tools are told by name in one line.
const MOST_TOLD: usize = 30;

/// One line, for example `tools: echo, add; open: resources, prompts; closed: sampling`.
impl fmt::Display for ExposedActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tools {
            ExposedTools::None => f.write_str("tools: none")?,
            ExposedTools::Named(names) => {
                let told = names.get(..MOST_TOLD).unwrap_or(names);
                write!(f, "tools: {}", told.join(", "))?;
                if told.len() < names.len() {
                    write!(f, " and {} more", names.len() - told.len())?;
                }
            }
            ExposedTools::ByPolicy => f.write_str("tools: by policy")?,
        }
        let state = |action| {
            if self.is_open(action) {
                "open"
            } else if self.by_policy.contains(&action) {
                "by policy"
            } else {
                "closed"
            }
        };
        for word in ["open", "by policy", "closed"] {
            let words = SURFACES.iter().filter(|(_, action)| state(*action) == word);
            let words: Vec<&str> = words.map(|(word, _)| *word).collect();
            if !words.is_empty() {
                write!(f, "; {word}: {}", words.join(", "))?;
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests;
