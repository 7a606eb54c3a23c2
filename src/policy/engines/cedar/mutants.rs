//! Policies that are one step away from what their author wrote.
//!
//! Made from the places in Cedar's concrete syntax, so that a change can be shown as a line. What
//! cannot be told apart from the original is left out where the schema says so; what the checker
//! rejects is for the compiler to count.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use cedar_policy_core::parser::{Node, cst};
use cedar_policy_core::validator::ValidatorActionId;

use super::engine::CedarEngine;
use super::outline::{effect, policies, span};
use super::schema_action::SchemaAction;
use super::vocabulary::Vocabulary;
use crate::policy::{
    ActionName, ConditionPart, Mutant, MutantKind, MutantRule, PartKind, PolicyOutline, RuleEffect,
};

impl CedarEngine {
    pub(super) fn all_mutants(&self) -> Vec<Mutant> {
        let mut found = Vec::new();
        let mut read = HashSet::new();
        for source in &self.sources {
            // Two servers may have the same files, and a change of one is a change for both.
            if !read.insert(&source.name) {
                continue;
            }
            let outlines = self.tracer().outlines();
            let outlines = outlines.filter(|outline| outline.origin.file == source.name);
            for ((policy, _), outline) in policies(&source.text).iter().zip(outlines) {
                let mut making = MutantBuilder {
                    words: &self.words,
                    rule: Arc::new(rule(outline)),
                    outline,
                    found: &mut found,
                };
                making.whole(policy);
                making.scope(policy);
                making.conditions();
                for cond in policy.conds.iter().filter_map(Node::as_inner) {
                    if let Some(expr) = &cond.expr {
                        making.expr(expr);
                    }
                }
            }
        }
        found
    }
}

/// The place of the action in the head of a policy.
const ACTION: usize = 1;

/// What `core.cedar` permits to all, or needs no permit.
const PERMITTED: [ActionName; 8] = [
    ActionName::Initialize,
    ActionName::Ping,
    ActionName::Cancel,
    ActionName::Notify,
    ActionName::ReceiveResult,
    ActionName::ListTool,
    ActionName::ListResource,
    ActionName::ListPrompt,
];

struct MutantBuilder<'m> {
    words: &'m Vocabulary,
    outline: &'m Arc<PolicyOutline>,
    rule: Arc<MutantRule>,
    found: &'m mut Vec<Mutant>,
}

fn rule(outline: &PolicyOutline) -> MutantRule {
    let head = outline.parts.first();
    MutantRule {
        policy: outline.id.clone(),
        file: Arc::clone(&outline.origin.file),
        source: Arc::clone(&outline.source),
        span: outline.span.clone(),
        head: head.map_or(outline.span.start, |part| part.span.start),
        effect: outline.effect,
    }
}

impl MutantBuilder<'_> {
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
        let whole = matches!(kind, MutantKind::Policy | MutantKind::Effect);
        let around = |part: &&Range<usize>| part.start <= span.start && span.end <= part.end;
        let parts = self.outline.parts.iter().map(|part| &part.span);
        let smallest = parts.filter(around).min_by_key(|part| part.len());
        let part = smallest.filter(|_| !whole).unwrap_or(&self.outline.span);
        self.found.push(Mutant {
            rule: Arc::clone(&self.rule),
            kind,
            part: part.clone(),
            span,
            with: with.to_owned(),
            along,
        });
    }

    fn text(&self, span: Range<usize>) -> &str {
        self.outline.source.get(span).unwrap_or_default()
    }

    /// The policy is gone, or says the opposite.
    fn whole(&mut self, policy: &cst::PolicyImpl) {
        self.add(MutantKind::Policy, self.outline.span.clone(), "");
        let other = match effect(policy) {
            Some(RuleEffect::Permit) => RuleEffect::Forbid,
            Some(RuleEffect::Forbid) => RuleEffect::Permit,
            None => return,
        };
        // What they promise may not go with the other effect, and would not be kept.
        let named = |node: &&Node<Option<cst::Annotation>>| {
            let key = node.as_inner().and_then(|it| it.key.as_inner());
            matches!(key, Some(cst::Ident::Ident(key)) if key == "id")
        };
        let promises = policy
            .annotations
            .iter()
            .filter(|node| !named(node))
            .map(span);
        let along = promises.collect();
        self.add_along(
            MutantKind::Effect,
            span(&policy.effect),
            other.word(),
            along,
        );
    }

    /// The head is about more.
    fn scope(&mut self, policy: &cst::PolicyImpl) {
        for (place, node) in policy.variables.iter().enumerate() {
            let Some(variable) = node.as_inner() else {
                continue;
            };
            let whole = span(node);
            let after_name = span(&variable.variable).end..whole.end;
            if place == ACTION && self.is_only_permit() {
                if let Some((cst::RelOp::In, expr)) = &variable.ineq {
                    self.expr(expr);
                }
                continue;
            }
            let kind = variable.entity_type.as_ref();
            if let Some((op, expr)) = &variable.ineq {
                // With a type before it, that much stays.
                let before = kind.map_or(after_name.start, |kind| span(kind).end);
                self.add(MutantKind::Scope, before..whole.end, "");
                if *op == cst::RelOp::In {
                    self.expr(expr);
                }
            } else if let Some(kind) = kind
                && !self.is_only_kind(place, self.text(span(kind)))
            {
                self.add(MutantKind::Scope, after_name, "");
            }
        }
    }

    /// Whether the policy would decide nothing else if it were about every action. A forbid then
    /// only denies more; a permit decides more only where there is something else to permit.
    fn is_only_permit(&self) -> bool {
        let kinds = |name: &ActionName| {
            let action = self.words.action(SchemaAction::Named(*name));
            let action = action.and_then(|it| self.words.core_schema().get_action_id(it.uid()));
            let kinds = action
                .into_iter()
                .flat_map(ValidatorActionId::applies_to_resources);
            kinds.cloned().collect::<Vec<_>>()
        };
        let own: Vec<_> = self.outline.actions.iter().flat_map(kinds).collect();
        let others = ActionName::ALL
            .iter()
            .filter(|name| !self.outline.actions.contains(name) && !PERMITTED.contains(name));
        let mut others = others.flat_map(kinds);
        self.outline.effect == RuleEffect::Forbid || others.all(|kind| !own.contains(&kind))
    }

    /// Whether no message could have another kind of principal or resource there.
    fn is_only_kind(&self, place: usize, kind: &str) -> bool {
        let actions = self.outline.actions.iter();
        let actions = actions.filter_map(|name| {
            let uid = self.words.action(SchemaAction::Named(*name))?.uid();
            self.words.core_schema().get_action_id(uid)
        });
        let mut kinds = actions.flat_map(|action| {
            let principals = action.applies_to_principals().map(|kind| (0, kind));
            principals.chain(action.applies_to_resources().map(|kind| (2, kind)))
        });
        kinds.all(|(of, known)| of != place || known.to_string() == kind)
    }

    /// A condition is not asked, or asked the other way round.
    fn conditions(&mut self) {
        let outline = Arc::clone(self.outline);
        for part in &outline.parts {
            // The opposite of a constant is its other value, which an `if` is tried with anyway.
            if part.kind == PartKind::Condition && !part.is_constant(&outline.source) {
                let negated = format!("!({})", self.text(part.span.clone()));
                self.add(MutantKind::Negation, part.span.clone(), &negated);
            }
            let Some(parent) = part.parent.and_then(|place| outline.parts.get(place)) else {
                continue;
            };
            match parent.kind {
                PartKind::All => self.settled(part, "true"),
                PartKind::Any => self.settled(part, "false"),
                PartKind::If => {
                    self.settled(part, "true");
                    self.settled(part, "false");
                }
                // All that it asks.
                PartKind::When | PartKind::Unless => {
                    self.add(MutantKind::Condition, parent.span.clone(), "");
                }
                PartKind::Not | PartKind::Scope | PartKind::Condition => {}
            }
        }
    }

    /// A part is not asked: what it comes to is settled.
    fn settled(&mut self, part: &ConditionPart, value: &str) {
        if self.text(part.span.clone()) != value {
            self.add(MutantKind::Condition, part.span.clone(), value);
        }
    }

    fn expr(&mut self, node: &Node<Option<cst::Expr>>) {
        let Some(cst::Expr::Expr(expr)) = node.as_inner() else {
            return;
        };
        match &*expr.expr {
            cst::ExprData::If(test, then, otherwise) => {
                for node in [test, then, otherwise] {
                    self.expr(node);
                }
            }
            cst::ExprData::Or(or) => {
                for and in or
                    .as_inner()
                    .into_iter()
                    .flat_map(|or| chain(&or.initial, &or.extended))
                {
                    for relation in and
                        .as_inner()
                        .into_iter()
                        .flat_map(|and| chain(&and.initial, &and.extended))
                    {
                        self.relation(relation);
                    }
                }
            }
        }
    }

    fn relation(&mut self, node: &Node<Option<cst::Relation>>) {
        match node.as_inner() {
            Some(cst::Relation::Common { initial, extended }) => {
                let mut left = initial;
                for (op, right) in extended {
                    self.bound(left, *op, right);
                    left = right;
                }
                self.add_expr(initial);
                for (_, add) in extended {
                    self.add_expr(add);
                }
            }
            Some(cst::Relation::Like { target, pattern }) => {
                self.add_expr(target);
                self.pattern(&span(pattern));
            }
            Some(cst::Relation::Has { target, .. }) => self.add_expr(target),
            Some(cst::Relation::IsIn {
                target, in_entity, ..
            }) => {
                self.add_expr(target);
                if let Some(add) = in_entity {
                    self.add_expr(add);
                }
            }
            None => {}
        }
    }

    /// A comparison takes in its bound or leaves it out, and numbers are one off.
    fn bound(
        &mut self,
        left: &Node<Option<cst::Add>>,
        op: cst::RelOp,
        right: &Node<Option<cst::Add>>,
    ) {
        let (was, is) = match op {
            cst::RelOp::Less => ("<", "<="),
            cst::RelOp::LessEq => ("<=", "<"),
            cst::RelOp::Greater => (">", ">="),
            cst::RelOp::GreaterEq => (">=", ">"),
            cst::RelOp::Eq | cst::RelOp::NotEq => ("", ""),
            cst::RelOp::In | cst::RelOp::InvalidSingleEq => return,
        };
        let between = span(left).end..span(right).start;
        // A comment there could hold the operator too; then the first is wrong and is refused.
        if !was.is_empty()
            && let Some(at) = self.text(between.clone()).find(was)
        {
            let at = between.start + at;
            self.add(MutantKind::Bound, at..at + was.len(), is);
        }
        for side in [left, right] {
            let place = span(side);
            let Ok(number) = self.text(place.clone()).parse::<i64>() else {
                continue;
            };
            let others = [number.checked_sub(1), number.checked_add(1)];
            for other in others.into_iter().flatten() {
                self.add(MutantKind::Bound, place.clone(), &other.to_string());
            }
        }
    }

    /// A `*` at an end comes or goes, and one inside goes.
    fn pattern(&mut self, place: &Range<usize>) {
        let text = self.text(place.clone()).to_owned();
        let Some(inner) = text.strip_prefix('"').and_then(|it| it.strip_suffix('"')) else {
            return;
        };
        let stars = inner.char_indices().filter(|(at, c)| {
            let escaped = inner
                .get(..*at)
                .is_some_and(|before| before.ends_with('\\'));
            *c == '*' && !escaped
        });
        let stars: Vec<usize> = stars.map(|(at, _)| at).collect();
        // A pattern of nothing but one `*` would become the empty text: another thing altogether.
        for star in stars.iter().filter(|_| inner != "*") {
            let at = place.start + 1 + star;
            self.add(MutantKind::Pattern, at..at + 1, "");
        }
        if stars.first() != Some(&0) {
            let at = place.start + 1;
            self.add(MutantKind::Pattern, at..at, "*");
        }
        if stars.last().map(|star| star + 1) != Some(inner.len()) {
            let at = place.end - 1;
            self.add(MutantKind::Pattern, at..at, "*");
        }
    }

    fn add_expr(&mut self, node: &Node<Option<cst::Add>>) {
        let Some(add) = node.as_inner() else { return };
        let mults = std::iter::once(&add.initial).chain(add.extended.iter().map(|(_, mult)| mult));
        for mult in mults.filter_map(Node::as_inner) {
            let unaries =
                std::iter::once(&mult.initial).chain(mult.extended.iter().map(|(_, unary)| unary));
            for member in unaries.filter_map(|unary| unary.as_inner()?.item.as_inner()) {
                self.member(member);
            }
        }
    }

    fn member(&mut self, member: &cst::Member) {
        match member.item.as_inner() {
            Some(cst::Primary::Expr(expr)) => self.expr(expr),
            Some(cst::Primary::EList(items)) => {
                self.elements(items);
                for item in items {
                    self.expr(item);
                }
            }
            Some(cst::Primary::RInits(fields)) => {
                for field in fields.iter().filter_map(Node::as_inner) {
                    self.expr(&field.1);
                }
            }
            Some(
                cst::Primary::Literal(_)
                | cst::Primary::Ref(_)
                | cst::Primary::Name(_)
                | cst::Primary::Slot(_),
            )
            | None => {}
        }
        for access in member.access.iter().filter_map(Node::as_inner) {
            match access {
                cst::MemAccess::Call(arguments) => {
                    for argument in arguments {
                        self.expr(argument);
                    }
                }
                cst::MemAccess::Field(_) | cst::MemAccess::Index(_) => {}
            }
        }
    }

    /// Each element of a set is missing once, with the comma that goes with it.
    fn elements(&mut self, items: &[Node<Option<cst::Expr>>]) {
        for (before, pair) in items.windows(2).enumerate() {
            let [one, next] = pair else { continue };
            let (one, next) = (span(one), span(next));
            let comma = one.end..next.start;
            self.add_along(MutantKind::Element, one, "", vec![comma.clone()]);
            if before + 2 == items.len() {
                self.add_along(MutantKind::Element, next, "", vec![comma]);
            }
        }
    }
}

fn chain<'n, T>(initial: &'n T, extended: &'n [T]) -> impl Iterator<Item = &'n T> {
    std::iter::once(initial).chain(extended)
}
