//! Policies, taken apart: the question that each of their parts asks.

use std::str::FromStr;
use std::sync::Arc;

use cedar_policy_core::ast::{self, EntityUID, Expr, Literal, SlotEnv, ValueKind};
use cedar_policy_core::entities::Entities;
use cedar_policy_core::evaluator::Evaluator;

use super::action_set::ActionSet;
use super::attribute_reads::sights;
use super::compile;
use super::inspect::FactNeeds;
use super::outline::outlines;
use super::own_policies::names_with_key;
use super::schema_action::SchemaAction;
use super::subjects::Subject;
use super::vocabulary::{Vocabulary, uid};
use crate::policy::engines::stack::on_big_stack;
use crate::policy::{
    ActionName, ConditionPart, PartKind, PartValue, PolicyOutline, PolicySource, PolicyTrace,
};

/// The policies of an engine, taken apart.
#[derive(Debug, Default)]
pub(super) struct Tracer {
    pub(super) policies: Vec<TracedPolicy>,
}

/// One policy, taken apart.
#[derive(Debug)]
pub(super) struct TracedPolicy {
    pub(super) outline: Arc<PolicyOutline>,
    /// What each part asks; `None` for those that have parts in them.
    asks: Vec<Option<Expr>>,
    pub(super) needs: FactNeeds,
    pub(super) verbs: ActionSet,
    /// Where it is about the messages of one of several servers.
    server: Option<EntityUID>,
}

impl Tracer {
    /// Nothing where a text cannot be taken apart: the compiler has accepted them all.
    pub(super) fn new(words: &Vocabulary, sources: &[PolicySource]) -> Self {
        let read = || sources.iter().flat_map(|source| traced(words, source));
        let policies = on_big_stack(|| read().collect());
        Self {
            policies: policies.unwrap_or_default(),
        }
    }

    /// The shapes of all policies.
    pub(super) fn outlines(&self) -> impl Iterator<Item = &Arc<PolicyOutline>> {
        self.policies.iter().map(|policy| &policy.outline)
    }
}

impl TracedPolicy {
    /// Whether a message is of the server whose own policy this is, if it is one's.
    pub(super) fn is_of(&self, principal: &Subject, resource: &Subject) -> bool {
        self.server.as_ref().is_none_or(|server| {
            principal.uid == *server
                || resource.uid == *server
                || resource.ancestors.contains(server)
        })
    }

    pub(super) fn trace(&self, evaluator: &Evaluator<'_>, entities: &Entities) -> PolicyTrace {
        let found = self.asks.iter().map(|asks| match asks {
            Some(expr) => (value(evaluator, expr), sights(evaluator, entities, expr)),
            None => (PartValue::True, Vec::new()),
        });
        PolicyTrace::of(Arc::clone(&self.outline), found.collect())
    }
}

fn value(evaluator: &Evaluator<'_>, expr: &Expr) -> PartValue {
    match evaluator.interpret(expr, &SlotEnv::new()) {
        Ok(ast::Value {
            value: ValueKind::Lit(Literal::Bool(holds)),
            ..
        }) => PartValue::of(holds),
        Ok(_) => PartValue::Failed("the condition is not a boolean".to_owned()),
        Err(error) => PartValue::Failed(error.to_string()),
    }
}

fn traced(words: &Vocabulary, source: &PolicySource) -> Vec<TracedPolicy> {
    let sources = std::slice::from_ref(source);
    let (drafts, _) = compile::parse(words, sources);
    let outlines = outlines(source);
    // Both read the same text in its order.
    drafts
        .iter()
        .zip(outlines)
        .map(|(draft, outline)| {
            let tree: &ast::Policy = draft.policy.as_ref();
            let scope = [
                tree.principal_constraint().as_expr(),
                tree.action_constraint().as_expr(),
                tree.resource_constraint().as_expr(),
            ];
            let mut scope = scope.into_iter();
            let mut ask = |part: &ConditionPart| match part.kind {
                PartKind::Scope => scope.next(),
                PartKind::Condition => source
                    .text
                    .get(part.span.clone())
                    .and_then(|text| Expr::from_str(text).ok())
                    .map(|expr| match &source.server {
                        Some(key) => names_with_key(&expr, key),
                        None => expr,
                    }),
                PartKind::When
                | PartKind::Unless
                | PartKind::All
                | PartKind::Any
                | PartKind::Not
                | PartKind::If => None,
            };
            TracedPolicy {
                asks: outline.parts.iter().map(&mut ask).collect(),
                needs: draft.needs(),
                verbs: draft.verbs(words),
                server: source
                    .server
                    .as_ref()
                    .map(|key| uid(&words.server, key.as_str())),
                outline: Arc::new(PolicyOutline {
                    id: draft.entry.id.clone(),
                    origin: draft.entry.origin.clone(),
                    effect: outline.effect,
                    actions: actions(&draft.verbs(words)),
                    source: Arc::clone(&source.text),
                    span: outline.span,
                    parts: outline.parts,
                }),
            }
        })
        .collect()
}

fn actions(verbs: &ActionSet) -> Vec<ActionName> {
    let mut actions: Vec<ActionName> = verbs.each().map(SchemaAction::name).collect();
    actions.sort_unstable();
    actions.dedup();
    actions
}
