//! How lints read conditions.

use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, Literal, UnaryOp, Var};

/// The expression and everything in it.
pub(super) fn all(expr: &Expr) -> impl Iterator<Item = &Expr> {
    expr.subexpressions()
}

/// The last name of an attribute access, such as `level` of `context.env.session.level`.
pub(super) fn attribute(expr: &Expr) -> Option<&str> {
    if let ExprKind::GetAttr { attr, .. } = expr.expr_kind() {
        Some(attr)
    } else {
        None
    }
}

pub(super) fn long(expr: &Expr) -> Option<i64> {
    if let ExprKind::Lit(Literal::Long(value)) = expr.expr_kind() {
        Some(*value)
    } else {
        None
    }
}

pub(super) fn text(expr: &Expr) -> Option<&str> {
    if let ExprKind::Lit(Literal::String(text)) = expr.expr_kind() {
        Some(text)
    } else {
        None
    }
}

/// The sides of a comparison by `==`, the literal second wherever it stands.
pub(super) fn equality(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let ExprKind::BinaryApp {
        op: BinaryOp::Eq,
        arg1,
        arg2,
    } = expr.expr_kind()
    else {
        return None;
    };
    let is_literal = |expr: &Expr| matches!(expr.expr_kind(), ExprKind::Lit(_));
    if is_literal(arg1) && !is_literal(arg2) {
        Some((arg2, arg1))
    } else {
        Some((arg1, arg2))
    }
}

/// What a `!` stands before.
pub(super) fn negated(expr: &Expr) -> Option<&Expr> {
    if let ExprKind::UnaryApp {
        op: UnaryOp::Not,
        arg,
    } = expr.expr_kind()
    {
        Some(arg)
    } else {
        None
    }
}

/// A variable, and the attributes that are looked up one in the other.
pub(super) fn path(mut expr: &Expr) -> Option<(Var, Vec<&str>)> {
    let mut path = Vec::new();
    while let ExprKind::GetAttr { expr: inner, attr } = expr.expr_kind() {
        path.push(attr.as_str());
        expr = inner;
    }
    let ExprKind::Var(root) = expr.expr_kind() else {
        return None;
    };
    path.reverse();
    Some((*root, path))
}

/// The pointer in `context.args.getTag("…").s`, and the attribute.
pub(super) fn argument(expr: &Expr) -> Option<(&str, &str)> {
    let ExprKind::GetAttr { expr: tag, attr } = expr.expr_kind() else {
        return None;
    };
    if let ExprKind::BinaryApp {
        op: BinaryOp::GetTag,
        arg2,
        ..
    } = tag.expr_kind()
    {
        Some((text(arg2)?, attr))
    } else {
        None
    }
}
