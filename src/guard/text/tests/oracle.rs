//! What holds for every text. Fuzz targets call it too.

use std::borrow::Cow;

use super::text::{
    HiddenKind, HiddenKinds, Margins, Sanitized, StrippedTags, TextRules, flags, revealed, sanitize,
};

/// All laws at once.
#[track_caller]
pub(super) fn laws(text: &str) {
    for what in [
        TextRules::CONTENT,
        TextRules::INSTRUCTION,
        TextRules::description(500),
        TextRules::description(10),
        TextRules::description(0),
        TextRules {
            tags: StrippedTags::Suspicious,
            ..TextRules::INSTRUCTION
        },
        TextRules {
            tags: StrippedTags::Suspicious,
            longest: Some(100),
            margins: Margins::Trimmed,
            ..TextRules::CONTENT
        },
    ] {
        let once = sanitize(text, what);
        assert!(once.text.len() <= text.len(), "{what:?} grows {text:?}");
        assert_eq!(
            once.removed.is_empty(),
            matches!(once.text, Cow::Borrowed(_)),
            "{what:?} {text:?}"
        );
        let twice = sanitize(&once.text, what);
        assert_eq!(twice.text, once.text, "{what:?} twice, of {text:?}");
        assert_eq!(
            twice.removed,
            HiddenKinds::default(),
            "{what:?} twice, of {text:?}"
        );
        if what.longest.is_none() {
            stands_in(&once, text);
        }
        assert!(!once.text.contains("<!--"), "{what:?} {text:?}");
        assert!(
            once.text.chars().all(|one| !is_never_kept(one)),
            "{what:?} {text:?}"
        );
    }
    let Sanitized {
        text: shown,
        removed,
    } = revealed(text);
    assert!(!removed.contains(HiddenKind::Comment) && !removed.contains(HiddenKind::Tag));
    let visible = |text: &str| {
        let visible = text.chars().filter(|one| is_plainly_visible(*one));
        visible.collect::<String>()
    };
    if !text.chars().any(char::is_control) {
        assert_eq!(visible(&shown), visible(text), "visible text stays");
    }
    // It ends, and looks at whatever there is.
    let _ = flags(text);
}

/// What is left stands in the text in the same order; a blank may stand for a tag.
#[track_caller]
fn stands_in(cleaned: &Sanitized<'_>, text: &str) {
    let mut rest = text.chars();
    for one in cleaned.text.chars() {
        let is_found = rest.any(|it| it == one || (one == ' ' && it == '>'));
        assert!(is_found, "{one:?} of {text:?}");
    }
}

fn is_never_kept(one: char) -> bool {
    matches!(one, '\u{1b}' | '\u{7f}' | '\0'..='\u{8}' | '\u{9b}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0001}' | '\u{e0020}'..='\u{e0029}')
}

fn is_plainly_visible(one: char) -> bool {
    let is_filler = matches!(
        one,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}'
    );
    (one.is_alphanumeric() && !is_filler)
        || one.is_ascii_punctuation()
        || ('\u{1f300}'..='\u{1f5ff}').contains(&one)
}
