//! Names that no document has: a misspelt attribute would be an error at every message.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

use super::super::document::{Node, samples};
use super::bound::Refused;
use super::table::suggest;

/// The names below a name, over all documents that there can be; nothing below what is no object,
/// or an object of an agent's making.
#[derive(Debug, Default)]
struct Known(BTreeMap<Cow<'static, str>, Known>);

/// Types that an expression may compare with.
const TYPES: [&str; 10] = [
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

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let mut known = Known::default();
    for sample in samples() {
        for (name, node) in sample {
            known.0.entry(name).or_default().learn(node);
        }
    }
    known
});

pub(super) fn check(tree: &IdedExpr) -> Vec<Refused> {
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
    refused: Vec<Refused>,
}

impl Known {
    fn learn(&mut self, node: Node<'static>) {
        if let Node::Object(members) = node {
            for (name, node) in members {
                self.0.entry(name).or_default().learn(node);
            }
        }
    }
}

impl<'t> Checker<'t> {
    /// What is known of the names below a tree; nothing where anything goes.
    fn expr(&mut self, tree: &'t IdedExpr) -> Option<&'static Known> {
        match &tree.expr {
            Expr::Ident(name) => return self.ident(tree.id, name),
            Expr::Select(select) => {
                let known = self.expr(&select.operand)?;
                return self.member(tree.id, known, &select.field);
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

    fn ident(&mut self, node: u64, name: &str) -> Option<&'static Known> {
        // A leading dot names what is outside of all loops.
        let absolute = name.strip_prefix('.');
        if absolute.is_none() && self.own.contains(&name) {
            return None;
        }
        let name = absolute.unwrap_or(name);
        if TYPES.contains(&name) {
            return None;
        }
        self.member(node, &KNOWN, name)
    }

    fn member(&mut self, node: u64, known: &'static Known, name: &str) -> Option<&'static Known> {
        if known.0.is_empty() {
            return None;
        }
        let found = known.0.get(name);
        if found.is_none() {
            let names: Vec<&str> = known.0.keys().map(AsRef::as_ref).collect();
            let help = suggest(name, &names)
                .unwrap_or_else(|| format!("known here: `{}`", names.join("`, `")));
            self.refused.push(Refused {
                node,
                message: format!("nothing is called `{}` here", name.escape_debug()),
                help: Some(help),
            });
        }
        found
    }
}
