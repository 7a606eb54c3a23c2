//! "Did you mean …": the word that an author most likely wanted.

use strsim::damerau_levenshtein;

/// The candidate closest to what was written, if one is close enough to be worth naming.
pub(super) fn nearest<'c>(
    written: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let written = plain(written);
    // A quarter of the letters may be wrong.
    let tolerance = written.chars().count() / 4 + 1;
    candidates
        .into_iter()
        .map(|candidate| (damerau_levenshtein(&written, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .min()
        .map(|(_, candidate)| candidate)
}

/// A suggestion where one is close, all there are where they are few, and otherwise `fallback`.
pub(super) fn help<'c>(written: &str, known: &[&'c str], fallback: &'c str) -> String {
    /// More than this nobody reads.
    const FEW: usize = 12;
    match nearest(written, known.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None if known.is_empty() || known.len() > FEW => fallback.to_owned(),
        None => format!("known: {}", list(known)),
    }
}

/// Words in backticks with commas between them.
pub(super) fn list(words: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("`{}`", word.as_ref()))
        .collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let check = |written, expected| {
            let words = ["because", "decision", "reason", "workspace-only"];
            assert_eq!(nearest(written, words), expected, "{written}");
        };
        check("becuase", Some("because"));
        check("Decision", Some("decision"));
        check("workspace_only", Some("workspace-only"));
        check("advice", None);
        check("", None);
    }

    #[test]
    fn help_names_what_is_close_or_all_there_is() {
        let check = |written, known: &[&str], expected| {
            assert_eq!(help(written, known, "none are declared"), expected);
        };
        check("gest", &["guest", "admin"], "did you mean `guest`?");
        check("writer", &["guest", "admin"], "known: `guest`, `admin`");
        check("writer", &[], "none are declared");
        check("writer", &["x1y2z3"; 13], "none are declared");
    }
}
