//! Facts to what every part of every policy comes to.
//!
//! The parts are read from the text and evaluated one by one by Cedar's own evaluator, over the
//! request and entities that `judge.rs` makes. Nothing of this exists before the first trace: the texts
//! are read again at the first trace.

use cedar_policy_core::ast::Request;
use cedar_policy_core::entities::Entities;
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::engine::CedarEngine;
use super::fact_values::{ContextFacts, FactView};
use super::inspect::FactNeeds;
use super::judge::{DecisionTally, repeated, unsayable};
use super::subjects::Subject;
use super::traced_policies::{TracedPolicy, Tracer};
use crate::policy::leaves::Leaves;
use crate::policy::{EngineFault, Facts, PartTrace, PartValue, PolicyTrace, Trace};

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
        let principal = Subject::of_principal(words, facts.principal);
        let resource = Subject::of_resource(words, &self.groups, facts.env.server, facts.resource);
        let verb = resource.schema_action(words, facts.action.name());
        let candidates = self.rules.candidates(verb, &principal, &resource);
        // A verdict is a fault only where a rule cannot be evaluated.
        if !candidates.is_empty() && !self.idle.fits(verb.name(), facts.principal, facts.resource) {
            return Err(unsayable(
                "the action is not for such a principal and resource",
            ));
        }
        let policies = self.tracer().policies.iter();
        let about: Vec<&TracedPolicy> = policies
            .filter(|it| it.verbs.has(verb) && it.is_of(&principal, &resource))
            .collect();
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
            self.misfit((facts.env.server, facts.resource), misfit)?;
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
