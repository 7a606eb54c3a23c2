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

use super::action_set::ActionSet;
use super::entity_kind::EntityKind;
use super::fact_values::{Accessor, Attribute, FactValue, FactView, StringSet};
use super::possible_values::PossibleValues;
use super::subjects::Subject;
use super::wildcard::Wildcard;
use crate::policy::Leaf;

/// A condition, as far as it is plain.
#[derive(Debug)]
pub(super) enum FastPath {
    Always(bool),
    /// One of these actions.
    Action(ActionSet),
    Principal(SubjectTest),
    Resource(SubjectTest),
    /// The arguments of the call have a leaf of this pointer.
    HasArgument(Box<str>),
    /// The leaf of this pointer, which must be there, has this attribute.
    ArgumentHas(Box<str>, Attribute),
    /// The context has `arguments`: the action is the call of one tool.
    HasArguments,
    /// The arguments have this member, by the names that lead to it.
    HasMember(MemberPath),
    /// A boolean that is looked up.
    Holds(Operand),
    Equal(Operand, Operand),
    Less(Operand, Operand),
    LessOrEqual(Operand, Operand),
    Like(Operand, Wildcard),
    Contains(Operand, Operand),
    ContainsAll(Operand, Operand),
    Empty(Operand),
    Not(Box<FastPath>),
    All(Vec<FastPath>),
    Any(Vec<FastPath>),
    If(Box<[FastPath; 3]>),
    /// Cedar's evaluator must tell.
    Opaque,
}

/// Where a subject must be.
#[derive(Debug)]
pub(super) enum SubjectTest {
    Is(EntityType),
    Equals(EntityUID),
    In(Vec<EntityUID>),
    OneOf(Vec<EntityUID>),
}

/// Something that is compared.
#[derive(Debug)]
pub(super) enum Operand {
    Text(Box<str>),
    Long(i64),
    Bool(bool),
    Texts(Box<[Box<str>]>),
    Entity(EntityKind, Box<str>),
    Entities(EntityKind, Box<[Box<str>]>),
    Fact(Accessor),
    /// Of the context, which may be open.
    InContext(Accessor),
    /// Of what the session has read, which may be known where the rest of the context is open.
    OfHeld(Accessor),
    /// An attribute of the leaf of this pointer.
    Argument(Box<str>, Attribute),
    /// A member of the typed arguments.
    Member(MemberPath),
}

/// What leads to a member of the typed arguments, one name for each record.
pub(super) type MemberPath = Box<[Box<str>]>;

impl FastPath {
    /// `None` where only Cedar can tell.
    pub(super) fn at(&self, view: &FactView<'_>) -> Option<bool> {
        self.outcomes(view)?.certain()
    }

    /// What it may come to: one of both where the context is open. `None` where only Cedar can tell.
    pub(super) fn outcomes(&self, view: &FactView<'_>) -> Option<PossibleValues> {
        match self {
            Self::Always(value) => Some(PossibleValues::exactly(*value)),
            Self::Action(among) => Some(PossibleValues::exactly(among.has(view.verb))),
            Self::Principal(place) => Some(PossibleValues::exactly(place.holds(view.principal))),
            Self::Resource(place) => Some(PossibleValues::exactly(place.holds(view.resource))),
            Self::HasArgument(_)
            | Self::ArgumentHas(..)
            | Self::HasArguments
            | Self::HasMember(_)
                if view.context.is_none() =>
            {
                Some(PossibleValues::EITHER)
            }
            Self::HasArgument(pointer) => {
                let leaf = view.arguments()?.get(pointer);
                let is_there = leaf.is_some_and(|leaf| *leaf != Leaf::Array);
                Some(PossibleValues::exactly(is_there))
            }
            Self::ArgumentHas(pointer, attribute) => {
                let leaf = view.arguments()?.get(pointer)?;
                // It has no tag.
                let has = (*leaf != Leaf::Array).then(|| FactValue::is_in(leaf, *attribute));
                has.map(PossibleValues::exactly)
            }
            Self::HasArguments => Some(PossibleValues::exactly(view.record.is_some())),
            Self::HasMember(names) => view.has_member(names).map(PossibleValues::exactly),
            Self::Holds(term) => term.come_to(view, FactValue::bool),
            Self::Empty(term) => term.come_to(view, FactValue::is_empty),
            Self::Like(term, pattern) => {
                term.come_to(view, |seen| seen.text().map(|text| pattern.matches(text)))
            }
            Self::Equal(one, other) => one.beside(other, view, FactValue::equals),
            Self::Less(one, other) => {
                one.beside(other, view, |one, other| Some(one.long()? < other.long()?))
            }
            Self::LessOrEqual(one, other) => {
                one.beside(other, view, |one, other| Some(one.long()? <= other.long()?))
            }
            Self::Contains(set, item) => set.beside(item, view, FactValue::contains),
            Self::ContainsAll(set, items) => set.beside(items, view, FactValue::contains_all),
            Self::Not(inner) => inner.outcomes(view).map(PossibleValues::inverted),
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

impl SubjectTest {
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

impl Operand {
    fn come_to<'v>(
        &'v self,
        view: &'v FactView<'_>,
        holds: impl Fn(&FactValue<'v>) -> Option<bool>,
    ) -> Option<PossibleValues> {
        if self.is_open(view) {
            return Some(PossibleValues::EITHER);
        }
        holds(&self.at(view)?).map(PossibleValues::exactly)
    }

    fn beside<'v>(
        &'v self,
        other: &'v Self,
        view: &'v FactView<'_>,
        holds: impl Fn(&FactValue<'v>, &FactValue<'v>) -> Option<bool>,
    ) -> Option<PossibleValues> {
        match (self.is_open(view), other.is_open(view)) {
            (false, false) => holds(&self.at(view)?, &other.at(view)?).map(PossibleValues::exactly),
            // What is known must be there all the same: to look up what is missing fails.
            (true, false) => other.at(view).map(|_| PossibleValues::EITHER),
            (false, true) => self.at(view).map(|_| PossibleValues::EITHER),
            (true, true) => Some(PossibleValues::EITHER),
        }
    }

    fn is_open(&self, view: &FactView<'_>) -> bool {
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

    fn at<'v>(&'v self, view: &'v FactView<'_>) -> Option<FactValue<'v>> {
        match self {
            Self::Text(text) => Some(FactValue::Text(text)),
            Self::Long(value) => Some(FactValue::Long(*value)),
            Self::Bool(value) => Some(FactValue::Bool(*value)),
            Self::Texts(set) => Some(FactValue::Texts(StringSet::Written(set))),
            Self::Entity(kind, name) => Some(FactValue::Entity(*kind, name)),
            Self::Entities(kind, set) => Some(FactValue::Entities(*kind, StringSet::Written(set))),
            Self::Fact(look) | Self::InContext(look) | Self::OfHeld(look) => look(view),
            Self::Argument(pointer, attribute) => {
                FactValue::of_leaf(view.arguments()?.get(pointer)?, *attribute)
            }
            Self::Member(names) => view.member(names),
        }
    }
}

/// `&&` ends at the first `false`, `||` at the first `true`. What stands behind something unclear
/// does not count: that could fail first.
fn first(parts: &[FastPath], view: &FactView<'_>, ends: bool) -> Option<PossibleValues> {
    let mut whole = PossibleValues::exactly(!ends);
    for part in parts {
        let part = part.outcomes(view)?;
        whole = if ends {
            whole.then(PossibleValues::exactly(true), part)
        } else {
            whole.then(part, PossibleValues::exactly(false))
        };
        if whole.certain() == Some(ends) {
            break;
        }
    }
    Some(whole)
}
