//! What stands where a secret stood.

use std::ops::Range;

use memchr::memmem;

use super::finding::RuleId;

const OPEN: &str = "[redacted:";
const CLOSE: &str = "]";

/// What replaces a secret that this rule found.
pub(super) fn of(rule: &RuleId) -> String {
    [OPEN, rule.as_str(), CLOSE].concat()
}

/// The stretches of a text between placeholders.
///
/// Placeholders are walls: no secret is looked for in them or across them, so that the name of a
/// rule is no keyword and what is left of a text is judged the same way again. Only names of rules
/// make one, or else a secret could hide in the form.
pub(super) fn between(text: &str, known: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    // Most texts are short, and a search has a price of its own.
    if memchr::memchr(b'[', text.as_bytes()).is_none() {
        let all = 0..text.len();
        return Vec::from_iter((!all.is_empty()).then_some(all));
    }
    let mut stretches = Vec::new();
    let mut from = 0;
    for open in memmem::find_iter(text.as_bytes(), OPEN) {
        if let Some(end) = end_of(text, open, &known) {
            stretches.push(from..open);
            from = end;
        }
    }
    stretches.push(from..text.len());
    stretches.retain(|stretch| !stretch.is_empty());
    stretches
}

/// Where the placeholder that begins here ends, if it is one.
fn end_of(text: &str, open: usize, known: impl Fn(&str) -> bool) -> Option<usize> {
    let rest = text.get(open + OPEN.len()..)?;
    let length = rest
        .bytes()
        .position(|byte| !matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))?;
    let id = rest.get(..length)?;
    let closed = rest.get(length..)?.starts_with(CLOSE);
    (closed && known(id)).then_some(open + OPEN.len() + length + CLOSE.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, stretches: &[&str]) {
        let found: Vec<&str> = between(text, |id| id == "jwt")
            .into_iter()
            .map(|range| text.get(range).unwrap())
            .collect();
        assert_eq!(found, stretches, "{text}");
    }

    #[test]
    fn only_names_of_rules_make_a_placeholder() {
        check("", &[]);
        check("plain", &["plain"]);
        check("[redacted:jwt]", &[]);
        check("a [redacted:jwt] b", &["a ", " b"]);
        check("[redacted:jwt][redacted:jwt]x", &["x"]);
        check("[redacted:hunter2]", &["[redacted:hunter2]"]);
        check("[redacted:jwt", &["[redacted:jwt"]);
        check("[redacted:[redacted:jwt]", &["[redacted:"]);
        check("[redacted:]é", &["[redacted:]é"]);
    }
}
