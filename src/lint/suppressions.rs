//! `@lint_ignore("…")`: what an author has seen and means so.

use std::collections::HashMap;

use cedar_policy_core::parser::Loc;

use super::findings::{Lint, LintFindings};
use super::table::ALL;
use crate::policy::engines::cedar::PolicyTree;
use crate::policy::suggest::did_you_mean;
use crate::policy::{PolicyId, PolicyProblem};

/// The annotation.
const KEY: &str = "lint_ignore";

/// An annotation that names no lint allows nothing: its author would believe otherwise.
const UNKNOWN: &str = "lint::unknown_lint";

/// Takes away what is allowed, and tells of what is allowed in vain.
pub(super) fn apply(policies: &[PolicyTree<'_>], found: &mut LintFindings) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    let mut allowed: HashMap<(PolicyId, &str), AllowanceUse> = HashMap::new();
    for (policy, name) in named(policies) {
        match Lint::named(name) {
            Some(lint) => {
                allowed.insert((policy.id.clone(), lint.code), AllowanceUse::No);
            }
            None => problems.push(policy.point(Lint::unknown(name), loc(policy), "here")),
        }
    }
    found.all.retain(|about| {
        let policy = about.policy.clone();
        match policy.and_then(|policy| allowed.get_mut(&(policy, about.lint.code))) {
            Some(needed) => {
                *needed = AllowanceUse::Yes;
                false
            }
            None => true,
        }
    });
    for (policy, name) in named(policies) {
        if let Some(lint) = Lint::named(name)
            && allowed.get(&(policy.id.clone(), lint.code)) == Some(&AllowanceUse::No)
        {
            problems.push(in_vain(policy, lint));
        }
    }
    problems
}

/// Whether something was found that an allowance takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowanceUse {
    No,
    Yes,
}

/// Each name that a policy allows.
fn named<'p>(
    policies: &'p [PolicyTree<'p>],
) -> impl Iterator<Item = (&'p PolicyTree<'p>, &'p str)> {
    policies.iter().flat_map(|policy| {
        let names = policy.annotation(KEY);
        let names = names.into_iter().flat_map(|names| names.split(','));
        names.map(move |name| (policy, name.trim()))
    })
}

impl Lint {
    /// What is told of a name that no lint has.
    pub fn unknown(name: &str) -> PolicyProblem {
        let message = format!("no lint is called `{name}`");
        PolicyProblem::error(UNKNOWN, message).with_help(nearest(name))
    }
}

fn in_vain(policy: &PolicyTree<'_>, lint: &Lint) -> PolicyProblem {
    let message = format!(
        "`{}` finds nothing here that had to be allowed",
        lint.name()
    );
    let problem = PolicyProblem::warning(UNKNOWN, message);
    let help = "remove it, so that the next finding is reported";
    policy.point(problem.with_help(help), loc(policy), "here")
}

fn loc<'p>(policy: &'p PolicyTree<'_>) -> Option<&'p Loc> {
    let mut all = policy.template.annotations();
    let (_, found) = all.find(|(name, _)| AsRef::<str>::as_ref(name) == KEY)?;
    found.loc.as_ref()
}

fn nearest(name: &str) -> String {
    did_you_mean(name, ALL.iter().map(|lint| lint.name())).unwrap_or_else(|| {
        "the lints are in docs/lints.md; several have commas between them".to_owned()
    })
}
