//! Rules taken apart: each body into its statements, and each statement into what it looks up.
//!
//! A statement need not mean anything by itself, for those before it may give it its variables. So
//! what is asked of each is how far its body comes: see `questions.rs`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use regorus::unstable::{LiteralStmt, Module, Rule, RuleBody, RuleHead};

use super::functions::segments;
use super::looked::{Looked, looked};
use super::mutants::{name, snapped};
use super::questions::{Body, Questions};
use super::tokens::{Token, tokens};
use crate::policy::engines::document::Path;
use crate::policy::{
    ActionName, Origin, Part, PartKind, PolicyId, PolicyOutline, PolicySource, RuleEffect,
};

/// A longer body is one condition: what asks for its statements grows with their square.
const MOST_STATEMENTS: usize = 64;

/// One rule, taken apart. Functions are not: what they ask is asked by those who call them.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) outline: Arc<PolicyOutline>,
    /// One for each part; nothing for those that have parts in them.
    pub(super) asks: Vec<Option<Ask>>,
}

/// What tells of one statement. Numbers are places among the answers.
#[derive(Debug)]
pub(super) struct Ask {
    /// The body up to it.
    pub(super) so_far: usize,
    /// The body without it and what follows.
    pub(super) before: Option<usize>,
    /// It by itself, where it needs nothing of what stands before it.
    pub(super) alone: Option<usize>,
    pub(super) paths: Vec<Path>,
    /// Variables that it looks at.
    pub(super) variables: Vec<String>,
    /// Rules that it looks at.
    pub(super) rules: Vec<(String, usize)>,
}

/// What rules are called, and which of them are functions.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) rules: BTreeSet<String>,
    pub(super) functions: BTreeSet<String>,
}

impl Names {
    pub(super) fn add(&mut self, source: &PolicySource, module: &Module) {
        let tokens = tokens(&source.text);
        for rule in &module.policy {
            let place = snapped(&tokens, rule.span());
            let of_rule: Vec<Token<'_>> = within(&tokens, &place);
            let name = segments(&of_rule).first().map(|segment| segment.name);
            let names = if is_function(rule) {
                &mut self.functions
            } else {
                &mut self.rules
            };
            names.extend(name.map(str::to_owned));
        }
    }
}

/// The rules of a file, and what has to be asked about them.
pub(super) fn taken(
    source: &PolicySource,
    module: &Module,
    names: &Names,
    questions: &mut Questions,
) -> Vec<Taken> {
    let tokens = tokens(&source.text);
    let mut taken = Vec::new();
    for rule in &module.policy {
        let Rule::Spec { bodies, .. } = &**rule else {
            continue;
        };
        if is_function(rule) {
            continue;
        }
        let span = snapped(&tokens, rule.span());
        let mut taking = Taking {
            source,
            tokens: &tokens,
            names,
            questions,
            parts: Vec::new(),
            asks: Vec::new(),
        };
        taking.bodies(bodies, &span);
        let (parts, asks) = (taking.parts, taking.asks);
        let of_rule = within(&tokens, &span);
        let outline = PolicyOutline {
            id: PolicyId::new(name(&of_rule)),
            origin: origin(source, span.start),
            effect: RuleEffect::Rule,
            actions: ActionName::ALL.to_vec(),
            source: Arc::clone(&source.text),
            span,
            parts,
        };
        taken.push(Taken {
            outline: Arc::new(outline),
            asks,
        });
    }
    taken
}

struct Taking<'t> {
    source: &'t PolicySource,
    tokens: &'t [Token<'t>],
    names: &'t Names,
    questions: &'t mut Questions,
    parts: Vec<Part>,
    asks: Vec<Option<Ask>>,
}

impl Taking<'_> {
    /// Each is asked where none before it holds.
    fn bodies(&mut self, bodies: &[RuleBody], span: &Range<usize>) {
        let any = (bodies.len() > 1).then(|| self.add(PartKind::Any, span.clone(), None));
        for body in bodies {
            let place = snapped(self.tokens, &body.query.span);
            let when = self.add(PartKind::When, place, any);
            let statements = &body.query.stmts;
            let places = statements.iter();
            let places = places.map(|statement| snapped(self.tokens, &statement.span));
            let places: Vec<Range<usize>> = places.collect();
            self.statements(statements, &places, when);
        }
    }

    fn statements(&mut self, statements: &[LiteralStmt], places: &[Range<usize>], when: usize) {
        let texts = places.iter().map(|place| self.text(place));
        let texts: Vec<String> = texts.map(str::to_owned).collect();
        let looked: Vec<Looked> = statements
            .iter()
            .map(|statement| looked(statement, self.names))
            .collect();
        let is_whole = statements.len() > MOST_STATEMENTS || self.questions.are_whole();
        if is_whole && let ([first, ..], [.., last]) = (places, places) {
            let all = Looked::all(looked);
            let so_far = self.questions.body(Body {
                statements: &texts,
                variables: &[],
            });
            let ask = Ask {
                so_far,
                before: None,
                alone: Some(so_far),
                paths: all.paths,
                variables: Vec::new(),
                rules: self.values(all.rules),
            };
            self.leaf(first.start..last.end, when, ask);
            return;
        }
        let mut before: Option<usize> = None;
        let mut given: Vec<String> = Vec::new();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for (count, (place, looked)) in places.iter().zip(looked).enumerate() {
            let depends = looked.variables.iter().any(|name| seen.contains(name));
            let new = looked.given.iter().filter(|name| !given.contains(name));
            let new: Vec<String> = new.cloned().collect();
            given.extend(new);
            let so_far = self.questions.body(Body {
                statements: texts.get(..=count).unwrap_or_default(),
                variables: &given,
            });
            let alone = match (count, depends) {
                (0, _) => Some(so_far),
                (_, true) => None,
                (_, false) => Some(self.questions.body(Body {
                    statements: texts.get(count..=count).unwrap_or_default(),
                    variables: &[],
                })),
            };
            let of_given = looked.variables.iter().filter(|name| given.contains(name));
            let ask = Ask {
                so_far,
                before,
                alone,
                paths: looked.paths,
                variables: of_given.cloned().collect(),
                rules: self.values(looked.rules),
            };
            seen.extend(looked.variables);
            self.leaf(place.clone(), when, ask);
            before = Some(so_far);
        }
    }

    fn values(&mut self, rules: Vec<String>) -> Vec<(String, usize)> {
        let rules = rules.into_iter();
        rules
            .map(|rule| {
                let place = self.questions.value(&rule);
                (rule, place)
            })
            .collect()
    }

    fn leaf(&mut self, span: Range<usize>, when: usize, ask: Ask) {
        let place = self.add(PartKind::Condition, span, Some(when));
        if let Some(asks) = self.asks.get_mut(place) {
            *asks = Some(ask);
        }
    }

    fn add(&mut self, kind: PartKind, span: Range<usize>, parent: Option<usize>) -> usize {
        let place = self.parts.len();
        if let Some(parent) = parent.and_then(|parent| self.parts.get_mut(parent)) {
            parent.children.push(place);
        }
        self.parts.push(Part {
            kind,
            span,
            parent,
            children: Vec::new(),
        });
        self.asks.push(None);
        place
    }

    fn text(&self, place: &Range<usize>) -> &str {
        self.source.text.get(place.clone()).unwrap_or_default()
    }
}

fn is_function(rule: &Rule) -> bool {
    match rule {
        Rule::Spec { head, .. } => matches!(head, RuleHead::Func { .. }),
        Rule::Default { args, .. } => !args.is_empty(),
    }
}

fn within<'t>(tokens: &[Token<'t>], place: &Range<usize>) -> Vec<Token<'t>> {
    let tokens = tokens.iter().filter(|token| place.contains(&token.at));
    tokens.copied().collect()
}

fn origin(source: &PolicySource, at: usize) -> Origin {
    let before = source.text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    Origin {
        file: Arc::clone(&source.name),
        line: u32::try_from(line).unwrap_or(u32::MAX),
    }
}
