//! Compiled policies, found by what they could match.
//!
//! Cedar evaluates every policy of a set, at about a microsecond each even where its scope cannot
//! match. So policies are kept by action, and within an action by the entity that their scope
//! names; a request looks only at those that it could satisfy.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy_core::ast::{Effect, EntityUID, Expr, SlotEnv};

use super::fast_path::FastPath;
use super::inspect::{FactNeeds, WholeRecordUses};
use super::schema_action::{CallIndex, SchemaAction};
use super::subjects::Subject;
use crate::policy::{ActionName, ListDependency, Obligation, RATCHET_FILE, Reason};

/// One policy.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) effect: Effect,
    /// The whole condition, scope included: finding a rule here is never the proof that it applies.
    pub(super) condition: Expr,
    /// The same, as far as it is plain.
    pub(super) glance: FastPath,
    pub(super) slots: SlotEnv,
    pub(super) needs: FactNeeds,
    /// The names of attributes that a condition on typed arguments writes.
    pub(super) names: BTreeSet<String>,
    /// What it uses of them as a whole.
    pub(super) wholes: WholeRecordUses,
    pub(super) reason: Reason,
    pub(super) obligations: Vec<Obligation>,
    /// Neither scope nor condition depends on principal or resource.
    pub(super) unconditional: bool,
}

/// By what an item is used that a list shows.
const USED: [(ActionName, ActionName); 3] = [
    (ActionName::ListTool, ActionName::CallTool),
    (ActionName::ListResource, ActionName::ReadResource),
    (ActionName::ListPrompt, ActionName::GetPrompt),
];

impl CompiledRule {
    /// Whether it may hold for one session and not for another by what they have read. One that may ask
    /// for the address of a peer, which may be there or not, is left open; what the ratchet closes is
    /// not shown whatever is said here.
    pub(super) fn looks_at_held(&self) -> bool {
        let looks = FactNeeds::ENV.and(FactNeeds::SESSION).and(FactNeeds::HELD);
        self.needs.has(looks)
            && !self.needs.has(FactNeeds::PEER)
            && *self.reason.origin.file != *RATCHET_FILE
    }
}

/// Where a rule is kept: under the entity that its scope names with `==` or `in`, if it does.
#[derive(Debug, Clone)]
pub(super) enum ScopeKey {
    Resource(EntityUID),
    Principal(EntityUID),
    Any,
}

/// All rules.
#[derive(Debug, Default)]
pub(super) struct RuleSet {
    /// By `ActionName as usize`. What is about `call_tool` is about every call.
    slices: Vec<ActionRules>,
    /// What is about the call of one tool alone.
    calls: HashMap<CallIndex, ActionRules>,
    /// Of all rules together.
    needs: FactNeeds,
    names: BTreeSet<String>,
    wholes: WholeRecordUses,
}

/// The rules of one action.
#[derive(Debug, Default)]
struct ActionRules {
    any: Vec<Arc<CompiledRule>>,
    by_resource: EntityIndex,
    by_principal: EntityIndex,
}

/// Rules by the entity that their scope names. Authors of policies choose what is in it, so that the
/// hash needs not stand up to strangers.
type EntityIndex = HashMap<EntityUID, Vec<Arc<CompiledRule>>, foldhash::fast::RandomState>;

impl RuleSet {
    pub(super) fn new() -> Self {
        Self {
            slices: ActionName::ALL
                .iter()
                .map(|_| ActionRules::default())
                .collect(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, verb: SchemaAction, key: &ScopeKey, rule: &Arc<CompiledRule>) {
        let slice = match verb {
            SchemaAction::Named(action) => self.slices.get_mut(action as usize),
            SchemaAction::Call(call) => Some(self.calls.entry(call).or_default()),
        };
        let Some(slice) = slice else { return };
        self.needs = self.needs.and(rule.needs);
        self.names.extend(rule.names.iter().cloned());
        self.wholes.extend(&rule.wholes);
        let place = match key {
            ScopeKey::Any => &mut slice.any,
            ScopeKey::Resource(uid) => slice.by_resource.entry(uid.clone()).or_default(),
            ScopeKey::Principal(uid) => slice.by_principal.entry(uid.clone()).or_default(),
        };
        place.push(Arc::clone(rule));
    }

    pub(super) fn needs(&self) -> FactNeeds {
        self.needs
    }

    /// The rules about using an item are asked with a context that is open but for what the session has
    /// read, so only those about listing it can look at more.
    pub(super) fn lists_by(&self, list: ActionName) -> ListDependency {
        let listing = self.of_action(list).map(|(rule, _)| {
            if rule.needs.has(FactNeeds::NOW) {
                ListDependency::Moment
            } else if rule.needs.has(FactNeeds::CONTEXT) {
                ListDependency::Session
            } else {
                ListDependency::Names
            }
        });
        let looks = self.using(list).any(CompiledRule::looks_at_held);
        let using = looks.then_some(ListDependency::Held);
        listing.chain(using).max().unwrap_or(ListDependency::Names)
    }

    /// Every rule about using an item of a list.
    fn using(&self, list: ActionName) -> impl Iterator<Item = &CompiledRule> {
        let mut pairs = USED.into_iter();
        let action = pairs.find_map(|(of, action)| (of == list).then_some(action));
        let named = action.into_iter().flat_map(|action| self.of_action(action));
        let calls = (action == Some(ActionName::CallTool)).then_some(&self.calls);
        let calls = calls.into_iter().flat_map(HashMap::values);
        named
            .chain(calls.flat_map(ActionRules::all))
            .map(|(rule, _)| rule)
    }

    /// Whether some condition on typed arguments writes such a name.
    pub(super) fn is_named(&self, attribute: &str) -> bool {
        self.names.contains(attribute)
    }

    /// What conditions on typed arguments use as a whole.
    pub(super) fn wholes(&self) -> &WholeRecordUses {
        &self.wholes
    }

    /// Every rule whose scope could match.
    pub(super) fn candidates(
        &self,
        verb: SchemaAction,
        principal: &Subject,
        resource: &Subject,
    ) -> Vec<&CompiledRule> {
        let mut found = self.about_any(verb.name(), principal);
        found.extend(self.about(verb.name(), resource));
        found.extend(self.about_call(verb, principal, resource));
        found
    }

    /// Those that are about the call of one tool alone.
    pub(super) fn about_call(
        &self,
        verb: SchemaAction,
        principal: &Subject,
        resource: &Subject,
    ) -> impl Iterator<Item = &CompiledRule> {
        let slice = verb.call().and_then(|call| self.calls.get(&call));
        slice.into_iter().flat_map(|slice| {
            let any = slice.any.iter().map(Arc::as_ref);
            any.chain(find(&slice.by_principal, principal))
                .chain(find(&slice.by_resource, resource))
        })
    }

    /// Those whose scope names no resource.
    pub(super) fn about_any(&self, action: ActionName, principal: &Subject) -> Vec<&CompiledRule> {
        let Some(slice) = self.slices.get(action as usize) else {
            return Vec::new();
        };
        slice
            .any
            .iter()
            .map(Arc::as_ref)
            .chain(find(&slice.by_principal, principal))
            .collect()
    }

    /// Those whose scope names the resource or something that it belongs to.
    pub(super) fn about(
        &self,
        action: ActionName,
        resource: &Subject,
    ) -> impl Iterator<Item = &CompiledRule> {
        let slice = self.slices.get(action as usize);
        slice
            .into_iter()
            .flat_map(|slice| find(&slice.by_resource, resource))
    }

    /// Every rule of an action, whatever it is about.
    pub(super) fn of_action(
        &self,
        action: ActionName,
    ) -> impl Iterator<Item = (&CompiledRule, ScopeKey)> {
        let slice = self.slices.get(action as usize);
        slice.into_iter().flat_map(ActionRules::all)
    }

    /// Every rule about the call of one tool alone.
    pub(super) fn of_call(&self, call: CallIndex) -> impl Iterator<Item = &CompiledRule> {
        let slice = self.calls.get(&call);
        slice
            .into_iter()
            .flat_map(ActionRules::all)
            .map(|(rule, _)| rule)
    }
}

impl ActionRules {
    fn all(&self) -> impl Iterator<Item = (&CompiledRule, ScopeKey)> {
        let any = self.any.iter().map(|rule| (rule.as_ref(), ScopeKey::Any));
        let resource =
            flatten(&self.by_resource).map(|(uid, rule)| (rule, ScopeKey::Resource(uid.clone())));
        let principal =
            flatten(&self.by_principal).map(|(uid, rule)| (rule, ScopeKey::Principal(uid.clone())));
        any.chain(resource).chain(principal)
    }
}

fn find<'r>(index: &'r EntityIndex, subject: &Subject) -> impl Iterator<Item = &'r CompiledRule> {
    let uids = std::iter::once(&subject.uid).chain(&subject.ancestors);
    // Hashing costs more than all else here; most slices have no such index.
    let uids = uids.take_while(|_| !index.is_empty());
    uids.filter_map(|uid| index.get(uid))
        .flatten()
        .map(Arc::as_ref)
}

fn flatten(index: &EntityIndex) -> impl Iterator<Item = (&EntityUID, &CompiledRule)> {
    index
        .iter()
        .flat_map(|(uid, rules)| rules.iter().map(move |rule| (uid, rule.as_ref())))
}
