//! A text as a person would see it.

use std::borrow::Cow;

use super::hidden;
use super::hidden_kinds::{HiddenKind, HiddenKinds};
use super::markup::{self, Markup};
use super::sanitized::Sanitized;

/// What a text is, which says what belongs in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPurpose {
    /// What a tool, a parameter or a prompt says of itself, in at most this many characters.
    Description(usize),
    /// Other words of definitions, instructions, prompts: no markup belongs there.
    Instruction,
    /// Whatever a tool gives out; source code and HTML among other things.
    Content,
}

/// What stands for the rest of a text that is too long.
const REST: &str = "...";

/// The text without hidden parts. Sanitizing it again changes nothing.
pub fn sanitize(text: &str, what: TextPurpose) -> Sanitized<'_> {
    let shown = revealed(text);
    let how = match what {
        TextPurpose::Description(_) | TextPurpose::Instruction => Markup::Foreign,
        TextPurpose::Content => Markup::Content,
    };
    let plain = then(shown, |text| markup::without(text, how));
    match what {
        TextPurpose::Description(longest) => then(plain, |text| shortened(text, longest)),
        TextPurpose::Instruction | TextPurpose::Content => plain,
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
