//! All lints on one material.

use miette::{LabeledSpan, NamedSource};

use super::allowed;
use super::found::Found;
use super::material::{Material, World};
use super::table::{ALL, Lint};
use crate::policy::engines::cedar::{PolicyTree, read_trees};
use crate::policy::{PolicyErrors, PolicyProblem};

/// What all lints but those in `without` find, in the order of the files. Policies that cannot be
/// read are left out; compiling tells of them.
///
/// # Errors
/// When the machine gives no thread to look on.
pub fn lint(given: &Material, without: &[&Lint]) -> Result<Vec<PolicyProblem>, PolicyErrors> {
    read_trees(&given.policies, |policies| {
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
    let world = World { policies, given };
    let mut found = Found::default();
    for lint in ALL {
        (lint.look)(&world, &mut found);
    }
    let mut problems = allowed::apply(policies, &mut found);
    let asked = |code: &str| without.iter().all(|lint| lint.code != code);
    let found = found.all.into_iter().filter(|about| asked(about.lint.code));
    problems.extend(found.map(|about| about.problem));
    problems
}
