//! Text that neither a terminal nor a reader is deceived by.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use crate::unseen::misleads;

/// The same text with what is not seen, or turns the direction of text (UAX 9), as escapes. Line
/// ends and tabs are escaped as well: a report stays within its lines.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if misleads(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// The same text for a terminal, line ends and colours included: only what is not seen, or turns
/// the direction of text, is escaped.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if misleads(c) && !c.is_control() {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// One line of JSON whose strings hold no such character as it is: `\u202e` is read as the same.
pub fn json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", escape_json(&serde_json::to_string(value)?))
}

/// The same JSON, in which no such character is as it is.
pub fn escape_json(text: &str) -> String {
    let mut units = [0; 2];
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if misleads(c) {
            for unit in c.encode_utf16(&mut units) {
                // A `String` takes whatever is written.
                let _ = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_deceives_and_json_reads_back_the_same() {
        let check = |text: &str, one_line: &str, terminal: &str| {
            assert_eq!(printable(text), one_line);
            assert_eq!(visible(text), terminal);
            let mut out = Vec::new();
            json(&text, &mut out).unwrap();
            let written = String::from_utf8(out).unwrap();
            let line = written.strip_suffix('\n').unwrap();
            assert!(!line.contains(misleads), "{line}");
            let value: serde_json::Value = line.parse().unwrap();
            assert_eq!(value.as_str(), Some(text));
        };
        check("a\u{e9}\u{1f600}", "a\u{e9}\u{1f600}", "a\u{e9}\u{1f600}");
        check("a\nb\u{1b}", "a\\u{a}b\\u{1b}", "a\nb\u{1b}");
        check(
            "\u{202e}\u{200b}",
            "\\u{202e}\\u{200b}",
            "\\u{202e}\\u{200b}",
        );
        check("\u{e0041}\u{85}", "\\u{e0041}\\u{85}", "\\u{e0041}\u{85}");
    }
}
