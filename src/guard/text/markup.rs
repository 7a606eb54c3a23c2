//! Comments and tags.
//!
//! What is kept is put on a stack, and what completes a comment or a tag is looked for at its top: what
//! taking one out joins is found in the same pass, and each byte is pushed once.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::hidden_kinds::{HiddenKind, HiddenKinds};
use super::sanitized::Sanitized;

/// Which markup to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Markup {
    pub(super) tags: StrippedTags,
    pub(super) unended: UnendedComment,
}

impl Markup {
    /// Everything.
    pub(super) const ANY: Self = Self {
        tags: StrippedTags::All,
        unended: UnendedComment::WithRest,
    };
}

/// Which tags to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum StrippedTags {
    #[default]
    None,
    /// Those that are made to catch a model's eye: `<IMPORTANT>`, `<system>`.
    Suspicious,
    All,
}

/// What the gate removes with a comment that does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnendedComment {
    /// The rest of the text.
    WithRest,
    /// No more than its first four characters, since the rest of a file may stand behind them.
    Alone,
}

const OPENS: &str = "<!--";

pub(super) fn without(text: &str, markup: Markup) -> Sanitized<'_> {
    let tags = Tags {
        text,
        stripped: markup.tags,
        closed: OnceCell::new(),
    };
    if has_any(&tags) {
        return taken_out(tags, markup.unended);
    }
    Sanitized {
        text: text.into(),
        removed: HiddenKinds::default(),
    }
}

fn taken_out(tags: Tags<'_>, unended: UnendedComment) -> Sanitized<'_> {
    let text = tags.text;
    let mut stack = Stack {
        out: String::with_capacity(text.len()),
        open: Vec::new(),
        tags,
        removed: HiddenKinds::default(),
    };
    let mut rest = text;
    let mut is_open_ended = false;
    while let Some(at) = memchr::memchr3(b'<', b'>', b'-', rest.as_bytes()) {
        let Some((plain, from)) = rest.split_at_checked(at + 1) else {
            break;
        };
        rest = from;
        stack.out.push_str(plain);
        match plain.bytes().next_back() {
            Some(b'<') => stack.open.push(stack.out.len() - 1),
            Some(b'>') => stack.close(),
            Some(b'-') if stack.out.ends_with(OPENS) => {
                stack.take(stack.out.len() - OPENS.len(), HiddenKind::Comment);
                let end = if is_open_ended {
                    None
                } else {
                    end_of_comment(rest)
                };
                is_open_ended = end.is_none();
                rest = match (end, unended) {
                    (Some(end), _) => rest.get(end..).unwrap_or_default(),
                    (None, UnendedComment::WithRest) => "",
                    (None, UnendedComment::Alone) => rest,
                };
            }
            _ => {}
        }
    }
    stack.out.push_str(rest);
    Sanitized {
        text: stack.out.into(),
        removed: stack.removed,
    }
}

/// Whether there is something to take out. As long as nothing was, what is kept is the text itself: nothing
/// has to be put on a stack to know it.
fn has_any(tags: &Tags<'_>) -> bool {
    let text = tags.text;
    if memchr::memmem::find(text.as_bytes(), OPENS.as_bytes()).is_some() {
        return true;
    }
    let mut open = None;
    let mut brackets = memchr::memchr2_iter(b'<', b'>', text.as_bytes());
    tags.stripped != StrippedTags::None
        && brackets.any(|at| {
            if text.as_bytes().get(at) == Some(&b'<') {
                open = Some(at + 1);
                return false;
            }
            let inner = open.take().and_then(|open| text.get(open..at));
            inner.and_then(|inner| tags.tag(inner)).is_some()
        })
}

/// What is kept so far.
struct Stack<'t> {
    out: String,
    /// Where in it angle brackets open that none has closed yet.
    open: Vec<usize>,
    tags: Tags<'t>,
    removed: HiddenKinds,
}

/// Which tags a text has.
struct Tags<'t> {
    text: &'t str,
    stripped: StrippedTags,
    /// Names that some closing tag has, in lower case.
    closed: OnceCell<HashSet<String>>,
}

impl Stack<'_> {
    /// The last byte closes an angle bracket: together with what it closes it is a tag, or it stays.
    fn close(&mut self) {
        let open = self.open.last().copied();
        let inner = open.and_then(|open| self.out.get(open + 1..self.out.len() - 1));
        let (Some(open), Some(tag)) = (open, inner.and_then(|inner| self.tags.tag(inner))) else {
            // Whatever is open before it stays open: a tag has no angle brackets in it.
            self.open.clear();
            return;
        };
        self.take(open, HiddenKind::Tag);
        let follows_word = self.out.ends_with(|one: char| !one.is_whitespace());
        if tag == Tag::Block && follows_word {
            self.out.push(' ');
        }
    }

    fn take(&mut self, from: usize, kind: HiddenKind) {
        self.out.truncate(from);
        while self.open.last().is_some_and(|open| *open >= from) {
            self.open.pop();
        }
        self.removed.add(kind);
    }
}

impl Tags<'_> {
    /// What stands between angle brackets, if it is a tag and not what people write in them: a placeholder
    /// (`<owner>`), a type (`Vec<T>`), an address.
    fn tag(&self, inner: &str) -> Option<Tag> {
        if self.stripped == StrippedTags::None {
            return None;
        }
        let (name, rest) = name(inner.strip_prefix('/').unwrap_or(inner))?;
        let name = name.to_ascii_lowercase();
        if self.stripped == StrippedTags::Suspicious && !asks_for_attention(&name) {
            return None;
        }
        let looks_like_one = if inner.starts_with('/') {
            rest.trim().is_empty()
        } else if inner.starts_with(['!', '?'])
            || (rest.contains('=') && rest.starts_with(char::is_whitespace))
        {
            true
        } else if rest.trim().is_empty() || rest.trim_end().ends_with('/') {
            rest.trim() == "/"
                || is_markup(&name)
                || asks_for_attention(&name)
                || self.closes(&name)
        } else {
            rest.starts_with(char::is_whitespace)
                && (asks_for_attention(&name) || self.closes(&name))
        };
        looks_like_one.then(|| {
            if BLOCKS.contains(&name.as_str()) {
                Tag::Block
            } else {
                Tag::Inline
            }
        })
    }

    /// Whether some closing tag has the name.
    fn closes(&self, name: &str) -> bool {
        let closed = self.closed.get_or_init(|| closed_names(self.text));
        closed.contains(name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// It stands between words: a blank stands for it.
    Block,
    Inline,
}

/// Where a comment ends that has begun, as HTML says (§13.2.5.43 to .52).
fn end_of_comment(text: &str) -> Option<usize> {
    let at_once = [">", "->"].into_iter().find(|end| text.starts_with(end));
    if let Some(end) = at_once {
        return Some(end.len());
    }
    let mut ends = memchr::memchr_iter(b'>', text.as_bytes());
    let is_end = |at: &usize| {
        let before = text.get(..*at).unwrap_or_default();
        before.ends_with("--") || before.ends_with("--!")
    };
    ends.find(is_end).map(|at| at + 1)
}

/// The name that a tag begins with, and the rest of it; of declarations too.
fn name(inner: &str) -> Option<(&str, &str)> {
    let inner = inner.strip_prefix(['!', '?']).unwrap_or(inner);
    if inner.starts_with('[') {
        return Some(("", inner));
    }
    if !inner.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let is_part = |one: char| one.is_alphanumeric() || matches!(one, '-' | '_' | '.');
    let end = inner.find(|one| !is_part(one)).unwrap_or(inner.len());
    inner.split_at_checked(end)
}

/// Names of closing tags. A name between brackets that none of them closes is a placeholder.
fn closed_names(text: &str) -> HashSet<String> {
    let opened = memchr::memmem::find_iter(text.as_bytes(), "</");
    let closed = opened.filter_map(|at| {
        let after = text.get(at + 2..)?;
        let (name, rest) = name(after)?;
        let is_closing = rest.trim_start().starts_with('>') && !after.starts_with(['!', '?', '[']);
        is_closing.then(|| name.to_ascii_lowercase())
    });
    closed.collect()
}

/// Names that are no placeholders, even where nothing closes them.
fn is_markup(name: &str) -> bool {
    MARKUP.contains(&name) || BLOCKS.contains(&name)
}

const BLOCKS: [&str; 20] = [
    "br",
    "hr",
    "p",
    "div",
    "li",
    "ul",
    "ol",
    "tr",
    "td",
    "th",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "pre",
    "tbody",
    "thead",
];

const MARKUP: [&str; 28] = [
    "b", "big", "blink", "body", "center", "del", "details", "em", "font", "html", "i", "iframe",
    "img", "ins", "kbd", "mark", "marquee", "noscript", "script", "small", "span", "strong",
    "style", "sub", "sup", "svg", "textarea", "tt",
];

/// Whether a name is made to catch a model's eye.
pub(super) fn asks_for_attention(name: &str) -> bool {
    const PARTS: [&str; 7] = [
        "important",
        "instruct",
        "critical",
        "urgent",
        "attention",
        "mandatory",
        "override",
    ];
    const WHOLE: [&str; 12] = [
        "system",
        "system-prompt",
        "system_prompt",
        "system-reminder",
        "system_reminder",
        "secret",
        "hidden",
        "admin",
        "assistant",
        "developer",
        "priority",
        "sys",
    ];
    PARTS.iter().any(|part| name.contains(part)) || WHOLE.contains(&name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of tags and comments, side by side.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "<",
            "<",
            ">",
            ">",
            "/",
            "</",
            "!",
            "-",
            "--",
            "<!--",
            "-->",
            "b",
            "br",
            "owner",
            "x",
            "important",
            "=",
            " ",
            "a b",
            "é",
            "?",
            "<a href=x>",
            "</owner>",
            "<owner>",
        ]);
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_text_is_only_passed_over_if_nothing_would_be_taken_out_of_it(text in texts()) {
            for stripped in [StrippedTags::None, StrippedTags::Suspicious, StrippedTags::All] {
                let tags = || Tags {
                    text: &text,
                    stripped,
                    closed: OnceCell::new(),
                };
                let found = taken_out(tags(), UnendedComment::WithRest);
                prop_assert_eq!(has_any(&tags()), !found.removed.is_empty());
                if found.removed.is_empty() {
                    prop_assert_eq!(&found.text, &text);
                }
            }
        }
    }
}
