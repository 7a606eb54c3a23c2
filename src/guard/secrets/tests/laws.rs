//! What holds for every text.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::super::probes::ScanBudget;
use super::super::scan::{is_quiet, scan};
use super::BUILTIN;
use super::corpus::{Code, Dice, Sample, encoded, samples};
use super::oracle::laws;
use crate::guard::secrets::{SecretRule, SecretRules};

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| samples(1));

fn check(text: &str) {
    laws(&BUILTIN, text);
}

/// Texts made of what rules look for, whole and in part, side by side.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        (0..1000_usize, 0..6_usize).prop_map(|(number, code)| {
            let sample = &SAMPLES[number % SAMPLES.len()];
            let mut dice = Dice::new(number as u64);
            match code {
                0 => encoded(&sample.text, Code::Url, &mut dice).0,
                1 => encoded(&sample.text, Code::Base64, &mut dice).0,
                2 => encoded(&sample.text, Code::Hex, &mut dice).0,
                3 => sample.text.chars().take(number % 50).collect(),
                _ => sample.text.clone(),
            }
        }),
        "[ -~]{0,20}",
        "\\PC{0,10}",
        prop::sample::select(vec![
            "[redacted:jwt]",
            "[redacted:",
            "]",
            "=",
            ":",
            "\"",
            "%41",
            "%",
            "key",
            "password=",
            "token: ",
            "Bearer ",
            "\n",
            "\\n",
            "-----",
            "é",
            "\u{0}",
            " ",
            "+",
            "/",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_laws_hold_for_any_text(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn the_laws_hold_for_texts_full_of_secrets(text in texts()) {
        check(&text);
    }

    #[test]
    fn a_text_that_is_passed_over_has_no_secrets(text in texts(), least in 0..200_usize, most in 1..80_usize) {
        let part: String = text.chars().skip(least).take(most).collect();
        let quiet = is_quiet(&BUILTIN, &part);
        prop_assert!(!quiet || scan(&BUILTIN, &part, &mut ScanBudget::of(&part)).is_empty(), "{:?}", part);
    }

    #[test]
    fn the_laws_hold_for_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn the_laws_hold_for_texts_that_are_made_to_cost() {
    let repeated = [
        "key=",
        "token: ",
        "password=\"",
        "eyJ",
        "%41",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "secret secret ",
        "://:",
        "://a:b@",
        "[redacted:",
        "[redacted:jwt]",
        "A",
        "41",
        "3431",
        "\"kty\":\"RSA\"",
        "PuTTY-User-Key-File-3:a\n",
        "sk-",
        "ghp_",
        "api_key=a1b2c3d4e5f6g7h8 ",
        "Authorization: Basic ",
        "$6$",
        "é",
        "\u{1f511}",
    ];
    for piece in repeated {
        check(&piece.repeat(20_000 / piece.len()));
    }
}

#[test]
fn more_secrets_than_can_be_told_apart_are_all_taken_out() {
    let one = samples(1)
        .into_iter()
        .find(|sample| sample.kind == "github-token")
        .unwrap()
        .credential;
    let text = format!("{one} ").repeat(5000);
    let redacted = BUILTIN.redact(&text);
    assert_eq!(redacted.findings.len(), 4096);
    assert_eq!(redacted.findings[4095].range.end, text.len());
    assert!(!redacted.text.contains(&one));
    check(&text);
}

#[test]
fn a_text_is_not_searched_for_more_secrets_than_are_told() {
    let check = |text: &str, most: usize| {
        let found = scan(&BUILTIN, text, &mut ScanBudget::of(text)).len();
        assert!((1..=most).contains(&found), "{found}");
        let redacted = BUILTIN.redact(text).text;
        assert!(BUILTIN.find(&redacted).is_empty());
    };
    let one = samples(1)
        .into_iter()
        .find(|sample| sample.kind == "github-token")
        .unwrap()
        .credential;
    let text = format!("{one} ").repeat(20_000);
    // One more is the rest, and the last window may hold many.
    check(&text, 2 * 4096 + 1_000);
    let digits = text.bytes().map(|byte| format!("{byte:02x}"));
    check(&digits.collect::<String>(), 1_000);
}

#[test]
fn many_of_one_kind_hide_no_other_kind() {
    let own = SecretRule {
        id: "acme-token".to_owned(),
        pattern: "acme_[0-9a-z]{8}".to_owned(),
        keywords: vec!["acme_".to_owned()],
        min_entropy: None,
    };
    let rules = SecretRules::with(&[own]).unwrap();
    let one = samples(1)
        .into_iter()
        .find(|sample| sample.kind == "github-token")
        .unwrap()
        .credential;
    let text = format!("{} acme_0a1b2c3d", format!("{one} ").repeat(65));
    let digits = text.bytes().map(|byte| format!("{byte:02x}"));
    for text in [text.clone(), digits.collect()] {
        let found = rules.find(&text);
        assert!(found.iter().any(|it| it.rule.as_str() == "acme-token"));
    }
}
