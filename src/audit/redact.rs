//! Keeps the configuration's own secrets out of everything that is written.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arc_swap::ArcSwap;
use memchr::memmem::Finder;
use secrecy::SecretString;
use thiserror::Error;

use super::line_escapes::escaped;
use crate::secret;

/// What stands where a secret stood.
pub const MARKER: &str = "[redacted]";

/// Bytes of a secret that are compared. Of a longer one these first bytes are, and with them goes
/// the rest of the string.
pub(super) const LONGEST_SECRET: usize = 8 * 1024;

/// Secrets that are kept of those that were learned: each is looked for in every message, and who
/// renews a token every few minutes would slow the gate down for ever.
const LEARNED: usize = 32;

/// A secret so short that ordinary text has it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a secret of fewer than {} bytes cannot be kept out of the audit log",
    secret::SHORTEST
)]
pub struct SecretTooShort;

/// Knows the secrets that the configuration holds, and replaces them in any string.
///
/// Found are the very bytes of a secret, and the bytes that it has inside a JSON string with as few
/// escapes as can be, or with those of an audit line. Other encodings (base64, percent) are other
/// strings: not found.
///
/// Clones know the same secrets, those that any of them learns included.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<ArcSwap<KnownSecrets>>,
}

#[derive(Default, Clone)]
struct KnownSecrets {
    fixed: Vec<Arc<Needle>>,
    /// The forms of each secret, oldest first.
    learned: VecDeque<Vec<Arc<Needle>>>,
    /// More of them than usually are remembered.
    room: usize,
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
        let mut fixed = Vec::new();
        for secret in secrets {
            fixed.extend(needles(secret)?);
        }
        let known = KnownSecrets {
            fixed,
            ..KnownSecrets::default()
        };
        Ok(Self {
            known: Arc::new(ArcSwap::from_pointee(known)),
        })
    }

    /// Knows these secrets too from now on, as those it was made with.
    pub fn add<'a>(
        &self,
        secrets: impl IntoIterator<Item = &'a SecretString>,
    ) -> Result<(), SecretTooShort> {
        let mut added = Vec::new();
        for secret in secrets {
            added.extend(needles(secret)?);
        }
        self.known.rcu(|known| known.with_fixed(&added));
        Ok(())
    }

    /// From now on so many more learned secrets are remembered, unless there is more room already.
    pub fn make_room(&self, more: usize) {
        self.known.rcu(|known| {
            let mut known = KnownSecrets::clone(known);
            known.room = known.room.max(more);
            known
        });
    }

    /// From when this returns the secret is replaced like the others. Of the secrets that came to be
    /// known in this way the latest 32 are remembered, or more where there is room for them.
    pub fn learn(&self, secret: &SecretString) -> Result<(), SecretTooShort> {
        let needles = needles(secret)?;
        if !needles.is_empty() && !self.known.load().knows_well(&needles) {
            self.known.rcu(|known| known.with(&needles));
        }
        Ok(())
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        let known = self.known.load();
        known.fixed.is_empty() && known.learned.is_empty()
    }

    /// The text with every occurrence of every secret replaced by [`MARKER`]; borrowed if there
    /// was none. Occurrences that overlap or touch become one marker.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_head(text, usize::MAX).0
    }

    /// The same of the first `limit` bytes at most, and how many bytes of the text that leaves out.
    /// Secrets are looked for in all of the text: one that begins within the limit is found.
    ///
    /// The limit is one of the text as it was. If it were one of what comes out, then each marker
    /// shorter than its secret would bring in more of the text, up to a secret that goes on after
    /// the text ends and so was not found.
    pub(super) fn redact_head<'t>(&self, text: &'t str, limit: usize) -> (Cow<'t, str>, usize) {
        let limit = text.floor_char_boundary(limit);
        let mut found = self.occurrences(text.as_bytes());
        found.retain(|range| range.start < limit);
        if found.is_empty() {
            return (text.get(..limit).unwrap_or(text).into(), text.len() - limit);
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut out = String::with_capacity(limit);
        let mut kept_from = 0;
        for range in merged(found) {
            // A secret is whole characters and so is the text: a match begins and ends at one.
            out.push_str(text.get(kept_from..range.start).unwrap_or_default());
            out.push_str(MARKER);
            kept_from = range.end;
        }
        out.push_str(text.get(kept_from..limit).unwrap_or_default());
        (out.into(), text.len() - limit.max(kept_from))
    }

    fn occurrences(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let known = self.known.load();
        for needle in known.all() {
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
                match found.last_mut() {
                    Some(last) if (last.start..=last.end).contains(&start) => {
                        last.end = last.end.max(end);
                    }
                    Some(_) | None => found.push(start..end),
                }
                from = start + 1;
            }
        }
        found
    }
}

impl KnownSecrets {
    fn all(&self) -> impl Iterator<Item = &Needle> {
        let learned = self.learned.iter().flatten();
        self.fixed.iter().chain(learned).map(Arc::as_ref)
    }

    /// With those of them that are new.
    fn with_fixed(&self, needles: &[Arc<Needle>]) -> Self {
        let mut known = self.clone();
        for needle in needles {
            let is_it = |other: &Arc<Needle>| other.finder.needle() == needle.finder.needle();
            if !known.fixed.iter().any(is_it) {
                known.fixed.push(Arc::clone(needle));
            }
        }
        known
    }

    /// A secret that is learned again is the latest again.
    fn with(&self, needles: &[Arc<Needle>]) -> Self {
        let mut known = self.clone();
        known.learned.retain(|other| !are_same(other, needles));
        known.learned.push_back(needles.to_vec());
        if known.learned.len() > known.most_learned() {
            known.learned.pop_front();
        }
        known
    }

    fn most_learned(&self) -> usize {
        LEARNED.saturating_add(self.room)
    }

    /// Whether it is among those that are forgotten last.
    fn knows_well(&self, needles: &[Arc<Needle>]) -> bool {
        let latest = self.learned.iter().rev().take(self.most_learned() / 2);
        latest.into_iter().any(|other| are_same(other, needles))
    }
}

fn are_same(one: &[Arc<Needle>], other: &[Arc<Needle>]) -> bool {
    let pairs = one.iter().zip(other);
    let is_same =
        |(one, other): (&Arc<Needle>, &Arc<Needle>)| one.finder.needle() == other.finder.needle();
    one.len() == other.len() && pairs.into_iter().all(is_same)
}

/// The forms in which a secret is looked for; none of an empty one.
fn needles(secret: &SecretString) -> Result<Vec<Arc<Needle>>, SecretTooShort> {
    match secret::length(secret) {
        0 => return Ok(Vec::new()),
        1..secret::SHORTEST => return Err(SecretTooShort),
        secret::SHORTEST.. => {}
    }
    let forms = secret::patterns(secret, &[quoted, escaped]);
    let needles = forms.iter().map(|form| Arc::new(Needle::new(form)));
    Ok(needles.collect())
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
            .field("secrets", &self.known.load().all().count())
            .finish()
    }
}

/// The text as it stands inside a JSON string with no escape but those that JSON demands.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    let inner = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let secrets: Vec<SecretString> = secrets.iter().map(|&s| SecretString::from(s)).collect();
        Redactor::new(&secrets).unwrap()
    }

    #[track_caller]
    fn check(secrets: &[&str], text: &str, becomes: &str) {
        assert_eq!(redactor(secrets).redact(text), becomes);
    }

    #[test]
    fn secrets_are_replaced_wherever_they_are() {
        check(&[], "anything", "anything");
        check(&["s3cret"], "nothing here", "nothing here");
        check(&["s3cret"], "s3cret", "[redacted]");
        check(
            &["s3cret"],
            "Bearer s3cret, s3cret!",
            "Bearer [redacted], [redacted]!",
        );
        check(&["pässwörd"], "é pässwörd é", "é [redacted] é");
        check(&["one!", "two!"], "two! one!", "[redacted] [redacted]");
    }

    #[test]
    fn what_overlaps_goes_whole() {
        check(&["abcd1234", "1234wxyz"], "-abcd1234wxyz-", "-[redacted]-");
        check(&["token", "token-long"], "a token-long b", "a [redacted] b");
        check(&["abab"], "xababab", "x[redacted]");
    }

    #[test]
    fn a_secret_is_found_inside_quoted_json() {
        check(
            &["a\"b\\c"],
            r#"{"auth":"a\"b\\c"}"#,
            r#"{"auth":"[redacted]"}"#,
        );
    }

    #[test]
    fn of_an_endless_secret_nothing_is_left() {
        let secret = "0123456789".repeat(1000);
        check(&[&secret], &format!("key {secret}"), "key [redacted]");
        // As much of it as a record holds.
        let held = secret.split_at(LONGEST_SECRET + 100).0;
        check(&[&secret], &format!("key {held}"), "key [redacted]");
    }

    #[test]
    fn an_empty_secret_is_none_and_a_tiny_one_an_error() {
        check(&["", "s3cret"], "as s3cret", "as [redacted]");
        let tiny = SecretString::from("abc");
        assert_eq!(Redactor::new([&tiny]).unwrap_err(), SecretTooShort);
    }

    #[test]
    fn the_latest_that_are_learned_are_remembered_and_more_of_them_where_there_is_room() {
        let nth = |number: usize| SecretString::from(format!("token-number-{number:04}"));
        for (room, most) in [(0, 32), (256, 288)] {
            let redactor = Redactor::default();
            redactor.make_room(room);
            redactor.make_room(0);
            let is_known = |number: usize| {
                let text = format!("token-number-{number:04}");
                redactor.redact(&text) != text
            };
            for number in 0..most {
                redactor.learn(&nth(number)).unwrap();
                // One that is used all the time.
                redactor.learn(&nth(0)).unwrap();
            }
            assert!((0..most).all(is_known), "{room}");
            redactor.learn(&nth(most)).unwrap();
            assert!(is_known(0) && !is_known(1) && is_known(2), "{room}");
        }
    }

    #[test]
    fn what_is_learned_is_found_by_every_clone_and_the_old_is_not_forgotten_for_the_new() {
        let redactor = redactor(&["s3cret"]);
        let clone = redactor.clone();
        let told = |text: &str| clone.redact(text).into_owned();
        for new in ["first-token", "second-token"] {
            assert_eq!(told(new), new);
            redactor.learn(&SecretString::from(new)).unwrap();
        }
        assert_eq!(
            told("s3cret first-token second-token"),
            "[redacted] [redacted] [redacted]"
        );
        assert_eq!(
            redactor.learn(&SecretString::from("abc")),
            Err(SecretTooShort)
        );
    }

    #[test]
    fn of_the_learned_the_latest_are_known_and_the_configured_always() {
        let redactor = redactor(&["s3cret"]);
        let secret = |number: usize| format!("token-number-{number:04}");
        for number in 0..LEARNED {
            redactor.learn(&SecretString::from(secret(number))).unwrap();
        }
        // Again, so that it is not the oldest.
        redactor.learn(&SecretString::from(secret(0))).unwrap();
        redactor.learn(&SecretString::from(secret(9999))).unwrap();
        let is_known = |text: &str| redactor.redact(text) == MARKER;
        assert!(is_known("s3cret"));
        assert!(is_known(&secret(0)) && is_known(&secret(2)) && is_known(&secret(9999)));
        assert!(!is_known(&secret(1)));
    }

    proptest! {
        // Few letters, so that secrets overlap each other and themselves; none of the marker's.
        #[test]
        fn no_secret_is_left_and_nothing_else_is_lost(
            secrets in prop::collection::vec("[xyz]{4,6}", 1..4),
            text in "[xyz ]{0,60}",
        ) {
            let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let redacted = redactor(&secrets).redact(&text).into_owned();
            for secret in &secrets {
                prop_assert!(!redacted.contains(secret), "{secret} in {redacted}");
            }
            // What is left stands in the text in the same order.
            let mut rest = text.as_str();
            for kept in redacted.split(MARKER) {
                let at = rest.find(kept);
                prop_assert!(at.is_some(), "{kept:?} is not in {rest:?}");
                rest = rest.split_at(at.unwrap() + kept.len()).1;
            }
            if !secrets.iter().any(|secret| text.contains(secret)) {
                prop_assert_eq!(redacted, text);
            }
        }
    }
}
