//! Why a verdict came out as it did: what every part of every rule came to, and on which values.
//!
//! A separate, slower way beside `judge`, for people who ask why. An engine evaluates the parts with
//! its own evaluator on the same facts; a test holds the sum of the parts against the verdict.

use std::ops::Range;
use std::sync::Arc;

use super::action::ActionName;
use super::decision::{EngineFault, PolicyId, PolicyOrigin};

/// What the rules of one engine came to for one question.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// Every rule about the action, in the order of the sources.
    pub policies: Vec<PolicyTrace>,
    /// The facts could not be judged at all; then there are no policies.
    pub fault: Option<EngineFault>,
}

/// One rule, and what it came to.
#[derive(Debug, Clone)]
pub struct PolicyTrace {
    pub outline: Arc<PolicyOutline>,
    pub value: PartValue,
    /// One for each part of the outline, in order.
    pub parts: Vec<PartTrace>,
}

/// The shape of one rule: all that does not depend on facts.
#[derive(Debug)]
pub struct PolicyOutline {
    pub id: PolicyId,
    pub origin: PolicyOrigin,
    pub effect: RuleEffect,
    /// The actions that the rule is about.
    pub actions: Vec<ActionName>,
    /// The whole text of the file.
    pub source: Arc<str>,
    /// Where the rule stands in it, in bytes.
    pub span: Range<usize>,
    /// Parts before the parts that they are made of. Those without a parent must all hold. None of a
    /// rule that is judged as a whole.
    pub parts: Vec<ConditionPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleEffect {
    Permit,
    Forbid,
}

/// A part of a rule's condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionPart {
    pub kind: PartKind,
    /// In bytes of the file.
    pub span: Range<usize>,
    /// Places among the parts.
    pub parent: Option<usize>,
    pub children: Vec<usize>,
}

/// How a part comes to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// What the head of the rule asks of the principal, the action or the resource.
    Scope,
    /// The value of the one part in it.
    When,
    /// The opposite of the one part in it.
    Unless,
    /// True when every part in it is, asked in order up to the first that is not.
    All,
    /// True when some part in it is, asked in order up to the first that is.
    Any,
    /// The opposite of the one part in it.
    Not,
    /// Of three parts in it the value of the second where the first is true, and of the third where it
    /// is not.
    If,
    /// Nothing smaller in it is asked by itself.
    Condition,
}

/// What a part came to.
#[derive(Debug, Clone)]
pub struct PartTrace {
    /// By itself, also if it was not evaluated.
    pub value: PartValue,
    /// Whether the evaluation came so far.
    pub reached: bool,
    /// What it looked at; only where nothing smaller is asked.
    pub saw: Vec<AttributeRead>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartValue {
    True,
    False,
    /// It could not be evaluated.
    Failed(String),
}

/// Something that a part looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttributeRead {
    /// As policies write it, for example `context.raw_arguments.getTag("/path").string`.
    pub what: String,
    /// As policies write values; `None` where there is none.
    pub value: Option<String>,
}

impl PolicyOutline {
    /// The text of a part.
    pub fn text(&self, part: &ConditionPart) -> &str {
        self.source.get(part.span.clone()).unwrap_or_default()
    }

    /// The text of a part without its line breaks and indents.
    pub fn in_one_line(&self, part: &ConditionPart) -> String {
        let words: Vec<&str> = self.text(part).split_whitespace().collect();
        words.join(" ")
    }

    /// The line that a part begins on, from 1.
    pub fn line(&self, part: &ConditionPart) -> usize {
        let before = self.source.bytes().take(part.span.start);
        1 + before.filter(|byte| *byte == b'\n').count()
    }

    /// What the rule comes to when its parts by themselves come to `values`; of those with parts in
    /// them nothing is asked.
    pub fn value(&self, values: &[PartValue]) -> PartValue {
        self.sum(values, &mut |_| {})
    }

    /// The same, telling each part that is asked, in order.
    pub fn sum(&self, values: &[PartValue], asked: &mut dyn FnMut(usize)) -> PartValue {
        let roots = self.parts.iter().enumerate();
        let roots = roots.filter(|(_, part)| part.parent.is_none());
        self.up_to(
            roots.map(|(place, _)| place),
            &PartValue::False,
            values,
            asked,
        )
    }

    /// What a part that has parts in it comes to; `None` for the others.
    pub fn whole(&self, place: usize, values: &[PartValue]) -> Option<PartValue> {
        let part = self.parts.get(place).filter(|part| !part.is_leaf());
        part.map(|_| self.part(place, values, &mut |_| {}))
    }

    fn part(&self, place: usize, values: &[PartValue], asked: &mut dyn FnMut(usize)) -> PartValue {
        asked(place);
        let Some(part) = self.parts.get(place) else {
            return PartValue::Failed("there is no such part".to_owned());
        };
        let children = part.children.iter().copied();
        match part.kind {
            PartKind::When | PartKind::All => {
                self.up_to(children, &PartValue::False, values, asked)
            }
            PartKind::Any => self.up_to(children, &PartValue::True, values, asked),
            PartKind::Unless | PartKind::Not => {
                match self.up_to(children, &PartValue::False, values, asked) {
                    PartValue::True => PartValue::False,
                    PartValue::False => PartValue::True,
                    failed @ PartValue::Failed(_) => failed,
                }
            }
            PartKind::If => {
                let [test, then, otherwise] = *part.children else {
                    return PartValue::Failed("an `if` has three parts".to_owned());
                };
                match self.part(test, values, asked) {
                    PartValue::True => self.part(then, values, asked),
                    PartValue::False => self.part(otherwise, values, asked),
                    failed @ PartValue::Failed(_) => failed,
                }
            }
            PartKind::Scope | PartKind::Condition => {
                let value = values.get(place).cloned();
                value.unwrap_or_else(|| PartValue::Failed("the part has no value".to_owned()))
            }
        }
    }

    /// Asks parts in order; the first that comes to `end`, or fails, ends it.
    fn up_to(
        &self,
        parts: impl Iterator<Item = usize>,
        end: &PartValue,
        values: &[PartValue],
        asked: &mut dyn FnMut(usize),
    ) -> PartValue {
        for place in parts {
            let value = self.part(place, values, asked);
            if value == *end || matches!(value, PartValue::Failed(_)) {
                return value;
            }
        }
        match end {
            PartValue::True => PartValue::False,
            PartValue::False | PartValue::Failed(_) => PartValue::True,
        }
    }
}

impl ConditionPart {
    /// Nothing smaller in it is asked by itself.
    pub fn is_leaf(&self) -> bool {
        matches!(self.kind, PartKind::Scope | PartKind::Condition)
    }

    /// It says `true` or `false` in so many letters, and so can come to nothing else.
    pub fn is_constant(&self, source: &str) -> bool {
        matches!(source.get(self.span.clone()), Some("true" | "false"))
    }
}

impl PartTrace {
    /// It was not evaluated.
    pub(super) fn forget(&mut self) {
        self.reached = false;
    }
}

impl PolicyTrace {
    /// What the rule comes to when its parts by themselves come to the values of `found`, one for each
    /// in order; of those with parts in them nothing is taken.
    pub(super) fn of(
        outline: Arc<PolicyOutline>,
        found: Vec<(PartValue, Vec<AttributeRead>)>,
    ) -> Self {
        let (values, saw): (Vec<PartValue>, Vec<Vec<AttributeRead>>) = found.into_iter().unzip();
        let mut reached = vec![false; values.len()];
        let value = outline.sum(&values, &mut |place| {
            if let Some(reached) = reached.get_mut(place) {
                *reached = true;
            }
        });
        let parts = saw.into_iter().zip(reached).enumerate();
        let parts = parts.map(|(place, (saw, reached))| PartTrace {
            value: match outline.whole(place, &values) {
                Some(whole) => whole,
                None => values.get(place).cloned().unwrap_or(PartValue::True),
            },
            reached,
            saw,
        });
        let parts = parts.collect();
        Self {
            outline,
            value,
            parts,
        }
    }

    /// The parts with what they came to.
    pub fn parts(&self) -> impl Iterator<Item = (&ConditionPart, &PartTrace)> {
        self.outline.parts.iter().zip(&self.parts)
    }

    /// Whether the head of the rule is about such a principal, action and resource.
    pub fn in_scope(&self) -> bool {
        self.parts()
            .all(|(part, trace)| part.kind != PartKind::Scope || trace.value == PartValue::True)
    }
}

impl RuleEffect {
    /// As policies write it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Forbid => "forbid",
        }
    }
}

impl PartValue {
    pub fn of(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }

    /// A stable word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Failed(_) => "failed",
        }
    }
}

/// The longest value in a report, in characters.
const LONGEST: usize = 200;

/// The beginning of a long value, and how long it is.
pub(super) fn shortened(text: &str) -> String {
    let mut characters = text.char_indices();
    match characters.nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => {
            let begin = text.get(..end).unwrap_or_default();
            format!("{begin}… ({} bytes)", text.len())
        }
    }
}
