//! Everything that is wrong with policies, where something is.

use std::sync::Arc;

use super::engines::{CompiledEngines, EngineKinds};
use crate::policy::engines::cedar::{PolicyTree, read_trees};
use crate::policy::{Lock, PolicyErrors, PolicyProblem, PolicySource};

/// Whether the lock could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    Whole,
    Broken,
}

/// Compiles; without a whole lock, leaves out what only a lock could tell.
pub(super) fn compiled(
    kinds: &EngineKinds,
    sources: &[PolicySource],
    lock: (&Arc<Lock>, LockState),
) -> Result<CompiledEngines, PolicyErrors> {
    let mut problems = match kinds.compile(sources) {
        Ok(compiled) => return Ok(compiled),
        Err(errors) => errors.problems,
    };
    let (lock, is) = lock;
    let cedar = sources.iter().filter(|it| it.name.ends_with(".cedar"));
    let cedar: Vec<PolicySource> = cedar.cloned().collect();
    let read = read_trees(&cedar, lock, |trees| {
        if is == LockState::Broken {
            problems.retain(|problem| !trees.iter().any(|tree| needs_lock(tree, problem)));
        }
    });
    if let Err(errors) = read {
        problems.extend(errors.problems);
    }
    Err(PolicyErrors { problems })
}

fn text<'t>(tree: &PolicyTree<'t>) -> &'t str {
    tree.source.text.get(tree.span.clone()).unwrap_or_default()
}

/// Whether a problem is one of a policy on the arguments of single tools, which only a lock gives
/// types to: without it they look wrong whatever they say.
fn needs_lock(tree: &PolicyTree<'_>, problem: &PolicyProblem) -> bool {
    let file = problem.source.as_ref().map(miette::NamedSource::name);
    let place = problem.labels.first().map(miette::LabeledSpan::offset);
    let is_here =
        file == Some(&*tree.source.name) && place.is_some_and(|place| tree.span.contains(&place));
    let text = text(tree);
    is_here
        && problem.code == "policy::type"
        && (text.contains("call_tool/") || text.contains(".arguments"))
}
