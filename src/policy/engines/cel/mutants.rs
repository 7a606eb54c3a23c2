//! Rules that are one step away from those that were written.

use std::ops::Range;
use std::sync::Arc;

use super::CelEngine;
use super::parts::{Token, parts_of, tokens};
use super::written::{When, Written, written};
use crate::policy::{Mutant, MutantKind, MutantRule, Part, PartKind, RuleEffect};

/// Macros whose last argument is a condition.
const OF_CONDITIONS: [&str; 4] = ["all", "exists", "exists_one", "filter"];

/// Keys that only one of the effects may have.
const OF_ONE_EFFECT: [&str; 6] = [
    "requires_consent",
    "obligation_annotate",
    "obligation_canonical",
    "add_label",
    "raise_sensitivity",
    "obligation_strip_meta",
];

impl CelEngine {
    pub(super) fn all_mutants(&self) -> Vec<Mutant> {
        let mut found = Vec::new();
        for source in &self.sources {
            for rule in written(source, &self.rules) {
                let mut making = Making {
                    rule: Arc::new(subject(&rule)),
                    found: &mut found,
                };
                making.whole(&rule);
                making.head(&rule);
                making.asked(&rule);
                if let Some(when) = &rule.when {
                    let mut within = Within {
                        making: &mut making,
                        when,
                    };
                    within.condition(&when.parts);
                }
            }
        }
        found
    }
}

fn subject(rule: &Written) -> MutantRule {
    let outline = &rule.outline;
    let effect = rule.keys.iter().find(|key| key.name == "effect");
    MutantRule {
        policy: outline.id.clone(),
        file: Arc::clone(&outline.origin.file),
        source: Arc::clone(&outline.source),
        span: outline.span.clone(),
        head: effect.map_or(outline.span.start, |key| key.span.start),
        effect: Some(outline.effect),
    }
}

struct Making<'m> {
    rule: Arc<MutantRule>,
    found: &'m mut Vec<Mutant>,
}

impl Making<'_> {
    fn add(&mut self, kind: MutantKind, span: Range<usize>, with: &str, part: &Range<usize>) {
        self.add_along(kind, span, with, Vec::new(), part);
    }

    fn add_along(
        &mut self,
        kind: MutantKind,
        span: Range<usize>,
        with: &str,
        along: Vec<Range<usize>>,
        part: &Range<usize>,
    ) {
        self.found.push(Mutant {
            rule: Arc::clone(&self.rule),
            kind,
            span,
            with: with.to_owned(),
            along,
            part: part.clone(),
        });
    }

    /// The rule is gone, or says the opposite.
    fn whole(&mut self, rule: &Written) {
        let span = rule.outline.span.clone();
        self.add(MutantKind::Policy, span.clone(), "", &span);
        let Some(effect) = rule.keys.iter().find(|key| key.name == "effect") else {
            return;
        };
        let other = match rule.outline.effect {
            RuleEffect::Permit => "\"forbid\"",
            RuleEffect::Forbid => "\"permit\"",
            RuleEffect::Rule => return,
        };
        // What they promise may not go with the other effect, and would not be kept.
        let promises = rule.keys.iter();
        let promises = promises.filter(|key| OF_ONE_EFFECT.contains(&&*key.name));
        let along = promises.map(|key| key.span.clone()).collect();
        self.add_along(
            MutantKind::Effect,
            effect.value.clone(),
            other,
            along,
            &span,
        );
    }

    /// The rule is about more actions, or about one less.
    fn head(&mut self, rule: &Written) {
        let Some(actions) = rule.keys.iter().find(|key| key.name == "actions") else {
            return;
        };
        // What is about more denies more.
        let only_denies = rule.outline.effect == RuleEffect::Forbid;
        if !only_denies {
            self.add(MutantKind::Scope, actions.span.clone(), "", &actions.span);
        }
        self.elements(&actions.items, &actions.span);
    }

    /// Nothing is asked.
    fn asked(&mut self, rule: &Written) {
        if let Some(when) = rule.keys.iter().find(|key| key.name == "when") {
            self.add(MutantKind::Condition, when.span.clone(), "", &when.span);
        }
    }

    /// Each element is missing once, with the comma that goes with it.
    fn elements(&mut self, items: &[Range<usize>], part: &Range<usize>) {
        for (before, pair) in items.windows(2).enumerate() {
            let [one, next] = pair else { continue };
            let comma = one.end..next.start;
            let along = vec![comma.clone()];
            self.add_along(MutantKind::Element, one.clone(), "", along, part);
            if before + 2 == items.len() {
                self.add_along(MutantKind::Element, next.clone(), "", vec![comma], part);
            }
        }
    }
}

/// Changes in a condition; places are those in its text.
struct Within<'w, 'm> {
    making: &'w mut Making<'m>,
    when: &'w When,
}

impl<'w> Within<'w, '_> {
    /// A condition is not asked, or asked the other way round.
    fn condition(&mut self, parts: &[Part]) {
        for part in parts {
            let parent = part.parent.and_then(|place| parts.get(place));
            match parent.map(|parent| parent.kind) {
                Some(PartKind::All) => self.settled(part, "true"),
                Some(PartKind::Any) => self.settled(part, "false"),
                Some(PartKind::If) => {
                    self.settled(part, "true");
                    self.settled(part, "false");
                }
                Some(
                    PartKind::Not
                    | PartKind::Scope
                    | PartKind::Condition
                    | PartKind::When
                    | PartKind::Unless,
                )
                | None => {}
            }
            if part.kind == PartKind::Condition {
                if !part.is_constant(&self.when.text) {
                    let negated = format!("!({})", self.written(&part.span));
                    self.add(MutantKind::Negation, &part.span, &negated, &part.span);
                }
                self.leaf(&part.span, &part.span);
            }
        }
    }

    /// What a part comes to is settled.
    fn settled(&mut self, part: &Part, value: &str) {
        if self.text(&part.span) != value {
            self.add(MutantKind::Condition, &part.span, value, &part.span);
        }
    }

    /// What stands in a condition that has no smaller one: bounds, elements, patterns, and whatever
    /// is in brackets.
    fn leaf(&mut self, within: &Range<usize>, part: &Range<usize>) {
        let tokens = tokens(&self.when.text, within.clone());
        for (at, token) in tokens.iter().enumerate() {
            let word = self.text(&token.span);
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            let (Some(first), true) = (word.chars().next(), word.len() > 1) else {
                self.bound(&tokens, at, part);
                continue;
            };
            let inner = token.span.start + 1..token.span.end - 1;
            let goes_on = before.is_some_and(|before| self.is_operand(before));
            match first {
                '[' | '{' if !goes_on => {
                    let items = self.items(&inner);
                    if first == '[' {
                        let places = items.iter().filter_map(|item| self.place(item));
                        let places: Vec<Range<usize>> = places.collect();
                        if let Some(part) = self.place(part) {
                            self.making.elements(&places, &part);
                        }
                    }
                    for item in items {
                        self.leaf(&item, part);
                    }
                }
                '[' => self.leaf(&inner, part),
                '(' if goes_on => self.call(before, &inner, part),
                '(' => self.value(&inner, part),
                _ => self.bound(&tokens, at, part),
            }
        }
    }

    /// What stands in brackets, and need not come to a boolean.
    fn value(&mut self, inner: &Range<usize>, part: &Range<usize>) {
        let parts = parts_of(&self.when.text, inner.clone());
        match parts.first() {
            Some(whole) if whole.kind == PartKind::If => {
                let of_whole = whole.children.iter().filter_map(|place| parts.get(*place));
                let spans: Vec<Range<usize>> = of_whole.map(|part| part.span.clone()).collect();
                if let [test, then, otherwise] = spans.as_slice() {
                    let test = parts_of(&self.when.text, test.clone());
                    if let Some(whole) = test.first() {
                        self.settled(whole, "true");
                        self.settled(whole, "false");
                    }
                    self.condition(&test);
                    self.value(then, part);
                    self.value(otherwise, part);
                }
            }
            Some(whole) if whole.kind == PartKind::Condition => self.leaf(&whole.span, part),
            Some(_) => self.condition(&parts),
            None => {}
        }
    }

    fn call(&mut self, name: Option<&Token>, inner: &Range<usize>, part: &Range<usize>) {
        let name = name.map_or("", |name| self.text(&name.span));
        let arguments = self.items(inner);
        let of_conditions = OF_CONDITIONS.contains(&name) && arguments.len() > 1;
        for (at, argument) in arguments.iter().enumerate() {
            if of_conditions && at + 1 == arguments.len() {
                let parts = parts_of(&self.when.text, argument.clone());
                self.condition(&parts);
            } else if name == "matches" {
                self.pattern(argument, part);
            } else {
                self.leaf(argument, part);
            }
        }
    }

    /// A comparison takes in its bound or leaves it out, and numbers are one off.
    fn bound(&mut self, tokens: &[Token], at: usize, part: &Range<usize>) {
        let Some(token) = tokens.get(at) else { return };
        let other = match self.text(&token.span) {
            "<" => "<=",
            "<=" => "<",
            ">" => ">=",
            ">=" => ">",
            "==" | "!=" => "",
            _ => return,
        };
        if !other.is_empty() {
            self.add(MutantKind::Bound, &token.span, other, part);
        }
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let sign = tokens
            .get(at + 1)
            .filter(|next| self.text(&next.span) == "-");
        let after = tokens.get(at + 1 + usize::from(sign.is_some()));
        let behind = tokens.get(at + 2 + usize::from(sign.is_some()));
        // `1.5` is three words.
        let ends = |next: Option<&Token>| next.is_none_or(|next| self.text(&next.span) != ".");
        let whole = [before, after.filter(|_| ends(behind))];
        let whole: Vec<Token> = whole.into_iter().flatten().cloned().collect();
        for token in whole {
            let word = self.text(&token.span);
            let digits = word.trim_end_matches(['u', 'U']);
            let (Ok(number), suffix) = (digits.parse::<i64>(), word.len() - digits.len()) else {
                continue;
            };
            let suffix = "u".repeat(suffix);
            let others = [number.checked_sub(1), number.checked_add(1)];
            for other in others.into_iter().flatten() {
                // What follows a minus must not begin with one.
                if other >= 0 {
                    let with = format!("{other}{suffix}");
                    self.add(MutantKind::Bound, &token.span, &with, part);
                } else if sign.is_none() && suffix.is_empty() {
                    self.add(MutantKind::Bound, &token.span, &format!("({other})"), part);
                }
            }
        }
    }

    /// An anchor goes.
    fn pattern(&mut self, literal: &Range<usize>, part: &Range<usize>) {
        let text = self.text(literal);
        let body = text.trim_start_matches(['r', 'R']);
        let start = literal.start + (text.len() - body.len());
        let quotes = if body.starts_with("'''") || body.starts_with("\"\"\"") {
            3
        } else {
            1
        };
        let inner = start + quotes..literal.end.saturating_sub(quotes);
        let pattern = self.text(&inner);
        if pattern.starts_with('^') {
            let anchor = inner.start..inner.start + 1;
            self.add(MutantKind::Pattern, &anchor, "", part);
        }
        if pattern.ends_with('$') && !pattern.ends_with("\\$") {
            let anchor = inner.end - 1..inner.end;
            self.add(MutantKind::Pattern, &anchor, "", part);
        }
    }

    /// What stands between commas.
    fn items(&self, inner: &Range<usize>) -> Vec<Range<usize>> {
        let tokens = tokens(&self.when.text, inner.clone());
        let items = tokens.split(|token| self.text(&token.span) == ",");
        let items = items.filter_map(|item| {
            let (first, last) = (item.first()?, item.last()?);
            Some(first.span.start..last.span.end)
        });
        items.collect()
    }

    /// A bracket behind it belongs to it.
    fn is_operand(&self, token: &Token) -> bool {
        let word = self.text(&token.span);
        let ends = word.chars().last();
        ends.is_some_and(|last| last.is_alphanumeric() || "_)]}'\"".contains(last)) && word != "in"
    }

    fn add(&mut self, kind: MutantKind, span: &Range<usize>, with: &str, part: &Range<usize>) {
        if let (Some(span), Some(part)) = (self.place(span), self.place(part)) {
            self.making.add(kind, span, with, &part);
        }
    }

    fn place(&self, piece: &Range<usize>) -> Option<Range<usize>> {
        self.when.places.span(piece)
    }

    fn text(&self, piece: &Range<usize>) -> &'w str {
        let when: &'w When = self.when;
        when.text.get(piece.clone()).unwrap_or_default()
    }

    /// As the file has it, escapes and all.
    fn written(&self, piece: &Range<usize>) -> String {
        let source = &self.making.rule.source;
        let place = self.place(piece);
        let text = place.and_then(|place| source.get(place));
        text.unwrap_or_default().to_owned()
    }
}
