//! A text as a person would see it.

use std::borrow::Cow;

use super::hidden;
use super::hidden_kinds::{HiddenKind, HiddenKinds};
use super::markup::{self, Markup, StrippedTags, UnendedComment};
use super::sanitized::Sanitized;

/// What the gate removes from a text beside hidden characters and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRules {
    pub tags: StrippedTags,
    /// What follows a comment that does not end.
    pub unended: UnendedComment,
    /// Characters of which the rest is cut off.
    pub longest: Option<usize>,
    /// White space at the ends.
    pub margins: Margins,
}

/// Whether white space at the ends of a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Margins {
    #[default]
    Kept,
    Trimmed,
}

/// What the gate removes from words of results beside hidden characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct AnswerRules {
    pub tags: StrippedTags,
    /// Characters of one text.
    pub longest: Option<usize>,
    pub margins: Margins,
}

/// What stands for the rest of a text that is too long.
const REST: &str = "...";

impl TextRules {
    /// Of words that describe or instruct: no markup belongs there.
    pub const INSTRUCTION: Self = Self {
        tags: StrippedTags::All,
        unended: UnendedComment::WithRest,
        longest: None,
        margins: Margins::Kept,
    };

    /// Of whatever a tool gives out; source code and HTML among other things.
    pub const CONTENT: Self = Self {
        tags: StrippedTags::None,
        unended: UnendedComment::Alone,
        longest: None,
        margins: Margins::Kept,
    };

    /// Of a description of at most so many characters.
    pub const fn description(longest: usize) -> Self {
        Self {
            longest: Some(longest),
            ..Self::INSTRUCTION
        }
    }
}

impl AnswerRules {
    pub fn text_rules(self) -> TextRules {
        TextRules {
            tags: self.tags,
            longest: self.longest,
            margins: self.margins,
            ..TextRules::CONTENT
        }
    }
}

/// The text without hidden parts. Sanitizing it again changes nothing.
pub fn sanitize(text: &str, rules: TextRules) -> Sanitized<'_> {
    let shown = revealed(text);
    let markup = Markup {
        tags: rules.tags,
        unended: rules.unended,
    };
    let plain = then(shown, |text| markup::without(text, markup));
    let trimmed = match rules.margins {
        Margins::Kept => plain,
        Margins::Trimmed => then(plain, trimmed),
    };
    match rules.longest {
        Some(longest) => then(trimmed, |text| shortened(text, longest)),
        None => trimmed,
    }
}

/// The text without what is invisible or speaks to terminals; markup stays.
pub fn revealed(text: &str) -> Sanitized<'_> {
    hidden::revealed(text)
}

/// One step after another, borrowed as long as nothing changes.
fn then(before: Sanitized<'_>, step: impl FnOnce(&str) -> Sanitized<'_>) -> Sanitized<'_> {
    let Sanitized { text, removed } = before;
    let after = step(&text);
    let removed = removed.and(after.removed);
    let changed = match after.text {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    Sanitized {
        text: changed.map_or(text, Cow::Owned),
        removed,
    }
}

fn trimmed(text: &str) -> Sanitized<'_> {
    let inner = text.trim();
    if inner.len() == text.len() {
        return Sanitized {
            text: text.into(),
            removed: HiddenKinds::default(),
        };
    }
    Sanitized {
        text: inner.to_owned().into(),
        removed: [HiddenKind::Margin].into_iter().collect(),
    }
}

/// A text with its mark is longer than the limit, so one that is longer by no more than that stays:
/// else to cut it again would cut the mark, or to cut it at all would make it longer.
fn shortened(text: &str, longest: usize) -> Sanitized<'_> {
    let kept = Sanitized {
        text: text.into(),
        removed: HiddenKinds::default(),
    };
    let is_longer = text
        .chars()
        .nth(longest.saturating_add(REST.len()))
        .is_some();
    let end = text.char_indices().nth(longest).map(|(end, _)| end);
    let Some(head) = end.filter(|_| is_longer).and_then(|end| text.get(..end)) else {
        return kept;
    };
    // What was kept for the sake of what came after it has nothing to stand for now.
    let head = head.trim_end_matches(hidden::is_invisible);
    Sanitized {
        text: [head, REST].concat().into(),
        removed: [HiddenKind::Length].into_iter().collect(),
    }
}
