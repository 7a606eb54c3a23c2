//! Facts to verdict.
//!
//! As with Cedar here, a rule that fails is a fault, of a permit too, and a fault denies.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString,
};
use cel::common::value::Val;
use cel::{Context, Value};

use super::super::document::{self, DocumentNode};
use super::bound::BoundedCondition;
use super::file::CelRule;
use super::meter::{env, metered, spend};
use super::{CelEngine, NAME};
use crate::policy::{
    EngineFault, Facts, FaultKind, PartValue as Outcome, PolicyId, PolicyTrace, RuleEffect, Trace,
    Verdict,
};

impl CelEngine {
    pub(super) fn verdict(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let rules = self.about(facts);
        if rules.is_empty() {
            return Ok(Verdict::Abstain);
        }
        let held = self.with_context(facts, |context| {
            within_budget(|| self.patterns.during(|| held(&rules, context)))
        });
        held.flatten().map(|held| verdict(&held))
    }

    fn about(&self, facts: &Facts<'_>) -> Vec<&CelRule> {
        let action = facts.action.name();
        let rules = self.rules.iter();
        rules
            .filter(|rule| rule.outline.actions.contains(&action))
            .collect()
    }

    /// The verdict of each rule about the action. Each rule has all the steps of a message.
    pub(super) fn traced(&self, facts: &Facts<'_>) -> Trace {
        let (policies, fault) = match self.outcomes(facts) {
            Ok(policies) => (policies, None),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        Trace { policies, fault }
    }

    fn outcomes(&self, facts: &Facts<'_>) -> Result<Vec<PolicyTrace>, EngineFault> {
        let rules = self.about(facts);
        // A fault of no rule, such as steps that all rules together used up.
        if let Err(fault) = self.verdict(facts)
            && fault.policy.is_none()
        {
            return Err(fault);
        }
        let outcome = |rule: &&CelRule, context: &Context<'_, '_>| {
            let holds = within_budget(|| self.patterns.during(|| holds(rule, context)));
            PolicyTrace {
                outline: Arc::clone(&rule.outline),
                value: match holds {
                    Ok(holds) => Outcome::of(holds),
                    Err(fault) => Outcome::Failed(fault.problem),
                },
                parts: Vec::new(),
            }
        };
        self.with_context(facts, |context| {
            rules.iter().map(|rule| outcome(rule, context)).collect()
        })
    }

    /// Does something with the facts as expressions see them.
    fn with_context<T>(
        &self,
        facts: &Facts<'_>,
        work: impl FnOnce(&Context<'_, '_>) -> T,
    ) -> Result<T, EngineFault> {
        let members = document::of(facts, &self.groups).map_err(|error| unsayable(&error))?;
        let env = env().map_err(|error| unsayable(&error))?;
        let mut context = Context::with_env(Arc::clone(&env));
        for (name, node) in members {
            context.add_variable_as_val(name, value(node));
        }
        Ok(work(&context))
    }
}

/// A fault where the steps are used up.
fn within_budget<T>(work: impl FnOnce() -> Result<T, EngineFault>) -> Result<T, EngineFault> {
    metered(work)
        .map_err(|exhausted| fault(FaultKind::Evaluation, None, &exhausted))
        .flatten()
}

/// The rules that hold, or the smallest fault, so that the order of rules does not matter.
fn held<'r>(
    rules: &[&'r CelRule],
    context: &Context<'_, '_>,
) -> Result<Vec<&'r CelRule>, EngineFault> {
    let mut held = Vec::new();
    let mut worst: Option<EngineFault> = None;
    for rule in rules {
        match holds(rule, context) {
            Ok(true) => held.push(*rule),
            Ok(false) => {}
            Err(new) => worst = Some(worst.map_or(new.clone(), |old| old.min(new))),
        }
    }
    worst.map_or(Ok(held), Err)
}

fn holds(rule: &CelRule, context: &Context<'_, '_>) -> Result<bool, EngineFault> {
    let Some(condition) = &rule.condition else {
        return Ok(true);
    };
    truth(condition, context).map_err(|problem| {
        let policy = Some(rule.reason.policy.clone());
        fault(FaultKind::Evaluation, policy, &problem)
    })
}

/// Whether a condition holds, or why it cannot be evaluated.
fn truth(condition: &BoundedCondition, context: &Context<'_, '_>) -> Result<bool, String> {
    if !spend(condition.nodes) {
        return Err("there are no steps left for it".to_owned());
    }
    let came = Value::resolve_val(&condition.tree, context);
    let came = came.map_err(|error| told(&error.to_string()))?;
    let truth = came.downcast_ref::<CelBool>().map(|truth| *truth.inner());
    truth.ok_or_else(|| "the condition is not a boolean".to_owned())
}

fn verdict(held: &[&CelRule]) -> Verdict {
    let reasons = |effect| {
        let rules = held
            .iter()
            .filter(move |rule| rule.outline.effect == effect);
        rules.map(|rule| rule.reason.clone()).collect::<Vec<_>>()
    };
    let forbids = reasons(RuleEffect::Forbid);
    if !forbids.is_empty() {
        return Verdict::Deny { reasons: forbids };
    }
    let permits = reasons(RuleEffect::Permit);
    if permits.is_empty() {
        return Verdict::Abstain;
    }
    let obligations = held.iter().flat_map(|rule| rule.obligations.clone());
    Verdict::Allow {
        reasons: permits,
        obligations: obligations.collect(),
    }
}

fn unsayable(problem: &dyn ToString) -> EngineFault {
    fault(FaultKind::Facts, None, problem)
}

fn fault(kind: FaultKind, policy: Option<PolicyId>, problem: &dyn ToString) -> EngineFault {
    EngineFault {
        engine: NAME,
        kind,
        policy,
        problem: told(&problem.to_string()),
    }
}

/// CEL's errors show the values that they are about, which may be a message's whole arguments.
fn told(problem: &str) -> String {
    const MOST: usize = 200;
    let mut told: String = problem.chars().take(MOST).collect();
    if told.len() < problem.len() {
        told.push('…');
    }
    told
}

/// The document as CEL values, which borrow every text of the facts.
fn value<'v>(node: DocumentNode<'v>) -> Box<dyn Val + 'v> {
    match node {
        DocumentNode::Null => Box::new(CelNull),
        DocumentNode::Bool(value) => Box::new(CelBool::from(value)),
        DocumentNode::Integer(value) => Box::new(CelInt::from(value)),
        DocumentNode::Number(value) => Box::new(CelDouble::from(value)),
        DocumentNode::Text(text) => Box::new(CelString::from(text)),
        DocumentNode::List(items) => {
            let items: Vec<Box<dyn Val + 'v>> = items.into_iter().map(value).collect();
            Box::new(CelList::from(items))
        }
        DocumentNode::Object(members) => {
            let members: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = members
                .into_iter()
                .map(|(key, node)| (self::key(key), value(node)))
                .collect();
            Box::new(CelMap::from(members))
        }
    }
}

fn key(key: Cow<'_, str>) -> CelMapKey<'_> {
    match key {
        Cow::Borrowed(key) => CelMapKey::from(key),
        Cow::Owned(key) => CelMapKey::from(key),
    }
}
