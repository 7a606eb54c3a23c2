//! Makes an expression anew, with something changed at each node.

use cedar_policy_core::ast::{Expr, ExprKind};

/// The same expression with `change` applied to each node, from the leaves up. It gets the node as it was, and as it
/// is with its changed parts and without a place in the text.
pub(super) fn rebuilt(expr: &Expr, change: &impl Fn(&Expr, Expr) -> Expr) -> Expr {
    let same = |expr: &Expr| rebuilt(expr, change);
    let new = match expr.expr_kind() {
        ExprKind::Lit(_) | ExprKind::Var(_) | ExprKind::Slot(_) | ExprKind::Unknown(_) => {
            expr.clone().with_maybe_source_loc(None)
        }
        ExprKind::If {
            test_expr,
            then_expr,
            else_expr,
        } => Expr::ite(same(test_expr), same(then_expr), same(else_expr)),
        ExprKind::And { left, right } => Expr::and(same(left), same(right)),
        ExprKind::Or { left, right } => Expr::or(same(left), same(right)),
        ExprKind::UnaryApp { op, arg } => Expr::unary_app(*op, same(arg)),
        ExprKind::BinaryApp { op, arg1, arg2 } => Expr::binary_app(*op, same(arg1), same(arg2)),
        ExprKind::GetAttr { expr, attr } => Expr::get_attr(same(expr), attr.clone()),
        ExprKind::HasAttr { expr, attr } => Expr::has_attr(same(expr), attr.clone()),
        ExprKind::ExtHasAttr { expr, attrs } => Expr::extended_has_attr(same(expr), attrs.clone()),
        ExprKind::Like { expr, pattern } => Expr::like(same(expr), pattern.clone()),
        ExprKind::Is { expr, entity_type } => Expr::is_entity_type(same(expr), entity_type.clone()),
        ExprKind::ExtensionFunctionApp { fn_name, args } => {
            Expr::call_extension_fn(fn_name.clone(), args.iter().map(same).collect())
        }
        ExprKind::Set(items) => Expr::set(items.iter().map(same)),
        ExprKind::Record(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), same(value)));
            // Keys that were distinct stay so.
            Expr::record(fields).unwrap_or_else(|_| expr.clone())
        }
    };
    change(expr, new)
}
