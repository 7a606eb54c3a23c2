//! What a statement looks up, and which variables it gives values to.

use regorus::unstable::{AssignOp, Expr, Literal, LiteralStmt, Query};

use super::apart::Names;
use crate::policy::engines::document::Path;

/// Each in the order in which it stands there, and once.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Below `input`.
    pub(super) paths: Vec<Path>,
    /// Rules of the package.
    pub(super) rules: Vec<String>,
    /// Everything else that has a name.
    pub(super) variables: Vec<String>,
    /// Variables that have a value behind the statement, if it has an answer.
    pub(super) given: Vec<String>,
}

impl Looked {
    /// What several look up, one after the other.
    pub(super) fn all(each: Vec<Self>) -> Self {
        let mut all = Self::default();
        for looked in each {
            for path in looked.paths {
                add(&mut all.paths, path);
            }
            for rule in looked.rules {
                add(&mut all.rules, rule);
            }
        }
        all
    }
}

pub(super) fn looked(statement: &LiteralStmt, names: &Names) -> Looked {
    let mut looking = Looking {
        names,
        looked: Looked::default(),
    };
    looking.statement(statement);
    match &statement.literal {
        Literal::SomeIn { key, value, .. } => {
            for expr in key.iter().chain([value]) {
                looking.given(expr);
            }
        }
        Literal::Expr { expr, .. } => {
            if let Expr::AssignExpr {
                op: AssignOp::ColEq,
                lhs,
                ..
            } = &**expr
            {
                looking.given(lhs);
            }
        }
        Literal::SomeVars { .. } | Literal::NotExpr { .. } | Literal::Every { .. } => {}
    }
    looking.looked
}

struct Looking<'n> {
    names: &'n Names,
    looked: Looked,
}

/// What a chain of names begins with.
enum Chain {
    Input(Path),
    /// `data`, and what follows it.
    Data(Vec<String>),
}

impl Looking<'_> {
    fn statement(&mut self, statement: &LiteralStmt) {
        match &statement.literal {
            Literal::SomeVars { vars, .. } => {
                for var in vars {
                    self.variable(var.text());
                }
            }
            Literal::SomeIn {
                key,
                value,
                collection,
                ..
            } => {
                for expr in key.iter().chain([value, collection]) {
                    self.expr(expr);
                }
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.expr(expr),
            Literal::Every { domain, query, .. } => {
                self.expr(domain);
                self.query(query);
            }
        }
        for with in &statement.with_mods {
            self.expr(&with.r#as);
        }
    }

    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            self.statement(statement);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => self.lookup(expr),
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                for item in items {
                    self.expr(item);
                }
            }
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.expr(key);
                    self.expr(value);
                }
            }
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.expr(term);
                self.query(query);
            }
            Expr::ObjectCompr {
                key, value, query, ..
            } => {
                self.expr(key);
                self.expr(value);
                self.query(query);
            }
            Expr::Call { params, .. } => {
                for param in params {
                    self.expr(param);
                }
            }
            Expr::UnaryExpr { expr, .. } => self.expr(expr),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            Expr::Membership {
                key,
                value,
                collection,
                ..
            } => {
                for expr in key.iter().chain([value, collection]) {
                    self.expr(expr);
                }
            }
        }
    }

    fn lookup(&mut self, expr: &Expr) {
        match chain(expr) {
            Some(Chain::Input(path)) => return add(&mut self.looked.paths, path),
            Some(Chain::Data(names)) => {
                let rule = names
                    .get(1)
                    .filter(|_| names.first().is_some_and(|it| it == "mcp"));
                if let Some(rule) = rule {
                    self.rule(rule);
                }
                return;
            }
            None => {}
        }
        if let Expr::Var { span, .. } = expr {
            let name = span.text();
            if self.names.rules.contains(name) {
                self.rule(name);
            } else {
                self.variable(name);
            }
        } else if let Expr::RefDot { refr, .. } = expr {
            self.expr(refr);
        } else if let Expr::RefBrack { refr, index, .. } = expr {
            self.expr(refr);
            self.expr(index);
        }
    }

    fn rule(&mut self, name: &str) {
        if self.names.rules.contains(name) {
            add(&mut self.looked.rules, name.to_owned());
        }
    }

    fn variable(&mut self, name: &str) {
        if name != "_" && !self.names.functions.contains(name) {
            add(&mut self.looked.variables, name.to_owned());
        }
    }

    /// The variables of a pattern.
    fn given(&mut self, pattern: &Expr) {
        if let Expr::Var { span, .. } = pattern {
            if span.text() != "_" {
                add(&mut self.looked.given, span.text().to_owned());
            }
        } else if let Expr::Array { items, .. } = pattern {
            for item in items {
                self.given(item);
            }
        } else if let Expr::Object { fields, .. } = pattern {
            for (_, _, value) in fields {
                self.given(value);
            }
        }
    }
}

/// A chain that names are all of.
fn chain(expr: &Expr) -> Option<Chain> {
    if let Expr::Var { span, .. } = expr {
        return match span.text() {
            "input" => Some(Chain::Input(Path::document("input"))),
            "data" => Some(Chain::Data(Vec::new())),
            _ => None,
        };
    }
    if let Expr::RefDot { refr, field, .. } = expr {
        return Some(chain(refr)?.below(field.1.as_string().ok()?));
    }
    let Expr::RefBrack { refr, index, .. } = expr else {
        return None;
    };
    let chain = chain(refr)?;
    if let Expr::String { value, .. } | Expr::RawString { value, .. } = &**index {
        return Some(chain.below(value.as_string().ok()?));
    }
    match (&**index, chain) {
        (Expr::Number { value, .. }, Chain::Input(path)) => {
            let place = usize::try_from(value.as_u64().ok()?).ok()?;
            Some(Chain::Input(path.item(place)))
        }
        (_, Chain::Input(_) | Chain::Data(_)) => None,
    }
}

impl Chain {
    fn below(self, name: &str) -> Self {
        match self {
            Self::Input(path) => Self::Input(path.member(name)),
            Self::Data(mut names) => {
                names.push(name.to_owned());
                Self::Data(names)
            }
        }
    }
}

fn add<T: PartialEq>(found: &mut Vec<T>, new: T) {
    if !found.contains(&new) {
        found.push(new);
    }
}
