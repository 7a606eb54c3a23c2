//! Members whose values are secrets because of their name, whatever they look like.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use regex::{Regex, RegexBuilder};

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

/// The rule in their placeholder.
const RULE: &str = "secret-member";

/// Bytes of compiled patterns, which most names stay far below.
const MOST_COMPILED: usize = 8 << 20;

/// Names of members whose values are secrets.
#[derive(Clone)]
pub struct SecretMembers {
    rule: RuleId,
    /// A whole name. `None` if there are no names.
    name: Option<Regex>,
    /// A name with its value, in a text that is JSON or has some. Most messages have no such text.
    in_text: Option<Arc<LazyPattern>>,
}

type LazyPattern = LazyLock<Regex, Box<dyn FnOnce() -> Regex + Send>>;

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
            in_text: is_some.then(|| {
                let both = ["\"", "'"].map(|quote| in_text(&any, quote)).join("|");
                let pattern: LazyPattern = LazyLock::new(Box::new(move || compiled(both)));
                Arc::new(pattern)
            }),
        }
    }

    /// Compiles the pattern for texts, which takes milliseconds, before the first of them waits for it.
    pub(super) fn compile(&self) {
        if let Some(pattern) = &self.in_text {
            LazyLock::force(pattern);
        }
    }

    /// Whether a member of this name has a secret.
    pub(in crate::guard) fn has(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|it| it.is_match(name))
    }

    /// The rule that finds them.
    pub(super) fn rule(&self) -> &RuleId {
        &self.rule
    }

    /// The value of a member of this name, if that is a secret.
    pub(in crate::guard) fn value(&self, name: &str, value: &str) -> Option<SecretFinding> {
        let is_secret = self.has(name) && !value.is_empty();
        is_secret.then(|| SecretFinding::plain(self.rule.clone(), 0..value.len()))
    }

    /// The values of such members in a text, in their order.
    pub(in crate::guard) fn in_text<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = SecretFinding> + 't {
        let pattern = self.in_text.as_deref();
        let pattern = pattern.filter(|_| text.contains(['"', '\'']));
        let hits = pattern.into_iter().flat_map(|it| it.find_iter(text));
        hits.flat_map(|hit| {
            let values = values_in(hit.as_str(), hit.start()).into_iter();
            values.map(|range| SecretFinding::plain(self.rule.clone(), range))
        })
    }
}

/// The values in a member that begins here: between their quotation marks, or to the end of a text that is cut.
fn values_in(member: &str, start: usize) -> Vec<Range<usize>> {
    let Some(quote) = member.chars().next() else {
        return Vec::new();
    };
    let (mut values, mut from, mut is_escaped) = (Vec::new(), None, false);
    // The name is the first text in quotation marks.
    let name = member
        .char_indices()
        .skip(1)
        .find(|(_, char)| *char == quote);
    let after_name = name.map_or(member.len(), |(at, _)| at + quote.len_utf8());
    for (at, char) in member.char_indices().filter(|(at, _)| *at >= after_name) {
        match from {
            None if char == quote => from = Some(at + quote.len_utf8()),
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if char == '\\' => is_escaped = true,
            Some(begin) if char == quote => {
                values.push(begin..at);
                from = None;
            }
            None | Some(_) => {}
        }
    }
    values.extend(from.map(|begin| begin..member.len()));
    let values = values.into_iter().filter(|value| !value.is_empty());
    values
        .map(|value| start + value.start..start + value.end)
        .collect()
}

/// A member in quotation marks of one kind, and its value in the same, or a list of such values.
fn in_text(names: &str, quote: &str) -> String {
    let name = format!(r"{quote}(?i:{names}){quote}");
    // A text that is cut may end behind a backslash.
    let end = format!(r"(?:{quote}|\\?$)");
    let value = format!(r"{quote}(?s:[^{quote}\\]|\\.)+{end}");
    let text = format!(r"{quote}(?s:[^{quote}\\]|\\.)*{end}");
    let item = format!(r"(?:{text}|[\w.+,-]|\s)");
    format!(r"{name}\s*:\s*(?:{value}|\[(?:{item}|\[{item}*\]?)*)")
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
        check_text("{'password': 'it is', \"secret\": 'no'}", &["it is"]);
        check_text(r#"{"password": "hunter"#, &["hunter"]);
        check_text(
            r#"{"api_key": ["a\"b", "", "c" ,"d"], "user": "e"}"#,
            &["a\\\"b", "c", "d"],
        );
        check_text("{'token':['a','b", &["a", "b"]);
        check_text(r#"{"token": [1, "b", null, "c"], "a": "d"}"#, &["b", "c"]);
        check_text(r#"{"token": [["a"], [], ["b"]], "c": "d"}"#, &["a", "b"]);
        check_text(r#"{"token": [é, "b"], "a": "d"}"#, &["b"]);
        check_text(
            r#"{"token": ["a", "b", …, "password": "c"}"#,
            &["a", "b", "c"],
        );
        check_text(r#"{"token": [], "c": "d"}"#, &[]);
        check_text(r#"{"password": "hunter\"#, &["hunter\\"]);
        check_text(r#"{"token": ["a", "b\"#, &["a", "b\\"]);
    }

    #[test]
    fn the_most_and_longest_names_of_a_configuration_make_a_pattern() {
        let names: Vec<String> = (0..256)
            .map(|n| format!("{n:03}{}z", "_k".repeat(30)))
            .collect();
        let members = SecretMembers::named(names.iter().map(String::as_str));
        members.compile();
        assert!(members.value(&names[255].to_uppercase(), "7").is_some());
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
