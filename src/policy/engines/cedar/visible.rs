//! Which items of a list the agent could use.
//!
//! "Could" means: with some context. So the rules about using an item are evaluated with the context
//! left open, by Cedar's own evaluator, and what remains of each is asked whether it can still
//! become true or false. Typed partial evaluation, Cedar's newer way, hides no more (the tests
//! compare them) at many times the cost, for it checks the types of every policy each time.

use cedar_policy_core::ast::{
    Context, Effect, EntityUID, EntityUIDEntry, Expr, ExprKind, Literal, PartialValue, Request,
    RequestSchema, UnaryOp, Value, ValueKind,
};
use cedar_policy_core::entities::Entities;
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::inspect::Needs;
use super::judge::{failed, unsayable, with_entities};
use super::rules::Rule;
use super::subjects::{Subject, principal_entities, resource_entities};
use super::{CedarEngine, context};
use crate::policy::{Action, ActionName, EngineFault, ListFacts, Resource, Visibility};

/// What is the same for all items of a list.
struct Viewer<'a> {
    facts: &'a ListFacts<'a>,
    subject: Subject,
    /// The principal and what it refers to.
    entities: Entities,
    /// Of listing, which is the same for tools, resources and prompts.
    context: Context,
}

/// What an evaluation may still come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcomes {
    truth: bool,
    falsehood: bool,
}

impl CedarEngine {
    pub(super) fn visibility(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        match self.viewer(facts) {
            Ok(viewer) => items
                .iter()
                .map(|item| self.visibility_of(&viewer, *item))
                .collect(),
            Err(fault) => items.iter().map(|_| Err(fault.clone())).collect(),
        }
    }

    fn viewer<'a>(&self, facts: &'a ListFacts<'a>) -> Result<Viewer<'a>, EngineFault> {
        let subject = Subject::of_principal(self.words, facts.principal);
        let copy = Subject::of_principal(self.words, facts.principal);
        let entities = principal_entities(self.words, copy, facts.principal, Needs::ALL);
        let entities = with_entities(self.words.actions.clone(), entities)?;
        let context = context::checked(self.words, &Action::ListTool, &facts.env, Needs::ALL)
            .map_err(unsayable)?;
        Ok(Viewer {
            facts,
            subject,
            entities,
            context,
        })
    }

    fn visibility_of(
        &self,
        viewer: &Viewer<'_>,
        item: Resource<'_>,
    ) -> Result<Visibility, EngineFault> {
        let (listing, using) = match item {
            Resource::Tool(_) => (ActionName::ListTool, ActionName::CallTool),
            Resource::Resource(_) => (ActionName::ListResource, ActionName::ReadResource),
            Resource::Prompt(_) => (ActionName::ListPrompt, ActionName::GetPrompt),
            Resource::Server(_) | Resource::Client(_) => return Ok(Visibility::Abstain),
        };
        let server = viewer.facts.env.server;
        let resource = Subject::of_resource(self.words, &self.groups, server, item);
        let mut list_rules = self.rules.candidates(listing, &viewer.subject, &resource);
        list_rules.retain(|rule| rule.effect == Effect::Forbid);
        let use_rules = self.rules.candidates(using, &viewer.subject, &resource);
        if use_rules.is_empty() && list_rules.is_empty() {
            return Ok(Visibility::Abstain);
        }
        let item_uid = resource.uid.clone();
        let own = resource_entities(self.words, resource, server, item, Needs::ALL);
        let entities = with_entities(viewer.entities.clone(), own)?;

        let request =
            self.open_request(viewer, listing, &item_uid, Some(viewer.context.clone()))?;
        let evaluator = Evaluator::new(request, &entities, Extensions::all_available());
        for rule in list_rules {
            if outcomes(&evaluator, rule)?.truth {
                return Ok(Visibility::Hidden);
            }
        }
        let request = self.open_request(viewer, using, &item_uid, None)?;
        let evaluator = Evaluator::new(request, &entities, Extensions::all_available());
        let mut visibility = Visibility::Abstain;
        for rule in use_rules {
            let outcomes = outcomes(&evaluator, rule)?;
            match rule.effect {
                Effect::Permit if outcomes.truth && visibility == Visibility::Abstain => {
                    visibility = Visibility::Shown;
                }
                Effect::Forbid if !outcomes.falsehood => visibility = Visibility::Hidden,
                Effect::Permit | Effect::Forbid => {}
            }
        }
        Ok(visibility)
    }

    /// Without a context, the context is open.
    fn open_request(
        &self,
        viewer: &Viewer<'_>,
        action: ActionName,
        item: &EntityUID,
        context: Option<Context>,
    ) -> Result<Request, EngineFault> {
        let action = self
            .words
            .action(action)
            .ok_or_else(|| unsayable("no such action"))?
            .uid();
        let principal = &viewer.subject.uid;
        self.words
            .core_schema()
            .validate_scope_variables(Some(principal), Some(action), Some(item))
            .map_err(unsayable)?;
        let [principal, action, item] =
            [principal, action, item].map(|uid| EntityUIDEntry::known(uid.clone(), None));
        Ok(Request::new_unchecked(principal, action, item, context))
    }
}

fn outcomes(evaluator: &Evaluator<'_>, rule: &Rule) -> Result<Outcomes, EngineFault> {
    match evaluator.partial_interpret(&rule.condition, &rule.slots) {
        Ok(PartialValue::Value(value)) => Ok(Outcomes::of_value(&value)),
        Ok(PartialValue::Residual(rest)) => Ok(Outcomes::of(&rest)),
        // It fails whatever the context is, so every use is denied by a fault.
        Err(error) => Err(failed(rule, error)),
    }
}

impl Outcomes {
    /// A condition that can be neither always fails.
    fn of(rest: &Expr) -> Self {
        let kind = rest.expr_kind();
        if let ExprKind::Lit(Literal::Bool(value)) = kind {
            Self::exactly(*value)
        } else if let ExprKind::And { left, right } = kind {
            Self::of(left).then(Self::of(right), Self::exactly(false))
        } else if let ExprKind::Or { left, right } = kind {
            Self::of(left).then(Self::exactly(true), Self::of(right))
        } else if let ExprKind::UnaryApp {
            op: UnaryOp::Not,
            arg,
        } = kind
        {
            Self::of(arg).then(Self::exactly(false), Self::exactly(true))
        } else if let ExprKind::If {
            test_expr,
            then_expr,
            else_expr,
        } = kind
        {
            Self::of(test_expr).then(Self::of(then_expr), Self::of(else_expr))
        } else {
            Self {
                truth: true,
                falsehood: true,
            }
        }
    }

    /// `if self then one else other`.
    fn then(self, one: Self, other: Self) -> Self {
        Self {
            truth: (self.truth && one.truth) || (self.falsehood && other.truth),
            falsehood: (self.truth && one.falsehood) || (self.falsehood && other.falsehood),
        }
    }

    fn exactly(value: bool) -> Self {
        Self {
            truth: value,
            falsehood: !value,
        }
    }

    fn of_value(value: &Value) -> Self {
        if let ValueKind::Lit(Literal::Bool(value)) = &value.value {
            Self::exactly(*value)
        } else {
            Self {
                truth: false,
                falsehood: false,
            }
        }
    }
}
