//! What a policy is checked against: of calls, those that its scope can be about.
//!
//! Cedar checks a policy for every action that its scope names, and does not know that the call of
//! one tool is never asked of another. A policy on one of many tools would be checked with the
//! arguments of all of them, which takes as long, and finds mistakes that no call could ever meet.

use cedar_policy::{EntityUid, Policy, ResourceConstraint};
use cedar_policy_core::ast::{EntityUID, Expr, Policy as Tree, StaticPolicy, Var};

use super::verb::Verb;
use super::vocabulary::Vocabulary;
use crate::policy::ActionName;

/// The same policy, with `action` being no call of another tool than the one that its scope names;
/// otherwise as it is.
///
/// INVARIANT: sound because `Verb::on` asks for the call of a tool with that very tool.
pub(super) fn narrowed(words: &Vocabulary, policy: &Policy) -> Policy {
    let whole = || policy.clone();
    let ResourceConstraint::Eq(uid) = policy.resource_constraint() else {
        return whole();
    };
    let uid: &EntityUID = AsRef::as_ref(&uid as &EntityUid);
    let own = words.call(uid.eid().as_ref()).map(Verb::Call);
    let actions = [own, Some(Verb::Named(ActionName::CallTool))].map(|verb| {
        let action = verb.and_then(|verb| words.action(verb));
        action.map(|action| action.uid().clone())
    });
    let [Some(own), Some(any)] = actions else {
        return whole();
    };
    if uid.entity_type() != &words.tool {
        return whole();
    }
    let action = || Expr::var(Var::Action);
    let is = |uid: EntityUID| Expr::is_eq(action(), Expr::val(uid));
    let is_no_call = Expr::not(Expr::is_in(action(), Expr::val(any.clone())));
    let is_possible = Expr::or(is_no_call, Expr::or(is(any), is(own)));
    let tree: &Tree = policy.as_ref();
    let template = tree.template();
    let condition = match template.non_scope_constraints() {
        Some(condition) => Expr::and(is_possible, condition.clone()),
        None => is_possible,
    };
    let narrowed = StaticPolicy::new(
        template.id().clone(),
        template.loc().cloned(),
        template.annotations_arc().as_ref().clone(),
        template.effect(),
        template.principal_constraint().clone(),
        template.action_constraint().clone(),
        template.resource_constraint().clone(),
        Some(condition),
    );
    narrowed.map_or_else(|_| whole(), Into::into)
}
