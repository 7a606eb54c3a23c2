//! Names that no document has: a misspelt attribute would be an error at every message.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::super::document::KnownNames;
use super::bound::RejectedExpression;

/// Types that an expression may compare with.
pub(super) const TYPES: [&str; 10] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
];

pub(super) fn check(tree: &IdedExpr) -> Vec<RejectedExpression> {
    let mut checker = Checker {
        own: Vec::new(),
        refused: Vec::new(),
    };
    checker.expr(tree);
    checker.refused
}

struct Checker<'t> {
    /// Variables of loops around.
    own: Vec<&'t str>,
    refused: Vec<RejectedExpression>,
}

impl<'t> Checker<'t> {
    /// What is known of the names below a tree; nothing where anything goes.
    fn expr(&mut self, tree: &'t IdedExpr) -> Option<&'static KnownNames> {
        match &tree.expr {
            Expr::Ident(name) => return self.ident(tree.id, name),
            Expr::Select(select) => {
                let known = self.expr(&select.operand)?;
                return self.member(tree.id, known, &select.field);
            }
            // `context["targets"]` is `context.targets`.
            Expr::Call(call) if call.func_name == operators::INDEX => {
                let [of, index] = call.args.as_slice() else {
                    return None;
                };
                let known = self.expr(of);
                let Expr::Literal(LiteralValue::String(name)) = &index.expr else {
                    self.expr(index);
                    return None;
                };
                return self.member(tree.id, known?, name);
            }
            Expr::Call(call) => {
                for part in call.target.iter().map(AsRef::as_ref).chain(&call.args) {
                    self.expr(part);
                }
            }
            Expr::Comprehension(loops) => {
                self.expr(&loops.iter_range);
                self.expr(&loops.accu_init);
                let outer = self.own.len();
                self.own.extend([&*loops.iter_var, &*loops.accu_var]);
                self.own.extend(loops.iter_var2.as_deref());
                for part in [&loops.loop_cond, &loops.loop_step, &loops.result] {
                    self.expr(part);
                }
                self.own.truncate(outer);
            }
            Expr::List(list) => {
                for item in &list.elements {
                    self.expr(item);
                }
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.expr(&entry.key);
                        self.expr(&entry.value);
                    }
                }
            }
            Expr::Struct(_) | Expr::Unspecified | Expr::Literal(_) => {}
        }
        None
    }

    fn ident(&mut self, node: u64, name: &str) -> Option<&'static KnownNames> {
        // A leading dot names what is outside of all loops.
        let absolute = name.strip_prefix('.');
        if absolute.is_none() && self.own.contains(&name) {
            return None;
        }
        let name = absolute.unwrap_or(name);
        if TYPES.contains(&name) {
            return None;
        }
        self.member(node, KnownNames::get(), name)
    }

    fn member(
        &mut self,
        node: u64,
        known: &'static KnownNames,
        name: &str,
    ) -> Option<&'static KnownNames> {
        match known.below(name) {
            Ok(below) => below,
            Err(unknown) => {
                self.refused.push(RejectedExpression {
                    node,
                    message: unknown.message,
                    help: Some(unknown.help),
                });
                None
            }
        }
    }
}
