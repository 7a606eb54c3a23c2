//! All lints on one material.

use miette::{LabeledSpan, NamedSource};

use super::findings::{Lint, LintFindings};
use super::material::{LintContext, Material};
use super::suppressions;
use super::table::ALL;
use crate::policy::engines::cedar::{PolicyTree, read_trees};
use crate::policy::{PolicyErrors, PolicyProblem};

/// Findings of one lint that are told. Each has its snippet, which costs a look at its whole file;
/// generated policies may have thousands alike.
const MOST: usize = 100;

/// What all lints but those in `without` find, in the order of the files. Policies that cannot be
/// read are left out; compiling tells of them.
///
/// # Errors
/// When the machine gives no thread to look on.
pub fn lint(given: &Material, without: &[&Lint]) -> Result<Vec<PolicyProblem>, PolicyErrors> {
    read_trees(&given.policies, &given.lock, |policies| {
        let mut problems = look(given, policies, without);
        let order = |problem: &PolicyProblem| {
            let file = problem.source.as_ref().map(NamedSource::name);
            let file = given.policies.iter().position(|it| file == Some(&*it.name));
            let place = problem.labels.first().map(LabeledSpan::offset);
            (file.is_none(), file, place)
        };
        problems.sort_by_key(order);
        problems
    })
}

fn look(given: &Material, policies: &[PolicyTree<'_>], without: &[&Lint]) -> Vec<PolicyProblem> {
    let world = LintContext { policies, given };
    let mut found = LintFindings::default();
    for lint in ALL {
        (lint.look)(&world, &mut found);
    }
    let mut problems = suppressions::apply(policies, &mut found);
    let asked = |code: &str| without.iter().all(|lint| lint.code != code);
    for lint in ALL.iter().filter(|lint| asked(lint.code)) {
        let of_lint = found
            .all
            .iter()
            .filter(|about| about.lint.code == lint.code);
        let left_out = of_lint.clone().count().saturating_sub(MOST);
        problems.extend(of_lint.take(MOST).map(|about| about.problem.clone()));
        if left_out > 0 {
            let message = format!("and {left_out} more of `{}`", lint.name());
            problems.push(PolicyProblem::warning(lint.code, message));
        }
    }
    PolicyProblem::once(problems)
}
