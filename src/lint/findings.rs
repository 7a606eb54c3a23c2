//! A lint, and what lints found so far.

use cedar_policy_core::parser::Loc;

use super::material::LintContext;
use crate::policy::engines::cedar::PolicyTree;
use crate::policy::{PolicyId, PolicyProblem};

/// One lint.
pub struct Lint {
    /// Stable: annotations and other programs name it.
    pub code: &'static str,
    /// What it finds, in a few words.
    pub about: &'static str,
    pub(super) look: fn(&LintContext<'_>, &mut LintFindings),
}

/// What every code begins with.
pub(super) const PREFIX: &str = "lint::";

/// The findings of all lints.
#[derive(Debug, Default)]
pub(super) struct LintFindings {
    pub(super) all: Vec<LintFinding>,
}

/// One finding.
#[derive(Debug)]
pub(super) struct LintFinding {
    pub(super) lint: &'static Lint,
    /// The policy that it is about, which may say that it is meant so.
    pub(super) policy: Option<PolicyId>,
    pub(super) problem: PolicyProblem,
}

/// Words for a finding: what is the case, and what to do about it.
pub(super) struct LintMessage {
    pub(super) message: String,
    pub(super) help: String,
    /// At the place.
    pub(super) label: &'static str,
}

impl Lint {
    /// The code as annotations may write it: without what all begin with.
    pub fn name(&self) -> &'static str {
        self.code.strip_prefix(PREFIX).unwrap_or(self.code)
    }
}

impl std::fmt::Debug for Lint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code)
    }
}

impl LintFindings {
    /// About a piece of a policy; about its first line where the piece has no place.
    pub(super) fn at(
        &mut self,
        lint: &'static Lint,
        policy: &PolicyTree<'_>,
        loc: Option<&Loc>,
        say: LintMessage,
    ) {
        let problem = PolicyProblem::warning(lint.code, say.message).with_help(say.help);
        self.about(lint, policy, policy.point(problem, loc, say.label));
    }

    /// About a policy, in words that are already chosen.
    pub(super) fn about(
        &mut self,
        lint: &'static Lint,
        policy: &PolicyTree<'_>,
        problem: PolicyProblem,
    ) {
        self.all.push(LintFinding {
            lint,
            policy: Some(policy.id.clone()),
            problem: problem.as_written(policy.source),
        });
    }

    /// About no single policy.
    pub(super) fn add(&mut self, lint: &'static Lint, problem: PolicyProblem) {
        self.all.push(LintFinding {
            lint,
            policy: None,
            problem,
        });
    }
}
