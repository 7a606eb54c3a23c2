//! Facts to what every part of every policy comes to.
//!
//! The parts are read from the text and evaluated one by one by Cedar's own evaluator, over the
//! request and entities that `judge.rs` makes. Nothing of this exists before the first trace: the texts
//! are read again at the first trace.

use std::str::FromStr;
use std::sync::Arc;

use cedar_policy_core::ast::{self, Expr, Literal, Request, SlotEnv, ValueKind};
use cedar_policy_core::entities::Entities;
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::attribute_reads::sights;
use super::compile;
use super::fact_values::{ContextFacts, FactView};
use super::inspect::FactNeeds;
use super::judge::{DecisionTally, repeated, unsayable};
use super::outline::outlines;
use super::schema_action::{ActionSet, SchemaAction};
use super::subjects::Subject;
use super::vocabulary::Vocabulary;
use super::{CedarEngine, on_big_stack};
use crate::policy::leaves::Leaves;
use crate::policy::{
    ActionName, ConditionPart, EngineFault, Facts, PartKind, PartTrace, PartValue, PolicyOutline,
    PolicySource, PolicyTrace, Trace,
};

/// The policies of an engine, taken apart.
#[derive(Debug, Default)]
pub(super) struct Tracer {
    policies: Vec<TracedPolicy>,
}

/// One policy, taken apart.
#[derive(Debug)]
struct TracedPolicy {
    outline: Arc<PolicyOutline>,
    /// What each part asks; `None` for those that have parts in them.
    asks: Vec<Option<Expr>>,
    needs: FactNeeds,
    verbs: ActionSet,
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

impl CedarEngine {
    pub(super) fn tracer(&self) -> &Tracer {
        self.tracer
            .get_or_init(|| Tracer::new(&self.words, &self.sources))
    }

    pub(super) fn traced(&self, facts: &Facts<'_>) -> Trace {
        self.trace_all(facts).unwrap_or_else(|fault| Trace {
            fault: Some(fault),
            ..Trace::default()
        })
    }

    fn trace_all(&self, facts: &Facts<'_>) -> Result<Trace, EngineFault> {
        let words = &*self.words;
        let verb = SchemaAction::of(words, &facts.action, facts.resource);
        let principal = Subject::of_principal(words, facts.principal);
        let resource = Subject::of_resource(words, &self.groups, facts.env.server, facts.resource);
        let candidates = self.rules.candidates(verb, &principal, &resource);
        // A verdict is a fault only where a rule cannot be evaluated.
        if !candidates.is_empty() && !self.idle.fits(verb.name(), facts.principal, facts.resource) {
            return Err(unsayable(
                "the action is not for such a principal and resource",
            ));
        }
        let policies = self.tracer().policies.iter();
        let about: Vec<&TracedPolicy> = policies.filter(|it| it.verbs.has(verb)).collect();
        if about.is_empty() {
            return Ok(Trace::default());
        }
        let view = FactView {
            held: None,
            verb,
            record: words.arguments_of(verb),
            principal: &principal,
            resource: &resource,
            who: facts.principal,
            what: facts.resource,
            context: Some(ContextFacts {
                action: &facts.action,
                env: &facts.env,
                arguments: Leaves::of(facts.action.arguments()).ok_or_else(repeated)?,
            }),
        };
        let unclear = DecisionTally::default().glance(&view, candidates);
        let needs = unclear
            .iter()
            .fold(FactNeeds::default(), |needs, rule| needs.and(rule.needs));
        let misfit = self.arguments(&view, needs).err();
        let misfit = misfit.filter(|_| !unclear.is_empty());
        if let Some(misfit) = &misfit {
            self.misfit(facts.resource, misfit)?;
        }
        let all = about
            .iter()
            .fold(needs, |needs, policy| needs.and(policy.needs));
        let world = |needs| {
            // Where the arguments fit no record, parts that look at one fail.
            let arguments = self.arguments(&view, needs).unwrap_or_default();
            let request = self.request(facts, &view, needs, arguments)?;
            let entities = self.entities(facts, &principal, &resource, needs)?;
            Ok::<_, EngineFault>((request, entities))
        };
        // What only policies out of scope look at must not make a fault of its own.
        let (request, entities) = world(all).or_else(|_| world(needs))?;
        let mut policies = trace_with(&about, request, &entities);
        for policy in &mut policies {
            let unasked = misfit.is_some()
                && unclear
                    .iter()
                    .any(|rule| rule.reason.policy == policy.outline.id);
            if unasked {
                policy.value = PartValue::False;
                policy.parts.iter_mut().for_each(PartTrace::forget);
            }
        }
        Ok(Trace {
            policies,
            fault: None,
        })
    }
}

fn trace_with(about: &[&TracedPolicy], request: Request, entities: &Entities) -> Vec<PolicyTrace> {
    let evaluator = Evaluator::new(request, entities, Extensions::all_available());
    about
        .iter()
        .map(|policy| policy.trace(&evaluator, entities))
        .collect()
}

impl TracedPolicy {
    fn trace(&self, evaluator: &Evaluator<'_>, entities: &Entities) -> PolicyTrace {
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
    let (drafts, _) = compile::parse(sources);
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
                    .and_then(|text| Expr::from_str(text).ok()),
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
