//! Compiled policies, found by what they could match.
//!
//! Cedar evaluates every policy of a set, at about a microsecond each even where its scope cannot
//! match. So policies are kept by action, and within an action by the entity that their scope
//! names; a request looks only at those that it could satisfy.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy_core::ast::{Effect, EntityUID, Expr, SlotEnv};

use super::glance::Glance;
use super::inspect::{Needs, Wholes};
use super::subjects::Subject;
use super::verb::{CallIndex, Verb};
use crate::policy::{ActionName, ListsBy, Obligation, RATCHET_FILE, Reason};

/// One policy.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) effect: Effect,
    /// The whole condition, scope included: finding a rule here is never the proof that it applies.
    pub(super) condition: Expr,
    /// The same, as far as it is plain.
    pub(super) glance: Glance,
    pub(super) slots: SlotEnv,
    pub(super) needs: Needs,
    /// The names of attributes that a condition on typed arguments writes.
    pub(super) names: BTreeSet<String>,
    /// What it uses of them as a whole.
    pub(super) wholes: Wholes,
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

impl Rule {
    /// Whether it may hold for one session and not for another by what they have read. One that may ask
    /// for the address of a peer, which may be there or not, is left open; what the ratchet closes is
    /// not shown whatever is said here.
    pub(super) fn looks_at_held(&self) -> bool {
        let looks = Needs::ENV.and(Needs::SESSION).and(Needs::HELD);
        self.needs.has(looks)
            && !self.needs.has(Needs::PEER)
            && *self.reason.origin.file != *RATCHET_FILE
    }
}

/// Where a rule is kept: under the entity that its scope names with `==` or `in`, if it does.
#[derive(Debug, Clone)]
pub(super) enum Key {
    Resource(EntityUID),
    Principal(EntityUID),
    Any,
}

/// All rules.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// By `ActionName as usize`. What is about `call_tool` is about every call.
    slices: Vec<Slice>,
    /// What is about the call of one tool alone.
    calls: HashMap<CallIndex, Slice>,
    /// Of all rules together.
    needs: Needs,
    names: BTreeSet<String>,
    wholes: Wholes,
}

/// The rules of one action.
#[derive(Debug, Default)]
struct Slice {
    any: Vec<Arc<Rule>>,
    by_resource: Index,
    by_principal: Index,
}

/// Rules by the entity that their scope names. Authors of policies choose what is in it, so that the
/// hash needs not stand up to strangers.
type Index = HashMap<EntityUID, Vec<Arc<Rule>>, foldhash::fast::RandomState>;

impl Rules {
    pub(super) fn new() -> Self {
        Self {
            slices: ActionName::ALL.iter().map(|_| Slice::default()).collect(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, verb: Verb, key: &Key, rule: &Arc<Rule>) {
        let slice = match verb {
            Verb::Named(action) => self.slices.get_mut(action as usize),
            Verb::Call(call) => Some(self.calls.entry(call).or_default()),
        };
        let Some(slice) = slice else { return };
        self.needs = self.needs.and(rule.needs);
        self.names.extend(rule.names.iter().cloned());
        self.wholes.extend(&rule.wholes);
        let place = match key {
            Key::Any => &mut slice.any,
            Key::Resource(uid) => slice.by_resource.entry(uid.clone()).or_default(),
            Key::Principal(uid) => slice.by_principal.entry(uid.clone()).or_default(),
        };
        place.push(Arc::clone(rule));
    }

    pub(super) fn needs(&self) -> Needs {
        self.needs
    }

    /// The rules about using an item are asked with a context that is open but for what the session has
    /// read, so only those about listing it can look at more.
    pub(super) fn lists_by(&self, list: ActionName) -> ListsBy {
        let listing = self.of_action(list).map(|(rule, _)| {
            if rule.needs.has(Needs::NOW) {
                ListsBy::Moment
            } else if rule.needs.has(Needs::CONTEXT) {
                ListsBy::Session
            } else {
                ListsBy::Names
            }
        });
        let looks = self.using(list).any(Rule::looks_at_held);
        let using = looks.then_some(ListsBy::Held);
        listing.chain(using).max().unwrap_or(ListsBy::Names)
    }

    /// Every rule about using an item of a list.
    fn using(&self, list: ActionName) -> impl Iterator<Item = &Rule> {
        let mut pairs = USED.into_iter();
        let action = pairs.find_map(|(of, action)| (of == list).then_some(action));
        let named = action.into_iter().flat_map(|action| self.of_action(action));
        let calls = (action == Some(ActionName::CallTool)).then_some(&self.calls);
        let calls = calls.into_iter().flat_map(HashMap::values);
        named
            .chain(calls.flat_map(Slice::all))
            .map(|(rule, _)| rule)
    }

    /// Whether some condition on typed arguments writes such a name.
    pub(super) fn is_named(&self, attribute: &str) -> bool {
        self.names.contains(attribute)
    }

    /// What conditions on typed arguments use as a whole.
    pub(super) fn wholes(&self) -> &Wholes {
        &self.wholes
    }

    /// Every rule whose scope could match.
    pub(super) fn candidates(
        &self,
        verb: Verb,
        principal: &Subject,
        resource: &Subject,
    ) -> Vec<&Rule> {
        let mut found = self.about_any(verb.name(), principal);
        found.extend(self.about(verb.name(), resource));
        found.extend(self.about_call(verb, principal, resource));
        found
    }

    /// Those that are about the call of one tool alone.
    pub(super) fn about_call(
        &self,
        verb: Verb,
        principal: &Subject,
        resource: &Subject,
    ) -> impl Iterator<Item = &Rule> {
        let slice = verb.call().and_then(|call| self.calls.get(&call));
        slice.into_iter().flat_map(|slice| {
            let any = slice.any.iter().map(Arc::as_ref);
            any.chain(find(&slice.by_principal, principal))
                .chain(find(&slice.by_resource, resource))
        })
    }

    /// Those whose scope names no resource.
    pub(super) fn about_any(&self, action: ActionName, principal: &Subject) -> Vec<&Rule> {
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
    ) -> impl Iterator<Item = &Rule> {
        let slice = self.slices.get(action as usize);
        slice
            .into_iter()
            .flat_map(|slice| find(&slice.by_resource, resource))
    }

    /// Every rule of an action, whatever it is about.
    pub(super) fn of_action(&self, action: ActionName) -> impl Iterator<Item = (&Rule, Key)> {
        let slice = self.slices.get(action as usize);
        slice.into_iter().flat_map(Slice::all)
    }

    /// Every rule about the call of one tool alone.
    pub(super) fn of_call(&self, call: CallIndex) -> impl Iterator<Item = &Rule> {
        let slice = self.calls.get(&call);
        slice.into_iter().flat_map(Slice::all).map(|(rule, _)| rule)
    }
}

impl Slice {
    fn all(&self) -> impl Iterator<Item = (&Rule, Key)> {
        let any = self.any.iter().map(|rule| (rule.as_ref(), Key::Any));
        let resource =
            flatten(&self.by_resource).map(|(uid, rule)| (rule, Key::Resource(uid.clone())));
        let principal =
            flatten(&self.by_principal).map(|(uid, rule)| (rule, Key::Principal(uid.clone())));
        any.chain(resource).chain(principal)
    }
}

fn find<'r>(index: &'r Index, subject: &Subject) -> impl Iterator<Item = &'r Rule> {
    let uids = std::iter::once(&subject.uid).chain(&subject.ancestors);
    // Hashing costs more than all else here; most slices have no such index.
    let uids = uids.take_while(|_| !index.is_empty());
    uids.filter_map(|uid| index.get(uid))
        .flatten()
        .map(Arc::as_ref)
}

fn flatten(index: &Index) -> impl Iterator<Item = (&EntityUID, &Rule)> {
    index
        .iter()
        .flat_map(|(uid, rules)| rules.iter().map(move |rule| (uid, rule.as_ref())))
}
