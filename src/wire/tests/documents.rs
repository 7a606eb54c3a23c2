//! Cursors into a document.

use crate::wire::{Document, JsonKind, Limits, Value};

fn decode(text: &str) -> Document {
    Document::decode(text.as_bytes(), &Limits::default()).unwrap()
}

#[test]
fn a_cursor_answers_for_its_own_kind_only() {
    let document = decode(r#"[null,true,false,-1.50,"a\n",[1],{"k":"v"}]"#);
    let values: Vec<_> = document.root().items().collect();
    let kinds: Vec<_> = values.iter().map(|value| value.kind()).collect();
    let expected = [
        JsonKind::Null,
        JsonKind::Bool,
        JsonKind::Bool,
        JsonKind::Number,
        JsonKind::String,
        JsonKind::Array,
        JsonKind::Object,
    ];
    assert_eq!(kinds, expected);
    let bools: Vec<_> = values.iter().map(|value| value.as_bool()).collect();
    assert_eq!(
        bools,
        [None, Some(true), Some(false), None, None, None, None]
    );
    let numbers: Vec<_> = values.iter().map(|value| value.as_number()).collect();
    assert_eq!(numbers, [None, None, None, Some("-1.50"), None, None, None]);
    let strings: Vec<_> = values.iter().map(|value| value.as_str()).collect();
    assert_eq!(
        strings,
        [None, None, None, None, Some("a\n".into()), None, None]
    );
    let lengths: Vec<_> = values.iter().map(|value| value.len()).collect();
    assert_eq!(lengths, [0, 0, 0, 0, 0, 1, 1]);
    let items: Vec<_> = values.iter().map(|value| value.items().count()).collect();
    assert_eq!(items, [0, 0, 0, 0, 0, 1, 0]);
    let entries: Vec<_> = values.iter().map(|value| value.entries().count()).collect();
    assert_eq!(entries, [0, 0, 0, 0, 0, 0, 1]);
    assert!(
        values
            .iter()
            .all(|value| value.get("k").is_some() == value.is_object())
    );
    assert_eq!(values.iter().filter(|value| value.is_null()).count(), 1);
    assert_eq!(values.iter().filter(|value| value.is_array()).count(), 1);
    assert!(decode("[]").root().is_empty());
}

#[test]
fn members_are_found_by_decoded_key() {
    let document = decode(r#"{"a":{"\u0062":{"c d":[1,2]}},"b":"x","":0}"#);
    let root = document.root();
    let text = |path: &[&str]| root.at(path).map(Value::text);
    for (path, expected) in [
        (&["a", "b", "c d"][..], Some("[1,2]")),
        (&["a", "b"], Some(r#"{"c d":[1,2]}"#)),
        (&["b"], Some(r#""x""#)),
        (&[""], Some("0")),
        (&[], Some(document.text())),
        (&["c"], None),
        (&["b", "x"], None),
        (&["a", "c d"], None),
        (&["A"], None),
    ] {
        assert_eq!(text(path), expected, "{path:?}");
    }
    assert_eq!(root.get("a").unwrap().get("b").unwrap().key().unwrap(), "b");
    assert_eq!(root.key(), None);
}

#[test]
fn a_range_cuts_the_value_out_of_the_text() {
    let document = decode(" { \"a\" : [ 1 , { } ] } ");
    let list = document.root().get("a").unwrap();
    assert_eq!(document.text().get(list.range()), Some("[1,{}]"));
    assert_eq!(list.text(), "[1,{}]");
    assert_eq!(document.clone().into_text(), r#"{"a":[1,{}]}"#);
}

#[test]
fn an_integer_is_read_only_when_it_is_written_as_one() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-1", Some(-1)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("1.0", None),
        ("1e0", None),
        ("-0", None),
        ("\"1\"", None),
        ("true", None),
    ] {
        assert_eq!(decode(text).root().as_i64(), expected, "{text}");
    }
}

#[test]
fn a_string_without_escapes_is_borrowed() {
    use std::borrow::Cow;
    let document = decode(r#"["plain é","\u0061","\ud834\udd1e\/\\\"\b\f\n\r\t\u0000"]"#);
    let texts: Vec<_> = document
        .root()
        .items()
        .map(|item| item.as_str().unwrap())
        .collect();
    assert!(matches!(texts[0], Cow::Borrowed("plain é")));
    assert_eq!(texts[1], "a");
    assert_eq!(texts[2], "𝄞/\\\"\u{8}\u{c}\n\r\t\0");
}
