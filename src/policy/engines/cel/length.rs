//! Refuses expressions that would be too deep to parse or to evaluate.
//!
//! CEL's parser and evaluator recurse, on trees that chains (`a.b.c`, `a + b + c`) make as deep as
//! brackets do. A stack that overflows ends the process, so the text is measured before anything
//! parses it, without recursion.

/// Bytes of one expression.
pub(super) const MAX_BYTES: usize = 16 << 10;

/// Brackets that are open at once.
pub(super) const MAX_NESTING: usize = 24;

/// Words, operators and brackets, without those inside strings. Each can make the tree one deeper.
pub(super) const MAX_TOKENS: usize = 1024;

/// Levels of the parsed tree: what evaluating takes of the stack.
pub(super) const MAX_DEPTH: usize = 24;

/// Why an expression is too long, in words.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.len() > MAX_BYTES {
        return Err(format!("longer than {MAX_BYTES} bytes"));
    }
    let mut rest = text;
    let (mut open, mut tokens) = (0_usize, 0_usize);
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        if !first.is_whitespace() && !rest.starts_with("//") {
            tokens += 1;
        }
        match first {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_NESTING {
            return Err(format!("more than {MAX_NESTING} brackets in each other"));
        }
        if tokens > MAX_TOKENS {
            return Err(format!("more than {MAX_TOKENS} words and operators"));
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// How long the word, sign, string or comment at the beginning of a text is: at least one character.
pub(super) fn token_length(text: &str, first: char) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if let Some(length) = string_length(text) {
        return length;
    }
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if is_word(first) {
        return text.find(|c| !is_word(c)).unwrap_or(text.len());
    }
    first.len_utf8()
}

/// The length of a string literal, prefix and quotes included; one that never ends goes to the end.
fn string_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['r', 'R', 'b', 'B']);
    let prefix = text.len() - body.len();
    if prefix > 2 {
        return None;
    }
    let raw = text
        .get(..prefix)
        .is_some_and(|prefix| prefix.contains(['r', 'R']));
    let quote = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| body.starts_with(quote))?;
    let mut at = quote.len();
    while let Some(rest) = body.get(at..) {
        if rest.starts_with(quote) {
            return Some(prefix + at + quote.len());
        }
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else { break };
        at += letter.len_utf8();
        if letter == '\\' && !raw {
            at += letters.next().map_or(0, char::len_utf8);
        }
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_short_enough() {
        check("resource.name in ['a', \"b\"] && !(principal.trust >= 1)").unwrap();
        check(&format!("x in [{}]", vec!["'a/b/c.d'"; 400].join(", "))).unwrap();
        check(&format!("'{}' == x", "([{".repeat(1000))).unwrap();
        check(&format!("x == r'{}\\'", "(".repeat(1000))).unwrap();
        check(&format!("x // {}\n", "(".repeat(1000))).unwrap();
    }

    #[test]
    fn what_is_deep_or_long_is_refused() {
        for (text, says) in [
            ("(".repeat(25), "brackets"),
            ("[".repeat(100_000), "longer than"),
            (format!("x{}", ".y".repeat(600)), "words"),
            (format!("1{}", " + 1".repeat(600)), "words"),
            ("!".repeat(1025), "words"),
            (format!("'a' + '\\'{}", "(".repeat(25)), ""),
            (format!("'\\\\' {}", "(".repeat(25)), "brackets"),
            (format!("rb'\\' {}", "(".repeat(25)), "brackets"),
            (format!("'''a''' {}", "(".repeat(25)), "brackets"),
        ] {
            let found = check(&text).err().unwrap_or_default();
            assert!(found.contains(says), "{text:.60}: {found}");
        }
    }
}
