//! Makes a parsed expression one whose evaluation is counted and strict.
//!
//! | written | evaluated |
//! |---|---|
//! | `a && b`, `a \|\| b` | `a ? b : false`, `a ? true : b`: an error in `a` is an error, as in Cedar |
//! | a turn of `all`, `exists`, `exists_one`, `map`, `filter` | takes a step for each node of its body |
//! | an operand that may be large | takes a step for each of its parts |
//!
//! What is compared with a literal needs no count: the literal bounds it.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, LiteralValue,
    MapEntryExpr, MapExpr, SelectExpr, operators,
};
use cel::common::types::{CelBool, CelInt};

use super::length::MAX_DEPTH;
use super::meter::{STEP, WEIGH};
use super::patterns::{MATCHES, PatternCollector};

/// A condition that is safe to evaluate.
#[derive(Debug)]
pub(super) struct BoundedCondition {
    pub(super) tree: IdedExpr,
    /// Nodes outside of loops: what evaluating takes at least.
    pub(super) nodes: u64,
}

/// What is wrong with an expression, and which node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RejectedExpression {
    pub(super) node: u64,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Operators and functions that an expression may use.
const FUNCTIONS: [&str; 12] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "string",
    "int",
    "uint",
    "double",
    "bytes",
    "type",
    "dyn",
];

const PURE_OPERATORS: [&str; 6] = [
    operators::LOGICAL_NOT,
    operators::NEGATE,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
];

const WEIGHED_OPERATORS: [&str; 9] = [
    operators::ADD,
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
    operators::IN,
    operators::INDEX,
];

/// INVARIANT: runs on a thread with a stack for all that `length.rs` lets through.
pub(super) fn bounded(
    tree: IdedExpr,
    patterns: &mut PatternCollector,
) -> Result<BoundedCondition, Vec<RejectedExpression>> {
    if depth(&tree) > MAX_DEPTH {
        return Err(vec![RejectedExpression {
            node: tree.id,
            message: format!("the expression is more than {MAX_DEPTH} levels deep"),
            help: Some("split it into several rules".to_owned()),
        }]);
    }
    let nodes = nodes(&tree);
    let mut rewriter = Rewriter {
        patterns,
        refused: Vec::new(),
    };
    let tree = rewriter.expr(tree);
    if rewriter.refused.is_empty() {
        Ok(BoundedCondition { tree, nodes })
    } else {
        Err(rewriter.refused)
    }
}

struct Rewriter<'p> {
    patterns: &'p mut PatternCollector,
    refused: Vec<RejectedExpression>,
}

impl Rewriter<'_> {
    fn expr(&mut self, IdedExpr { id, expr }: IdedExpr) -> IdedExpr {
        let expr = match expr {
            Expr::Call(call) => self.call(id, call),
            Expr::Comprehension(comprehension) => {
                Expr::Comprehension(Box::new(self.comprehension(*comprehension)))
            }
            Expr::List(list) => {
                if !list.optional_indices.is_empty() {
                    self.refuse(id, "optional elements are not supported".to_owned(), None);
                }
                let elements = list.elements.into_iter().map(|item| self.weighed(item));
                Expr::List(ListExpr::new(elements.collect()))
            }
            Expr::Map(map) => Expr::Map(MapExpr {
                entries: map
                    .entries
                    .into_iter()
                    .map(|entry| self.entry(entry))
                    .collect(),
            }),
            Expr::Select(select) => Expr::Select(SelectExpr {
                operand: Box::new(self.expr(*select.operand)),
                ..select
            }),
            Expr::Struct(_) => {
                self.refuse(id, "there are no message types here".to_owned(), None);
                Expr::Literal(LiteralValue::Null)
            }
            Expr::Unspecified => {
                self.refuse(id, "an expression is missing".to_owned(), None);
                Expr::Literal(LiteralValue::Null)
            }
            Expr::Ident(_) | Expr::Literal(_) => expr,
        };
        IdedExpr { id, expr }
    }

    fn call(&mut self, id: u64, call: CallExpr) -> Expr {
        let CallExpr {
            func_name: name,
            target,
            args,
        } = call;
        if target.is_none() && name == "matches" || name == MATCHES {
            let help = Some("write `text.matches('pattern')`".to_owned());
            self.refuse(id, format!("`{name}` is not a function here"), help);
        } else if name == "matches" {
            return self.matches(id, target, &args);
        }
        let args = match <[IdedExpr; 2]>::try_from(args) {
            Ok([left, right]) if name == operators::LOGICAL_AND => {
                let no = literal(LiteralValue::Boolean(CelBool::from(false)));
                return conditional(self.expr(left), self.expr(right), no);
            }
            Ok([left, right]) if name == operators::LOGICAL_OR => {
                let yes = literal(LiteralValue::Boolean(CelBool::from(true)));
                return conditional(self.expr(left), yes, self.expr(right));
            }
            Ok(both) => both.into(),
            Err(args) => args,
        };
        let as_they_are = name == operators::CONDITIONAL
            || name == operators::NOT_STRICTLY_FALSE
            || PURE_OPERATORS.contains(&&*name)
            || is_bounded_by_a_literal(&name, target.as_deref(), &args);
        let known = as_they_are || WEIGHED_OPERATORS.contains(&&*name);
        if !known && !FUNCTIONS.contains(&&*name) {
            let help = format!("the functions are {}", quoted(&FUNCTIONS));
            self.refuse(id, format!("`{name}` is not a function here"), Some(help));
        }
        let mut each = |item| {
            if as_they_are {
                self.expr(item)
            } else {
                self.weighed(item)
            }
        };
        Expr::Call(CallExpr {
            target: target.map(|target| Box::new(each(*target))),
            args: args.into_iter().map(each).collect(),
            func_name: name,
        })
    }

    /// `text.matches('pattern')`.
    fn matches(&mut self, id: u64, target: Option<Box<IdedExpr>>, args: &[IdedExpr]) -> Expr {
        let pattern = match args {
            [
                IdedExpr {
                    expr: Expr::Literal(LiteralValue::String(text)),
                    ..
                },
            ] => self.patterns.add(text.inner()),
            _ => Err("a pattern is a literal, so that no agent ever writes one".to_owned()),
        };
        let number = pattern.unwrap_or_else(|why| {
            self.refuse(id, "this pattern cannot be used".to_owned(), Some(why));
            0
        });
        let text = target.map(|target| self.weighed(*target));
        let number = literal(LiteralValue::Int(CelInt::from(number)));
        call(MATCHES, text.into_iter().chain([number]))
    }

    fn comprehension(&mut self, loops: ComprehensionExpr) -> ComprehensionExpr {
        let turn = step(nodes(&loops.loop_cond).saturating_add(nodes(&loops.loop_step)));
        let iter_range = self.weighed(loops.iter_range);
        let accu_init = self.expr(loops.accu_init);
        let result = self.expr(loops.result);
        let accu = loops.accu_var;
        // A shape that the evaluator knows, to append in place; anything else would copy the list
        // at each turn.
        let (loop_cond, loop_step) = match self.append(loops.loop_step, &accu, &turn) {
            Ok(step) => (loops.loop_cond, step),
            Err(step) => {
                let no = literal(LiteralValue::Boolean(CelBool::from(false)));
                let cond = conditional(turn, self.expr(loops.loop_cond), no);
                (anonymous(cond), self.expr(step))
            }
        };
        ComprehensionExpr {
            iter_range,
            iter_var: loops.iter_var,
            iter_var2: loops.iter_var2,
            accu_var: accu,
            accu_init,
            loop_cond,
            loop_step,
            result,
        }
    }

    /// `@result + [item]`, or `guard ? @result + [item] : @result`; the turn is taken in between.
    fn append(
        &mut self,
        tree: IdedExpr,
        accu: &str,
        turn: &IdedExpr,
    ) -> Result<IdedExpr, IdedExpr> {
        let Some(guarded) = shape(&tree, accu) else {
            return Err(tree);
        };
        let IdedExpr {
            id,
            expr: Expr::Call(mut outer),
        } = tree
        else {
            return Err(tree);
        };
        if guarded {
            let no = literal(LiteralValue::Boolean(CelBool::from(false)));
            let mut parts = outer.args.into_iter();
            let guard = parts.next().map(|guard| self.expr(guard));
            let guard = guard.map(|guard| anonymous(conditional(turn.clone(), guard, no)));
            let inner = parts.next().map(|inner| self.appended(inner, None));
            outer.args = guard.into_iter().chain(inner).chain(parts).collect();
            return Ok(IdedExpr {
                id,
                expr: Expr::Call(outer),
            });
        }
        let tree = IdedExpr {
            id,
            expr: Expr::Call(outer),
        };
        Ok(self.appended(tree, Some(turn)))
    }

    /// `@result + [item]`.
    fn appended(&mut self, tree: IdedExpr, turn: Option<&IdedExpr>) -> IdedExpr {
        let IdedExpr {
            id,
            expr: Expr::Call(mut sum),
        } = tree
        else {
            return self.expr(tree);
        };
        for part in &mut sum.args {
            let taken = std::mem::take(part);
            let Expr::List(list) = taken.expr else {
                *part = taken;
                continue;
            };
            let items = list.elements.into_iter().map(|item| {
                let item = self.weighed(item);
                let null = literal(LiteralValue::Null);
                match turn {
                    Some(turn) => anonymous(conditional(turn.clone(), item, null)),
                    None => item,
                }
            });
            *part = anonymous(Expr::List(ListExpr::new(items.collect())));
        }
        IdedExpr {
            id,
            expr: Expr::Call(sum),
        }
    }

    fn entry(&mut self, entry: IdedEntryExpr) -> IdedEntryExpr {
        let expr = match entry.expr {
            EntryExpr::MapEntry(inner) => EntryExpr::MapEntry(MapEntryExpr {
                key: self.weighed(inner.key),
                value: self.weighed(inner.value),
                optional: inner.optional,
            }),
            EntryExpr::StructField(field) => {
                self.refuse(entry.id, "there are no message types here".to_owned(), None);
                EntryExpr::StructField(field)
            }
        };
        IdedEntryExpr { id: entry.id, expr }
    }

    fn weighed(&mut self, tree: IdedExpr) -> IdedExpr {
        let tree = self.expr(tree);
        if matches!(tree.expr, Expr::Literal(_)) {
            return tree;
        }
        anonymous(call(WEIGH, [tree]))
    }

    fn refuse(&mut self, node: u64, message: String, help: Option<String>) {
        self.refused.push(RejectedExpression {
            node,
            message,
            help,
        });
    }
}

/// Whether a step appends to the accumulator, and if so, whether it is guarded.
fn shape(tree: &IdedExpr, accu: &str) -> Option<bool> {
    let is_accu = |tree: &IdedExpr| matches!(&tree.expr, Expr::Ident(name) if name == accu);
    let appends = |tree: &IdedExpr| {
        call_of(tree, operators::ADD).is_some_and(|args| {
            matches!(args, [left, right] if is_accu(left) && matches!(right.expr, Expr::List(_)))
        })
    };
    if appends(tree) {
        return Some(false);
    }
    match call_of(tree, operators::CONDITIONAL)? {
        [_, then, otherwise] if appends(then) && is_accu(otherwise) => Some(true),
        [..] => None,
    }
}

/// The arguments of a call of this operator.
fn call_of<'t>(tree: &'t IdedExpr, name: &str) -> Option<&'t [IdedExpr]> {
    let Expr::Call(call) = &tree.expr else {
        return None;
    };
    (call.func_name == name).then_some(&call.args)
}

/// Whether the work of a call grows with a literal in the text and nothing else.
fn is_bounded_by_a_literal(name: &str, target: Option<&IdedExpr>, args: &[IdedExpr]) -> bool {
    let is_literal = |tree: &IdedExpr| matches!(tree.expr, Expr::Literal(_));
    match (name, target, args) {
        ("startsWith" | "endsWith", Some(_), [prefix]) => is_literal(prefix),
        (operators::IN, None, [_, list]) => {
            matches!(&list.expr, Expr::List(list) if list.elements.iter().all(is_literal))
        }
        (operators::INDEX, None, [_, key]) => is_literal(key),
        (
            operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS,
            None,
            [left, right],
        ) => is_literal(left) || is_literal(right),
        _ => false,
    }
}

/// Nodes that evaluating visits once, at least one; bodies of loops count their own.
fn nodes(tree: &IdedExpr) -> u64 {
    let below: u64 = match &tree.expr {
        Expr::Call(call) => {
            call.target.iter().map(|tree| nodes(tree)).sum::<u64>()
                + call.args.iter().map(nodes).sum::<u64>()
        }
        Expr::Comprehension(loops) => {
            nodes(&loops.iter_range) + nodes(&loops.accu_init) + nodes(&loops.result)
        }
        Expr::List(list) => list.elements.iter().map(nodes).sum(),
        Expr::Map(map) => map
            .entries
            .iter()
            .map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => nodes(&entry.key) + nodes(&entry.value),
                EntryExpr::StructField(field) => nodes(&field.value),
            })
            .sum(),
        Expr::Select(select) => nodes(&select.operand),
        Expr::Struct(_) | Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
    };
    below + 1
}

fn depth(tree: &IdedExpr) -> usize {
    let below = match &tree.expr {
        Expr::Call(call) => {
            let target = call.target.as_deref().map_or(0, depth);
            call.args.iter().map(depth).fold(target, usize::max)
        }
        Expr::Comprehension(loops) => [
            &loops.iter_range,
            &loops.accu_init,
            &loops.loop_cond,
            &loops.loop_step,
            &loops.result,
        ]
        .map(depth)
        .into_iter()
        .fold(0, usize::max),
        Expr::List(list) => list.elements.iter().map(depth).fold(0, usize::max),
        Expr::Map(map) => map
            .entries
            .iter()
            .map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => depth(&entry.key).max(depth(&entry.value)),
                EntryExpr::StructField(field) => depth(&field.value),
            })
            .fold(0, usize::max),
        Expr::Select(select) => depth(&select.operand),
        Expr::Struct(_) | Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
    };
    below + 1
}

fn step(steps: u64) -> IdedExpr {
    let steps = CelInt::from(i64::try_from(steps).unwrap_or(i64::MAX));
    anonymous(call(STEP, [literal(LiteralValue::Int(steps))]))
}

fn conditional(condition: IdedExpr, then: IdedExpr, otherwise: IdedExpr) -> Expr {
    call(operators::CONDITIONAL, [condition, then, otherwise])
}

fn call(name: &str, args: impl IntoIterator<Item = IdedExpr>) -> Expr {
    Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: None,
        args: args.into_iter().collect(),
    })
}

fn literal(value: LiteralValue) -> IdedExpr {
    anonymous(Expr::Literal(value))
}

/// What stands nowhere in the text.
fn anonymous(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
