//! What a condition comes to, as far as the facts tell at a glance.
//!
//! Cedar's evaluator copies a value at every step, some 2 µs for one look at an argument, and its
//! context alone costs more than all that a usual policy asks of it. Most conditions are plain:
//! scopes, and strings, numbers and sets of the message compared with what the author wrote. Those
//! are answered here, from the facts, at a hundredth of the price.
//!
//! INVARIANT: a glance that answers gives what Cedar's evaluator would, which then also would not
//! fail. Whatever is not plain is not answered, and is evaluated by Cedar. A property test compares
//! both with Cedar's own authorizer. See `docs/decisions/0004-cedar-evaluation.md`.

use cedar_policy_core::ast::{EntityType, EntityUID};

use super::outcomes::Outcomes;
use super::seen::{Attribute, Kind, Look, Seen, Texts, View};
use super::subjects::Subject;
use super::verb::Verbs;
use super::wildcard::Wildcard;
use crate::policy::Leaf;

/// A condition, as far as it is plain.
#[derive(Debug)]
pub(super) enum Glance {
    Always(bool),
    /// One of these actions.
    Action(Verbs),
    Principal(Place),
    Resource(Place),
    /// The arguments of the call have a leaf of this pointer.
    HasArgument(Box<str>),
    /// The leaf of this pointer, which must be there, has this attribute.
    ArgumentHas(Box<str>, Attribute),
    /// The context has `arguments`: the action is the call of one tool.
    HasArguments,
    /// The arguments have this member, by the names that lead to it.
    HasMember(Names),
    /// A boolean that is looked up.
    Holds(Term),
    Equal(Term, Term),
    Less(Term, Term),
    LessOrEqual(Term, Term),
    Like(Term, Wildcard),
    Contains(Term, Term),
    ContainsAll(Term, Term),
    Empty(Term),
    Not(Box<Glance>),
    All(Vec<Glance>),
    Any(Vec<Glance>),
    If(Box<[Glance; 3]>),
    /// Cedar's evaluator must tell.
    Opaque,
}

/// Where a subject must be.
#[derive(Debug)]
pub(super) enum Place {
    Is(EntityType),
    Equals(EntityUID),
    In(Vec<EntityUID>),
    OneOf(Vec<EntityUID>),
}

/// Something that is compared.
#[derive(Debug)]
pub(super) enum Term {
    Text(Box<str>),
    Long(i64),
    Bool(bool),
    Texts(Box<[Box<str>]>),
    Entity(Kind, Box<str>),
    Entities(Kind, Box<[Box<str>]>),
    Fact(Look),
    /// Of the context, which may be open.
    InContext(Look),
    /// Of what the session has read, which may be known where the rest of the context is open.
    OfHeld(Look),
    /// An attribute of the leaf of this pointer.
    Argument(Box<str>, Attribute),
    /// A member of the typed arguments.
    Member(Names),
}

/// What leads to a member of the typed arguments, one name for each record.
pub(super) type Names = Box<[Box<str>]>;

impl Glance {
    /// `None` where only Cedar can tell.
    pub(super) fn at(&self, view: &View<'_>) -> Option<bool> {
        self.outcomes(view)?.certain()
    }

    /// What it may come to: one of both where the context is open. `None` where only Cedar can tell.
    pub(super) fn outcomes(&self, view: &View<'_>) -> Option<Outcomes> {
        match self {
            Self::Always(value) => Some(Outcomes::exactly(*value)),
            Self::Action(among) => Some(Outcomes::exactly(among.has(view.verb))),
            Self::Principal(place) => Some(Outcomes::exactly(place.holds(view.principal))),
            Self::Resource(place) => Some(Outcomes::exactly(place.holds(view.resource))),
            Self::HasArgument(_)
            | Self::ArgumentHas(..)
            | Self::HasArguments
            | Self::HasMember(_)
                if view.context.is_none() =>
            {
                Some(Outcomes::EITHER)
            }
            Self::HasArgument(pointer) => {
                let leaf = view.arguments()?.get(pointer);
                let is_there = leaf.is_some_and(|leaf| *leaf != Leaf::Array);
                Some(Outcomes::exactly(is_there))
            }
            Self::ArgumentHas(pointer, attribute) => {
                let leaf = view.arguments()?.get(pointer)?;
                // It has no tag.
                let has = (*leaf != Leaf::Array).then(|| Seen::is_in(leaf, *attribute));
                has.map(Outcomes::exactly)
            }
            Self::HasArguments => Some(Outcomes::exactly(view.record.is_some())),
            Self::HasMember(names) => view.has_member(names).map(Outcomes::exactly),
            Self::Holds(term) => term.come_to(view, Seen::bool),
            Self::Empty(term) => term.come_to(view, Seen::is_empty),
            Self::Like(term, pattern) => {
                term.come_to(view, |seen| seen.text().map(|text| pattern.matches(text)))
            }
            Self::Equal(one, other) => one.beside(other, view, Seen::equals),
            Self::Less(one, other) => {
                one.beside(other, view, |one, other| Some(one.long()? < other.long()?))
            }
            Self::LessOrEqual(one, other) => {
                one.beside(other, view, |one, other| Some(one.long()? <= other.long()?))
            }
            Self::Contains(set, item) => set.beside(item, view, Seen::contains),
            Self::ContainsAll(set, items) => set.beside(items, view, Seen::contains_all),
            Self::Not(inner) => inner.outcomes(view).map(Outcomes::inverted),
            Self::All(parts) => first(parts, view, false),
            Self::Any(parts) => first(parts, view, true),
            Self::If(parts) => {
                let [test, then, otherwise] = &**parts;
                let test = test.outcomes(view)?;
                match test.certain() {
                    Some(true) => then.outcomes(view),
                    Some(false) => otherwise.outcomes(view),
                    None => Some(test.then(then.outcomes(view)?, otherwise.outcomes(view)?)),
                }
            }
            Self::Opaque => None,
        }
    }
}

impl Place {
    fn holds(&self, subject: &Subject) -> bool {
        match self {
            Self::Is(kind) => subject.uid.entity_type() == kind,
            Self::Equals(uid) => subject.uid == *uid,
            Self::OneOf(uids) => uids.contains(&subject.uid),
            Self::In(uids) => uids
                .iter()
                .any(|uid| subject.uid == *uid || subject.ancestors.contains(uid)),
        }
    }
}

impl Term {
    fn come_to<'v>(
        &'v self,
        view: &'v View<'_>,
        holds: impl Fn(&Seen<'v>) -> Option<bool>,
    ) -> Option<Outcomes> {
        if self.is_open(view) {
            return Some(Outcomes::EITHER);
        }
        holds(&self.at(view)?).map(Outcomes::exactly)
    }

    fn beside<'v>(
        &'v self,
        other: &'v Self,
        view: &'v View<'_>,
        holds: impl Fn(&Seen<'v>, &Seen<'v>) -> Option<bool>,
    ) -> Option<Outcomes> {
        match (self.is_open(view), other.is_open(view)) {
            (false, false) => holds(&self.at(view)?, &other.at(view)?).map(Outcomes::exactly),
            // What is known must be there all the same: to look up what is missing fails.
            (true, false) => other.at(view).map(|_| Outcomes::EITHER),
            (false, true) => self.at(view).map(|_| Outcomes::EITHER),
            (true, true) => Some(Outcomes::EITHER),
        }
    }

    fn is_open(&self, view: &View<'_>) -> bool {
        match self {
            Self::InContext(_) | Self::Argument(..) | Self::Member(_) => view.context.is_none(),
            Self::OfHeld(_) => view.held().is_none(),
            Self::Text(_)
            | Self::Long(_)
            | Self::Bool(_)
            | Self::Texts(_)
            | Self::Entity(..)
            | Self::Entities(..)
            | Self::Fact(_) => false,
        }
    }

    fn at<'v>(&'v self, view: &'v View<'_>) -> Option<Seen<'v>> {
        match self {
            Self::Text(text) => Some(Seen::Text(text)),
            Self::Long(value) => Some(Seen::Long(*value)),
            Self::Bool(value) => Some(Seen::Bool(*value)),
            Self::Texts(set) => Some(Seen::Texts(Texts::Written(set))),
            Self::Entity(kind, name) => Some(Seen::Entity(*kind, name)),
            Self::Entities(kind, set) => Some(Seen::Entities(*kind, Texts::Written(set))),
            Self::Fact(look) | Self::InContext(look) | Self::OfHeld(look) => look(view),
            Self::Argument(pointer, attribute) => {
                Seen::of_leaf(view.arguments()?.get(pointer)?, *attribute)
            }
            Self::Member(names) => view.member(names),
        }
    }
}

/// `&&` ends at the first `false`, `||` at the first `true`. What stands behind something unclear
/// does not count: that could fail first.
fn first(parts: &[Glance], view: &View<'_>, ends: bool) -> Option<Outcomes> {
    let mut whole = Outcomes::exactly(!ends);
    for part in parts {
        let part = part.outcomes(view)?;
        whole = if ends {
            whole.then(Outcomes::exactly(true), part)
        } else {
            whole.then(part, Outcomes::exactly(false))
        };
        if whole.certain() == Some(ends) {
            break;
        }
    }
    Some(whole)
}
