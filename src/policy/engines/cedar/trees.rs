//! Policies as their authors wrote them, for whoever reads policies without judging by them.

use std::ops::Range;

use cedar_policy::Effect;
use cedar_policy_core::ast::{self, Expr};
use cedar_policy_core::parser::Loc;

use super::draft::{Draft, matches};
use super::vocabulary::Vocabulary;
use super::{compile, fault, on_big_stack};
use crate::policy::{ActionName, Origin, PolicyErrors, PolicyId, PolicyProblem, PolicySource};

/// One policy that could be read; its types may still be wrong.
#[derive(Debug)]
pub struct PolicyTree<'s> {
    pub id: PolicyId,
    pub origin: Origin,
    pub source: &'s PolicySource,
    /// The whole policy in its source.
    pub span: Range<usize>,
    pub effect: Effect,
    pub template: &'s ast::Template,
    /// What its scope names, each of them.
    pub actions: Vec<ActionName>,
}

/// Reads texts and hands the policies to `look`, on a stack that is large enough to recurse on
/// them. What cannot be read, or is too deep, is left out: compiling tells of it.
///
/// # Errors
/// When there is no such stack, or `look` failed.
pub fn read_trees<T: Send>(
    sources: &[PolicySource],
    look: impl FnOnce(&[PolicyTree<'_>]) -> T + Send,
) -> Result<T, PolicyErrors> {
    let words = &*Vocabulary::get().map_err(fault)?;
    on_big_stack(|| {
        let (drafts, _) = compile::parse(sources);
        let sound = drafts.iter().filter(|draft| draft.is_sound());
        let trees: Vec<_> = sound.map(|draft| PolicyTree::of(words, draft)).collect();
        look(&trees)
    })
}

impl<'s> PolicyTree<'s> {
    fn of(words: &Vocabulary, draft: &'s Draft<'_>) -> Self {
        let policy: &ast::Policy = draft.policy.as_ref();
        let start = draft.start();
        let action = draft.policy.action_constraint();
        let actions = ActionName::ALL.into_iter();
        Self {
            id: draft.entry.id.clone(),
            origin: draft.entry.origin.clone(),
            source: draft.source,
            span: start..start + draft.entry.text.len(),
            effect: draft.policy.effect(),
            template: policy.template(),
            actions: actions
                .filter(|name| matches(words, *name, &action))
                .collect(),
        }
    }

    /// What stands in `when` and `unless`, joined by `&&`.
    pub fn condition(&self) -> Option<&'s Expr> {
        self.template.non_scope_constraints()
    }

    pub fn annotation(&self, key: &str) -> Option<&'s str> {
        let mut all = self.template.annotations();
        let (_, found) = all.find(|(name, _)| AsRef::<str>::as_ref(name) == key)?;
        Some(found.val.as_str())
    }

    /// A problem at the first line of the policy.
    #[must_use]
    pub fn locate(&self, problem: PolicyProblem, label: &str) -> PolicyProblem {
        let text = self.source.text.get(self.span.clone()).unwrap_or_default();
        let first = text.lines().next().map_or(0, str::len);
        let span = self.span.start..self.span.start + first;
        problem.in_source(self.source).at(span, label)
    }

    /// A problem where an expression or a name stands.
    #[must_use]
    pub fn point(&self, problem: PolicyProblem, loc: Option<&Loc>, label: &str) -> PolicyProblem {
        match loc {
            Some(loc) => problem
                .in_source(self.source)
                .at(loc.start()..loc.end(), label),
            None => self.locate(problem, label),
        }
    }
}
