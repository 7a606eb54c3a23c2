//! "Did you mean …": the word that an author most likely wanted.

pub(super) use crate::config::nearest;

/// A suggestion where one is close, all there are where they are few, and otherwise `fallback`.
pub(super) fn help<'c>(written: &str, known: &[&'c str], fallback: &'c str) -> String {
    /// The maximum number of suggestions.
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
