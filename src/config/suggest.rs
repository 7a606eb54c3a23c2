//! "Did you mean …": the word that an author most likely wanted.

use super::reader::{KeyAvailability, KnownKeys};
use crate::policy::suggest::{did_you_mean, list, nearest};

const AUTH: &str = "what the server is shown is `auth`, as in `auth = { type = \"bearer\", token = \
                    \"${TOKEN}\" }`";

/// Keys of other programs' configurations, and what this one has in their place.
const IDIOMS: &[(&str, &str, &str)] = &[
    (
        "upstream",
        "args",
        "`command` is one array: the program, then its arguments",
    ),
    ("upstream", "bearer_token", AUTH),
    (
        "policy",
        "deny",
        "what is not allowed is denied; exceptions are `forbid` rules in `dir`",
    ),
    (
        "policy",
        "block",
        "what is not allowed is denied; exceptions are `forbid` rules in `dir`",
    ),
];

/// Former names of keys, with their present names.
const RENAMED: &[(&str, &str, &str)] = &[
    ("upstream", "trial", "startup_probe"),
    ("upstream.isolated", "at", "min_sensitivity"),
    ("policy", "denial", "deny_response"),
    ("policy", "lock", "pinning"),
    ("policy", "on_removal", "on_policy_removal"),
    ("limits", "session_idle", "session_idle_timeout"),
    ("limits", "drain_deadline", "shutdown_grace_period"),
    ("guards", "definitions", "tool_metadata"),
    ("guards", "text", "content"),
    ("guards", "secrets_sent", "secrets_outbound"),
    ("guards", "names", "tool_names"),
    ("guards", "links", "symlinks"),
    ("guards", "fatal", "on_fatal_tool_error"),
    ("guards", "excerpts", "[truncation]"),
    ("truncation", "over", "max_bytes"),
    ("truncation", "keep", "retain_bytes"),
    ("consent", "ways", "channels"),
    ("consent", "max_arguments", "max_prompt_bytes"),
    ("telemetry", "sample", "sample_ratio"),
    ("telemetry", "trust_sampled", "parent_based"),
];

/// The known key of a section that an unknown one was most likely meant to be.
pub(super) fn sibling(section: &str, key: &str, known: &KnownKeys) -> Option<&'static str> {
    nearest(key, siblings(section, known))
}

/// What to do about a key that nothing asked for.
pub(super) fn for_unknown_key(section: &str, key: &str, known: &KnownKeys) -> String {
    let is_key = |(of, other, _): &&(&str, &str, &str)| (*of, *other) == (section, key);
    if let Some((.., advice)) = IDIOMS.iter().find(is_key) {
        (*advice).to_owned()
    } else if let Some((.., name)) = RENAMED.iter().find(is_key) {
        format!("it is `{name}` now")
    } else {
        let question = || did_you_mean(key, siblings(section, known));
        let belongs = || {
            let (section, key) = usable(known).find(|(_, elsewhere)| *elsewhere == key)?;
            Some(format!("`{key}` belongs in `[{section}]`"))
        };
        // At the top there are sections alone.
        let advice = if section.is_empty() {
            belongs().or_else(question)
        } else {
            question().or_else(belongs)
        };
        advice.unwrap_or_else(|| format!("known keys: {}", list(siblings(section, known))))
    }
}

fn siblings(section: &str, known: &KnownKeys) -> impl Iterator<Item = &'static str> {
    usable(known)
        .filter(move |(of, _)| *of == section)
        .map(|(_, sibling)| sibling)
}

fn usable(known: &KnownKeys) -> impl Iterator<Item = (&str, &'static str)> {
    let now = known
        .iter()
        .filter(|(_, available)| **available == KeyAvailability::Now);
    now.map(|((section, key), _)| (section.as_str(), *key))
}

#[cfg(test)]
mod tests {
    use super::{KnownKeys, RENAMED, for_unknown_key};

    #[test]
    fn a_key_of_before_is_answered_with_its_new_name() {
        let known = KnownKeys::default();
        for (section, old, new) in RENAMED {
            let help = for_unknown_key(section, old, &known);
            assert_eq!(help, format!("it is `{new}` now"));
        }
    }
}
