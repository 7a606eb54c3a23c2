//! What a policy is checked against: of calls, those that its scope can be about.
//!
//! Cedar checks a policy for every action that its scope names, and does not know that the call of
//! one tool is never asked of another. A policy on one of many tools would be checked with the
//! arguments of all of them, which finds mistakes that no call could ever meet. It takes long, too:
//! for each action, `action in` looks through all others.

use cedar_policy::{ActionConstraint, EntityUid, Policy, ResourceConstraint};
use cedar_policy_core::ast::{self, EntityUID, Expr, Policy as Tree, StaticPolicy, Var};

use super::rebalance::balanced;
use super::schema_action::{CallIndex, SchemaAction};
use super::vocabulary::Vocabulary;
use crate::policy::{ActionName, ServerKey};

/// The same policy, with `action` being no call of another tool than the one that its scope names, or than those of
/// the server whose own policy it is, if it is about calls and nothing else; otherwise as it is.
///
/// INVARIANT: sound because `SchemaAction::on` asks for the call of a tool with that very tool.
pub(super) fn narrowed(words: &Vocabulary, policy: &Policy, server: Option<&ServerKey>) -> Policy {
    let whole = || policy.clone();
    let own = own_calls(words, policy, server);
    let any = words.action(SchemaAction::Named(ActionName::CallTool));
    let (Some(own), Some(any)) = (own, any.map(|action| action.uid().clone())) else {
        return whole();
    };
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
    // Of a thousand tools a chain would be a thousand deep.
    let is_possible = balanced(&own.into_iter().map(is).fold(is(any), Expr::or));
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

/// The calls that a policy can be about: of the tool that its scope names, or of those of its server; `None` if they may
/// be any.
fn own_calls(
    words: &Vocabulary,
    policy: &Policy,
    server: Option<&ServerKey>,
) -> Option<Vec<EntityUID>> {
    let calls: Vec<CallIndex> = match (policy.resource_constraint(), server) {
        (ResourceConstraint::Eq(uid), _) => {
            let uid: &EntityUID = AsRef::as_ref(&uid as &EntityUid);
            let call = words.call(uid.eid().as_ref());
            vec![call.filter(|_| *uid.entity_type() == words.tool)?]
        }
        (_, Some(server)) => {
            let own = words.calls().filter(|(id, _)| server.name_in(id).is_some());
            own.map(|(_, call)| call).collect()
        }
        (_, None) => return None,
    };
    let actions = calls.into_iter().map(SchemaAction::Call);
    let actions = actions.filter_map(|call| words.action(call));
    Some(actions.map(|action| action.uid().clone()).collect())
}
