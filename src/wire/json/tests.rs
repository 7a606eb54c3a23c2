#![expect(
    clippy::disallowed_methods,
    reason = "serde_json is the oracle that this decoder is compared with"
)]

use super::*;

#[test]
fn the_compact_text_is_the_input_without_whitespace_between_tokens() {
    let input = b" {\t\"a b\" :\r\n[ 1 , 2.50 , \"x \\u0041\" ] , \"o\" : { } , \"e\":[ ]}\n";
    let document = Document::decode(input, &Limits::default()).unwrap();
    assert_eq!(
        document.text(),
        r#"{"a b":[1,2.50,"x \u0041"],"o":{},"e":[]}"#
    );
    let root = document.root();
    assert_eq!(root.len(), 3);
    let list = root.get("a b").unwrap();
    assert_eq!(list.text(), r#"[1,2.50,"x \u0041"]"#);
    assert_eq!(list.items().count(), 3);
    assert_eq!(list.items().nth(2).unwrap().as_str().unwrap(), "x A");
    assert_eq!(root.get("o").unwrap().text(), "{}");
}

#[test]
fn a_repeated_key_is_found_by_its_decoded_text() {
    for input in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"[{"b":{"a":1,"c":{},"a":2}}]"#,
    ] {
        let error = Document::decode(input.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!(
            error.kind,
            JsonErrorKind::DuplicateKey { key: "a".into() },
            "{input}"
        );
    }
}

#[test]
fn edits_keep_commas_right() {
    let document = Document::decode(br#"{"a":1,"b":[1,2,3],"c":{}}"#, &Limits::default()).unwrap();
    let root = document.root();
    let mut edits = document.edits();
    edits.remove(root.get("a").unwrap());
    edits.remove(root.get("b").unwrap().items().next().unwrap());
    edits.remove(root.get("b").unwrap().items().nth(2).unwrap());
    edits.insert(root.get("c").unwrap(), "x", Fragment::string("\n"));
    edits.insert(root, "d", Fragment::integer(-1));
    let text = edits.finish();
    assert_eq!(text, r#"{"b":[2],"c":{"x":"\n"},"d":-1}"#);
    let _: serde_json::Value = serde_json::from_str(&text).unwrap();
}
