//! What a policy is checked against: of calls, those that its scope can be about.
//!
//! Cedar checks a policy for every action that its scope names, and does not know that the call of
//! one tool is never asked of another. A policy on one of many tools would be checked with the
//! arguments of all of them, which finds mistakes that no call could ever meet. It takes long, too:
//! for each action, `action in` looks through all others.

use cedar_policy::{ActionConstraint, EntityUid, Policy, ResourceConstraint};
use cedar_policy_core::ast::{self, EntityUID, Expr, Policy as Tree, StaticPolicy, Var};

use super::schema_action::SchemaAction;
use super::vocabulary::Vocabulary;
use crate::policy::ActionName;

/// The same policy, with `action` being no call of another tool than the one that its scope names,
/// if it is about calls and nothing else; otherwise as it is.
///
/// INVARIANT: sound because `SchemaAction::on` asks for the call of a tool with that very tool.
pub(super) fn narrowed(words: &Vocabulary, policy: &Policy) -> Policy {
    let whole = || policy.clone();
    let ResourceConstraint::Eq(uid) = policy.resource_constraint() else {
        return whole();
    };
    let uid: &EntityUID = AsRef::as_ref(&uid as &EntityUid);
    let own = words.call(uid.eid().as_ref()).map(SchemaAction::Call);
    let actions = [own, Some(SchemaAction::Named(ActionName::CallTool))].map(|verb| {
        let action = verb.and_then(|verb| words.action(verb));
        action.map(|action| action.uid().clone())
    });
    let [Some(own), Some(any)] = actions else {
        return whole();
    };
    if uid.entity_type() != &words.tool {
        return whole();
    }
    let about_calls = match policy.action_constraint() {
        ActionConstraint::In(uids) => {
            matches!(uids.as_slice(), [uid] if *AsRef::<EntityUID>::as_ref(uid) == any)
        }
        ActionConstraint::Any | ActionConstraint::Eq(_) => false,
    };
    if !about_calls {
        return whole();
    }
    let is = |uid: EntityUID| Expr::is_eq(Expr::var(Var::Action), Expr::val(uid));
    let is_possible = Expr::or(is(own), is(any));
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
        // What it asks stands in the condition.
        ast::ActionConstraint::any(),
        template.resource_constraint().clone(),
        Some(condition),
    );
    narrowed.map_or(policy.clone(), Into::into)
}
