//! Which items of a list the agent could use.
//!
//! "Could" means: with some context. So the rules about using an item are evaluated with the context
//! left open, but for what the session has read, by Cedar's own evaluator, and what remains of each is
//! asked whether it can still become true or false. Typed partial evaluation, Cedar's newer way, hides no more (the tests
//! compare them) at many times the cost, for it checks the types of every policy each time.

use std::cell::OnceCell;
use std::collections::HashMap;

use cedar_policy_core::ast::{Context, Effect, EntityUIDEntry, Request};
use cedar_policy_core::entities::Entities;
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::engine::CedarEngine;
use super::entities::{principal_entities, resource_entities};
use super::fact_values::{ContextFacts, FactView};
use super::inspect::FactNeeds;
use super::judge::{no_action, outcomes, unsayable, with_actions, with_entities};
use super::partial::open_but_for_held;
use super::placeholder;
use super::possible_values::PossibleValues;
use super::rules::CompiledRule;
use super::schema_action::SchemaAction;
use super::subjects::Subject;
use crate::policy::leaves::Leaves;
use crate::policy::{
    Action, ActionName, EngineFault, ListFacts, Resource, SessionState, UseTime, Visibility,
};

/// Who looks at a list.
struct Viewer<'a> {
    facts: &'a ListFacts<'a>,
    subject: Subject,
}

/// One of the two questions about an item, with what is known before any item is looked at.
struct VisibilityQuery<'a, 'r> {
    /// Listing, in a context that is known; or `None`: using, in an open one.
    listing: Option<Action<'a>>,
    action: ActionName,
    /// What Cedar needs for every item alike, once some rule needs Cedar.
    ground: OnceCell<Result<SharedContext, EngineFault>>,
    /// What the rules that look at no resource come to.
    common: VisibilityTally,
    /// The rules that look at a resource, or at the calls of single tools, but whose scope names
    /// none.
    each: Vec<&'r CompiledRule>,
}

/// The context, and all entities but the item's.
struct SharedContext {
    context: Option<Context>,
    entities: Entities,
}

/// One item of a list.
struct ListItem<'a> {
    resource: Resource<'a>,
    subject: Subject,
}

/// What rules come to.
#[derive(Debug, Clone, Copy, Default)]
struct VisibilityTally {
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
        let viewer = Viewer {
            facts,
            subject: Subject::of_principal(&self.words, facts.principal),
        };
        let mut asked: HashMap<ActionName, Result<[VisibilityQuery<'_, '_>; 2], EngineFault>> =
            HashMap::new();
        let mut visibility = |item: &Resource<'_>| {
            let (listing, using) = match item {
                Resource::Tool(_) => (Action::ListTool, ActionName::CallTool),
                Resource::Resource(_) => (Action::ListResource, ActionName::ReadResource),
                Resource::Prompt(_) => (Action::ListPrompt, ActionName::GetPrompt),
                Resource::Method(_)
                | Resource::Server(_)
                | Resource::Client(_)
                | Resource::Host(_) => {
                    return Ok(Visibility::Abstain);
                }
            };
            let subject = Subject::of_resource(&self.words, &self.groups, facts.env.server, *item);
            let sight = ListItem {
                resource: *item,
                subject,
            };
            let questions = asked.entry(using).or_insert_with(|| {
                let name = listing.name();
                let listing = self.question(&viewer, name, Some(listing), &sight)?;
                Ok([listing, self.question(&viewer, using, None, &sight)?])
            });
            let questions = questions.as_ref().map_err(Clone::clone)?;
            self.visibility_of(&viewer, questions, &sight)
        };
        items.iter().map(&mut visibility).collect()
    }

    /// `item` is any one of the list: the common rules do not look at it.
    fn question<'a>(
        &self,
        viewer: &Viewer<'_>,
        action: ActionName,
        listing: Option<Action<'a>>,
        item: &ListItem<'_>,
    ) -> Result<VisibilityQuery<'a, '_>, EngineFault> {
        let facts = viewer.facts;
        if !self.idle.fits(action, facts.principal, item.resource) {
            return Err(unsayable(
                "the action is not for such a principal and resource",
            ));
        }
        let rules = self.rules.about_any(action, &viewer.subject);
        let (each, free) = rules.into_iter().partition(|rule| {
            rule.needs.has(FactNeeds::RESOURCE) || rule.needs.has(FactNeeds::CALL)
        });
        let mut question = VisibilityQuery {
            listing,
            action,
            ground: OnceCell::new(),
            common: VisibilityTally::default(),
            each,
        };
        question.common = self.tally(viewer, &question, item, free)?;
        Ok(question)
    }

    fn visibility_of(
        &self,
        viewer: &Viewer<'_>,
        questions: &[VisibilityQuery<'_, '_>; 2],
        item: &ListItem<'_>,
    ) -> Result<Visibility, EngineFault> {
        let mut tallies = [VisibilityTally::default(); 2];
        for (tally, question) in tallies.iter_mut().zip(questions) {
            let named = self.rules.about(question.action, &item.subject);
            let verb = item.subject.schema_action(&self.words, question.action);
            let own = self.rules.about_call(verb, &viewer.subject, &item.subject);
            let rules = question.each.iter().copied().chain(named).chain(own);
            let rules = rules.collect();
            *tally = question
                .common
                .and(self.tally(viewer, question, item, rules)?);
        }
        let [listed, used] = tallies;
        Ok(if listed.forbidden || used.forbidden {
            Visibility::Hidden
        } else if used.permitted {
            Visibility::Shown
        } else {
            Visibility::Abstain
        })
    }

    /// Of several rules that fail, the smallest fault.
    fn tally(
        &self,
        viewer: &Viewer<'_>,
        question: &VisibilityQuery<'_, '_>,
        item: &ListItem<'_>,
        mut rules: Vec<&CompiledRule>,
    ) -> Result<VisibilityTally, EngineFault> {
        let mut tally = VisibilityTally::default();
        let verb = item.subject.schema_action(&self.words, question.action);
        let held = question.held(viewer);
        let view = |held| question.view(viewer, item, verb, held);
        let (view, view_by_held) = (view(None), view(held));
        rules.retain(|rule| {
            let by_held = rule.looks_at_held();
            let view = if by_held { &view_by_held } else { &view };
            match rule.glance.outcomes(view) {
                Some(outcomes) => {
                    tally.add(rule, outcomes);
                    false
                }
                None => true,
            }
        });
        if rules.is_empty() {
            return Ok(tally);
        }
        let ground = question
            .ground
            .get_or_init(|| self.ground(viewer, question));
        let SharedContext { context, entities } = ground.as_ref().map_err(Clone::clone)?;
        let (server, needs) = (viewer.facts.env.server, self.rules.needs());
        let own = resource_entities(&self.words, &item.subject, server, item.resource, needs);
        // The action of one tool's calls is not among what all items have alike, unless all are.
        let call = verb.call().filter(|_| !needs.has(FactNeeds::ACTIONS));
        let call = call.and_then(|_| self.words.action(verb).cloned());
        let entities = with_entities(entities.clone(), own.chain(call))?;
        let action = self.words.action(verb);
        let action = action.ok_or_else(no_action)?.uid();
        let asked = |context: Option<Context>| {
            let uids = [&viewer.subject.uid, action, &item.subject.uid];
            let [principal, action, resource] =
                uids.map(|uid| EntityUIDEntry::known(uid.clone(), None));
            let request = Request::new_unchecked(principal, action, resource, context);
            Evaluator::new(request, &entities, Extensions::all_available())
        };
        let evaluator = asked(context.clone());
        let looks = held.filter(|_| rules.iter().any(|rule| rule.looks_at_held()));
        let by_held = looks.map(|held| {
            asked(Some(open_but_for_held(
                &self.words,
                held,
                question.action,
                verb,
            )))
        });
        let mut fault: Option<EngineFault> = None;
        for rule in rules {
            let by_held = by_held.as_ref().filter(|_| rule.looks_at_held());
            match outcomes(by_held.unwrap_or(&evaluator), rule) {
                Ok(outcomes) => tally.add(rule, outcomes),
                Err(new) => fault = Some(fault.map_or(new.clone(), |old| old.min(new))),
            }
        }
        fault.map_or(Ok(tally), Err)
    }

    fn ground(
        &self,
        viewer: &Viewer<'_>,
        question: &VisibilityQuery<'_, '_>,
    ) -> Result<SharedContext, EngineFault> {
        let (words, facts, needs) = (&*self.words, viewer.facts, self.rules.needs());
        let context =
            |action| placeholder::context(words, self.idle, &action, &facts.env, needs, None);
        let context = question.listing.map(context).transpose();
        let (base, actions) = with_actions(words, SchemaAction::Named(question.action), needs);
        let principal = principal_entities(words, &viewer.subject, facts.principal, needs);
        Ok(SharedContext {
            context: context.map_err(unsayable)?,
            entities: with_entities(base, principal.chain(actions))?,
        })
    }
}

impl VisibilityQuery<'_, '_> {
    /// What the session has read, if that counts beside a context that is open.
    fn held<'v>(&self, viewer: &'v Viewer<'_>) -> Option<&'v SessionState> {
        let counts = self.listing.is_none() && viewer.facts.uses == UseTime::Now;
        counts.then_some(&viewer.facts.env.session)
    }

    fn view<'v>(
        &'v self,
        viewer: &'v Viewer<'_>,
        item: &'v ListItem<'_>,
        verb: SchemaAction,
        held: Option<&'v SessionState>,
    ) -> FactView<'v> {
        FactView {
            held,
            verb,
            record: None,
            principal: &viewer.subject,
            resource: &item.subject,
            who: viewer.facts.principal,
            what: item.resource,
            context: self.listing.as_ref().map(|action| ContextFacts {
                action,
                env: &viewer.facts.env,
                arguments: Leaves::default(),
            }),
        }
    }
}

impl VisibilityTally {
    fn add(&mut self, rule: &CompiledRule, outcomes: PossibleValues) {
        match rule.effect {
            Effect::Permit => self.permitted |= outcomes.truth,
            Effect::Forbid => self.forbidden |= !outcomes.falsehood,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            permitted: self.permitted || other.permitted,
            forbidden: self.forbidden || other.forbidden,
        }
    }
}
