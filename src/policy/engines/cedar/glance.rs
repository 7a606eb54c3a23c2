//! What a condition comes to, as far as the facts tell at a glance.
//!
//! Cedar's evaluator copies a value at every step, some 2 µs for one look at an argument, and its
//! context alone costs more than all that a usual policy asks of it. Most conditions are plain:
//! scopes, and strings, numbers and sets of the message compared with what the author wrote. Those
//! are answered here, from the facts, at a hundredth of the price.
//!
//! INVARIANT: a glance that answers gives what Cedar's evaluator would, which then also would not
//! fail. Whatever is not plain is not answered, and is evaluated by Cedar. A property test compares
//! both with Cedar's own authorizer. See `docs/decisions/0012-plain-conditions.md`.

use cedar_policy_core::ast::{EntityType, EntityUID};

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
        match self {
            Self::Always(value) => Some(*value),
            Self::Action(among) => Some(among.has(view.verb)),
            Self::Principal(place) => Some(place.holds(view.principal)),
            Self::Resource(place) => Some(place.holds(view.resource)),
            Self::HasArgument(pointer) => {
                let leaf = view.arguments()?.get(pointer);
                Some(leaf.is_some_and(|leaf| *leaf != Leaf::Array))
            }
            Self::ArgumentHas(pointer, attribute) => {
                let leaf = view.arguments()?.get(pointer)?;
                // It has no tag.
                (*leaf != Leaf::Array).then(|| Seen::is_in(leaf, *attribute))
            }
            Self::HasArguments => view.context.is_some().then_some(view.record.is_some()),
            Self::HasMember(names) => view.has_member(names),
            Self::Holds(term) => term.at(view)?.bool(),
            Self::Equal(one, other) => one.at(view)?.equals(&other.at(view)?),
            Self::Less(one, other) => Some(one.at(view)?.long()? < other.at(view)?.long()?),
            Self::LessOrEqual(one, other) => Some(one.at(view)?.long()? <= other.at(view)?.long()?),
            Self::Like(term, pattern) => Some(pattern.matches(term.at(view)?.text()?)),
            Self::Contains(set, item) => set.at(view)?.contains(&item.at(view)?),
            Self::ContainsAll(set, items) => set.at(view)?.contains_all(&items.at(view)?),
            Self::Not(inner) => inner.at(view).map(|value| !value),
            Self::All(parts) => first(parts, view, false),
            Self::Any(parts) => first(parts, view, true),
            Self::If(parts) => {
                let [test, then, otherwise] = &**parts;
                if test.at(view)? {
                    then.at(view)
                } else {
                    otherwise.at(view)
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
    fn at<'v>(&'v self, view: &'v View<'_>) -> Option<Seen<'v>> {
        match self {
            Self::Text(text) => Some(Seen::Text(text)),
            Self::Long(value) => Some(Seen::Long(*value)),
            Self::Bool(value) => Some(Seen::Bool(*value)),
            Self::Texts(set) => Some(Seen::Texts(Texts::Written(set))),
            Self::Entity(kind, name) => Some(Seen::Entity(*kind, name)),
            Self::Entities(kind, set) => Some(Seen::Entities(*kind, Texts::Written(set))),
            Self::Fact(look) => look(view),
            Self::Argument(pointer, attribute) => {
                Seen::of_leaf(view.arguments()?.get(pointer)?, *attribute)
            }
            Self::Member(names) => view.member(names),
        }
    }
}

/// `&&` ends at the first `false`, `||` at the first `true`. What stands behind something unclear
/// does not count: that could fail first.
fn first(parts: &[Glance], view: &View<'_>, ends: bool) -> Option<bool> {
    for part in parts {
        if part.at(view)? == ends {
            return Some(ends);
        }
    }
    Some(!ends)
}
