//! What a condition looked at, under the names that policies use.

use cedar_policy_core::ast::{
    BinaryOp, EntityUID, Expr, ExprKind, Literal, SlotEnv, Value, ValueKind, Var,
};
use cedar_policy_core::entities::{Dereference, Entities};
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::pst::SmolStr;
use jiff::Timestamp;

use super::inspect::children;
use crate::policy::AttributeRead;
use crate::policy::trace::shortened;

/// Everything that an expression looks up, each once, in the order in which it stands there.
pub(super) fn sights(
    evaluator: &Evaluator<'_>,
    entities: &Entities,
    expr: &Expr,
) -> Vec<AttributeRead> {
    let mut found = ReadCollector {
        evaluator,
        entities,
        sights: Vec::new(),
    };
    found.visit(expr);
    found.sights
}

struct ReadCollector<'e> {
    evaluator: &'e Evaluator<'e>,
    entities: &'e Entities,
    sights: Vec<AttributeRead>,
}

impl ReadCollector<'_> {
    fn visit(&mut self, expr: &Expr) {
        if let ExprKind::BinaryApp {
            op: BinaryOp::In,
            arg1,
            arg2,
        } = expr.expr_kind()
        {
            if let Some(what) = path(arg1) {
                let value = self.ask(arg1).map(|value| self.family(&value));
                self.add(what, value);
                self.visit(arg2);
                return;
            }
        } else if let ExprKind::HasAttr { expr: target, attr } = expr.expr_kind() {
            return self.look_for(target, std::iter::once(attr.as_str()));
        } else if let ExprKind::ExtHasAttr {
            expr: target,
            attrs,
        } = expr.expr_kind()
        {
            return self.look_for(target, attrs.iter().map(SmolStr::as_str));
        } else if let ExprKind::BinaryApp {
            op: BinaryOp::HasTag,
            arg1,
            arg2,
        } = expr.expr_kind()
        {
            // What is there instead tells more than that it is not there.
            let tag = Expr::binary_app(BinaryOp::GetTag, Expr::clone(arg1), Expr::clone(arg2));
            if let Some(what) = path(&tag) {
                let value = self.ask(&tag).map(|value| told(&value));
                return self.add(what, value);
            }
        } else if let Some(what) = path(expr) {
            let value = self.ask(expr).map(|value| told(&value));
            return self.add(what, value);
        }
        for child in children(expr) {
            self.visit(child);
        }
    }

    fn look_for<'a>(&mut self, target: &Expr, attrs: impl Iterator<Item = &'a str>) {
        let found = attrs.fold(target.clone(), |found, attr| {
            Expr::get_attr(found, attr.into())
        });
        match path(&found) {
            Some(what) => {
                let value = self.ask(&found).map(|value| told(&value));
                self.add(what, value);
            }
            None => self.visit(target),
        }
    }

    fn ask(&self, expr: &Expr) -> Option<Value> {
        self.evaluator.interpret(expr, &SlotEnv::new()).ok()
    }

    fn add(&mut self, what: String, value: Option<String>) {
        if self.sights.iter().all(|sight| sight.what != what) {
            self.sights.push(AttributeRead { what, value });
        }
    }

    /// An entity with all that it belongs to.
    fn family(&self, value: &Value) -> String {
        let own = told(value);
        let ValueKind::Lit(Literal::EntityUID(uid)) = &value.value else {
            return own;
        };
        let mut ancestors: Vec<String> = match self.entities.entity(uid) {
            Dereference::Data(entity) => entity.ancestors().map(EntityUID::to_string).collect(),
            Dereference::NoSuchEntity | Dereference::Residual(_) => Vec::new(),
        };
        ancestors.sort();
        if ancestors.is_empty() {
            own
        } else {
            shortened(&format!("{own} in [{}]", ancestors.join(", ")))
        }
    }
}

/// A variable and what is looked up in it, if that is all there is.
fn path(expr: &Expr) -> Option<String> {
    if let ExprKind::Var(var) = expr.expr_kind() {
        // The context as a whole is never compared.
        return (*var != Var::Context).then(|| var.to_string());
    }
    if let ExprKind::GetAttr { expr, attr } = expr.expr_kind() {
        let inside = if let ExprKind::Var(var) = expr.expr_kind() {
            var.to_string()
        } else {
            path(expr)?
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        return Some(if attr.chars().all(plain) {
            format!("{inside}.{attr}")
        } else {
            format!("{inside}[{}]", Literal::from(attr.as_str()))
        });
    }
    if let ExprKind::BinaryApp {
        op: BinaryOp::GetTag,
        arg1,
        arg2,
    } = expr.expr_kind()
    {
        let tag = if let ExprKind::Lit(literal) = arg2.expr_kind() {
            literal.to_string()
        } else {
            path(arg2)?
        };
        return Some(format!("{}.getTag({tag})", path(arg1)?));
    }
    None
}

/// A value as policies write it; moments as `datetime("…")`.
fn told(value: &Value) -> String {
    let text = value.to_string();
    shortened(&moment(&text).unwrap_or(text))
}

/// Cedar writes a moment as the milliseconds since another.
fn moment(text: &str) -> Option<String> {
    let rest = text.strip_prefix("datetime(\"1970-01-01\").offset(duration(\"")?;
    let ms: i64 = rest.strip_suffix("ms\"))")?.parse().ok()?;
    let moment = Timestamp::from_millisecond(ms).ok()?;
    Some(format!("datetime(\"{moment}\")"))
}
