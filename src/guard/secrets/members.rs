//! Members whose values are secrets because of their name, whatever they look like.

use std::fmt;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::builtin;
use super::finding::{RuleId, SecretFinding};

/// Names that are those of secrets unless the configuration says otherwise. `_` stands for `_`, `-`, `.` or
/// nothing, and case does not count.
pub const SECRET_MEMBERS: [&str; 17] = [
    "access_token",
    "api_key",
    "api_secret",
    "auth_token",
    "aws_secret_access_key",
    "aws_session_token",
    "client_secret",
    "id_token",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "refresh_token",
    "secret",
    "secret_access_key",
    "secret_key",
    "token",
];

/// What stands in place of their values.
const RULE: &str = "secret-member";

/// Bytes of compiled patterns, which most names stay far below.
const MOST_COMPILED: usize = 8 << 20;

/// Names of members whose values are secrets.
#[derive(Clone)]
pub struct SecretMembers {
    rule: RuleId,
    /// A whole name. `None` if there are no names.
    name: Option<Regex>,
    /// A name with its value, in a text that is JSON or has some.
    in_text: Option<Regex>,
}

impl fmt::Debug for SecretMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretMembers")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Default for SecretMembers {
    fn default() -> Self {
        Self::named(SECRET_MEMBERS)
    }
}

impl SecretMembers {
    /// # Panics
    /// Never: the names are escaped, and the configuration bounds their number and length.
    #[expect(clippy::expect_used, reason = "escaped names always make a pattern")]
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<String> = names.into_iter().map(pattern_of).collect();
        let any = names.join("|");
        let compiled = |pattern: String| {
            let mut builder = RegexBuilder::new(&pattern);
            let built = builder.size_limit(MOST_COMPILED).build();
            built.expect("a pattern of escaped names")
        };
        let is_some = !names.is_empty();
        Self {
            rule: RuleId::new(RULE),
            name: is_some.then(|| compiled(format!("^(?i:{any})$"))),
            in_text: is_some.then(|| compiled(format!(r#""(?i:{any})"\s*:\s*"(?s:[^"\\]|\\.)+""#))),
        }
    }

    /// The value of a member of this name, if that is a secret.
    pub(in crate::guard) fn value(&self, name: &str, value: &str) -> Option<SecretFinding> {
        let is_secret = self.name.as_ref()?.is_match(name) && self.may_be(value);
        is_secret.then(|| SecretFinding::plain(self.rule.clone(), 0..value.len()))
    }

    /// The values of such members in a text, in their order.
    pub(in crate::guard) fn in_text<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = SecretFinding> + 't {
        let pattern = self.in_text.as_ref().filter(|_| text.contains('"'));
        let hits = pattern.into_iter().flat_map(|it| it.find_iter(text));
        hits.filter_map(|hit| {
            let range = value_in(hit.as_str(), hit.start())?;
            let value = text.get(range.clone())?;
            self.may_be(value)
                .then(|| SecretFinding::plain(self.rule.clone(), range))
        })
    }

    /// What a gate has taken out already is not taken out again.
    fn may_be(&self, value: &str) -> bool {
        let inner = value.strip_prefix("[redacted:");
        let id = inner.and_then(|inner| inner.strip_suffix(']'));
        let is_placeholder = id.is_some_and(|id| {
            id == self.rule.as_str() || builtin::rows().iter().any(|row| row.id.as_str() == id)
        });
        !value.is_empty() && !is_placeholder
    }
}

/// The value in a member that begins here: between the last two of its quotation marks.
fn value_in(member: &str, start: usize) -> Option<Range<usize>> {
    let colon = member.find(':')?;
    let open = member.get(colon..)?.find('"')?;
    let from = colon.checked_add(open)?.checked_add(1)?;
    let to = member.len().checked_sub(1)?;
    Some(start.checked_add(from)?..start.checked_add(to)?)
}

/// The words of a name, with whatever may stand between them.
fn pattern_of(name: &str) -> String {
    let words: Vec<String> = name.split('_').map(regex::escape).collect();
    words.join("[-_.]?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expected: bool) {
        let members = SecretMembers::default();
        assert_eq!(members.value(name, value).is_some(), expected, "{name}");
    }

    #[test]
    fn a_name_counts_in_every_spelling_and_only_as_a_whole() {
        for name in [
            "password", "PASSWORD", "apiKey", "api-key", "API_KEY", "api.key",
        ] {
            check(name, "hunter", true);
        }
        for name in [
            "passwords",
            "next_token",
            "token_count",
            "tokens",
            "keyboard",
            "",
        ] {
            check(name, "hunter", false);
        }
        check("password", "", false);
        check("password", "[redacted:secret-member]", false);
        check("password", "[redacted:jwt]", false);
        check("password", "[redacted:hunter]", true);
    }

    #[track_caller]
    fn check_text(text: &str, expected: &[&str]) {
        let members = SecretMembers::default();
        let found = members
            .in_text(text)
            .map(|found| text.get(found.range).unwrap().to_owned());
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn values_are_found_in_texts_that_hold_json() {
        check_text(r#"{"password": "hunter", "user": "a"}"#, &["hunter"]);
        check_text("log: {\n  \"Token\" :\n \"a\\\"b\"\n}", &["a\\\"b"]);
        check_text(r#"{"password":"a","secret":"b"}"#, &["a", "b"]);
        check_text(r#"{"password":"","user":"b"}"#, &[]);
        check_text(r#"the "password": none"#, &[]);
    }

    #[test]
    fn own_names_stand_in_place_of_the_others() {
        let members = SecretMembers::named(["badge_no", "a+b"]);
        assert!(members.value("badgeNo", "7").is_some());
        assert!(members.value("a+b", "7").is_some());
        assert!(members.value("password", "7").is_none());
        assert!(SecretMembers::named([]).value("", "7").is_none());
    }
}
