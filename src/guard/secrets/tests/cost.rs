//! What looking for credentials costs, in counted steps.

use std::fmt::Write as _;
use std::fs;

use std::path::Path;

use super::super::probes::ScanBudget;
use super::super::scan::scan;
use super::BUILTIN;
use super::benign::files_below;
use super::corpus::directory;

/// How many steps each byte of a text takes, and whether that was too much.
fn effort(text: &str) -> (f64, bool) {
    let mut effort = ScanBudget::of(text);
    let before = effort.left();
    scan(&BUILTIN, text, &mut effort);
    let spent = u32::try_from(before - effort.left()).unwrap();
    let bytes = u32::try_from(text.len().max(1)).unwrap();
    let is_spent = effort.spent_by().is_some();
    (f64::from(spent) / f64::from(bytes), is_spent)
}

#[test]
fn ordinary_texts_are_far_from_their_limit() {
    let mut worst = (0.0, String::new());
    let mut look = |name: &str, text: &str| {
        let (each, is_spent) = effort(text);
        assert!(!is_spent, "{name}");
        if text.len() > 4096 && each > worst.0 {
            worst = (each, name.to_owned());
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ours = ["README.md", "docs", "fixtures", "policies", "src"].map(|part| root.join(part));
    for place in ours.iter().chain([&directory().join("benign")]) {
        for file in files_below(place) {
            if let Ok(text) = fs::read_to_string(&file) {
                look(&file.to_string_lossy(), &text);
            }
        }
    }
    let mut tokens = String::from("[");
    let mut passwords = String::new();
    let mut secrets = String::new();
    for number in 0..5_000 {
        write!(tokens, r#"{{"token":"ab","logprob":-0.{number}}},"#).unwrap();
        writeln!(passwords, "user{number}: password: correct-horse").unwrap();
        write!(
            secrets,
            r#"{{"name":"projects/p/secrets/s{number}","replication":{{}}}},"#
        )
        .unwrap();
    }
    look("tokens of a model", &tokens);
    look("words called passwords", &passwords);
    look("names of secrets", &secrets);
    println!("{worst:?}");
    assert!(worst.0 < 4.0, "{worst:?}");
}

#[test]
fn a_text_that_takes_too_much_effort_is_one_credential() {
    let check = |piece: &str, is_one: bool| {
        let text = piece.repeat(100_000 / piece.len());
        let (each, is_spent) = effort(&text);
        assert_eq!(is_spent, is_one, "{piece}: {each} for each byte");
        let found = BUILTIN.find(&text);
        let is_whole = matches!(&*found, [one] if one.range == (0..text.len()));
        assert_eq!(is_whole, is_one, "{piece}: {} findings", found.len());
    };
    let hex = |text: &str| -> String {
        let digits = text.bytes().map(|byte| format!("{byte:02x}"));
        digits.collect::<Vec<_>>().concat()
    };
    for piece in [
        "sessiontoken=IQoJ",
        "token=a1B2c3D4e5F",
        "AKIAIOSFODNN7EXAMPLE/",
        "password=abcd1234",
    ] {
        check(piece, true);
    }
    check(&hex("sessiontoken=IQoJ"), true);
    check(&hex("token=a1B2c3D4e5F"), true);
    for piece in [
        "token ",
        "secret: ",
        "bearer bearer",
        "://a:b",
        "0123456789abcdef",
        "VVVV",
    ] {
        check(piece, false);
    }
}
