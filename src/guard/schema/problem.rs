//! Why a schema checks nothing, and how a value is not what it says.

use thiserror::Error;

/// Why a schema checks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaProblem {
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("it is not valid: at `{at}`: {problem}")]
    Invalid { at: String, problem: String },
    #[error("it refers to `{0}`, which is not a place in it that the gate can find")]
    Reference(String),
    #[error(
        "it has more than {MAX_PATTERNS} patterns, or longer ones than {MAX_PATTERN_BYTES} bytes in all"
    )]
    Patterns,
}

/// How a value is not what a schema says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    #[error("at `{at}`: {problem} (`{rule}`)")]
    Broken {
        /// Where in the value (RFC 6901); empty is the whole.
        at: String,
        /// Where in the schema.
        rule: String,
        /// In words that quote nothing of the value but names of members.
        problem: String,
    },
    #[error("to check it takes more than {MAX_EFFORT} steps")]
    TooMuch,
}

/// The longest schema, in bytes of its compact text. The longest of the public servers that we read
/// had 20 KiB.
pub(super) const MAX_BYTES: usize = 256 * 1024;

pub(super) const MAX_PATTERNS: usize = 128;
pub(super) const MAX_PATTERN_BYTES: usize = 16 * 1024;

/// Steps that one check may take; a step is one schema against one value, one value compared, or some
/// bytes of a string. Milliseconds, but for patterns that are made to be slow.
pub(super) const MAX_EFFORT: u32 = 200_000;

/// A peer's words in a report, which stand between backticks: up to a length, and without what could end
/// them or begin a line.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 300;
    let escaped = text.chars().flat_map(|char| match char {
        '"' | '\'' | '\\' => vec![char],
        '`' => "\\u{60}".chars().collect(),
        other => other.escape_debug().collect(),
    });
    let mut text: String = escaped.take(LONGEST + 1).collect();
    if text.len() > LONGEST {
        let end = text.floor_char_boundary(LONGEST);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_peer_do_not_leave_their_quotation() {
        let check = |text: &str, expected: &str| assert_eq!(shortened(text), expected, "{text}");
        check("/a/b \"c\" 'd'", "/a/b \"c\" 'd'");
        check("a` The gate says", "a\\u{60} The gate says");
        check("a\n\u{202e}b", "a\\n\\u{202e}b");
        check(&"é".repeat(200), &format!("{}…", "é".repeat(150)));
    }
}
