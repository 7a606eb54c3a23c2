//! Comments of a file of rules: TOML's, and those in conditions.

use std::ops::Range;

use super::length::token_length;

/// From `#` or, in a condition, from `//` to the end of the line.
pub(in crate::policy::engines) fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = at
            + if rest.starts_with('#') {
                let length = rest.find('\n').unwrap_or(rest.len());
                found.push(at..at + rest.get(..length).map_or(0, |line| line.trim_end().len()));
                length
            } else if rest.starts_with(['"', '\'']) {
                let (quotes, length) = literal(rest);
                if is_condition(text.get(..at).unwrap_or_default()) {
                    in_condition(
                        text,
                        at + quotes..at + length.saturating_sub(quotes),
                        &mut found,
                    );
                }
                length
            } else {
                rest.chars().next().map_or(1, char::len_utf8)
            };
        at = end;
    }
    found
}

/// The lengths of the quotes of a TOML string and of all of it. One that never ends goes to the end.
fn literal(text: &str) -> (usize, usize) {
    let quote = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| text.starts_with(quote))
        .unwrap_or("'");
    let mut at = quote.len();
    while let Some(rest) = text.get(at..) {
        if rest.starts_with(quote) {
            at += quote.len();
            // Of more than three quotes at the end the first belong to the text.
            let more = text.get(at..).unwrap_or_default();
            let more = more.len() - more.trim_start_matches(quote.get(..1).unwrap_or("'")).len();
            return (quote.len(), at + if quote.len() > 1 { more } else { 0 });
        }
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else { break };
        at += letter.len_utf8();
        if letter == '\\' && quote.starts_with('"') {
            at += letters.next().map_or(0, char::len_utf8);
        }
    }
    (quote.len(), text.len())
}

/// Whether what follows is the value of `when`.
fn is_condition(before: &str) -> bool {
    let key = before.trim_end().strip_suffix('=').map(str::trim_end);
    let key = key.and_then(|key| key.strip_suffix("when"));
    key.is_some_and(|rest| {
        let last = rest.chars().last();
        last.is_none_or(|last| !last.is_alphanumeric() && !"_-.".contains(last))
    })
}

fn in_condition(text: &str, within: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut at = within.start;
    while let Some(rest) = text.get(at..within.end) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        let length = token_length(rest, first);
        if rest.starts_with("//") {
            let line = rest.get(..length).unwrap_or_default();
            found.push(at..at + line.trim_end().len());
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_and_strings_are_not() {
        for (text, expected) in [
            ("# a\nid = 'b' # c\r\n", &["# a", "# c"][..]),
            ("id = '# a' # b", &["# b"]),
            ("id = \"\\\"# a\"\n#b", &["#b"]),
            ("when = '''\na && // b\n\"// c\" == d\n'''", &["// b"]),
            ("when = \"a // b\" # c", &["// b", "# c"]),
            ("advice = 'see // a'", &[]),
            ("x-when = 'see // a'", &[]),
            ("id = '''a'''' # b", &["# b"]),
            ("id = '", &[]),
        ] {
            let found = comments(text)
                .into_iter()
                .map(|span| text.get(span).unwrap());
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
