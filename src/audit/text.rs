//! A string that a peer chose: bounded when it is made, redacted and cut before it is written.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::redact::{LONGEST_SECRET, Redactor};

/// One string of a record. Cheap to clone; never holds more than
/// `Text::LIMIT` + 8 KiB of what it was made from.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Text {
    held: Arc<str>,
    /// Bytes of the original that are not in `held`.
    left_out: usize,
}

impl Text {
    /// Bytes of UTF-8 that a record shows of one string. What is longer is cut at a character
    /// and ends in `… [N bytes more]`.
    pub const LIMIT: usize = 1024;

    // Redaction comes before the cut, or the cut would leave the head of a secret that the
    // redactor no longer knows. So that much more than is shown has to be held.
    const HELD: usize = Self::LIMIT + LONGEST_SECRET;

    /// What is held, before redaction and cutting.
    pub fn as_str(&self) -> &str {
        &self.held
    }

    /// The bytes that this string takes in memory.
    pub(super) fn weight(&self) -> usize {
        self.held.len()
    }

    /// Makes the string fit to be written; tells whether a secret was in it.
    pub(super) fn finish(&mut self, redactor: &Redactor) -> TextCompletion {
        let (redacted, beyond) = redactor.redact_head(&self.held, Self::LIMIT);
        let finished = match redacted {
            Cow::Borrowed(_) => TextCompletion::AsItWas,
            Cow::Owned(_) => TextCompletion::Redacted,
        };
        // Markers may be longer than what they stand for.
        let (shown, cut) = head(&redacted, Self::LIMIT);
        let left_out = self.left_out.saturating_add(beyond).saturating_add(cut);
        if left_out > 0 {
            self.held = format!("{shown}… [{left_out} bytes more]").into();
        } else if finished == TextCompletion::Redacted {
            self.held = redacted.into();
        }
        self.left_out = 0;
        finished
    }
}

/// What [`Text::finish`] had to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextCompletion {
    AsItWas,
    Redacted,
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let (held, left_out) = head(text, Self::HELD);
        Self {
            held: held.into(),
            left_out,
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        Self::from(text.as_ref())
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        if text.len() > Self::HELD {
            Self::from(&*text)
        } else {
            Self {
                held: text,
                left_out: 0,
            }
        }
    }
}

impl From<&Arc<str>> for Text {
    fn from(text: &Arc<str>) -> Self {
        Self::from(Arc::clone(text))
    }
}

impl From<&Self> for Text {
    fn from(text: &Self) -> Self {
        text.clone()
    }
}

// As a plain string: a record that fails an assertion should read like one.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.held, f)
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.left_out == 0 && &*self.held == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.held)
    }
}

/// The first `limit` bytes at most, cut at a character, and how many bytes that leaves out.
fn head(text: &str, limit: usize) -> (&str, usize) {
    let (head, tail) = text
        .split_at_checked(text.floor_char_boundary(limit))
        .unwrap_or((text, ""));
    (head, tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str) {
        for mut made in [Text::from(text), Text::from(Arc::from(text))] {
            assert_eq!(made.finish(&Redactor::default()), TextCompletion::AsItWas);
            assert_eq!(made, shown);
            // Finished twice is finished once.
            made.finish(&Redactor::default());
            assert!(made.as_str().starts_with(shown.split('…').next().unwrap()));
        }
    }

    #[test]
    fn long_strings_are_cut_at_a_character_and_say_so() {
        let limit = Text::LIMIT;
        check("", "");
        check("short", "short");
        check(&"x".repeat(limit), &"x".repeat(limit));
        check(
            &"x".repeat(limit + 1),
            &format!("{}… [1 bytes more]", "x".repeat(limit)),
        );
        let x = "x".repeat(limit - 1);
        check(&format!("{x}éé"), &format!("{x}… [4 bytes more]"));
        let million = "x".repeat(1_000_000);
        check(
            &million,
            &format!("{}… [{} bytes more]", "x".repeat(limit), 1_000_000 - limit),
        );
    }

    #[test]
    fn a_hostile_string_takes_bounded_memory() {
        assert!(Text::from("x".repeat(10_000_000)).weight() < 10_000);
    }
}
