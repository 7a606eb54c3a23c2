//! Refuses text that would be too deep to parse.
//!
//! Cedar's parser, checker and evaluator recurse, and a stack that overflows ends the process: a
//! policy of 350 bytes with 150 parentheses does it on a worker's stack. No error handling catches
//! that, so the text is measured before anything parses it, without recursion.

use std::ops::Range;

/// Brackets, `if`s and prefix operators that are open at once.
pub(super) const MAX_NESTING: usize = 64;
/// Operators in one expression between two brackets, and links of one `a.b.c` chain; each makes the
/// tree one deeper.
pub(super) const MAX_CHAIN: usize = 256;

/// Annotations of one policy. Cedar's parser takes a time that grows faster than their number.
pub(super) const MAX_ANNOTATIONS: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooDeep {
    pub(super) what: &'static str,
    pub(super) limit: usize,
    pub(super) span: Range<usize>,
}

/// One open bracket, or the ground.
#[derive(Default)]
struct BracketFrame {
    ifs: usize,
    /// Prefix operators before the bracket.
    prefixes: usize,
    operators: usize,
}

pub(super) fn check(text: &str) -> Result<(), TooDeep> {
    let mut scan = Scan::default();
    let mut rest = text.as_bytes();
    let mut at = 0;
    while let Some((&byte, _)) = rest.split_first() {
        let length = token_length(rest);
        let token = rest.get(..length).unwrap_or_default();
        scan.take(byte, token).map_err(|(what, limit)| TooDeep {
            what,
            limit,
            span: at..at + length,
        })?;
        at += length;
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// Where comments stand, from their slashes to the ends of their lines.
pub fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = text.as_bytes();
    let mut at = 0;
    while !rest.is_empty() {
        let length = token_length(rest);
        if rest.starts_with(b"//") {
            found.push(at..at + length);
        }
        at += length;
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

#[derive(Default)]
struct Scan {
    ground: BracketFrame,
    open: Vec<BracketFrame>,
    /// `if`s and prefix operators in all frames.
    held: usize,
    /// Prefix operators in a row, just before this token.
    prefixes: usize,
    /// Dots in one chain.
    links: usize,
    /// Before one policy.
    annotations: usize,
}

impl Scan {
    fn take(&mut self, first: u8, token: &[u8]) -> Result<(), (&'static str, usize)> {
        if first.is_ascii_whitespace() || token.starts_with(b"//") {
            return Ok(());
        }
        let prefixes = std::mem::take(&mut self.prefixes);
        match first {
            b'(' | b'[' | b'{' => {
                self.held += prefixes;
                self.open.push(BracketFrame {
                    prefixes,
                    ..BracketFrame::default()
                });
            }
            b')' | b']' | b'}' => {
                if let Some(frame) = self.open.pop() {
                    self.held -= frame.ifs + frame.prefixes;
                }
            }
            // What follows is not below what came before.
            b',' | b';' => {
                if first == b';' {
                    self.annotations = 0;
                }
                self.frame().operators = 0;
                let ifs = std::mem::take(&mut self.frame().ifs);
                self.held -= ifs;
                self.links = 0;
            }
            b'!' | b'-' => {
                self.prefixes = prefixes + 1;
                self.operator();
            }
            b'+' | b'*' | b'&' | b'|' => self.operator(),
            b'.' => self.links += 1,
            b'@' => self.annotations += 1,
            _ => match token {
                b"if" => {
                    self.held += 1;
                    self.frame().ifs += 1;
                    self.links = 0;
                }
                // The conditions of one policy are joined into one expression.
                b"when" | b"unless" => self.operator(),
                b"<" | b">" | b"=" | b"in" | b"like" | b"is" | b"has" | b"then" | b"else" => {
                    self.links = 0;
                }
                _ => {}
            },
        }
        if self.open.len() + self.held + self.prefixes > MAX_NESTING {
            return Err(("levels of nesting", MAX_NESTING));
        }
        if self.annotations > MAX_ANNOTATIONS {
            return Err(("annotations on one policy", MAX_ANNOTATIONS));
        }
        if self.frame().operators > MAX_CHAIN || self.links > MAX_CHAIN {
            return Err(("operators in one expression", MAX_CHAIN));
        }
        Ok(())
    }

    fn operator(&mut self) {
        self.links = 0;
        self.frame().operators += 1;
    }

    fn frame(&mut self) -> &mut BracketFrame {
        self.open.last_mut().unwrap_or(&mut self.ground)
    }
}

/// At least 1. Strings and comments end where Cedar's own lexer ends them; a quote that begins no
/// string of Cedar's is a token by itself, so that what follows is still measured.
fn token_length(text: &[u8]) -> usize {
    let up_to = |end: fn(u8) -> bool| {
        text.iter()
            .position(|&byte| end(byte))
            .unwrap_or(text.len())
    };
    match text {
        [b'"', rest @ ..] => string_length(rest).map_or(1, |length| length + 1),
        [b'/', b'/', ..] => up_to(|byte| byte == b'\n' || byte == b'\r'),
        [b'&', b'&', ..] | [b'|', b'|', ..] => 2,
        [first, ..] if is_word(*first) => up_to(|byte| !is_word(byte)),
        _ => 1,
    }
}

/// The length up to and with the closing quote.
fn string_length(rest: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for (at, &byte) in rest.iter().enumerate() {
        match byte {
            b'\n' if escaped => return None,
            b'"' if !escaped => return Some(at + 1),
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_whatever_nests() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")")] {
            let nested = |depth: usize| open.repeat(depth) + "true" + &close.repeat(depth);
            check_refused(&nested(MAX_NESTING + 1));
            check_accepted(&nested(MAX_NESTING));
        }
        check_refused(&("!(".repeat(33) + &")".repeat(33)));
        check_accepted(&("!(".repeat(32) + &")".repeat(32)));
        check_accepted(&"!(a) && -(b) , ".repeat(1000));
        check_refused(&"if true then true else ".repeat(65));
        check_accepted(&"if true then true else ".repeat(64));
        check_refused(&"- \n // more\n".repeat(65));
        check_refused(&("!".repeat(33) + &"(".repeat(32)));
    }

    #[test]
    fn annotations_count_by_policy() {
        let policy = |annotations: usize| "@a(\"x\")\n".repeat(annotations) + "permit(p, a, r);";
        check_accepted(&policy(MAX_ANNOTATIONS).repeat(3));
        check_refused(&policy(MAX_ANNOTATIONS + 1));
    }

    #[test]
    fn what_is_closed_no_longer_counts() {
        check_accepted(&"(a && (b || c)) , ".repeat(10_000));
        check_accepted(
            &"permit(principal,action,resource) when { if a then b else c };\n".repeat(999),
        );
        check_accepted(&")".repeat(1000));
    }

    #[test]
    fn chains_are_limited() {
        for link in [
            " && a",
            " || a",
            " + 1",
            " - 1",
            " * 2",
            ".a",
            " when {true}",
        ] {
            check_refused(&("a".to_owned() + &link.repeat(MAX_CHAIN + 1)));
            check_accepted(&("a".to_owned() + &link.repeat(MAX_CHAIN)));
        }
        check_accepted(&"a.b == c.d && ".repeat(MAX_CHAIN));
    }

    #[test]
    fn a_comment_is_none_inside_a_string_or_another_comment() {
        let text = "a // one // still one\n\"// no\" \"\\\"// no\" // two\r\n//";
        let found = comments(text);
        let found: Vec<&str> = found
            .into_iter()
            .map(|span| text.get(span).unwrap())
            .collect();
        assert_eq!(found, ["// one // still one", "// two", "//"]);
    }

    #[test]
    fn strings_and_comments_are_not_text() {
        check_accepted(&format!("\"{}\"", "(".repeat(1000)));
        check_accepted(&format!("// {}\ntrue", "(".repeat(1000)));
        check_accepted(&format!(r#""\"{}" "#, "(".repeat(1000)));
        check_refused(&format!(r#""\\" {}"#, "(".repeat(65)));
        check_refused(&format!("\"//\" {}", "(".repeat(65)));
        check_refused(&format!("// \"\n{}", "(".repeat(65)));
        check_refused(&format!("\"unfinished {}", "(".repeat(65)));
        check_refused(&format!("\"a\\\n\" {}", "(".repeat(65)));
        check_refused(&format!("// \r{}", "(".repeat(65)));
        check_accepted("é ☃ \u{202e} / & |");
    }

    fn check_refused(text: &str) {
        assert!(check(text).is_err(), "accepted: {text:.80}");
    }

    fn check_accepted(text: &str) {
        assert_eq!(check(text), Ok(()), "refused: {text:.80}");
    }
}
