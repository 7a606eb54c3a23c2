//! Facts to verdict.
//!
//! Cedar skips a policy that cannot be evaluated, so that a `forbid` that fails would permit. Here
//! any failure, of a permit too, is a fault, and a fault denies.

use std::fmt::Display;
use std::sync::Arc;

use cedar_policy_core::ast::{
    Effect, Entity, EntityUID, EntityUIDEntry, Literal, Request, RequestSchema, Value, ValueKind,
};
use cedar_policy_core::entities::{Entities, NoEntitiesSchema, TCComputation};
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::entities::{principal_entities, resource_entities};
use super::inspect::Needs;
use super::rules::Rule;
use super::subjects::Subject;
use super::vocabulary::Vocabulary;
use super::{CedarEngine, NAME, arguments, context};
use crate::policy::{ActionName, EngineFault, Facts, FaultKind, Verdict};

impl CedarEngine {
    pub(super) fn verdict(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let words = self.words;
        let principal = Subject::of_principal(words, facts.principal);
        let resource = Subject::of_resource(words, &self.groups, facts.env.server, facts.resource);
        let rules = self
            .rules
            .candidates(facts.action.name(), &principal, &resource);
        if rules.is_empty() {
            return Ok(Verdict::Abstain);
        }
        let needs = rules
            .iter()
            .fold(Needs::default(), |needs, rule| needs.and(rule.needs));
        let request = self.request(facts, &principal.uid, &resource.uid, needs)?;
        let entities = self.entities(facts, principal, resource, needs)?;
        let evaluator = Evaluator::new(request, &entities, Extensions::all_available());
        evaluate(&evaluator, &rules)
    }

    /// A request that the schema accepts, or a fault.
    fn request(
        &self,
        facts: &Facts<'_>,
        principal: &EntityUID,
        resource: &EntityUID,
        needs: Needs,
    ) -> Result<Request, EngineFault> {
        let action = self
            .words
            .action(facts.action.name())
            .ok_or_else(|| unsayable("no such action"))?
            .uid();
        self.words
            .core_schema()
            .validate_scope_variables(Some(principal), Some(action), Some(resource))
            .map_err(unsayable)?;
        let context = context::context(self.words, self.idle, &facts.action, &facts.env, needs)
            .map_err(unsayable)?;
        let [principal, action, resource] =
            [principal, action, resource].map(|uid| EntityUIDEntry::known(uid.clone(), None));
        Ok(Request::new_unchecked(
            principal,
            action,
            resource,
            Some(context),
        ))
    }

    /// What the rules can look at.
    fn entities(
        &self,
        facts: &Facts<'_>,
        principal: Subject,
        resource: Subject,
        needs: Needs,
    ) -> Result<Entities, EngineFault> {
        let words = self.words;
        let arguments = facts.action.arguments().filter(|_| needs.has(Needs::TAGS));
        let arguments = arguments
            .map(|arguments| {
                arguments::entity(words, arguments, needs)
                    .ok_or_else(|| unsayable("two arguments have the same pointer"))
            })
            .transpose()?;
        let (base, actions) = with_actions(words, facts.action.name(), needs);
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
    name: ActionName,
    needs: Needs,
) -> (Entities, Option<Arc<Entity>>) {
    if needs.has(Needs::ACTIONS) {
        (words.actions.clone(), None)
    } else {
        (Entities::new(), words.action(name).cloned())
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

/// A rule failed.
pub(super) fn failed(rule: &Rule, problem: impl Display) -> EngineFault {
    EngineFault {
        engine: NAME,
        kind: FaultKind::Evaluation,
        policy: Some(rule.reason.policy.clone()),
        problem: problem.to_string(),
    }
}

fn evaluate(evaluator: &Evaluator<'_>, rules: &[&Rule]) -> Result<Verdict, EngineFault> {
    let mut permits = Vec::new();
    let mut forbids = Vec::new();
    let mut obligations = Vec::new();
    let mut fault: Option<EngineFault> = None;
    for rule in rules {
        match satisfied(evaluator, rule) {
            Ok(false) => {}
            Ok(true) if rule.effect == Effect::Forbid => forbids.push(rule.reason.clone()),
            Ok(true) => {
                permits.push(rule.reason.clone());
                obligations.extend_from_slice(&rule.obligations);
            }
            // Which one is named must not depend on the order of rules.
            Err(new) => fault = Some(fault.map_or(new.clone(), |old| old.min(new))),
        }
    }
    match fault {
        Some(fault) => Err(fault),
        None if !forbids.is_empty() => Ok(Verdict::Deny { reasons: forbids }),
        None if !permits.is_empty() => Ok(Verdict::Allow {
            reasons: permits,
            obligations,
        }),
        None => Ok(Verdict::Abstain),
    }
}

fn satisfied(evaluator: &Evaluator<'_>, rule: &Rule) -> Result<bool, EngineFault> {
    match evaluator.interpret(&rule.condition, &rule.slots) {
        Ok(Value {
            value: ValueKind::Lit(Literal::Bool(value)),
            ..
        }) => Ok(value),
        Ok(_) => Err(failed(rule, "the condition is not a boolean")),
        Err(error) => Err(failed(rule, error)),
    }
}
