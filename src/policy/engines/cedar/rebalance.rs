//! Makes long chains of `&&` and `||` shallow.
//!
//! Cedar reads `a || b || c || d` as `((a || b) || c) || d` and evaluates it by recursion, at up to
//! 40 KiB of stack a level in a debug build; fifty alternatives would not fit a worker's 2 MiB. Both
//! operators are associative, short-circuiting and errors included, so the tree may be balanced.

use cedar_policy_core::ast::{Expr, ExprKind, Literal, UnaryOp};

use super::rebuild::rebuilt;

/// The same condition with its chains balanced, wherever they stand under `&&`, `||`, `!` and `if`.
pub(super) fn balanced(expr: &Expr) -> Expr {
    let kind = expr.expr_kind();
    let new = if let ExprKind::And { .. } = kind {
        join(&operands(expr, Chain::And), Expr::and)
    } else if let ExprKind::Or { .. } = kind {
        join(&operands(expr, Chain::Or), Expr::or)
    } else if let ExprKind::UnaryApp {
        op: UnaryOp::Not,
        arg,
    } = kind
    {
        Expr::not(balanced(arg))
    } else if let ExprKind::If {
        test_expr,
        then_expr,
        else_expr,
    } = kind
    {
        Expr::ite(
            balanced(test_expr),
            balanced(then_expr),
            balanced(else_expr),
        )
    } else {
        return expr.clone();
    };
    new.with_maybe_source_loc(expr.source_loc().cloned())
}

#[derive(Clone, Copy)]
enum Chain {
    And,
    Or,
}

/// The same condition without its places in the text, which Cedar's evaluator copies at every node:
/// a sixth of an evaluation. Our own diagnostics point at whole policies.
pub(super) fn without_places(expr: &Expr) -> Expr {
    rebuilt(expr, &|_, bare| bare)
}

/// In the order of evaluation, each balanced. Chains can be thousands long: no recursion along them.
fn operands(expr: &Expr, chain: Chain) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut todo = vec![expr];
    while let Some(next) = todo.pop() {
        match (chain, next.expr_kind()) {
            (Chain::And, ExprKind::And { left, right })
            | (Chain::Or, ExprKind::Or { left, right }) => {
                todo.push(right);
                todo.push(left);
            }
            // What a scope without constraints leaves behind, at every evaluation.
            (Chain::And, ExprKind::Lit(Literal::Bool(true))) => {}
            _ => found.push(balanced(next)),
        }
    }
    found
}

fn join(operands: &[Expr], with: fn(Expr, Expr) -> Expr) -> Expr {
    match operands {
        [] => Expr::val(true),
        [only] => only.clone(),
        [..] => {
            let (left, right) = operands.split_at(operands.len() / 2);
            with(join(left, with), join(right, with))
        }
    }
}
