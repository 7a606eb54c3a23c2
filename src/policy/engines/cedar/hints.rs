//! What was perhaps meant, where the checker only says that something cannot be.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, Literal, Var};

use super::vocabulary::BASE_SCHEMA_JSON;
use crate::policy::suggest::nearest;
use crate::policy::{Lock, RecordShape, ValueShape};

pub(super) const CONTAINS: &str = "`context.targets.roots` is a set: ask for one of it by \
                                   `context.targets.roots.contains(Mcp::Root::\"…\")`, or for no \
                                   others by `[Mcp::Root::\"…\"].containsAll(context.targets.roots)`";

pub(super) const OF_TOOLS: &str = "tools lie in no root, resources do: ask where a call reaches by \
                                   `context.targets.roots.contains(Mcp::Root::\"…\")`";

const AN_ENTITY: &str = "roots are entities: write `Mcp::Root::\"…\"` in place of the text";

const DECIMAL: &str = "where the lock says `number`, the argument is a decimal: compare it by \
                       `.greaterThan(decimal(\"100.0\"))`, `.lessThanOrEqual(…)` and the like";

/// Attributes of the context that had another name before.
const RENAMED: [(&str, &str); 2] = [("args", TAGGED), ("touch", "targets")];

/// Where arguments are, with and without types.
const TAGGED: &str = "raw_arguments";
const TYPED: &str = "arguments";

/// About what the checker says of types, which names none of what to write instead.
pub(super) fn of_types(message: &str) -> Option<&'static str> {
    let is_decimal = message.contains("expected Long but saw decimal")
        || message.contains("expected decimal but saw Long");
    is_decimal.then_some(DECIMAL)
}

/// Help for a parser error that does not show the form to write.
pub(super) fn of_syntax(message: &str) -> Option<&'static str> {
    message
        .contains("found set of entity uids")
        .then_some(ONE_IN_HEAD)
}

const ONE_IN_HEAD: &str = "the head has room for one; for several write a condition, such as \
                           `when { resource in [Mcp::Tool::\"a\", Mcp::Tool::\"b\"] }`";

/// What there is to look up, anywhere.
pub(super) struct LookupNames {
    attributes: BTreeSet<String>,
    /// A lock gives types to the arguments of some tool.
    is_typed: bool,
}

impl LookupNames {
    pub(super) fn with(lock: &Lock) -> Self {
        static BASE: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
            let mut names = BTreeSet::new();
            if let Ok(schema) = schema() {
                collect(&schema, &mut names);
            }
            names
        });
        let mut attributes = BASE.clone();
        let mut is_typed = false;
        for (_, record) in lock.typed() {
            is_typed = true;
            attributes.insert(TYPED.to_owned());
            of_record(record, &mut attributes);
        }
        Self {
            attributes,
            is_typed,
        }
    }

    /// About the first piece that is wrong. `within` is where the checker points, if it does.
    pub(super) fn hint(&self, condition: &Expr, within: Option<&Range<usize>>) -> Option<String> {
        let is_meant = |expr: &&Expr| match (within, expr.source_loc()) {
            (Some(within), Some(loc)) => loc.start() < within.end && within.start < loc.end(),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let mut pieces = condition.subexpressions().filter(is_meant);
        pieces.find_map(|piece| self.about(piece))
    }

    fn about(&self, expr: &Expr) -> Option<String> {
        let of_argument =
            argument(expr).and_then(|(written, pointer)| self.of_argument(written, &pointer));
        if let Some((_, name)) = RENAMED.iter().find(|(old, _)| asks_context(expr, old)) {
            Some(format!("it is `context.{name}` now"))
        } else if of_argument.is_some() {
            of_argument
        } else if let ExprKind::HasAttr { attr, .. } = expr.expr_kind() {
            self.misspelt(attr)
        } else if let ExprKind::ExtHasAttr { attrs, .. } = expr.expr_kind() {
            attrs.iter().find_map(|attr| self.misspelt(attr))
        } else if let ExprKind::BinaryApp { op, arg1, arg2 } = expr.expr_kind() {
            of_roots(*op, arg1, arg2).map(str::to_owned)
        } else {
            None
        }
    }

    fn of_argument(&self, written: &str, pointer: &str) -> Option<String> {
        let why = match (written, self.is_typed) {
            (TYPED, true) => return None,
            (TYPED, false) => {
                "without a `tools.lock` (`mcp-protector tools lock` makes one) arguments have no types"
            }
            _ => "arguments are tags",
        };
        let pointer = pointer.escape_debug();
        Some(format!(
            "{why}: write `context.raw_arguments.hasTag(\"{pointer}\") && \
             context.raw_arguments.getTag(\"{pointer}\") has string && context.raw_arguments.getTag(\"{pointer}\").string` and \
             what it must be; a text is `string`, an integer `long`, any number `decimal`, a boolean `bool`"
        ))
    }

    fn misspelt(&self, attribute: &str) -> Option<String> {
        if self.attributes.contains(attribute) {
            return None;
        }
        let written = attribute.escape_debug();
        Some(
            match nearest(attribute, self.attributes.iter().map(String::as_str)) {
                Some(nearest) => format!(
                    "nothing has an attribute `{written}`; did you mean `{}`?",
                    nearest.escape_debug()
                ),
                None => format!(
                    "nothing has an attribute `{written}`; `mcp-protector policy schema` shows \
                 what there is"
                ),
            },
        )
    }
}

/// The attribute of the context that an argument is looked for in, and the JSON pointer of the
/// argument, of `context.raw_arguments.path` and `context.arguments has path`.
fn argument(expr: &Expr) -> Option<(&'static str, String)> {
    let (of, attribute) = if let ExprKind::GetAttr { expr, attr } = expr.expr_kind() {
        (expr, attr)
    } else if let ExprKind::HasAttr { expr, attr } = expr.expr_kind() {
        (expr, attr)
    } else {
        return None;
    };
    let place = [TAGGED, TYPED].into_iter().find(|it| is_context(of, it));
    let (place, mut pointer) = match place {
        Some(place) => (place, String::new()),
        None => argument(of)?,
    };
    if attribute.starts_with('/') {
        pointer.push_str(attribute);
    } else {
        pointer.push('/');
        pointer.push_str(&attribute.replace('~', "~0").replace('/', "~1"));
    }
    Some((place, pointer))
}

fn is_context(expr: &Expr, attribute: &str) -> bool {
    matches!(
        expr.expr_kind(),
        ExprKind::GetAttr { expr, attr } if attr == attribute
            && matches!(expr.expr_kind(), ExprKind::Var(Var::Context))
    )
}

/// `context.NAME` or `context has NAME`.
fn asks_context(expr: &Expr, attribute: &str) -> bool {
    is_context(expr, attribute)
        || matches!(
            expr.expr_kind(),
            ExprKind::HasAttr { expr, attr } if attr == attribute
                && matches!(expr.expr_kind(), ExprKind::Var(Var::Context))
        )
}

fn of_roots(op: BinaryOp, one: &Expr, other: &Expr) -> Option<&'static str> {
    match op {
        BinaryOp::In if is_roots(one) || is_roots(other) => Some(CONTAINS),
        BinaryOp::In if is_resource(one) && names_root(other) => Some(OF_TOOLS),
        BinaryOp::Eq if is_roots(one) && names_root(other) => Some(CONTAINS),
        BinaryOp::Eq if is_roots(other) && names_root(one) => Some(CONTAINS),
        BinaryOp::Contains if is_roots(one) && is_resource(other) => Some(OF_TOOLS),
        BinaryOp::Contains if is_roots(one) && is_text(other) => Some(AN_ENTITY),
        BinaryOp::Eq
        | BinaryOp::Less
        | BinaryOp::LessEq
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::In
        | BinaryOp::Contains
        | BinaryOp::ContainsAll
        | BinaryOp::ContainsAny
        | BinaryOp::GetTag
        | BinaryOp::HasTag => None,
    }
}

/// `context.targets.roots`.
pub(super) fn is_roots(expr: &Expr) -> bool {
    matches!(
        expr.expr_kind(),
        ExprKind::GetAttr { expr: targets, attr } if attr == "roots" && is_context(targets, "targets")
    )
}

fn is_resource(expr: &Expr) -> bool {
    matches!(expr.expr_kind(), ExprKind::Var(Var::Resource))
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr.expr_kind(), ExprKind::Lit(Literal::String(_)))
}

/// A root that the policy names, or a set of them.
fn names_root(expr: &Expr) -> bool {
    if let ExprKind::Set(items) = expr.expr_kind() {
        !items.is_empty() && items.iter().all(names_root)
    } else if let ExprKind::Lit(Literal::EntityUID(uid)) = expr.expr_kind() {
        uid.entity_type().to_string() == "Mcp::Root"
    } else {
        false
    }
}

#[expect(clippy::disallowed_methods, reason = "our own schema, no message")]
fn schema() -> serde_json::Result<serde_json::Value> {
    serde_json::from_str(BASE_SCHEMA_JSON)
}

/// The names of all attributes in a schema.
fn collect(schema: &serde_json::Value, names: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(members) => {
            for (key, value) in members {
                if let ("attributes", Some(attributes)) = (key.as_str(), value.as_object()) {
                    names.extend(attributes.keys().cloned());
                }
                collect(value, names);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {}
    }
}

fn of_record(record: &RecordShape, names: &mut BTreeSet<String>) {
    for member in &record.members {
        names.insert(member.name.clone());
        match &member.shape {
            ValueShape::Record(inner) => of_record(inner, names),
            ValueShape::One(_) | ValueShape::Many(_) => {}
        }
    }
}
