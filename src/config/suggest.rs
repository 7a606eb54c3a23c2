//! "Did you mean …": the word that an author most likely wanted.

use strsim::damerau_levenshtein;

use super::section::{Availability, Known};

/// Keys of other programs' configurations, and what this one has in their place.
const IDIOMS: &[(&str, &str, &str)] = &[
    (
        "upstream",
        "args",
        "`command` is one array: the program, then its arguments",
    ),
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

/// The candidate closest to what was written, if one is close enough to be worth naming.
pub(super) fn nearest<'c>(
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

/// What to do about a key that nothing asked for.
pub(super) fn for_unknown_key(section: &str, key: &str, known: &Known) -> String {
    let usable = || {
        let now = known
            .iter()
            .filter(|(_, available)| **available == Availability::Now);
        now.map(|((section, key), _)| (section.as_str(), *key))
    };
    let siblings = || {
        usable()
            .filter(|(of, _)| *of == section)
            .map(|(_, sibling)| sibling)
    };
    if let Some((.., advice)) = IDIOMS
        .iter()
        .find(|(of, other, _)| (*of, *other) == (section, key))
    {
        (*advice).to_owned()
    } else if let Some(sibling) = nearest(key, siblings()) {
        format!("did you mean `{sibling}`?")
    } else if let Some((section, key)) = usable().find(|(_, elsewhere)| *elsewhere == key) {
        format!("`{key}` belongs in `[{section}]`")
    } else {
        format!("known keys: {}", list(siblings()))
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

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let keys = ["allow", "dir", "other_methods", "denial"];
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
