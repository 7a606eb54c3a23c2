//! Which conditions are plain: Cedar's expressions to glances.

use cedar_policy_core::ast::{BinaryOp, EntityUID, Expr, ExprKind, Literal, UnaryOp, Var};

use super::action_set::ActionSet;
use super::entity_kind::EntityKind;
use super::fact_values::{Attribute, look};
use super::fast_path::{FastPath, MemberPath, Operand, SubjectTest};
use super::vocabulary::Vocabulary;
use super::wildcard::Wildcard;

impl FastPath {
    pub(super) fn of(words: &Vocabulary, expr: &Expr) -> Self {
        Self::plain(words, expr).unwrap_or(Self::Opaque)
    }

    fn plain(words: &Vocabulary, expr: &Expr) -> Option<Self> {
        let of = |expr: &Expr| Self::of(words, expr);
        Some(match expr.expr_kind() {
            ExprKind::Lit(Literal::Bool(value)) => Self::Always(*value),
            ExprKind::And { left, right } => {
                let (mut left, right) = (of(left), of(right));
                if let Self::All(parts) = &mut left {
                    parts.push(right);
                    left
                } else {
                    Self::All(vec![left, right])
                }
            }
            ExprKind::Or { left, right } => {
                let (mut left, right) = (of(left), of(right));
                if let Self::Any(parts) = &mut left {
                    parts.push(right);
                    left
                } else {
                    Self::Any(vec![left, right])
                }
            }
            ExprKind::UnaryApp {
                op: UnaryOp::Not,
                arg,
            } => Self::Not(Box::new(of(arg))),
            ExprKind::UnaryApp {
                op: UnaryOp::IsEmpty,
                arg,
            } => Self::Empty(Operand::of(words, arg)?),
            ExprKind::If {
                test_expr,
                then_expr,
                else_expr,
            } => Self::If(Box::new([of(test_expr), of(then_expr), of(else_expr)])),
            ExprKind::Is { expr, entity_type } => {
                Self::subject(expr, SubjectTest::Is(entity_type.clone()))?
            }
            ExprKind::Like { expr, pattern } => {
                Self::Like(Operand::of(words, expr)?, Wildcard::of(pattern))
            }
            ExprKind::HasAttr { expr, attr } => match argument(expr) {
                Some(pointer) => Self::ArgumentHas(pointer.into(), Attribute::of(attr)?),
                None if is_var(expr, Var::Context) && attr == "arguments" => Self::HasArguments,
                None => Self::HasMember(names(expr, Some(attr))?),
            },
            ExprKind::BinaryApp { op, arg1, arg2 } => Self::binary(words, *op, arg1, arg2)?,
            ExprKind::GetAttr { .. } => Self::Holds(Operand::of(words, expr)?),
            ExprKind::Lit(_)
            | ExprKind::Var(_)
            | ExprKind::Slot(_)
            | ExprKind::Unknown(_)
            | ExprKind::UnaryApp { .. }
            | ExprKind::ExtensionFunctionApp { .. }
            | ExprKind::ExtHasAttr { .. }
            | ExprKind::Set(_)
            | ExprKind::Record(_) => return None,
        })
    }

    fn binary(words: &Vocabulary, op: BinaryOp, one: &Expr, other: &Expr) -> Option<Self> {
        let terms = || Some((Operand::of(words, one)?, Operand::of(words, other)?));
        let by = |make: fn(Operand, Operand) -> Self| terms().map(|(one, other)| make(one, other));
        match op {
            BinaryOp::Eq if is_var(one, Var::Action) && !is_set(other) => {
                Some(Self::Action(ActionSet::same(words, &entities(other)?)))
            }
            BinaryOp::In if is_var(one, Var::Action) => {
                Some(Self::Action(ActionSet::within(words, &entities(other)?)))
            }
            BinaryOp::Eq => match entities(other).as_deref() {
                Some([uid]) if !is_set(other) => {
                    Self::subject(one, SubjectTest::Equals(uid.clone()))
                }
                Some(_) => None,
                None => by(Self::Equal),
            },
            BinaryOp::In => Self::subject(one, SubjectTest::In(entities(other)?)),
            BinaryOp::Less => by(Self::Less),
            BinaryOp::LessEq => by(Self::LessOrEqual),
            BinaryOp::Contains => {
                let uids = entities(one).filter(|_| is_set(one));
                let subject = uids.and_then(|uids| Self::subject(other, SubjectTest::OneOf(uids)));
                subject.or_else(|| by(Self::Contains))
            }
            BinaryOp::ContainsAll => by(Self::ContainsAll),
            BinaryOp::HasTag if is_arguments(one) => Some(Self::HasArgument(text(other)?.into())),
            BinaryOp::HasTag
            | BinaryOp::GetTag
            | BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::ContainsAny => None,
        }
    }

    fn subject(expr: &Expr, place: SubjectTest) -> Option<Self> {
        if is_var(expr, Var::Principal) {
            Some(Self::Principal(place))
        } else {
            is_var(expr, Var::Resource).then_some(Self::Resource(place))
        }
    }
}

impl Operand {
    fn of(words: &Vocabulary, expr: &Expr) -> Option<Self> {
        if let ExprKind::Lit(literal) = expr.expr_kind() {
            return match literal {
                Literal::String(text) => Some(Self::Text(text.as_str().into())),
                Literal::Long(value) => Some(Self::Long(*value)),
                Literal::Bool(value) => Some(Self::Bool(*value)),
                Literal::EntityUID(uid) => {
                    let kind = EntityKind::of(words, uid.entity_type())?;
                    Some(Self::Entity(kind, name(uid)))
                }
            };
        }
        if let ExprKind::Set(items) = expr.expr_kind() {
            return Self::set(words, items);
        }
        let ExprKind::GetAttr { expr: inner, attr } = expr.expr_kind() else {
            return None;
        };
        if let Some(pointer) = argument(inner) {
            return Some(Self::Argument(pointer.into(), Attribute::of(attr)?));
        }
        if let Some(names) = names(expr, None) {
            return Some(Self::Member(names));
        }
        let (root, path) = path(expr)?;
        let look = look(root, &path)?;
        Some(match root {
            Var::Context if is_of_held(&path) => Self::OfHeld(look),
            Var::Context => Self::InContext(look),
            Var::Principal | Var::Action | Var::Resource => Self::Fact(look),
        })
    }

    /// A set that the author wrote, of texts or of entities of one type.
    fn set(words: &Vocabulary, items: &[Expr]) -> Option<Self> {
        if let Some(texts) = texts(items) {
            return Some(Self::Texts(texts));
        }
        let uids: Vec<EntityUID> = items.iter().map(named).collect::<Option<_>>()?;
        let first = uids.first();
        let kind = first.and_then(|uid| EntityKind::of(words, uid.entity_type()))?;
        let alike = |uid: &EntityUID| EntityKind::of(words, uid.entity_type()) == Some(kind);
        let names = uids.iter().map(name).collect();
        uids.iter()
            .all(alike)
            .then_some(Self::Entities(kind, names))
    }
}

fn is_of_held(path: &[&str]) -> bool {
    matches!(
        path,
        [
            "env",
            "session",
            "level" | "labels" | "datasets" | "untrusted" | "sources" | "untrustedFrom"
        ]
    )
}

fn name(uid: &EntityUID) -> Box<str> {
    let name: &str = uid.eid().as_ref();
    name.into()
}

/// The entities that an expression names: one, or a set of them.
fn entities(expr: &Expr) -> Option<Vec<EntityUID>> {
    if let ExprKind::Set(items) = expr.expr_kind() {
        items.iter().map(named).collect()
    } else {
        Some(vec![named(expr)?])
    }
}

/// The entity that an expression names.
fn named(expr: &Expr) -> Option<EntityUID> {
    if let ExprKind::Lit(Literal::EntityUID(uid)) = expr.expr_kind() {
        Some(EntityUID::clone(uid))
    } else {
        None
    }
}

/// A set of texts that the author wrote.
fn texts(items: &[Expr]) -> Option<Box<[Box<str>]>> {
    items.iter().map(|item| Some(text(item)?.into())).collect()
}

fn is_set(expr: &Expr) -> bool {
    matches!(expr.expr_kind(), ExprKind::Set(_))
}

fn is_var(expr: &Expr, var: Var) -> bool {
    matches!(expr.expr_kind(), ExprKind::Var(found) if *found == var)
}

/// `context.raw_arguments`.
fn is_arguments(expr: &Expr) -> bool {
    matches!(path(expr), Some((Var::Context, path)) if path == ["raw_arguments"])
}

/// The pointer in `context.raw_arguments.getTag("…")`.
fn argument(expr: &Expr) -> Option<&str> {
    if let ExprKind::BinaryApp {
        op: BinaryOp::GetTag,
        arg1,
        arg2,
    } = expr.expr_kind()
        && is_arguments(arg1)
    {
        text(arg2)
    } else {
        None
    }
}

fn text(expr: &Expr) -> Option<&str> {
    if let ExprKind::Lit(Literal::String(text)) = expr.expr_kind() {
        Some(text)
    } else {
        None
    }
}

/// The names that lead from `context.arguments` to a member, and perhaps one more.
fn names(expr: &Expr, last: Option<&str>) -> Option<MemberPath> {
    let (Var::Context, path) = path(expr)? else {
        return None;
    };
    let (_, names) = path
        .split_first()
        .filter(|(first, _)| **first == "arguments")?;
    let names: MemberPath = names.iter().copied().chain(last).map(Box::from).collect();
    (!names.is_empty()).then_some(names)
}

/// A variable, and the attributes that are looked up one in the other.
fn path(mut expr: &Expr) -> Option<(Var, Vec<&str>)> {
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
