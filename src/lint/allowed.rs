//! `@lint_allow("…")`: what an author has seen and means so.

use cedar_policy_core::parser::Loc;

use super::found::Found;
use super::table::{ALL, Lint};
use crate::policy::PolicyProblem;
use crate::policy::engines::cedar::PolicyTree;

/// The annotation.
const KEY: &str = "lint_allow";

/// An annotation that names no lint allows nothing: its author would believe otherwise.
const UNKNOWN: &str = "lint::unknown-lint";

/// Takes away what is allowed, and tells of what is allowed in vain.
pub(super) fn apply(policies: &[PolicyTree<'_>], found: &mut Found) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    for policy in policies {
        let Some(named) = policy.annotation(KEY) else {
            continue;
        };
        for name in named.split(',').map(str::trim) {
            let Some(lint) = Lint::named(name) else {
                problems.push(unknown(policy, name));
                continue;
            };
            let before = found.all.len();
            found.all.retain(|about| {
                about.lint.code != lint.code || about.policy.as_ref() != Some(&policy.id)
            });
            if found.all.len() == before {
                problems.push(in_vain(policy, lint));
            }
        }
    }
    problems
}

impl Lint {
    /// What is told of a name that no lint has.
    pub fn unknown(name: &str) -> PolicyProblem {
        let message = format!("no lint is called `{name}`");
        PolicyProblem::error(UNKNOWN, message).with_help(nearest(name))
    }
}

fn unknown(policy: &PolicyTree<'_>, name: &str) -> PolicyProblem {
    policy.point(Lint::unknown(name), loc(policy), "here")
}

fn in_vain(policy: &PolicyTree<'_>, lint: &Lint) -> PolicyProblem {
    let message = format!(
        "`{}` finds nothing here that had to be allowed",
        lint.name()
    );
    let problem = PolicyProblem::warning(UNKNOWN, message);
    let help = "take it out, so that the next finding is told";
    policy.point(problem.with_help(help), loc(policy), "here")
}

fn loc<'p>(policy: &'p PolicyTree<'_>) -> Option<&'p Loc> {
    let mut all = policy.template.annotations();
    let (_, found) = all.find(|(name, _)| AsRef::<str>::as_ref(name) == KEY)?;
    found.loc.as_ref()
}

fn nearest(name: &str) -> String {
    let distance = |lint: &&&Lint| strsim::damerau_levenshtein(lint.name(), name);
    match ALL.iter().min_by_key(distance) {
        Some(lint) if distance(&lint) <= 1 + name.len() / 3 => {
            format!("did you mean `{}`?", lint.name())
        }
        _ => "the lints are in docs/lints.md; several have commas between them".to_owned(),
    }
}
