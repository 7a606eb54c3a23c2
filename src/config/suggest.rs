//! "Did you mean …": the word that an author most likely wanted.

use strsim::damerau_levenshtein;

use super::reading::{Availability, Known};

const HEADERS: &str = "what the server is shown is `auth`, as in `auth = { type = \"bearer\", token = \
                       \"${TOKEN}\" }`; other headers cannot be set";

/// Keys of other programs' configurations, and what this one has in their place.
const IDIOMS: &[(&str, &str, &str)] = &[
    (
        "upstream",
        "args",
        "`command` is one array: the program, then its arguments",
    ),
    ("upstream", "headers", HEADERS),
    ("upstream", "bearer_token", HEADERS),
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

/// The candidate closest to what was written, if one is close enough to be worth naming.
pub(crate) fn nearest<'c>(
    written: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let written = plain(written);
    // A quarter of the letters may be wrong: `alow`, `tranport`, `max_mesage_byte`.
    let tolerance = written.chars().count() / 4 + 1;
    candidates
        .into_iter()
        .map(|candidate| (damerau_levenshtein(&written, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The known key of a section that an unknown one was most likely meant to be.
pub(super) fn sibling(section: &str, key: &str, known: &Known) -> Option<&'static str> {
    nearest(key, siblings(section, known))
}

/// What to do about a key that nothing asked for.
pub(super) fn for_unknown_key(section: &str, key: &str, known: &Known) -> String {
    let is_key = |(of, other, _): &&(&str, &str, &str)| (*of, *other) == (section, key);
    if let Some((.., advice)) = IDIOMS.iter().find(is_key) {
        (*advice).to_owned()
    } else if let Some((.., name)) = RENAMED.iter().find(is_key) {
        format!("it is `{name}` now")
    } else if let Some(sibling) = sibling(section, key, known) {
        format!("did you mean `{sibling}`?")
    } else if let Some((section, key)) = usable(known).find(|(_, elsewhere)| *elsewhere == key) {
        format!("`{key}` belongs in `[{section}]`")
    } else {
        format!("known keys: {}", list(siblings(section, known)))
    }
}

/// The words in backticks with commas between them.
pub(super) fn list<'c>(words: impl IntoIterator<Item = &'c str>) -> String {
    words
        .into_iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn siblings(section: &str, known: &Known) -> impl Iterator<Item = &'static str> {
    usable(known)
        .filter(move |(of, _)| *of == section)
        .map(|(_, sibling)| sibling)
}

fn usable(known: &Known) -> impl Iterator<Item = (&str, &'static str)> {
    let now = known
        .iter()
        .filter(|(_, available)| **available == Availability::Now);
    now.map(|((section, key), _)| (section.as_str(), *key))
}

#[cfg(test)]
mod tests {
    use super::{Known, RENAMED, for_unknown_key, nearest};

    #[test]
    fn a_key_of_before_is_answered_with_its_new_name() {
        let known = Known::default();
        for (section, old, new) in RENAMED {
            let help = for_unknown_key(section, old, &known);
            assert_eq!(help, format!("it is `{new}` now"));
        }
    }

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let keys = ["allow", "dir", "other_methods", "deny_response"];
        let cases = [
            ("alow", Some("allow")),
            ("Allow", Some("allow")),
            ("other-methods", Some("other_methods")),
            ("othre_method", Some("other_methods")),
            ("dri", Some("dir")),
            ("deny", None),
            ("certificate", None),
            ("", None),
        ];
        for (written, expected) in cases {
            assert_eq!(nearest(written, keys), expected, "{written}");
        }
    }
}
