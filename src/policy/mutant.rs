//! Rules in Cedar that are one step away from what their author wrote, to see whether tests notice.

use std::ops::Range;
use std::sync::Arc;

use super::decision::PolicyId;
use super::trace::RuleEffect;

/// One small change of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    pub rule: Arc<MutantRule>,
    pub kind: MutantKind,
    /// The change: what stands there, in bytes of the file, and what would stand there.
    pub span: Range<usize>,
    pub with: String,
    /// What has to go with it, so that the rule stays well formed.
    pub along: Vec<Range<usize>>,
    /// The smallest part of the rule that is asked by itself and holds the change.
    pub part: Range<usize>,
}

/// The rule that changes are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutantRule {
    pub policy: PolicyId,
    /// The file of the rule, as its source is named.
    pub file: Arc<str>,
    /// The whole text of the file.
    pub source: Arc<str>,
    /// Where the rule stands in it, in bytes.
    pub span: Range<usize>,
    /// Where the rule says what it is about, behind its name and its like.
    pub head: usize,
    pub effect: RuleEffect,
}

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MutantKind {
    /// A permit forbids, or a forbid permits.
    Effect,
    /// The rule is gone.
    Policy,
    /// A condition is not asked.
    Condition,
    /// A condition is asked the other way round.
    Negation,
    /// The head of the rule is about more.
    Scope,
    /// A bound is one off, or takes in what it left out.
    Bound,
    /// A set lacks an element.
    Element,
    /// A pattern is open where it was closed, or the other way round.
    Pattern,
}

impl Mutant {
    /// The text of the file with the change. As many lines as before, so that rules without a name
    /// keep the one that their line gives them.
    pub fn apply(&self, text: &str) -> String {
        let mut edits: Vec<(Range<usize>, &str)> = vec![(self.span.clone(), &self.with)];
        edits.extend(self.along.iter().map(|span| (span.clone(), "")));
        edits.sort_by_key(|(span, _)| span.start);
        let mut changed = String::with_capacity(text.len());
        let mut at = 0;
        for (span, with) in edits {
            let gone = text.get(span.clone()).unwrap_or_default();
            changed.push_str(text.get(at..span.start).unwrap_or_default());
            changed.push_str(with);
            let lines = gone.matches('\n').count();
            changed.push_str(&"\n".repeat(lines.saturating_sub(with.matches('\n').count())));
            at = span.end;
        }
        changed.push_str(text.get(at..).unwrap_or_default());
        changed
    }
}

impl MutantKind {
    pub const ALL: [Self; 8] = [
        Self::Effect,
        Self::Policy,
        Self::Condition,
        Self::Negation,
        Self::Scope,
        Self::Bound,
        Self::Element,
        Self::Pattern,
    ];

    /// A stable word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Effect => "effect",
            Self::Policy => "policy",
            Self::Condition => "condition",
            Self::Negation => "negation",
            Self::Scope => "scope",
            Self::Bound => "bound",
            Self::Element => "element",
            Self::Pattern => "pattern",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_keeps_the_lines_that_follow_where_they_are() {
        let text = "@a(\"x\")\n@id(\"y\")\nforbid (\n);\nlast";
        let rule = Arc::new(MutantRule {
            policy: PolicyId::new("y"),
            file: "f".into(),
            source: text.into(),
            span: 0..text.len(),
            head: 0,
            effect: RuleEffect::Forbid,
        });
        let check =
            |span: Range<usize>, with: &str, along: Option<Range<usize>>, expected: &str| {
                let mutant = Mutant {
                    rule: Arc::clone(&rule),
                    kind: MutantKind::Effect,
                    part: span.clone(),
                    span,
                    with: with.to_owned(),
                    along: along.into_iter().collect(),
                };
                let changed = mutant.apply(text);
                assert_eq!(changed, expected);
                assert_eq!(changed.lines().count(), text.lines().count());
            };
        let flipped = "\n@id(\"y\")\npermit (\n);\nlast";
        check(17..23, "permit", Some(0..7), flipped);
        check(0..29, "", None, "\n\n\n\nlast");
    }
}
