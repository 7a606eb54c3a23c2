//! The arguments of a call as a record with types: `context.arguments`.
//!
//! The values are made directly, as all others are (decision 4).

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy_core::ast::{Literal, Value};

use super::rules::RuleSet;
use super::value::{decimal, strings};
use crate::policy::leaves::Leaves;
use crate::policy::numbers::Exact;
use crate::policy::{
    Leaf, Member, MismatchKind, Presence, RecordShape, Scalar, TypeMismatch, ValueShape,
};

/// What the rules look at of a record.
#[derive(Clone, Copy)]
pub(super) enum RecordReads<'r> {
    AtAll,
    /// Members whose name some rule writes.
    AtNames(&'r RuleSet),
}

/// The record that the arguments are. A number that Cedar has no value for stands still where no
/// rule can look.
///
/// # Errors
/// What does not fit.
pub(super) fn value(
    record: &RecordShape,
    leaves: &Leaves<'_>,
    looks: RecordReads<'_>,
) -> Result<Value, TypeMismatch> {
    let mut fields = BTreeMap::new();
    for member in &record.members {
        if !member.is_in(leaves) {
            match member.presence {
                Presence::Required => return Err(member.misfit(MismatchKind::Missing)),
                Presence::Optional | Presence::Nullable => continue,
            }
        }
        let value = member_value(member, leaves, looks)?;
        fields.insert(member.name.as_str().into(), value);
    }
    Ok(Value::record_arc(Arc::new(fields), None))
}

impl<'r> RecordReads<'r> {
    pub(super) fn of(rules: &'r RuleSet) -> Self {
        if rules.wholes().has_all() {
            Self::AtAll
        } else {
            Self::AtNames(rules)
        }
    }

    fn at(self, member: &Member) -> bool {
        match self {
            Self::AtAll => true,
            Self::AtNames(rules) => rules.is_named(&member.name),
        }
    }

    /// At what is in a member that is a record.
    fn into(self, member: &Member) -> Self {
        match self {
            Self::AtNames(rules) if !rules.wholes().has(&member.name) => self,
            Self::AtAll | Self::AtNames(_) => Self::AtAll,
        }
    }
}

fn member_value(
    member: &Member,
    leaves: &Leaves<'_>,
    looks: RecordReads<'_>,
) -> Result<Value, TypeMismatch> {
    let leaf = leaves.get(&member.pointer);
    let misfit = || member.misfit(MismatchKind::IsNot("what it was checked to be"));
    match (&member.shape, leaf) {
        (ValueShape::Record(record), None | Some(Leaf::EmptyObject)) => {
            value(record, leaves, looks.into(member))
        }
        (ValueShape::One(Scalar::Number), Some(Leaf::Number(text))) => {
            match Exact::of(text).decimal_text() {
                Some(text) => decimal(&text).ok_or_else(misfit),
                None if looks.at(member) => Err(member.misfit(MismatchKind::Inexact)),
                None => decimal("0.0").ok_or_else(misfit),
            }
        }
        (ValueShape::One(_), Some(leaf)) => Ok(Value::new(lit(leaf).ok_or_else(misfit)?, None)),
        (ValueShape::Many(_), Some(Leaf::EmptyArray)) => Ok(strings::<&str>(&[])),
        (ValueShape::Many(Scalar::String), Some(Leaf::Strings(items))) => Ok(strings(items)),
        (ValueShape::Many(_), Some(Leaf::Array)) => {
            let items = leaves.below(&member.pointer).map(|(_, leaf)| lit(leaf));
            let items: Option<Vec<Literal>> = items.collect();
            Ok(Value::set_of_lits(items.ok_or_else(misfit)?, None))
        }
        _ => Err(misfit()),
    }
}

fn lit(leaf: &Leaf<'_>) -> Option<Literal> {
    match leaf {
        Leaf::String(text) => Some(text.as_ref().into()),
        Leaf::Bool(value) => Some((*value).into()),
        Leaf::Number(text) => Exact::of(text).integer.map(Literal::from),
        Leaf::Null | Leaf::Strings(_) | Leaf::EmptyObject | Leaf::EmptyArray | Leaf::Array => None,
    }
}
