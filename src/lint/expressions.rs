//! How lints read conditions.

use cedar_policy_core::ast::{
    BinaryOp, Expr, ExprKind, Literal, Pattern, PatternElem, UnaryOp, Var,
};

/// Whether an expression must hold or must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Holds,
    Fails,
}

/// One part of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainPart<'e> {
    pub(super) expr: &'e Expr,
    pub(super) sign: Sign,
}

/// How parts are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChainOperator {
    /// All must hold.
    All,
    /// One is enough.
    Any,
}

impl Sign {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Holds => Self::Fails,
            Self::Fails => Self::Holds,
        }
    }
}

impl ChainPart<'_> {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.sign == other.sign && self.expr.eq_shape(other.expr)
    }
}

impl ChainOperator {
    /// What an expression is a chain of, looking through every `!` before it; `None` for any other.
    fn of(mut expr: &Expr) -> Option<(Self, Sign)> {
        let mut sign = Sign::Holds;
        while let Some(inner) = negated(expr) {
            sign = sign.other();
            expr = inner;
        }
        match (expr.expr_kind(), sign) {
            (ExprKind::And { .. }, Sign::Holds) | (ExprKind::Or { .. }, Sign::Fails) => {
                Some((Self::All, sign))
            }
            (ExprKind::Or { .. }, Sign::Holds) | (ExprKind::And { .. }, Sign::Fails) => {
                Some((Self::Any, sign))
            }
            _ => None,
        }
    }
}

/// What must all hold for an expression to hold (or to fail): the parts of `a && b`, of
/// `!(a || b)`, and so on, in the order of the text. No recursion: chains are long.
pub(super) fn parts(expr: &Expr, sign: Sign) -> Vec<ChainPart<'_>> {
    let mut parts = Vec::new();
    let mut open = vec![ChainPart { expr, sign }];
    while let Some(ChainPart { expr, sign }) = open.pop() {
        match (expr.expr_kind(), sign) {
            (ExprKind::And { left, right }, Sign::Holds)
            | (ExprKind::Or { left, right }, Sign::Fails) => {
                open.push(ChainPart { expr: right, sign });
                open.push(ChainPart { expr: left, sign });
            }
            (
                ExprKind::UnaryApp {
                    op: UnaryOp::Not,
                    arg,
                },
                _,
            ) => open.push(ChainPart {
                expr: arg,
                sign: sign.other(),
            }),
            _ => parts.push(ChainPart { expr, sign }),
        }
    }
    parts
}

/// Every expression in a condition, with what it does for the whole: `None` where that is not plain,
/// as in the test of an `if`.
pub(super) fn signed(condition: &Expr) -> Vec<(&Expr, Option<Sign>)> {
    let mut found = Vec::new();
    let mut open = vec![(condition, Some(Sign::Holds))];
    while let Some((expr, sign)) = open.pop() {
        found.push((expr, sign));
        let inside = crate::policy::engines::cedar::children(expr);
        let sign_inside = if matches!(expr.expr_kind(), ExprKind::And { .. } | ExprKind::Or { .. })
        {
            sign
        } else {
            negated(expr).and(sign).map(Sign::other)
        };
        open.extend(inside.into_iter().rev().map(|inside| (inside, sign_inside)));
    }
    found
}

/// Every longest chain in an expression, the outermost first, with its parts. What a chain of the
/// second kind needs to fail is told as its parts, so that `a || b` has `!a` and `!b`.
pub(super) fn chains(expr: &Expr) -> Vec<(&Expr, ChainOperator, Vec<ChainPart<'_>>)> {
    let mut chains = Vec::new();
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        let found = match ChainOperator::of(expr) {
            Some((ChainOperator::All, _)) => Some((ChainOperator::All, parts(expr, Sign::Holds))),
            Some((ChainOperator::Any, _)) => Some((ChainOperator::Any, parts(expr, Sign::Fails))),
            None => None,
        };
        if let Some((chain, parts)) = found {
            open.extend(parts.iter().rev().map(|part| part.expr));
            chains.push((expr, chain, parts));
        } else {
            let inside = crate::policy::engines::cedar::children(expr);
            open.extend(inside.into_iter().rev());
        }
    }
    chains
}

/// `true` or `false`, written out.
pub(super) fn truth(expr: &Expr) -> Option<bool> {
    if let Some(Literal::Bool(value)) = literal(expr) {
        Some(*value)
    } else {
        None
    }
}

/// The last name of an attribute access, such as `level` of `context.env.session.level`.
pub(super) fn attribute(expr: &Expr) -> Option<&str> {
    if let ExprKind::GetAttr { attr, .. } = expr.expr_kind() {
        Some(attr)
    } else {
        None
    }
}

pub(super) fn literal(expr: &Expr) -> Option<&Literal> {
    if let ExprKind::Lit(literal) = expr.expr_kind() {
        Some(literal)
    } else {
        None
    }
}

pub(super) fn long(expr: &Expr) -> Option<i64> {
    if let Some(Literal::Long(value)) = literal(expr) {
        Some(*value)
    } else {
        None
    }
}

pub(super) fn text(expr: &Expr) -> Option<&str> {
    if let Some(Literal::String(text)) = literal(expr) {
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
    if literal(arg1).is_some() && literal(arg2).is_none() {
        Some((arg2, arg1))
    } else {
        Some((arg1, arg2))
    }
}

/// What is asked for in `[…].contains(what)`, and what is written in the set.
pub(super) fn membership(expr: &Expr) -> Option<(&Expr, &[Expr])> {
    if let ExprKind::BinaryApp {
        op: BinaryOp::Contains,
        arg1,
        arg2,
    } = expr.expr_kind()
        && let ExprKind::Set(items) = arg1.expr_kind()
    {
        Some((arg2, items))
    } else {
        None
    }
}

/// What a variable's attribute is compared with, for equality or as a set or as what is in one: each
/// item of a set that is written out.
pub(super) fn comparison(expr: &Expr) -> Option<(&Expr, Vec<&Expr>)> {
    let ExprKind::BinaryApp { op, arg1, arg2 } = expr.expr_kind() else {
        return None;
    };
    let is_comparison = matches!(
        op,
        BinaryOp::Eq | BinaryOp::Contains | BinaryOp::ContainsAll | BinaryOp::ContainsAny
    );
    let (subject, other): (&Expr, &Expr) = match (is_comparison, path(arg1), path(arg2)) {
        (true, Some(_), None) => (arg1, arg2),
        (true, None, Some(_)) => (arg2, arg1),
        _ => return None,
    };
    let items = if let ExprKind::Set(items) = other.expr_kind() {
        items.iter().collect()
    } else {
        vec![other]
    };
    Some((subject, items))
}

/// What a `!` stands before.
fn negated(expr: &Expr) -> Option<&Expr> {
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

/// The pointer in `context.raw_arguments.getTag("…").string`, or of what `context.arguments` has by name.
pub(super) fn argument(expr: &Expr) -> Option<String> {
    if let Some((Var::Context, path)) = path(expr)
        && let ["arguments", rest @ ..] = path.as_slice()
    {
        let names = rest
            .iter()
            .map(|name| name.replace('~', "~0").replace('/', "~1"));
        return Some(names.flat_map(|name| ["/".to_owned(), name]).collect());
    }
    let ExprKind::GetAttr { expr: tag, .. } = expr.expr_kind() else {
        return None;
    };
    if let ExprKind::BinaryApp {
        op: BinaryOp::GetTag,
        arg2,
        ..
    } = tag.expr_kind()
    {
        text(arg2).map(str::to_owned)
    } else {
        None
    }
}

/// The literal pieces of a pattern, with an empty one wherever a wildcard begins or ends it.
pub(super) fn pieces(pattern: &Pattern) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for element in pattern.iter() {
        match element {
            PatternElem::Wildcard => pieces.push(String::new()),
            PatternElem::Char(c) => {
                if let Some(last) = pieces.last_mut() {
                    last.push(*c);
                }
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::ChainOperator::{All, Any};
    use super::*;

    #[test]
    fn chains_are_read_through_negations() {
        let check = |text: &str, expected: &[(ChainOperator, usize)]| {
            let expr = Expr::from_str(text).unwrap();
            let found: Vec<_> = chains(&expr)
                .into_iter()
                .map(|(_, chain, parts)| (chain, parts.len()))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check("principal == resource", &[]);
        check("context.a && context.b && !context.c", &[(All, 3)]);
        check("context.a && !(context.b || context.c)", &[(All, 3)]);
        check("!(context.a && context.b)", &[(Any, 2)]);
        check(
            "(context.a || context.b) && context.c",
            &[(All, 2), (Any, 2)],
        );
        check(
            "if (context.a && context.b) then context.c else (context.d || context.e)",
            &[(All, 2), (Any, 2)],
        );
    }

    #[test]
    fn patterns_fall_into_their_pieces() {
        let check = |text: &str, expected: &[&str]| {
            let expr = Expr::from_str(&format!("context.a like \"{text}\"")).unwrap();
            let ExprKind::Like { pattern, .. } = expr.expr_kind() else {
                panic!("{text}")
            };
            assert_eq!(pieces(pattern), expected);
        };
        check("abc", &["abc"]);
        check("*a*b", &["", "a", "b"]);
        check("a*", &["a", ""]);
        check("a\\**", &["a*", ""]);
    }
}
