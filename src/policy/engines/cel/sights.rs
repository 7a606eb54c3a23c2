//! What a condition looks up, under the names that it uses.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::super::document::Path;
use super::names::TYPES;

/// Everything that an expression looks up outside of its loops' own variables, each once, in the
/// order in which it stands there.
pub(super) fn paths(tree: &IdedExpr) -> Vec<Path> {
    let mut looking = Looking {
        own: Vec::new(),
        found: Vec::new(),
    };
    looking.expr(tree);
    looking.found
}

struct Looking<'t> {
    /// Variables of loops around.
    own: Vec<&'t str>,
    found: Vec<Path>,
}

impl<'t> Looking<'t> {
    fn expr(&mut self, tree: &'t IdedExpr) {
        if let Some(path) = self.path(tree) {
            if !self.found.contains(&path) {
                self.found.push(path);
            }
            return;
        }
        match &tree.expr {
            Expr::Select(select) => self.expr(&select.operand),
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
            Expr::Ident(_) | Expr::Struct(_) | Expr::Unspecified | Expr::Literal(_) => {}
        }
    }

    /// A name and what is looked up in it, if that is all there is.
    fn path(&self, tree: &IdedExpr) -> Option<Path> {
        match &tree.expr {
            Expr::Ident(name) => {
                // A leading dot names what is outside of all loops.
                let absolute = name.strip_prefix('.');
                let is_own = absolute.is_none() && self.own.contains(&name.as_str());
                let name = absolute.unwrap_or(name);
                (!is_own && !TYPES.contains(&name)).then(|| Path::of(name))
            }
            Expr::Select(select) => Some(self.path(&select.operand)?.member(&select.field)),
            Expr::Call(call) if call.func_name == operators::INDEX => {
                let [of, index] = call.args.as_slice() else {
                    return None;
                };
                let Expr::Literal(index) = &index.expr else {
                    return None;
                };
                let path = self.path(of)?;
                match index {
                    LiteralValue::String(name) => Some(path.member(name.inner())),
                    LiteralValue::Int(place) => {
                        Some(path.item(usize::try_from(*place.inner()).ok()?))
                    }
                    LiteralValue::Boolean(_)
                    | LiteralValue::Bytes(_)
                    | LiteralValue::Double(_)
                    | LiteralValue::Null
                    | LiteralValue::UInt(_) => None,
                }
            }
            Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Struct(_)
            | Expr::Unspecified
            | Expr::Literal(_) => None,
        }
    }
}
