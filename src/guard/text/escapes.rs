//! Sequences for terminals (ECMA-48), as far as terminals take them for one.

/// ESC, or one of the C1 controls that stand for ESC and a letter.
pub(super) fn begins(first: char) -> bool {
    matches!(
        first,
        '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}' | '\u{9e}' | '\u{9f}'
    )
}

/// How many bytes of what follows belong to the sequence.
///
/// The text of a string without an end stays: a terminal would wait for the end, a reader would not.
pub(super) fn length(first: char, after: &str) -> usize {
    match first {
        '\u{1b}' => after_escape(after),
        '\u{9b}' => control_sequence(after),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => control_string(after),
        _ => 0,
    }
}

fn after_escape(after: &str) -> usize {
    let introduced = after.strip_prefix(|first: char| first.is_ascii());
    let (Some(first), Some(rest)) = (after.bytes().next(), introduced) else {
        return 0;
    };
    match first {
        b'[' => 1 + control_sequence(rest),
        b']' | b'P' | b'X' | b'^' | b'_' => 1 + control_string(rest),
        0x20..=0x2f => {
            let middle = run(after, 0x20..=0x2f);
            middle + last(after, middle, 0x30..=0x7e)
        }
        0x30..=0x7e => 1,
        _ => 0,
    }
}

/// Parameters, intermediates, and the byte that ends it.
fn control_sequence(text: &str) -> usize {
    let parameters = run(text, 0x30..=0x3f);
    let rest = text.get(parameters..).unwrap_or_default();
    let middle = parameters + run(rest, 0x20..=0x2f);
    middle + last(text, middle, 0x40..=0x7e)
}

/// Up to BEL or ST. Any other control ends it where it stands, so that each text is looked at once.
fn control_string(text: &str) -> usize {
    let is_end = |one: char| one.is_control() && !matches!(one, '\t' | '\n' | '\r');
    let Some(at) = text.find(is_end) else {
        return 0;
    };
    let end = text.get(at..).unwrap_or_default();
    let terminators = ["\u{7}", "\u{9c}", "\u{1b}\\"];
    let terminator = terminators.into_iter().find(|it| end.starts_with(it));
    terminator.map_or(0, |terminator| at + terminator.len())
}

fn run(text: &str, of: std::ops::RangeInclusive<u8>) -> usize {
    text.bytes().take_while(|byte| of.contains(byte)).count()
}

fn last(text: &str, at: usize, of: std::ops::RangeInclusive<u8>) -> usize {
    usize::from(
        text.as_bytes()
            .get(at)
            .is_some_and(|byte| of.contains(byte)),
    )
}
