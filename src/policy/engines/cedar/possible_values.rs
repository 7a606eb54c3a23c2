//! What a condition may still come to when the context is open.

use cedar_policy_core::ast::{Expr, ExprKind, Literal, UnaryOp, Value, ValueKind};

/// What an evaluation may still come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PossibleValues {
    pub(super) truth: bool,
    pub(super) falsehood: bool,
}

impl PossibleValues {
    pub(super) const EITHER: Self = Self {
        truth: true,
        falsehood: true,
    };

    /// A condition that can be neither always fails.
    pub(super) fn of(rest: &Expr) -> Self {
        let kind = rest.expr_kind();
        if let ExprKind::Lit(Literal::Bool(value)) = kind {
            Self::exactly(*value)
        } else if let ExprKind::And { left, right } = kind {
            Self::of(left).then(Self::of(right), Self::exactly(false))
        } else if let ExprKind::Or { left, right } = kind {
            Self::of(left).then(Self::exactly(true), Self::of(right))
        } else if let ExprKind::UnaryApp {
            op: UnaryOp::Not,
            arg,
        } = kind
        {
            Self::of(arg).inverted()
        } else if let ExprKind::If {
            test_expr,
            then_expr,
            else_expr,
        } = kind
        {
            Self::of(test_expr).then(Self::of(then_expr), Self::of(else_expr))
        } else {
            Self::EITHER
        }
    }

    /// What it comes to if it can come to one thing only.
    pub(super) fn certain(self) -> Option<bool> {
        (self.truth != self.falsehood).then_some(self.truth)
    }

    pub(super) fn inverted(self) -> Self {
        self.then(Self::exactly(false), Self::exactly(true))
    }

    /// `if self then one else other`.
    pub(super) fn then(self, one: Self, other: Self) -> Self {
        Self {
            truth: (self.truth && one.truth) || (self.falsehood && other.truth),
            falsehood: (self.truth && one.falsehood) || (self.falsehood && other.falsehood),
        }
    }

    pub(super) fn exactly(value: bool) -> Self {
        Self {
            truth: value,
            falsehood: !value,
        }
    }

    pub(super) fn of_value(value: &Value) -> Self {
        if let ValueKind::Lit(Literal::Bool(value)) = &value.value {
            Self::exactly(*value)
        } else {
            Self {
                truth: false,
                falsehood: false,
            }
        }
    }
}
