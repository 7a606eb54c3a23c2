//! The parts of a policy as its author wrote them.
//!
//! Taken from Cedar's concrete syntax: its abstract one writes `a != b` as `!(a == b)` and `a is T in
//! b` as `a is T && a in b`, which no author wrote.

use std::ops::Range;

use cedar_policy_core::parser::{Node, cst, text_to_cst};

use crate::policy::{ConditionPart, PartKind, PolicySource, RuleEffect};

/// One policy of a file.
#[derive(Debug)]
pub(super) struct RuleOutline {
    pub(super) effect: RuleEffect,
    pub(super) span: Range<usize>,
    /// The first three are the scope: principal, action, resource.
    pub(super) parts: Vec<ConditionPart>,
}

/// The policies of a text in their order; none if it cannot be read, which the compiler tells.
///
/// INVARIANT: runs on a stack for [`super::nesting::MAX_NESTING`] levels.
pub(super) fn outlines(source: &PolicySource) -> Vec<RuleOutline> {
    policies(&source.text)
        .iter()
        .filter_map(|(policy, span)| outline(policy, span.clone()))
        .collect()
}

/// The concrete syntax of a text, with places.
pub(super) fn policies(text: &str) -> Vec<(cst::PolicyImpl, Range<usize>)> {
    let Ok(read) = text_to_cst::parse_policies(text) else {
        return Vec::new();
    };
    let policies = read.node.map(|cst::Policies(policies)| policies);
    let policies = policies.into_iter().flatten();
    policies
        .filter_map(|node| {
            let span = span(&node);
            let cst::Policy::Policy(policy) = node.node?;
            Some((policy, span))
        })
        .collect()
}

pub(super) fn span<T>(node: &Node<T>) -> Range<usize> {
    node.loc.as_ref().map_or(0..0, |loc| loc.start()..loc.end())
}

pub(super) fn effect(policy: &cst::PolicyImpl) -> Option<RuleEffect> {
    let word = policy.effect.as_inner()?;
    let effects = [
        (cst::Ident::Permit, RuleEffect::Permit),
        (cst::Ident::Forbid, RuleEffect::Forbid),
    ];
    let found = effects.into_iter().find(|(ident, _)| ident == word);
    found.map(|(_, effect)| effect)
}

fn outline(policy: &cst::PolicyImpl, span: Range<usize>) -> Option<RuleOutline> {
    let mut outline = RuleOutline {
        effect: effect(policy)?,
        span,
        parts: Vec::new(),
    };
    for variable in &policy.variables {
        outline.add(PartKind::Scope, self::span(variable), None);
    }
    for cond in &policy.conds {
        let inner = cond.as_inner()?;
        let kind = if *inner.cond.as_inner()? == cst::Ident::Unless {
            PartKind::Unless
        } else {
            PartKind::When
        };
        let clause = outline.add(kind, self::span(cond), None);
        outline.expr(inner.expr.as_ref()?, Some(clause))?;
    }
    Some(outline)
}

impl RuleOutline {
    fn add(&mut self, kind: PartKind, span: Range<usize>, parent: Option<usize>) -> usize {
        let place = self.parts.len();
        self.parts.push(ConditionPart {
            kind,
            span,
            parent,
            children: Vec::new(),
        });
        if let Some(parent) = parent.and_then(|parent| self.parts.get_mut(parent)) {
            parent.children.push(place);
        }
        place
    }

    fn expr(&mut self, node: &Node<Option<cst::Expr>>, parent: Option<usize>) -> Option<()> {
        let cst::Expr::Expr(expr) = node.as_inner()?;
        match &*expr.expr {
            cst::ExprData::If(test, then, otherwise) => {
                let place = self.add(PartKind::If, span(node), parent);
                for part in [test, then, otherwise] {
                    self.expr(part, Some(place))?;
                }
            }
            cst::ExprData::Or(or) => {
                let inner = or.as_inner()?;
                if inner.extended.is_empty() {
                    return self.and(&inner.initial, parent);
                }
                let place = self.add(PartKind::Any, span(or), parent);
                for and in std::iter::once(&inner.initial).chain(&inner.extended) {
                    self.and(and, Some(place))?;
                }
            }
        }
        Some(())
    }

    fn and(&mut self, node: &Node<Option<cst::And>>, parent: Option<usize>) -> Option<()> {
        let inner = node.as_inner()?;
        if inner.extended.is_empty() {
            return self.relation(&inner.initial, parent);
        }
        let place = self.add(PartKind::All, span(node), parent);
        for relation in std::iter::once(&inner.initial).chain(&inner.extended) {
            self.relation(relation, Some(place))?;
        }
        Some(())
    }

    fn relation(
        &mut self,
        node: &Node<Option<cst::Relation>>,
        parent: Option<usize>,
    ) -> Option<()> {
        match grouped(node.as_inner()?) {
            Some((None, inner)) => self.expr(inner, parent),
            Some((Some(cst::NegOp::Bang(1)), inner)) if is_chain(inner) => {
                let place = self.add(PartKind::Not, span(node), parent);
                self.expr(inner, Some(place))
            }
            Some(_) | None => {
                self.add(PartKind::Condition, span(node), parent);
                Some(())
            }
        }
    }
}

/// What stands in parentheses, if that is all there is, and what stands before them.
fn grouped(relation: &cst::Relation) -> Option<(Option<cst::NegOp>, &Node<Option<cst::Expr>>)> {
    let cst::Relation::Common { initial, extended } = relation else {
        return None;
    };
    let add = initial.as_inner()?;
    let mult = add.initial.as_inner()?;
    let unary = mult.initial.as_inner()?;
    let member = unary.item.as_inner()?;
    let alone = extended.is_empty()
        && add.extended.is_empty()
        && mult.extended.is_empty()
        && member.access.is_empty();
    if let cst::Primary::Expr(inner) = member.item.as_inner()?
        && alone
    {
        Some((unary.op, inner))
    } else {
        None
    }
}

/// Whether an expression is made of smaller ones: a chain of `&&` or `||`, or an `if`.
fn is_chain(node: &Node<Option<cst::Expr>>) -> bool {
    let Some(cst::Expr::Expr(expr)) = node.as_inner() else {
        return false;
    };
    let cst::ExprData::Or(or) = &*expr.expr else {
        return true;
    };
    let Some(or) = or.as_inner() else {
        return false;
    };
    let chained = |and: &cst::And| {
        let alone = || and.initial.as_inner().and_then(grouped);
        !and.extended.is_empty() || matches!(alone(), Some((None, inner)) if is_chain(inner))
    };
    !or.extended.is_empty() || or.initial.as_inner().is_some_and(chained)
}
