//! Keeps the configuration's own secrets out of everything that is written.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

/// What stands where a secret stood.
pub const MARKER: &str = "[redacted]";

/// Bytes of a secret that are compared. Of a longer one these first bytes are, and with them goes
/// the rest of the string.
pub(super) const LONGEST_SECRET: usize = 8 * 1024;

/// Bytes that a secret needs to have.
const SHORTEST_SECRET: usize = 4;

/// A secret too short to be told from ordinary text: replacing each `ab` in a log would say what
/// the secret is instead of hiding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a secret of fewer than {SHORTEST_SECRET} bytes cannot be kept out of the audit log")]
pub struct SecretTooShort;

/// Knows the secrets that the configuration holds, and replaces them in any string.
///
/// Found are the very bytes of a secret, and the bytes that it has inside a JSON string. Other
/// encodings (base64, percent) are other strings: not found.
#[derive(Clone, Default)]
pub struct Redactor {
    needles: Arc<[Needle]>,
}

struct Needle {
    finder: Finder<'static>,
    /// The secret goes on where this needle ends.
    open_ended: bool,
}

impl Redactor {
    /// Empty secrets are no secrets; one of one to three bytes is an error.
    pub fn new<'a>(
        secrets: impl IntoIterator<Item = &'a SecretString>,
    ) -> Result<Self, SecretTooShort> {
        let mut needles = Vec::new();
        for secret in secrets {
            let secret = secret.expose_secret();
            if secret.is_empty() {
                continue;
            }
            if secret.len() < SHORTEST_SECRET {
                return Err(SecretTooShort);
            }
            needles.push(Needle::new(secret));
            let quoted = super::line::escaped(secret);
            if quoted != secret {
                needles.push(Needle::new(&quoted));
            }
        }
        Ok(Self {
            needles: needles.into(),
        })
    }

    /// The text with every occurrence of every secret replaced by [`MARKER`]; borrowed if there
    /// was none. Occurrences that overlap or touch become one marker.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut found = self.occurrences(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut out = String::with_capacity(text.len());
        let mut kept_from = 0;
        for range in merged(found) {
            // A secret is whole characters and so is the text: a match begins and ends at one.
            out.push_str(text.get(kept_from..range.start).unwrap_or_default());
            out.push_str(MARKER);
            kept_from = range.end;
        }
        out.push_str(text.get(kept_from..).unwrap_or_default());
        Cow::Owned(out)
    }

    fn occurrences(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for needle in &*self.needles {
            let length = needle.finder.needle().len();
            let mut from = 0;
            // One byte on, not one needle on: occurrences of one secret may overlap too, and
            // what the second one adds must go as well.
            while let Some(at) = text.get(from..).and_then(|rest| needle.finder.find(rest)) {
                let start = from + at;
                let end = if needle.open_ended {
                    text.len()
                } else {
                    start + length
                };
                found.push(start..end);
                from = start + 1;
            }
        }
        found
    }
}

impl Needle {
    fn new(secret: &str) -> Self {
        let end = secret.floor_char_boundary(LONGEST_SECRET);
        let head = secret.as_bytes().get(..end).unwrap_or(secret.as_bytes());
        Self {
            finder: Finder::new(head).into_owned(),
            open_ended: end < secret.len(),
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("secrets", &self.needles.len())
            .finish()
    }
}

fn merged(sorted: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}
