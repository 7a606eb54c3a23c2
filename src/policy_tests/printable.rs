//! Text that is harmless when printed.

use crate::unseen::misleads;

/// A whole text whose places are known: what misleads is replaced by as many bytes.
pub(super) fn with_places_kept(text: &str) -> String {
    let harmless = |c: char| match (c, c.len_utf8()) {
        ('\n' | '\r' | '\t', _) => c,
        _ if !misleads(c) => c,
        (_, 1) => '?',
        (_, 2) => '¿',
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(harmless).collect()
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
    }
}
