//! Passages of results in arguments, in all encodings.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

const RESULT: &str = "The customer is Ada Lovelace (ada.lovelace@example.com). Her card is 4539 1488 0343 6467, \
                      and the contract ends on 31 March; Zoë wrote: \u{201c}do not renew it\u{201d}.";

fn key(text: &str) -> ServerKey {
    ServerKey::of(text).unwrap()
}

fn session() -> SessionKey {
    SessionKey::of("bob", Some("run"))
}

/// The servers whose results some arguments for `mail` repeat, once `crm` has said this.
fn repeats(result: &str, arguments: &[&str]) -> BTreeSet<String> {
    let store = EvidenceStore::default();
    store.keep(&session(), &key("crm"), &BTreeSet::new(), [result]);
    let copies = store.look(&session(), &key("mail"), &BTreeSet::new(), arguments);
    copies.from
}

fn of_crm() -> BTreeSet<String> {
    ["crm".to_owned()].into()
}

fn hex(text: &str) -> String {
    let digits = text.bytes().map(|byte| format!("{byte:02x}"));
    digits.collect::<Vec<_>>().concat()
}

fn percent(text: &str) -> String {
    let escapes = text.bytes().map(|byte| format!("%{byte:02X}"));
    escapes.collect::<Vec<_>>().concat()
}

fn in_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(76)
        .map(|it| std::str::from_utf8(it).unwrap())
        .collect();
    lines.join("\r\n")
}

#[test]
fn encoded_lines_go_on_in_the_next() {
    let long = "This is the quarterly report of the company, whose figures are not public before the end of May.";
    for begin in 0..12 {
        let encoded = in_lines(&BASE64_STANDARD.encode(long.split_at(begin).1));
        assert_eq!(
            repeats(long.split_at(45).1, &[&format!("see:\r\n{encoded}\r\nend")]),
            of_crm(),
            "{encoded}"
        );
    }
}

#[test]
fn a_piece_is_found_however_it_is_written() {
    let check = |arguments: &[&str], expected: bool| {
        assert_eq!(
            !repeats(RESULT, arguments).is_empty(),
            expected,
            "{arguments:?}"
        );
    };
    for copied in [
        "4539148803436467",
        "Card: 4539-1488-0343-6467.",
        "ADA.LOVELACE@EXAMPLE.COM",
        "the contract\n> ends on 31 march",
        "Zoë wrote: \"do not renew it\"",
        "x4539148803436467x",
    ] {
        check(&[copied], true);
        check(&[&BASE64_STANDARD.encode(copied)], true);
        check(&[&BASE64_URL_SAFE_NO_PAD.encode(hex(copied))], true);
        check(&["https://web.example/?q=", &percent(copied)], true);
    }
    check(&["4539 1488", "0343 6467"], true);
    check(&["Her card ends in 6467, ask Ada"], false);
    check(
        &["The client is called A. Lovelace; her agreement runs until the end of March"],
        false,
    );
    check(&["0000000000000000000000000000"], false);
    check(&[], false);
}

#[test]
fn what_is_in_many_texts_is_no_piece_of_one() {
    for common in [
        "0000 0000 0000 0000 0000 0000",
        "================================",
        "                    ",
    ] {
        assert_eq!(
            repeats(&format!("a{common}b"), &[common]),
            BTreeSet::new(),
            "{common:?}"
        );
    }
}

#[test]
fn escapes_in_a_result_hide_nothing() {
    let result =
        r#"{"note":"Caf\u00e9 M\u00fcller\nGr\u00f6\u00dfe 42, \ud83d\ude00 Z\u00fcrich"}"#;
    assert_eq!(repeats(result, &["Café Müller\nGröße 42"]), of_crm());
    assert_eq!(
        repeats(
            &percent("the quarterly figures"),
            &["The quarterly figures"]
        ),
        of_crm()
    );
}

#[test]
fn slashes_of_base64_may_be_escaped() {
    let text = "Why??? Who??? Yes??? And??? Him??? Her???";
    let encoded = BASE64_STANDARD.encode(text);
    assert!(
        encoded.split('/').all(|piece| piece.len() < 20),
        "{encoded}"
    );
    assert_eq!(repeats(text, &[&encoded.replace('/', r"\/")]), of_crm());
}

#[test]
fn a_server_may_be_told_what_it_has_said_and_sessions_are_apart() {
    let store = EvidenceStore::default();
    let (crm, mail) = (key("crm"), key("mail"));
    store.keep(&session(), &crm, &BTreeSet::new(), [RESULT]);
    let look = |session: &SessionKey, server: &ServerKey| {
        let sources = ["crm".to_owned()].into();
        store.look(session, server, &sources, [RESULT])
    };
    assert_eq!(look(&session(), &crm), Copies::default());
    assert_eq!(look(&session(), &mail).from, of_crm());
    let other = look(&SessionKey::of("bob", None), &mail);
    assert_eq!((other.from.len(), other.incomplete), (0, true));
}

#[test]
fn what_is_not_read_is_told() {
    let store = EvidenceStore::default();
    let look = |text: &str| store.look(&session(), &key("mail"), &BTreeSet::new(), [text]);
    let long = "x1y2 ".repeat(MOST_LOOKED_AT / 5 + 1);
    store.keep(&session(), &key("crm"), &BTreeSet::new(), [RESULT]);
    assert!(look(&long).incomplete);
    assert!(!look(RESULT).incomplete);
    store.keep(&session(), &key("crm"), &BTreeSet::new(), [long]);
    assert!(look("short").incomplete);
}

/// Words without an end, encoded so many times.
fn padding(bytes: usize, times: usize) -> String {
    let words = (0..).map(|number: usize| format!("{} ", hex(&number.to_string())));
    let mut text = words.take(bytes / 4).collect::<String>();
    for _ in 0..times {
        text = BASE64_STANDARD.encode(text);
    }
    text.truncate(bytes);
    text
}

#[test]
fn what_is_encoded_in_one_text_hides_no_other_text() {
    let (store, of_crm) = (EvidenceStore::default(), of_crm());
    let (crm, mail, disk) = (key("crm"), key("mail"), key("disk"));
    let none = BTreeSet::new();
    let encoded = BASE64_STANDARD.encode(RESULT);
    // Both are read before what is encoded in the padding, and in that.
    for (parts, times, hidden) in [(8, 1, RESULT), (5, 2, &*encoded)] {
        let padding_of = |most: usize| padding(most / 10 * parts, times);
        store.clear();
        store.keep(&session(), &crm, &none, [&*padding_of(MOST_KEPT), hidden]);
        let copies = store.look(&session(), &mail, &none, [RESULT]);
        assert_eq!((copies.from, copies.incomplete), (of_crm.clone(), true));
        store.clear();
        store.keep(&session(), &crm, &none, [RESULT]);
        let texts = [&*padding_of(MOST_LOOKED_AT), hidden];
        let copies = store.look(&session(), &disk, &none, texts);
        assert_eq!((copies.from, copies.incomplete), (of_crm.clone(), true));
    }
}

proptest! {
    #[test]
    fn texts_of_their_own_repeat_nothing(result in "([a-m0-4]{1,12} ){0,200}", argument in "([n-z5-9]{1,12} ){0,200}") {
        prop_assert_eq!(repeats(&result, &[&argument]), BTreeSet::new());
    }
}

#[test]
fn a_table_that_was_forgotten_does_not_come_back_as_a_whole_one() {
    let store = EvidenceStore::default();
    let sources: BTreeSet<String> = ["crm".to_owned()].into();
    let look = || store.look(&session(), &key("mail"), &sources, [RESULT]);
    store.keep(&session(), &key("crm"), &BTreeSet::new(), [RESULT]);
    assert!(!look().from.is_empty() && !look().incomplete);
    store.clear();
    assert!(look().from.is_empty() && look().incomplete);
    // The session had read from the server before.
    store.keep(&session(), &key("crm"), &sources, [RESULT]);
    assert!(!look().from.is_empty() && look().incomplete);
}
