//! What holds for every text.

use proptest::prelude::*;

use super::oracle::laws;
use crate::guard::text::{HiddenKind, TextRules, sanitize};

/// Texts made of what is looked for, whole and in part, side by side.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "<",
            ">",
            "-",
            "--",
            "!",
            "/",
            "<!--",
            "-->",
            "--!>",
            "<b>",
            "</b>",
            "<owner>",
            "</owner>",
            "<important>",
            "<a href=x>",
            "<br>",
            "<?x",
            "<![",
            "=",
            " ",
            "important",
            "b",
            "owner",
        ]),
        prop::sample::select(vec![
            "\u{1b}", "[", "]", "\u{7}", "\u{9b}", "\u{9d}", "\u{9c}", "\\", "0;31m", "(B", "P",
            "\u{8}", "\u{85}", "\0", "\n", "\t",
        ]),
        prop::sample::select(vec![
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{2060}",
            "\u{feff}",
            "\u{ad}",
            "\u{61c}",
            "\u{200e}",
            "\u{200f}",
            "\u{202e}",
            "\u{2066}",
            "\u{fe0f}",
            "\u{fe00}",
            "\u{fe01}",
            "\u{e0100}",
            "\u{e0041}",
            "\u{e007f}",
            "\u{180b}",
            "\u{115f}",
            "\u{1160}",
        ]),
        prop::sample::select(vec![
            "\u{5d0}",
            "\u{627}",
            "\u{94d}",
            "\u{915}",
            "\u{e01}",
            "\u{1820}",
            "\u{4e00}",
            "\u{1161}",
            "\u{1100}",
            "\u{1f469}",
            "\u{2764}",
            "#",
            "1",
            "\u{20e3}",
            "\u{1f3f4}",
            ".",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "\u{2229}",
            "é",
            "x",
        ]),
    ];
    let piece = piece.prop_map(str::to_owned);
    let piece = prop_oneof![8 => piece, 1 => "[ -~]{0,20}", 1 => "\\PC{0,5}"];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_laws_hold_for_any_text(text in "\\PC{0,200}") {
        laws(&text);
    }

    #[test]
    fn the_laws_hold_for_texts_full_of_what_is_looked_for(text in texts()) {
        laws(&text);
    }

    #[test]
    fn the_laws_hold_for_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        laws(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn plain_text_is_borrowed(text in "[ -;=?-~\\n\\té中ж]{0,300}") {
        for what in [TextRules::CONTENT, TextRules::INSTRUCTION] {
            prop_assert!(sanitize(&text, what).removed.is_empty());
        }
    }
}

#[test]
fn the_laws_hold_for_texts_that_are_made_to_cost() {
    for piece in [
        "<",
        "<!--",
        "<!-- -->",
        "--!>",
        "<<!--!--",
        "<a",
        "<a=",
        "</a>",
        "</a",
        "<b><b",
        "\u{1b}]",
        "\u{1b}]x\u{7}",
        "\u{9d}",
        "\u{1b}[",
        "\u{1b}[1",
        "\u{200b}",
        "\u{200d}\u{1f469}",
        "\u{1f3f4}",
        "\u{e0041}",
        "\u{5d0}\u{200f}",
        "\u{1b}P\n",
        "ignore all previous ",
        "send ",
        "![](https://a/?",
        "do not tell the ",
        "<important ",
    ] {
        laws(&piece.repeat(40_000 / piece.len()));
    }
}

#[test]
fn a_text_is_cut_at_its_limit_and_never_longer_for_it() {
    let lengths = [499, 500, 501, 503, 504, 2000];
    let cut = lengths.map(|length| {
        let text = "é".repeat(length);
        let cleaned = sanitize(&text, TextRules::description(500));
        assert_eq!(cleaned.removed.contains(HiddenKind::Length), length > 503);
        cleaned.text.chars().count()
    });
    assert_eq!(cut, [499, 500, 501, 503, 503, 503]);
    let family = "\u{1f469}\u{200d}".repeat(300);
    let cleaned = sanitize(&family, TextRules::description(500));
    assert!(cleaned.text.ends_with("\u{1f469}..."), "{}", cleaned.text);
}
