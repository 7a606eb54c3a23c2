//! A server's own policies: their names are those of that server, and they hold at no other.
//!
//! They are written with the server's own names, as if there were no other. The compiler puts the key of the server
//! before each, and asks before everything else whether the message is one of that server.

use std::sync::Arc;

use cedar_policy::Policy;
use cedar_policy_core::ast::{
    self, ActionConstraint, Eid, EntityReference, EntityUID, Expr, ExprKind, Literal,
    PrincipalOrResourceConstraint, ResourceConstraint, StaticPolicy, Var,
};

use super::rebuild::rebuilt;
use super::schema_action::CALL;
use super::vocabulary::{Vocabulary, uid};
use crate::policy::ServerKey;

/// Whether the message is one of this server: what it is done to belongs to the server, or the server asks.
pub(super) fn is_of(words: &Vocabulary, key: &ServerKey) -> Expr {
    let server = || Expr::val(uid(&words.server, key.as_str()));
    Expr::or(
        Expr::is_in(Expr::var(Var::Resource), server()),
        Expr::is_eq(Expr::var(Var::Principal), server()),
    )
}

/// The same policy with the key of the server before each name of a tool, resource, prompt or method.
pub(super) fn with_key(policy: &Policy, key: &ServerKey) -> Policy {
    use PrincipalOrResourceConstraint::{Any, Eq, In, Is, IsIn};
    let tree: &ast::Policy = policy.as_ref();
    let template = tree.template();
    let named = |uid: &Arc<EntityUID>| named(uid, key).map_or_else(|| Arc::clone(uid), Arc::new);
    let action = match template.action_constraint() {
        ActionConstraint::Eq(uid) => ActionConstraint::Eq(named(uid)),
        ActionConstraint::In(uids) => ActionConstraint::In(uids.iter().map(named).collect()),
        ActionConstraint::Any => ActionConstraint::Any,
    };
    let reference = |of: &EntityReference| match of {
        EntityReference::EUID(uid) => EntityReference::EUID(named(uid)),
        EntityReference::Slot(_) => of.clone(),
    };
    let resource = match template.resource_constraint().as_inner() {
        Eq(of) => Eq(reference(of)),
        In(of) => In(reference(of)),
        IsIn(kind, of) => IsIn(Arc::clone(kind), reference(of)),
        Any => Any,
        Is(kind) => Is(Arc::clone(kind)),
    };
    let condition = template.non_scope_constraints();
    let new = StaticPolicy::new(
        template.id().clone(),
        template.loc().cloned(),
        template.annotations_arc().as_ref().clone(),
        template.effect(),
        template.principal_constraint().clone(),
        action,
        ResourceConstraint::new(resource),
        condition.map(|condition| names_with_key(condition, key)),
    );
    // What has no slot gets none.
    new.map_or_else(|_| policy.clone(), Into::into)
}

/// The same condition with such names.
pub(super) fn names_with_key(expr: &Expr, key: &ServerKey) -> Expr {
    rebuilt(expr, &|old, new| {
        let literal = if let ExprKind::Lit(Literal::EntityUID(uid)) = new.expr_kind() {
            named(uid, key).map(Expr::val)
        } else {
            None
        };
        literal
            .unwrap_or(new)
            .with_maybe_source_loc(old.source_loc().cloned())
    })
}

/// The name with the key before it, if it is one of something that a server has.
fn named(uid: &EntityUID, key: &ServerKey) -> Option<EntityUID> {
    let id: &str = uid.eid().as_ref();
    let id = match kind(uid).as_str() {
        "Tool" | "Prompt" | "Resource" | "Method" => key.id_of(id),
        "Action" => format!("{CALL}{}", key.id_of(id.strip_prefix(CALL)?)),
        _ => return None,
    };
    let kind = uid.entity_type().clone();
    Some(EntityUID::from_components(
        kind,
        Eid::new(id),
        uid.loc().cloned(),
    ))
}

fn kind(uid: &EntityUID) -> String {
    uid.entity_type().name().basename().to_string()
}
