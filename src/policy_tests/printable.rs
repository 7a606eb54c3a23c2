//! Text that nobody can do harm with by having it printed.

/// A frame or a name under test may hold anything; a terminal must not be told to do it.
pub(crate) fn printable(text: &str) -> String {
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

/// The same for a whole text whose places are known: what misleads is replaced by as many bytes.
pub(super) fn with_places_kept(text: &str) -> String {
    let harmless = |c: char| match (c, c.len_utf8()) {
        ('\n' | '\r', _) => c,
        _ if !misleads(c) => c,
        (_, 1) => '?',
        (_, 2) => '¿',
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(harmless).collect()
}

/// Whether a character makes what is read another thing than what is there: controls, what is not
/// seen, and what turns the direction of text (UAX 9).
pub(super) fn misleads(c: char) -> bool {
    let unseen = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}');
    unseen || c.is_control() && c != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_kept_and_what_misleads_is_gone() {
        let text = "a\u{1b}[2J\u{9b}é\u{202e}x\ty\r\nz\u{feff}";
        let shown = with_places_kept(text);
        assert_eq!(shown, "a?[2J¿é\u{fffd}x\ty\r\nz\u{fffd}");
        assert_eq!(shown.len(), text.len());
        assert_eq!(printable("a\u{1b}\u{202e}\n"), "a\\u{1b}\\u{202e}\\u{a}");
    }
}
