//! Which items of a list the agent could use.
//!
//! "Could" means: with some context. So the rules about using an item are evaluated with the context
//! left open, by Cedar's own evaluator, and what remains of each is asked whether it can still
//! become true or false. Typed partial evaluation, Cedar's newer way, hides no more (the tests
//! compare them) at many times the cost, for it checks the types of every policy each time.

use std::collections::HashMap;
use std::sync::Arc;

use cedar_policy_core::ast::{
    Context, Effect, Entity, EntityUID, EntityUIDEntry, Request, RequestSchema,
};
use cedar_policy_core::entities::Entities;
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::entities::{principal_entities, resource_entities};
use super::inspect::Needs;
use super::judge::{unsayable, with_actions, with_entities};
use super::outcomes::{Outcomes, outcomes};
use super::rules::Rule;
use super::subjects::Subject;
use super::{CedarEngine, context};
use crate::policy::{Action, ActionName, EngineFault, ListFacts, Resource, Visibility};

/// What is the same for all items of a list.
struct Viewer<'a> {
    facts: &'a ListFacts<'a>,
    subject: Subject,
    /// The principal and what it refers to.
    entities: Vec<Arc<Entity>>,
    /// Of listing, which is the same for tools, resources and prompts.
    context: Context,
}

/// One of the two questions about an item, with what is known before any item is looked at.
struct Question<'r> {
    action: ActionName,
    /// Known for listing, open for using.
    context: Option<Context>,
    /// All but the item's.
    entities: Entities,
    /// What the rules that look at no resource come to.
    common: Tally,
    /// The rules that look at a resource, but whose scope names none.
    each: Vec<&'r Rule>,
}

/// One item of a list.
struct Sight<'a> {
    resource: Resource<'a>,
    subject: Subject,
}

/// What rules come to.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// A permit may become true.
    permitted: bool,
    /// A forbid cannot become false.
    forbidden: bool,
}

impl CedarEngine {
    pub(super) fn visibility(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        let viewer = match self.viewer(facts) {
            Ok(viewer) => viewer,
            Err(fault) => return items.iter().map(|_| Err(fault.clone())).collect(),
        };
        let mut asked: HashMap<ActionName, Result<[Question<'_>; 2], EngineFault>> = HashMap::new();
        let mut visibility = |item: &Resource<'_>| {
            let (listing, using) = match item {
                Resource::Tool(_) => (ActionName::ListTool, ActionName::CallTool),
                Resource::Resource(_) => (ActionName::ListResource, ActionName::ReadResource),
                Resource::Prompt(_) => (ActionName::ListPrompt, ActionName::GetPrompt),
                Resource::Server(_) | Resource::Client(_) => return Ok(Visibility::Abstain),
            };
            let subject = Subject::of_resource(self.words, &self.groups, facts.env.server, *item);
            let questions = asked.entry(using).or_insert_with(|| {
                let context = Some(viewer.context.clone());
                let listing = self.question(&viewer, listing, context, &subject.uid)?;
                Ok([listing, self.question(&viewer, using, None, &subject.uid)?])
            });
            let sight = Sight {
                resource: *item,
                subject,
            };
            self.visibility_of(&viewer, questions.as_ref().map_err(Clone::clone)?, sight)
        };
        items.iter().map(&mut visibility).collect()
    }

    fn viewer<'a>(&self, facts: &'a ListFacts<'a>) -> Result<Viewer<'a>, EngineFault> {
        let needs = self.rules.needs();
        let [subject, copy] =
            [facts.principal; 2].map(|principal| Subject::of_principal(self.words, principal));
        let entities = principal_entities(self.words, copy, facts.principal, needs).collect();
        let context = context::context(self.words, self.idle, &Action::ListTool, &facts.env, needs);
        Ok(Viewer {
            facts,
            subject,
            entities,
            context: context.map_err(unsayable)?,
        })
    }

    /// `item` is any one of the list: the common rules do not look at it.
    fn question(
        &self,
        viewer: &Viewer<'_>,
        action: ActionName,
        context: Option<Context>,
        item: &EntityUID,
    ) -> Result<Question<'_>, EngineFault> {
        let rules = self.rules.about_any(action, &viewer.subject);
        let (each, free): (Vec<_>, Vec<_>) = rules
            .into_iter()
            .partition(|rule| rule.needs.has(Needs::RESOURCE));
        let (base, actions) = with_actions(self.words, action, self.rules.needs());
        let entities = with_entities(base, viewer.entities.iter().cloned().chain(actions))?;
        let request = self.open_request(viewer, action, item, context.clone())?;
        let extensions = Extensions::all_available();
        let common = tally(&Evaluator::new(request, &entities, extensions), &free)?;
        Ok(Question {
            action,
            context,
            entities,
            common,
            each,
        })
    }

    fn visibility_of(
        &self,
        viewer: &Viewer<'_>,
        [listing, using]: &[Question<'_>; 2],
        item: Sight<'_>,
    ) -> Result<Visibility, EngineFault> {
        let [list_rules, use_rules] = [listing, using].map(|question| {
            let named = self.rules.about(question.action, &item.subject);
            question
                .each
                .iter()
                .copied()
                .chain(named)
                .collect::<Vec<_>>()
        });
        let uid = item.subject.uid.clone();
        let own: Vec<Arc<Entity>> = if list_rules.is_empty() && use_rules.is_empty() {
            Vec::new()
        } else {
            let (server, needs) = (viewer.facts.env.server, self.rules.needs());
            resource_entities(self.words, item.subject, server, item.resource, needs).collect()
        };
        let listed = self.answer(viewer, listing, &uid, &own, &list_rules)?;
        let used = self.answer(viewer, using, &uid, &own, &use_rules)?;
        Ok(if listed.forbidden || used.forbidden {
            Visibility::Hidden
        } else if used.permitted {
            Visibility::Shown
        } else {
            Visibility::Abstain
        })
    }

    fn answer(
        &self,
        viewer: &Viewer<'_>,
        question: &Question<'_>,
        item: &EntityUID,
        own: &[Arc<Entity>],
        rules: &[&Rule],
    ) -> Result<Tally, EngineFault> {
        let common = question.common;
        if rules.is_empty() {
            return Ok(common);
        }
        let entities = with_entities(question.entities.clone(), own.iter().cloned())?;
        let request = self.open_request(viewer, question.action, item, question.context.clone())?;
        let own = tally(
            &Evaluator::new(request, &entities, Extensions::all_available()),
            rules,
        )?;
        Ok(Tally {
            permitted: common.permitted || own.permitted,
            forbidden: common.forbidden || own.forbidden,
        })
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

/// Of several rules that fail, the smallest fault.
fn tally(evaluator: &Evaluator<'_>, rules: &[&Rule]) -> Result<Tally, EngineFault> {
    let mut tally = Tally::default();
    let mut fault: Option<EngineFault> = None;
    for rule in rules {
        match outcomes(evaluator, rule) {
            Ok(Outcomes { truth, .. }) if rule.effect == Effect::Permit => tally.permitted |= truth,
            Ok(Outcomes { falsehood, .. }) => tally.forbidden |= !falsehood,
            Err(new) => fault = Some(fault.map_or(new.clone(), |old| old.min(new))),
        }
    }
    fault.map_or(Ok(tally), Err)
}
