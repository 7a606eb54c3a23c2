//! What the arguments of one tool look like, and whether those of a call do.

use std::fmt;

use super::leaves::Leaves;
use super::message_facts::{Arguments, Leaf};
use super::numbers::Exact;

/// An object whose members are known. What is not among them may still be there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordShape {
    /// By name, each once.
    pub members: Vec<Member>,
    /// Members that have no type, and why.
    pub untyped: Vec<UntypedMember>,
}

/// A member of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// Its JSON pointer from the arguments on.
    pub pointer: String,
    pub presence: Presence,
    pub shape: ValueShape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    Optional,
    /// It may also be `null`, which counts as not there.
    Nullable,
}

/// What a member may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueShape {
    One(Scalar),
    /// An array, as the set of its items.
    Many(Scalar),
    Record(RecordShape),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    String,
    Integer,
    Number,
    Boolean,
}

/// A member without a type: policies see it through tags only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntypedMember {
    pub pointer: String,
    pub why: String,
}

/// Arguments that are not what the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeMismatch {
    pub pointer: String,
    pub problem: MismatchKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MismatchKind {
    Missing,
    /// It has to be such a thing.
    IsNot(&'static str),
    /// A number that policies cannot compare exactly.
    Inexact,
    Repeated,
}

impl RecordShape {
    /// # Errors
    /// The first member, in the record's order, that is missing or of another kind.
    pub(super) fn fit(&self, arguments: &Arguments<'_>) -> Result<(), TypeMismatch> {
        let leaves = Leaves::of(Some(arguments)).ok_or_else(|| TypeMismatch {
            pointer: String::new(),
            problem: MismatchKind::Repeated,
        })?;
        self.fit_leaves(&leaves)
    }

    pub(super) fn fit_leaves(&self, leaves: &Leaves<'_>) -> Result<(), TypeMismatch> {
        self.members
            .iter()
            .try_for_each(|member| member.fit(leaves))
    }

    /// Follows the names of members through records.
    pub(super) fn at<T: AsRef<str>>(&self, path: &[T]) -> Option<&Member> {
        let (first, rest) = path.split_first()?;
        let member = self.member(first.as_ref())?;
        match (&member.shape, rest) {
            (_, []) => Some(member),
            (ValueShape::Record(record), rest) => record.at(rest),
            (ValueShape::One(_) | ValueShape::Many(_), _) => None,
        }
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Every member without a type, those of members included.
    pub fn all_untyped(&self) -> Vec<&UntypedMember> {
        let inner = self
            .members
            .iter()
            .filter_map(|member| match &member.shape {
                ValueShape::Record(record) => Some(record.all_untyped()),
                ValueShape::One(_) | ValueShape::Many(_) => None,
            });
        self.untyped.iter().chain(inner.flatten()).collect()
    }
}

impl Member {
    /// Whether it is there. `null` is not, where it may be `null`.
    pub(super) fn is_in(&self, leaves: &Leaves<'_>) -> bool {
        match leaves.get(&self.pointer) {
            Some(Leaf::Null) => self.presence != Presence::Nullable,
            Some(_) => true,
            None => leaves.below(&self.pointer).next().is_some(),
        }
    }

    fn fit(&self, leaves: &Leaves<'_>) -> Result<(), TypeMismatch> {
        if !self.is_in(leaves) {
            return match self.presence {
                Presence::Required => Err(self.misfit(MismatchKind::Missing)),
                Presence::Optional | Presence::Nullable => Ok(()),
            };
        }
        let leaf = leaves.get(&self.pointer);
        match &self.shape {
            ValueShape::One(scalar) => match leaf {
                Some(leaf) if scalar.holds(leaf) => Ok(()),
                _ => Err(self.misfit(MismatchKind::IsNot(scalar.name()))),
            },
            ValueShape::Many(scalar) => self.fit_items(*scalar, leaf, leaves),
            ValueShape::Record(record) => match leaf {
                None | Some(Leaf::EmptyObject) => record.fit_leaves(leaves),
                Some(_) => Err(self.misfit(MismatchKind::IsNot("an object"))),
            },
        }
    }

    fn fit_items(
        &self,
        scalar: Scalar,
        leaf: Option<&Leaf<'_>>,
        leaves: &Leaves<'_>,
    ) -> Result<(), TypeMismatch> {
        match leaf {
            Some(Leaf::EmptyArray) => Ok(()),
            Some(Leaf::Strings(_)) if scalar == Scalar::String => Ok(()),
            Some(Leaf::Strings(_) | Leaf::Array) => {
                let mut items = leaves.below(&self.pointer);
                let odd = items.find(|(index, leaf)| index.contains('/') || !scalar.holds(leaf));
                odd.map_or(Ok(()), |(index, _)| {
                    Err(TypeMismatch {
                        pointer: format!("{}/{index}", self.pointer),
                        problem: MismatchKind::IsNot(scalar.name()),
                    })
                })
            }
            _ => Err(self.misfit(MismatchKind::IsNot("an array"))),
        }
    }

    pub(super) fn misfit(&self, problem: MismatchKind) -> TypeMismatch {
        TypeMismatch {
            pointer: self.pointer.clone(),
            problem,
        }
    }
}

impl Scalar {
    pub(super) fn holds(self, leaf: &Leaf<'_>) -> bool {
        match (self, leaf) {
            (Self::String, Leaf::String(_))
            | (Self::Boolean, Leaf::Bool(_))
            | (Self::Number, Leaf::Number(_)) => true,
            (Self::Integer, Leaf::Number(text)) => Exact::of(text).integer.is_some(),
            _ => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer within 64 bits",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
        }
    }
}

/// For the sender: all of it is in the tool's schema, which is not secret.
impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = self.pointer.escape_debug();
        match self.problem {
            MismatchKind::Missing => write!(f, "argument `{pointer}` is missing"),
            MismatchKind::IsNot(what) => write!(f, "argument `{pointer}` is not {what}"),
            MismatchKind::Inexact => write!(
                f,
                "argument `{pointer}` is a number that policies cannot compare exactly"
            ),
            MismatchKind::Repeated => f.write_str("an argument is there twice"),
        }
    }
}
