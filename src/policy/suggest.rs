//! "Did you mean …": the word that an author most likely wanted.

use strsim::osa_distance;

/// The shadow policy closest to a word, if one is close enough to be worth naming.
pub(crate) fn nearest<'c>(
    written: &str,
    shadows: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let plain = |word: &str| word.to_lowercase().replace(['-', ' '], "_");
    let written = plain(written);
    // A quarter of the letters may be wrong: `alow`, `tranport`, `max_mesage_byte`.
    let tolerance = written.chars().count() / 4 + 1;
    // A comparison takes as many steps as both words have letters, multiplied; and a server chooses how long
    // the names of its tools are. Four bytes are the longest letter.
    let most = 4 * tolerance;
    let near = |shadow: &&str| shadow.len().abs_diff(written.len()) <= most;
    let alike = shadows.into_iter().filter(near).filter_map(|shadow| {
        let letters = plain(shadow);
        let more = letters.chars().count().abs_diff(written.chars().count());
        (more <= tolerance).then(|| (osa_distance(&written, &letters), shadow))
    });
    let (distance, shadow) = alike.min()?;
    (distance <= tolerance).then_some(shadow)
}

/// The question that names the closest shadow.
pub(crate) fn did_you_mean<'c>(
    written: &str,
    shadows: impl IntoIterator<Item = &'c str>,
) -> Option<String> {
    nearest(written, shadows).map(|word| format!("did you mean `{word}`?"))
}

/// The words in backticks with commas between them.
pub(crate) fn list(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let quoted = words.into_iter().map(|word| format!("`{}`", word.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let check = |written: &str, words: &[&str], expected: Option<&str>| {
            assert_eq!(
                nearest(written, words.iter().copied()),
                expected,
                "{written}"
            );
        };
        let keys = ["allow", "dir", "other_methods", "deny_response"];
        check("alow", &keys, Some("allow"));
        check("Allow", &keys, Some("allow"));
        check("other-methods", &keys, Some("other_methods"));
        check("othre_method", &keys, Some("other_methods"));
        check("dri", &keys, Some("dir"));
        check("deny", &keys, None);
        check("certificate", &keys, None);
        check("", &keys, None);
        check(
            "workspace_only",
            &["workspace-only"],
            Some("workspace-only"),
        );
        check("résumé", &["resume"], Some("resume"));
        check("read", &[&"x".repeat(90), "rea", "reads"], Some("rea"));
        check("read", &[], None);
        let (long, shorter) = ("x".repeat(1_000), "x".repeat(998));
        check(&long, &[&shorter, "y"], Some(&shorter));
    }
}
