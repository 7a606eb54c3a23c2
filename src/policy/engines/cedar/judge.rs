//! Facts to verdict.
//!
//! Cedar skips a policy that cannot be evaluated, so that a `forbid` that fails would permit. Here
//! any failure, of a permit too, is a fault, and a fault denies.
//!
//! Conditions that are plain are answered from the facts (`glance.rs`); Cedar's evaluator, with a
//! request and entities, answers the rest.

use std::fmt::Display;
use std::sync::Arc;

use cedar_policy_core::ast::{
    Effect, Entity, EntityUIDEntry, Literal, PartialValue, Request, Value, ValueKind,
};
use cedar_policy_core::entities::{Entities, NoEntitiesSchema, TCComputation};
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::engine::{CedarEngine, NAME};
use super::entities::{principal_entities, resource_entities};
use super::fact_values::{ContextFacts, FactView};
use super::inspect::FactNeeds;
use super::possible_values::PossibleValues;
use super::rules::CompiledRule;
use super::schema_action::SchemaAction;
use super::subjects::Subject;
use super::typed::RecordReads;
use super::vocabulary::Vocabulary;
use super::{arguments, placeholder, typed};
use crate::policy::leaves::Leaves;
use crate::policy::{
    EngineFault, Facts, FaultKind, Obligation, Reason, Resource, Server, TypeMismatch, Verdict,
};

impl CedarEngine {
    pub(super) fn verdict(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let words = &*self.words;
        let principal = Subject::of_principal(words, facts.principal);
        let resource = Subject::of_resource(words, &self.groups, facts.env.server, facts.resource);
        let verb = resource.schema_action(words, facts.action.name());
        let rules = self.rules.candidates(verb, &principal, &resource);
        if rules.is_empty() {
            return Ok(Verdict::Abstain);
        }
        if !self
            .idle
            .fits(facts.action.name(), facts.principal, facts.resource)
        {
            return Err(unsayable(
                "the action is not for such a principal and resource",
            ));
        }
        let mut tally = DecisionTally::default();
        let view = FactView {
            held: None,
            verb,
            record: words.arguments_of(verb),
            principal: &principal,
            resource: &resource,
            who: facts.principal,
            what: facts.resource,
            context: Some(known(facts, &rules)?),
        };
        let unclear = tally.glance(&view, rules);
        if !unclear.is_empty() {
            let needs = unclear
                .iter()
                .fold(FactNeeds::default(), |needs, rule| needs.and(rule.needs));
            let of = (facts.env.server, facts.resource);
            let arguments = match self.arguments(&view, needs) {
                Ok(arguments) => arguments,
                Err(misfit) => return tally.refused(self.misfit(of, &misfit)?),
            };
            let request = self.request(facts, &view, needs, arguments)?;
            let entities = self.entities(facts, &principal, &resource, needs)?;
            let evaluator = Evaluator::new(request, &entities, Extensions::all_available());
            tally.evaluate(&evaluator, &unclear);
        }
        tally.verdict()
    }

    /// A request that the schema accepts, or a fault.
    pub(super) fn request(
        &self,
        facts: &Facts<'_>,
        view: &FactView<'_>,
        needs: FactNeeds,
        arguments: Option<Value>,
    ) -> Result<Request, EngineFault> {
        let words = &*self.words;
        let action = words.action(view.verb).ok_or_else(no_action)?.uid();
        let arguments = arguments.map(|arguments| (view.verb, arguments));
        let [principal, action, resource] = [&view.principal.uid, action, &view.resource.uid]
            .map(|uid| EntityUIDEntry::known(uid.clone(), None));
        placeholder::context(
            words,
            self.idle,
            &facts.action,
            &facts.env,
            needs,
            arguments,
        )
        .map(|context| Request::new_unchecked(principal, action, resource, Some(context)))
        .map_err(unsayable)
    }

    /// The arguments as a record, where the rules look at one.
    pub(super) fn arguments(
        &self,
        view: &FactView<'_>,
        needs: FactNeeds,
    ) -> Result<Option<Value>, TypeMismatch> {
        let record = self.words.arguments_of(view.verb);
        let record =
            record.filter(|_| needs.has(FactNeeds::ARGUMENTS) || needs.has(FactNeeds::CALL));
        let (Some(record), Some(leaves)) = (record, view.arguments()) else {
            return Ok(None);
        };
        typed::value(record, leaves, RecordReads::of(&self.rules)).map(Some)
    }

    /// The call is refused for its arguments alone.
    pub(super) fn misfit(
        &self,
        (server, resource): (&Server, Resource<'_>),
        misfit: &TypeMismatch,
    ) -> Result<Reason, EngineFault> {
        let tool = match resource {
            Resource::Tool(tool) => self.lock.tool(&server.id_of(&tool.name)),
            Resource::Resource(_)
            | Resource::Prompt(_)
            | Resource::Method(_)
            | Resource::Server(_)
            | Resource::Client(_)
            | Resource::Host(_) => None,
        };
        tool.map(|tool| tool.reason(misfit))
            .ok_or_else(|| unsayable(misfit))
    }

    /// What the rules can look at.
    pub(super) fn entities(
        &self,
        facts: &Facts<'_>,
        principal: &Subject,
        resource: &Subject,
        needs: FactNeeds,
    ) -> Result<Entities, EngineFault> {
        let words = &*self.words;
        let arguments = facts
            .action
            .arguments()
            .filter(|_| needs.has(FactNeeds::TAGS));
        let arguments = arguments
            .map(|arguments| arguments::entity(words, arguments, needs).ok_or_else(repeated))
            .transpose()?;
        let verb = resource.schema_action(words, facts.action.name());
        let (base, actions) = with_actions(words, verb, needs);
        let added = principal_entities(words, principal, facts.principal, needs)
            .chain(resource_entities(
                words,
                resource,
                facts.env.server,
                facts.resource,
                needs,
            ))
            .chain(arguments.map(Arc::new))
            .chain(actions);
        with_entities(base, added)
    }
}

/// The action with its groups, or all actions if some rule compares others.
pub(super) fn with_actions(
    words: &Vocabulary,
    verb: SchemaAction,
    needs: FactNeeds,
) -> (Entities, Option<Arc<Entity>>) {
    if needs.has(FactNeeds::ACTIONS) {
        (words.actions.clone(), None)
    } else {
        (Entities::new(), words.action(verb).cloned())
    }
}

/// INVARIANT: each entity comes with all its ancestors, so that no closure is computed.
pub(super) fn with_entities(
    base: Entities,
    added: impl Iterator<Item = Arc<Entity>>,
) -> Result<Entities, EngineFault> {
    let schema = None::<&NoEntitiesSchema>;
    let closure = TCComputation::AssumeAlreadyComputed;
    base.add_entities(added, schema, closure, Extensions::all_available())
        .map_err(unsayable)
}

/// The facts do not fit what Cedar can say.
pub(super) fn unsayable(problem: impl Display) -> EngineFault {
    let problem = problem.to_string();
    EngineFault {
        engine: NAME,
        kind: FaultKind::Facts,
        policy: None,
        problem,
    }
}

/// The schema does not have what is asked for.
pub(super) fn no_action() -> EngineFault {
    unsayable("no such action")
}

/// A rule failed.
fn failed(rule: &CompiledRule, problem: impl Display) -> EngineFault {
    EngineFault {
        engine: NAME,
        kind: FaultKind::Evaluation,
        policy: Some(rule.reason.policy.clone()),
        problem: problem.to_string(),
    }
}

/// What conditions may look at without Cedar.
fn known<'a>(
    facts: &'a Facts<'a>,
    rules: &[&CompiledRule],
) -> Result<ContextFacts<'a>, EngineFault> {
    let looks = |rule: &&CompiledRule| {
        let looks = [FactNeeds::TAGS, FactNeeds::ARGUMENTS, FactNeeds::CALL];
        looks.into_iter().any(|this| rule.needs.has(this))
    };
    let wanted = rules.iter().any(looks);
    let arguments = facts.action.arguments().filter(|_| wanted);
    Ok(ContextFacts {
        action: &facts.action,
        env: &facts.env,
        arguments: Leaves::of(arguments).ok_or_else(repeated)?,
    })
}

pub(super) fn repeated() -> EngineFault {
    unsayable("two arguments have the same pointer")
}

/// What the rules come to so far.
#[derive(Debug, Default)]
pub(super) struct DecisionTally {
    permits: Vec<Reason>,
    forbids: Vec<Reason>,
    obligations: Vec<Obligation>,
    fault: Option<EngineFault>,
}

impl DecisionTally {
    /// Settles what is plain, and gives back the rest.
    pub(super) fn glance<'r>(
        &mut self,
        view: &FactView<'_>,
        mut rules: Vec<&'r CompiledRule>,
    ) -> Vec<&'r CompiledRule> {
        rules.retain(|rule| match rule.glance.at(view) {
            Some(true) => {
                self.apply(rule);
                false
            }
            Some(false) => false,
            None => true,
        });
        rules
    }

    fn evaluate(&mut self, evaluator: &Evaluator<'_>, rules: &[&CompiledRule]) {
        for rule in rules {
            match satisfied(evaluator, rule) {
                Ok(true) => self.apply(rule),
                Ok(false) => {}
                // Which one is named must not depend on the order of rules.
                Err(new) => {
                    let old = self.fault.take();
                    self.fault = Some(old.map_or(new.clone(), |old| old.min(new)));
                }
            }
        }
    }

    fn apply(&mut self, rule: &CompiledRule) {
        if rule.effect == Effect::Forbid {
            self.forbids.push(rule.reason.clone());
        } else {
            self.permits.push(rule.reason.clone());
            self.obligations.extend_from_slice(&rule.obligations);
        }
    }

    /// Whatever the rules that are left would come to.
    fn refused(mut self, reason: Reason) -> Result<Verdict, EngineFault> {
        self.forbids.push(reason);
        self.verdict()
    }

    fn verdict(self) -> Result<Verdict, EngineFault> {
        match self.fault {
            Some(fault) => Err(fault),
            None if !self.forbids.is_empty() => Ok(Verdict::Deny {
                reasons: self.forbids,
            }),
            None if !self.permits.is_empty() => Ok(Verdict::Allow {
                reasons: self.permits,
                obligations: self.obligations,
            }),
            None => Ok(Verdict::Abstain),
        }
    }
}

fn satisfied(evaluator: &Evaluator<'_>, rule: &CompiledRule) -> Result<bool, EngineFault> {
    match evaluator.interpret(&rule.condition, &rule.slots) {
        Ok(Value {
            value: ValueKind::Lit(Literal::Bool(value)),
            ..
        }) => Ok(value),
        Ok(_) => Err(failed(rule, "the condition is not a boolean")),
        Err(error) => Err(failed(rule, error)),
    }
}

/// The possible outcomes of a rule where the context is open.
pub(super) fn outcomes(
    evaluator: &Evaluator<'_>,
    rule: &CompiledRule,
) -> Result<PossibleValues, EngineFault> {
    match evaluator.partial_interpret(&rule.condition, &rule.slots) {
        Ok(PartialValue::Value(value)) => Ok(PossibleValues::of_value(&value)),
        Ok(PartialValue::Residual(rest)) => Ok(PossibleValues::of(&rest)),
        // It fails whatever the context is, so every use is denied by a fault.
        Err(error) => Err(failed(rule, error)),
    }
}
