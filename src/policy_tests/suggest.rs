//! "Did you mean …": the word that an author most likely wanted.

pub(super) use crate::policy::suggest::{did_you_mean, list, nearest};

/// A suggestion where one is close, all there are where they are few, and otherwise `fallback`.
pub(super) fn help<'c>(written: &str, known: &[&'c str], fallback: &'c str) -> String {
    /// The maximum number of suggestions.
    const FEW: usize = 12;
    match did_you_mean(written, known.iter().copied()) {
        Some(question) => question,
        None if known.is_empty() || known.len() > FEW => fallback.to_owned(),
        None => format!("known: {}", list(known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
