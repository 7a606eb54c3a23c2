//! Packages that are one step away from the one that was written.
//!
//! Found in regorus's own tree. Its places end before the closing quote of a text, so each is
//! widened to whole words.

use std::ops::Range;
use std::sync::Arc;

use regorus::unstable::{
    AssignOp, BoolOp, Expr, Literal, LiteralStmt, Module, Query, Rule, RuleAssign, RuleBody,
    RuleHead, Span,
};

use super::RegoEngine;
use super::compile::named;
use super::functions::{Segment, segments};
use super::tokens::{Token, tokens};
use crate::policy::{Mutant, MutantKind, MutantRule, PolicyId, PolicySource};

impl RegoEngine {
    pub(super) fn all_mutants(&self) -> Vec<Mutant> {
        let mut engine = self.engine.clone();
        let modules = engine.get_modules();
        let mut found = Vec::new();
        for module in modules {
            let name = module.package.span.source.file();
            let mut sources = self.sources.iter();
            if let Some(source) = sources.find(|source| *source.name == **name) {
                of_module(source, module, &mut found);
            }
        }
        found
    }
}

fn of_module(source: &PolicySource, module: &Module, found: &mut Vec<Mutant>) {
    let tokens = tokens(&source.text);
    for rule in &module.policy {
        let place = snapped(&tokens, rule.span());
        let of_rule = tokens.iter();
        let of_rule = of_rule.filter(|token| place.contains(&token.at));
        let of_rule: Vec<Token<'_>> = of_rule.copied().collect();
        let mut making = Making {
            tokens: &tokens,
            rule: Arc::new(MutantRule {
                policy: PolicyId::new(name(&of_rule)),
                file: Arc::clone(&source.name),
                source: Arc::clone(&source.text),
                span: place.clone(),
                head: place.start,
                effect: None,
            }),
            part: place.clone(),
            found,
        };
        making.add(MutantKind::Policy, place, "");
        match &**rule {
            Rule::Spec { head, bodies, .. } => making.rule(head, bodies),
            Rule::Default { value, .. } => making.answer(value),
        }
    }
}

/// The id that a rule gives as its reason; of any other rule, what it is called.
pub(super) fn name<'t>(tokens: &'t [Token<'t>]) -> &'t str {
    let segments = segments(tokens);
    let segment = segments.first();
    let id = segment.and_then(|segment| named(segment).first().copied());
    let name = segment.map(|Segment { name, .. }| *name);
    id.or(name).unwrap_or_default()
}

struct Making<'m> {
    tokens: &'m [Token<'m>],
    rule: Arc<MutantRule>,
    /// The statement that changes are in, or the rule.
    part: Range<usize>,
    found: &'m mut Vec<Mutant>,
}

impl Making<'_> {
    fn add(&mut self, kind: MutantKind, span: Range<usize>, with: &str) {
        self.add_along(kind, span, with, Vec::new());
    }

    fn add_along(
        &mut self,
        kind: MutantKind,
        span: Range<usize>,
        with: &str,
        along: Vec<Range<usize>>,
    ) {
        self.found.push(Mutant {
            rule: Arc::clone(&self.rule),
            kind,
            span,
            with: with.to_owned(),
            along,
            part: self.part.clone(),
        });
    }

    fn rule(&mut self, head: &RuleHead, bodies: &[RuleBody]) {
        let assign = match head {
            RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => assign.as_ref(),
            RuleHead::Set { key, .. } => {
                if let Some(key) = key {
                    self.expr(key);
                }
                None
            }
        };
        self.assigned(assign);
        for body in bodies {
            let place = self.place(&body.span);
            if body.is_else {
                let whole = std::mem::replace(&mut self.part, place.clone());
                self.add(MutantKind::Condition, place, "");
                self.part = whole;
            }
            self.assigned(body.assign.as_ref());
            self.query(&body.query);
        }
    }

    fn assigned(&mut self, assign: Option<&RuleAssign>) {
        if let Some(assign) = assign {
            self.answer(&assign.value);
        }
    }

    /// What a rule comes to: `true` where it was `false`, and the other way round.
    fn answer(&mut self, value: &Expr) {
        if let Expr::Bool { span, .. } = value {
            let place = self.place(span);
            let other = match self.text(&place) {
                "true" => "false",
                _ => "true",
            };
            self.add(MutantKind::Effect, place, other);
        } else if let Expr::Object { fields, .. } = value {
            let member = |name: &str| {
                let mut fields = fields.iter();
                let found = fields.find(|(_, key, _)| self.text(&self.place(key.span())) == name);
                found.map(|(_, _, value)| value)
            };
            let deny = member("\"deny\"");
            // What denies anyway decides nothing by what else it says, as in `answer.rs`.
            let denies = deny.is_some_and(|it| self.text(&self.place(it.span())) == "true");
            let allow = member("\"allow\"").filter(|_| !denies);
            for value in [allow, deny].into_iter().flatten() {
                self.answer(value);
            }
        } else {
            self.expr(value);
        }
    }

    /// A statement is not asked, or asked the other way round.
    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            let place = self.place(&statement.span);
            let whole = std::mem::replace(&mut self.part, place.clone());
            self.statement(statement, place);
            self.part = whole;
        }
    }

    fn statement(&mut self, statement: &LiteralStmt, place: Range<usize>) {
        if self.text(&place) != "true" {
            self.add(MutantKind::Condition, place.clone(), "true");
        }
        match &statement.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { collection, .. } => self.expr(collection),
            Literal::Expr { expr, .. } => {
                let gives_name = matches!(
                    **expr,
                    Expr::AssignExpr {
                        op: AssignOp::ColEq,
                        ..
                    }
                );
                if !gives_name {
                    self.add(MutantKind::Negation, place.start..place.start, "not ");
                }
                self.expr(expr);
            }
            Literal::NotExpr { expr, .. } => {
                let asked = self.place(expr.span());
                self.add(MutantKind::Negation, place.start..asked.start, "");
                self.expr(expr);
            }
            Literal::Every { domain, query, .. } => {
                self.expr(domain);
                self.query(query);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. }
            | Expr::Var { .. } => {}
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                let places = items.iter().map(|item| self.place(item.span()));
                let places: Vec<Range<usize>> = places.collect();
                self.elements(&places);
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
            Expr::Call { fcn, params, .. } => {
                let place = self.place(fcn.span());
                if self.text(&place) == "regex.match"
                    && let Some(pattern) = params.first()
                {
                    self.pattern(pattern);
                }
                for param in params {
                    self.expr(param);
                }
            }
            Expr::UnaryExpr { expr, .. } | Expr::RefDot { refr: expr, .. } => self.expr(expr),
            Expr::RefBrack { refr, index, .. } => {
                self.expr(refr);
                self.expr(index);
            }
            Expr::BoolExpr { op, lhs, rhs, .. } => {
                self.bound(op, lhs, rhs);
                self.expr(lhs);
                self.expr(rhs);
            }
            Expr::BinExpr { lhs, rhs, .. }
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
                if let Some(key) = key {
                    self.expr(key);
                }
                self.expr(value);
                self.expr(collection);
            }
        }
    }

    /// A comparison takes in its bound or leaves it out, and numbers are one off.
    fn bound(&mut self, op: &BoolOp, left: &Expr, right: &Expr) {
        let (was, is) = match op {
            BoolOp::Lt => ("<", "<="),
            BoolOp::Le => ("<=", "<"),
            BoolOp::Gt => (">", ">="),
            BoolOp::Ge => (">=", ">"),
            BoolOp::Eq | BoolOp::Ne => ("", ""),
        };
        let between = self.place(left.span()).end..self.place(right.span()).start;
        let mut signs = self.tokens.iter();
        let sign = signs.find(|token| between.contains(&token.at) && token.is(was));
        if let Some(sign) = sign {
            self.add(MutantKind::Bound, sign.at..sign.at + was.len(), is);
        }
        for side in [left, right] {
            let place = self.place(side.span());
            let Ok(number) = self.text(&place).parse::<i64>() else {
                continue;
            };
            let others = [number.checked_sub(1), number.checked_add(1)];
            for other in others.into_iter().flatten() {
                self.add(MutantKind::Bound, place.clone(), &other.to_string());
            }
        }
    }

    /// An anchor goes.
    fn pattern(&mut self, pattern: &Expr) {
        let place = self.place(pattern.span());
        let text = self.text(&place);
        let quote = |letter: char| letter == '"' || letter == '`';
        let Some(inner) = text
            .strip_prefix(quote)
            .and_then(|text| text.strip_suffix(quote))
        else {
            return;
        };
        let (opens, closes) = (inner.starts_with('^'), inner.ends_with('$'));
        let escaped = inner.ends_with("\\$");
        if opens {
            self.add(MutantKind::Pattern, place.start + 1..place.start + 2, "");
        }
        if closes && !escaped {
            self.add(MutantKind::Pattern, place.end - 2..place.end - 1, "");
        }
    }

    /// Each element is missing once, with the comma that goes with it.
    fn elements(&mut self, items: &[Range<usize>]) {
        for (before, pair) in items.windows(2).enumerate() {
            let [one, next] = pair else { continue };
            let comma = one.end..next.start;
            self.add_along(MutantKind::Element, one.clone(), "", vec![comma.clone()]);
            if before + 2 == items.len() {
                self.add_along(MutantKind::Element, next.clone(), "", vec![comma]);
            }
        }
    }

    fn place(&self, span: &Span) -> Range<usize> {
        snapped(self.tokens, span)
    }

    fn text(&self, place: &Range<usize>) -> &str {
        self.rule.source.get(place.clone()).unwrap_or_default()
    }
}

/// From the beginning of the word that a place begins in to the end of the one that it ends in.
pub(super) fn snapped(tokens: &[Token<'_>], span: &Span) -> Range<usize> {
    let of = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    let (start, end) = (of(span.start), of(span.end));
    let mut within = tokens
        .iter()
        .filter(|token| token.at + token.text.len() > start && token.at < end.max(start + 1));
    let Some(first) = within.next() else {
        return start..end;
    };
    let last = within.next_back().unwrap_or(first);
    first.at..last.at + last.text.len()
}
