//! Policies as their authors wrote them, for readers that do not evaluate them.

use std::ops::Range;

use cedar_policy::Effect;
use cedar_policy_core::ast::{self, Expr};
use cedar_policy_core::parser::Loc;

use super::action_set::ActionSet;
use super::policy_draft::{PolicyDraft, verbs};
use super::schema_action::SchemaAction;
use super::vocabulary::Vocabulary;
use super::{BASE_SCHEMA, argument_schema, compile, fault, on_big_stack};
use crate::policy::{
    ActionName, Lock, PolicyErrors, PolicyId, PolicyOrigin, PolicyProblem, PolicySource,
};

/// One policy that could be read; its types may still be wrong.
#[derive(Debug)]
pub struct PolicyTree<'s> {
    pub id: PolicyId,
    pub origin: PolicyOrigin,
    pub source: &'s PolicySource,
    /// The whole policy in its source.
    pub span: Range<usize>,
    pub effect: Effect,
    pub template: &'s ast::Template,
    /// What its scope names, each of them; the call of one tool is a `call_tool`.
    pub actions: Vec<ActionName>,
    verbs: ActionSet,
}

/// Reads texts and hands the policies to `visit`, on a stack that is large enough to recurse on
/// them. What cannot be read, or is too deep, is left out: compiling tells of it.
///
/// # Errors
/// When there is no such stack, or `visit` failed.
pub fn read_trees<T: Send>(
    sources: &[PolicySource],
    lock: &Lock,
    visit: impl FnOnce(&[PolicyTree<'_>]) -> T + Send,
) -> Result<T, PolicyErrors> {
    let words = on_big_stack(|| Vocabulary::with(lock))?.map_err(fault)?;
    on_big_stack(|| {
        let (drafts, _) = compile::parse(&words, sources);
        let sound = drafts.iter().filter(|draft| draft.is_sound());
        let trees: Vec<_> = sound.map(|draft| PolicyTree::of(&words, draft)).collect();
        visit(&trees)
    })
}

/// The schema that policies are checked against, with an action for each tool whose arguments have
/// types.
///
/// # Errors
/// When the types of the lock make no schema.
pub fn schema_text(lock: &Lock) -> Result<String, PolicyErrors> {
    if lock.typed().next().is_none() {
        return Ok(BASE_SCHEMA.to_owned());
    }
    let calls = argument_schema::calls(lock).map_err(fault)?;
    let calls = calls
        .to_cedarschema()
        .map_err(|error| fault(error.to_string()))?;
    Ok(format!(
        "{BASE_SCHEMA}\n// The calls of tools.lock.\n{calls}"
    ))
}

impl<'s> PolicyTree<'s> {
    fn of(words: &Vocabulary, draft: &'s PolicyDraft<'_>) -> Self {
        let policy: &ast::Policy = draft.policy.as_ref();
        let start = draft.start();
        let action = draft.policy.action_constraint();
        let verbs = verbs(words, &action);
        let mut actions: Vec<ActionName> = verbs.each().map(SchemaAction::name).collect();
        actions.dedup();
        Self {
            id: draft.entry.id.clone(),
            origin: draft.entry.origin.clone(),
            source: draft.source,
            span: start..start + draft.entry.text.len(),
            effect: draft.policy.effect(),
            template: policy.template(),
            actions,
            verbs,
        }
    }

    /// Whether its scope names an action as a whole, not only the calls of some tools.
    pub fn is_on(&self, action: ActionName) -> bool {
        self.verbs.has(SchemaAction::Named(action))
    }

    /// Whether its scope names every action that another one's names.
    pub fn is_on_all_of(&self, other: &PolicyTree<'_>) -> bool {
        other.verbs.each().all(|verb| self.verbs.has(verb))
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
