//! The names of several servers.

use std::fmt;
use std::sync::Arc;

use super::suggest::{did_you_mean, list};

/// The name of one of several servers: a lower-case letter, and up to 31 more, digits and `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerKey(Arc<str>);

/// The form of a key, for error messages.
pub const SERVER_KEYS: &str = "a lower-case letter and up to 31 more, digits and `-`";

/// Stands for a server that is not known. No server has this key.
pub const UNKNOWN_SERVER: &str = "?";

impl ServerKey {
    /// The longest, in characters.
    const LONGEST: usize = 32;

    pub fn of(text: &str) -> Option<Self> {
        let mut chars = text.chars();
        let begins = chars.next().is_some_and(|char| char.is_ascii_lowercase());
        let goes_on =
            |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        let is_key = begins && chars.all(goes_on) && text.len() <= Self::LONGEST;
        is_key.then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What to do about an id that begins with the key of none of several servers.
    pub fn help_for(servers: &[Self], id: &str) -> Option<String> {
        if servers.is_empty() || servers.iter().any(|key| key.name_in(id).is_some()) {
            return None;
        }
        let keys = || servers.iter().map(Self::as_str);
        let (key, rest) = id.split_once('/').unwrap_or(("", id));
        let question = did_you_mean(key, keys()).map(|question| format!("{question} "));
        Some(format!(
            "{}write the key of its server before it, as in `KEY/{}`; the servers are {}",
            question.unwrap_or_default(),
            rest.escape_debug(),
            list(keys())
        ))
    }

    /// What to do about a name that is no key of several servers.
    pub fn help_for_key(servers: &[Self], name: &str) -> Option<String> {
        if servers.is_empty() || servers.iter().any(|key| key.as_str() == name) {
            return None;
        }
        let keys = || servers.iter().map(Self::as_str);
        let question = did_you_mean(name, keys()).map(|question| format!("{question} "));
        let question = question.unwrap_or_default();
        Some(format!("{question}the servers are {}", list(keys())))
    }

    /// The id of something that this server has, by its own name.
    pub fn id_of(&self, name: &str) -> String {
        format!("{self}/{name}")
    }

    /// A text in which each id that stands in quotes is the name at this server.
    pub fn names_in(&self, text: &str) -> String {
        let before = ["\"", "`", "\"call_tool/"].into_iter();
        before.fold(text.to_owned(), |text, before| {
            text.replace(&format!("{before}{self}/"), before)
        })
    }

    /// What such an id names at this server.
    pub fn name_in<'i>(&self, id: &'i str) -> Option<&'i str> {
        id.strip_prefix(&*self.0)?.strip_prefix('/')
    }
}

impl fmt::Display for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_key_is_told_with_the_one_that_may_be_meant() {
        let servers: Vec<_> = ["crm", "mail"]
            .iter()
            .filter_map(|key| ServerKey::of(key))
            .collect();
        let check = |name: &str, expected: Option<&str>| {
            let help = ServerKey::help_for_key(&servers, name);
            assert_eq!(help.as_deref(), expected, "{name}");
            assert_eq!(ServerKey::help_for_key(&[], name), None);
        };
        check("crm", None);
        check(
            "crn",
            Some("did you mean `crm`? the servers are `crm`, `mail`"),
        );
        check("storage", Some("the servers are `crm`, `mail`"));
    }

    #[test]
    fn a_text_about_a_servers_own_names_has_no_key() {
        let key = ServerKey::of("crm").unwrap();
        let check = |text: &str, expected: &str| assert_eq!(key.names_in(text), expected);
        check("`crm/a` is `crm/crm/a`", "`a` is `crm/a`");
        check(
            "Mcp::Action::\"call_tool/crm/a\" of Mcp::Tool::\"crm/a\"",
            "Mcp::Action::\"call_tool/a\" of Mcp::Tool::\"a\"",
        );
        let other = "`mail/a` in `policies/crm/a.cedar` of Mcp::Server::\"crm\"";
        check(other, other);
    }

    #[test]
    fn a_key_is_a_short_plain_name() {
        let check = |text: &str, is_key: bool| {
            assert_eq!(ServerKey::of(text).is_some(), is_key, "{text:?}");
        };
        check("crm", true);
        check("a", true);
        check("mail-2", true);
        check(&"a".repeat(32), true);
        check(&"a".repeat(33), false);
        for other in ["", "2mail", "-a", "a_b", "Crm", "a/b", "a.b", "ä", "a b"] {
            check(other, false);
        }
    }
}
