//! Words that are suspicious in a definition, though a good one may have them too: a second look, for
//! people. No policy sees them, so that nothing is closed for them alone.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Regex, RegexSet, RegexSetBuilder};

use super::fold::folded;
use super::sanitize::revealed;

/// The most patterns of a configuration.
pub const MAX_CUSTOM_PATTERNS: usize = 64;

/// Bytes of one of them.
pub const MAX_PATTERN_BYTES: usize = 256;

/// Bytes of memory of all of them, compiled.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// In folded texts, where blanks and line ends are one.
const BUILTIN: [(&str, &str); 8] = [
    ("always", r"\balways\b"),
    (
        "before_using",
        r"\bbefore (using|calling|you use|you call)\b",
    ),
    (
        "do_not_tell",
        r"\b(do not|don't|never) (tell|mention|inform|show)\b",
    ),
    ("hidden_instruction", r"\b(hidden|secret) instructions?\b"),
    (
        "ignore_previous",
        r"\b(ignore|disregard|forget)( all)?( the| your| any)? (previous|prior|above|earlier)\b",
    ),
    ("opened_tag", r"<\s?(important|system)\b"),
    ("secretly", r"\b(secretly|silently|covertly)\b"),
    ("you_must", r"\byou must\b"),
];

/// A tool that the server does not list is to be called.
pub const UNKNOWN_TOOL: &str = "unknown_tool";

static COMPILED: LazyLock<RegexSet> = LazyLock::new(|| {
    // INVARIANT: the table is ours, and a test finds each of its rows.
    let patterns = BUILTIN.map(|(_, pattern)| pattern.replace(' ', r"\s"));
    RegexSet::new(patterns).unwrap_or_else(|_| RegexSet::empty())
});

/// The patterns of a configuration beside those built in.
#[derive(Debug, Clone, Default)]
pub struct SuspiciousWords {
    names: Vec<String>,
    own: RegexSet,
}

/// Why patterns cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    #[error("is no pattern: {0}")]
    NoPattern(String),
    #[error("is too large when compiled; the patterns together may have 1 MiB")]
    TooLarge,
}

impl SuspiciousWords {
    /// # Errors
    /// [`WordsError`] if they do not compile.
    pub fn new(own: &BTreeMap<String, String>) -> Result<Self, WordsError> {
        let compiled = RegexSetBuilder::new(own.values())
            .case_insensitive(true)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        Ok(Self {
            names: own.keys().cloned().collect(),
            own: compiled.map_err(|error| {
                if matches!(error, regex::Error::CompiledTooBig(_)) {
                    WordsError::TooLarge
                } else {
                    WordsError::NoPattern(error.to_string())
                }
            })?,
        })
    }

    /// The names of the patterns that a text matches as it is seen; those built in match it folded.
    pub fn find(&self, text: &str) -> Vec<&str> {
        let seen = revealed(text).text;
        let builtin = COMPILED.matches(&folded(&seen)).into_iter();
        let builtin = builtin.filter_map(|index| Some(BUILTIN.get(index)?.0));
        let own = self.own.matches(&seen).into_iter();
        let own = own.filter_map(|index| Some(self.names.get(index)?.as_str()));
        builtin.chain(own).collect()
    }
}

impl PartialEq for SuspiciousWords {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.own.patterns() == other.own.patterns()
    }
}

impl Eq for SuspiciousWords {}

static TOOLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?i)\b(?:call|use|using|run|invoke|execute)\s(?:the\s)?[`'\x22]?([a-z][a-z0-9]{0,63}(?:[_-][a-z0-9]{1,64}){1,16})[`'\x22]?\s(?:tool|first)\b";
    // INVARIANT: the pattern is ours, and a test uses it.
    Regex::new(pattern).ok()
});

/// The tools that a text asks to call, by names with `_` or `-` in them.
pub fn tools_named(text: &str) -> impl Iterator<Item = &str> {
    let found = TOOLS.iter().flat_map(|tools| tools.captures_iter(text));
    found.filter_map(|named| Some(named.get(1)?.as_str()))
}

/// Whether a pattern of the gate's own has this name.
pub fn is_builtin(name: &str) -> bool {
    name == UNKNOWN_TOOL || BUILTIN.iter().any(|(builtin, _)| *builtin == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_the_words_is_found_and_plain_descriptions_have_none() {
        let own = BTreeMap::from([("ship".to_owned(), r"\bship (it|now)\b".to_owned())]);
        let words = SuspiciousWords::new(&own).unwrap();
        let check =
            |text: &str, expected: &[&str]| assert_eq!(words.find(text), expected, "{text}");
        check("Always pass the path.", &["always"]);
        check("Before\nusing this tool, read it.", &["before_using"]);
        check("Never mention this.", &["do_not_tell"]);
        check("A hidden instruction", &["hidden_instruction"]);
        check("ignore all previous results", &["ignore_previous"]);
        check("<IMPORTANT read this", &["opened_tag"]);
        check("< system>", &["opened_tag"]);
        check("S\u{200b}ilently runs", &["secretly"]);
        check("You **must** \u{443}ou must", &["you_must"]);
        check("SHIP IT: you must", &["you_must", "ship"]);
        check("Adds two numbers.", &[]);
        check("Reads the file beforehand.", &[]);
    }

    #[test]
    fn tools_that_a_text_asks_to_call_are_found_by_name() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(tools_named(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check(
            "Use the `send_mail` tool, then call get-page first.",
            &["send_mail", "get-page"],
        );
        check("Use this tool to send mail.", &[]);
        check("Use read_only mode.", &[]);
    }

    #[test]
    fn a_pattern_that_does_not_compile_is_told() {
        let check = |pattern: &str, is_too_large: bool| {
            let own = BTreeMap::from([("a".to_owned(), pattern.to_owned())]);
            let error = SuspiciousWords::new(&own).unwrap_err();
            assert_eq!(error == WordsError::TooLarge, is_too_large, "{error}");
        };
        check("(", false);
        check(r"\w{900}{90}", true);
    }
}
