//! Edits: the text with changes equals the tree with the same changes.

use proptest::prelude::*;
use serde_json::Value as Tree;

use crate::wire::{Document, Edits, Fragment, Limits, Value};

use super::generate::{gaps, json};
use super::oracle::tree;

/// Makes `edit` in `text` and compares.
fn check(text: &str, edit: impl for<'d> Fn(&mut Edits<'d>, Value<'d>), expected: &str) {
    let document = Document::decode(text.as_bytes(), &Limits::default()).unwrap();
    let mut edits = document.edits();
    edit(&mut edits, document.root());
    assert_eq!(edits.finish(), expected);
}

fn item(value: Value<'_>, index: usize) -> Value<'_> {
    value.items().nth(index).unwrap()
}

fn member<'d>(value: Value<'d>, key: &str) -> Value<'d> {
    value.get(key).unwrap()
}

#[test]
fn no_edits_leave_the_compact_text() {
    check(" { \"a\" : [ 1 ] } ", |_, _| {}, r#"{"a":[1]}"#);
}

#[test]
fn an_item_takes_one_comma_with_it() {
    check("[1,2,3]", |e, r| e.remove(item(r, 0)), "[2,3]");
    check("[1,2,3]", |e, r| e.remove(item(r, 1)), "[1,3]");
    check("[1,2,3]", |e, r| e.remove(item(r, 2)), "[1,2]");
    check("[1]", |e, r| e.remove(item(r, 0)), "[]");
    check(
        "[1,2,3]",
        |e, r| [0, 1].into_iter().for_each(|i| e.remove(item(r, i))),
        "[3]",
    );
    check(
        "[1,2,3]",
        |e, r| [1, 2].into_iter().for_each(|i| e.remove(item(r, i))),
        "[1]",
    );
    check(
        "[1,2,3]",
        |e, r| [2, 0].into_iter().for_each(|i| e.remove(item(r, i))),
        "[2]",
    );
    check(
        "[1,2,3]",
        |e, r| [2, 1, 0].into_iter().for_each(|i| e.remove(item(r, i))),
        "[]",
    );
    check(
        "[[1],[2]]",
        |e, r| e.remove(item(item(r, 1), 0)),
        "[[1],[]]",
    );
}

#[test]
fn a_member_takes_its_key_with_it() {
    check(
        r#"{"a":1,"b":2}"#,
        |e, r| e.remove(member(r, "a")),
        r#"{"b":2}"#,
    );
    check(
        r#"{"a":1,"b":2}"#,
        |e, r| e.remove(member(r, "b")),
        r#"{"a":1}"#,
    );
    check(
        r#"{"\u0061":{"b":[]}}"#,
        |e, r| e.remove(member(r, "a")),
        "{}",
    );
}

#[test]
fn a_value_is_replaced_and_its_key_kept() {
    check(
        r#"{"\u0061":1}"#,
        |e, r| e.replace(member(r, "a"), Fragment::null()),
        r#"{"\u0061":null}"#,
    );
    check(
        "[1,[2]]",
        |e, r| e.replace(item(r, 1), Fragment::string("x")),
        r#"[1,"x"]"#,
    );
    check("[1]", |e, r| e.replace(r, Fragment::integer(-5)), "-5");
}

#[test]
fn a_member_is_inserted_at_the_end_or_in_its_place() {
    check(
        "{}",
        |e, r| e.insert(r, "a\n", Fragment::unsigned(u64::MAX)),
        r#"{"a\n":18446744073709551615}"#,
    );
    check(
        r#"{"a":1}"#,
        |e, r| e.insert(r, "b", Fragment::null()),
        r#"{"a":1,"b":null}"#,
    );
    check(
        r#"{"\u0061":1,"b":2}"#,
        |e, r| e.insert(r, "a", Fragment::null()),
        r#"{"\u0061":null,"b":2}"#,
    );
    check(
        "{}",
        |e, r| {
            e.insert(r, "a", Fragment::integer(1));
            e.insert(r, "a", Fragment::integer(2));
        },
        r#"{"a":2}"#,
    );
    check(
        r#"{"a":1}"#,
        |e, r| {
            e.remove(member(r, "a"));
            e.insert(r, "b", Fragment::null());
        },
        r#"{"b":null}"#,
    );
    check(
        r#"{"a":1,"b":2}"#,
        |e, r| {
            e.remove(member(r, "a"));
            e.insert(r, "a", Fragment::null());
        },
        r#"{"b":2,"a":null}"#,
    );
    check("[]", |e, r| e.insert(r, "a", Fragment::null()), "[]");
}

#[test]
fn an_edit_within_a_replaced_or_removed_value_is_dropped() {
    check(
        r#"[{"a":1}]"#,
        |e, r| {
            e.replace(member(item(r, 0), "a"), Fragment::null());
            e.remove(item(r, 0));
        },
        "[]",
    );
    check(
        r#"[{"a":1}]"#,
        |e, r| {
            e.replace(item(r, 0), Fragment::null());
            e.insert(item(r, 0), "b", Fragment::null());
        },
        "[null]",
    );
    check(
        "[1,2]",
        |e, r| {
            e.remove(item(r, 0));
            e.replace(item(r, 0), Fragment::null());
        },
        "[2]",
    );
    check(
        "[[1],2]",
        |e, r| {
            e.replace(r, Fragment::null());
            e.remove(item(r, 0));
        },
        "null",
    );
}

#[test]
fn the_outermost_value_is_not_removed() {
    let document = Document::decode(b"[1]", &Limits::default()).unwrap();
    let mut edits = document.edits();
    edits.remove(document.root());
    assert!(edits.is_empty());
    assert_eq!(edits.finish(), "[1]");
}

#[test]
#[should_panic(expected = "its own document")]
fn a_value_of_another_document_is_not_edited() {
    let [one, other] =
        ["[1]", "[2]"].map(|text| Document::decode(text.as_bytes(), &Limits::default()).unwrap());
    one.edits().remove(other.root().items().next().unwrap());
}

#[test]
fn fragments_are_valid_json() {
    for (fragment, expected) in [
        (Fragment::null(), "null"),
        (Fragment::integer(i64::MIN), "-9223372036854775808"),
        (Fragment::unsigned(0), "0"),
        (Fragment::string(""), r#""""#),
        (
            Fragment::string("a\"\\/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}é𝄞"),
            "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}é𝄞\"",
        ),
        (Fragment::array([]), "[]"),
        (
            Fragment::array([Fragment::null(), Fragment::string("a")]),
            r#"[null,"a"]"#,
        ),
        (Fragment::object([]), "{}"),
        (
            Fragment::object([("a", Fragment::null()), ("b\"", Fragment::array([]))]),
            r#"{"a":null,"b\"":[]}"#,
        ),
        (
            Fragment::object([
                ("a", Fragment::null()),
                ("b", Fragment::null()),
                ("a", Fragment::integer(1)),
            ]),
            r#"{"a":1,"b":null}"#,
        ),
        (Fragment::decode(" [ 1 ] ").unwrap(), "[1]"),
    ] {
        assert_eq!(fragment.as_str(), expected);
        assert_eq!(Fragment::decode(fragment.as_str()).unwrap(), fragment);
    }
    Fragment::decode(r#"{"a":1,"a":2}"#).unwrap_err();
}

/// One change, with the place of its value among all values.
#[derive(Debug, Clone)]
enum TestEdit {
    Replace(prop::sample::Index, String),
    Remove(prop::sample::Index),
    Insert(prop::sample::Index, String, String),
}

fn edit() -> impl Strategy<Value = TestEdit> {
    let place = any::<prop::sample::Index>;
    let fragment = || prop::sample::select(vec!["null", "7", "\"x\"", "[]", "{}", "[1,{\"a\":2}]"]);
    prop_oneof![
        (place(), fragment()).prop_map(|(place, f)| TestEdit::Replace(place, f.to_owned())),
        place().prop_map(TestEdit::Remove),
        (place(), "[a-d]{0,2}", fragment()).prop_map(|(place, key, f)| TestEdit::Insert(
            place,
            key,
            f.to_owned()
        )),
    ]
}

proptest! {
    #[test]
    fn edited_text_equals_the_edited_tree(
        json in json(),
        gaps in gaps(),
        edits in prop::collection::vec(edit(), 0..12),
    ) {
        let written = json.write(&gaps);
        let document = Document::decode(written.as_bytes(), &Limits::default()).unwrap();
        let mut values = Vec::new();
        preorder(document.root(), &mut values);
        let mut made = document.edits();
        let mut model = Slot::original(document.root(), &mut 0);
        for edit in &edits {
            let fragment = |text: &str| Fragment::decode(text).unwrap();
            match edit {
                TestEdit::Replace(place, text) => {
                    let place = place.index(values.len());
                    made.replace(values[place], fragment(text));
                    model.replace(place, &parsed(text));
                }
                TestEdit::Remove(place) => {
                    let place = place.index(values.len());
                    made.remove(values[place]);
                    model.remove(place);
                }
                TestEdit::Insert(place, key, text) => {
                    let place = place.index(values.len());
                    made.insert(values[place], key, fragment(text));
                    model.insert(place, key, &parsed(text));
                }
            }
        }
        let edited = made.finish();
        let again = Document::decode(edited.as_bytes(), &Limits::default()).unwrap();
        // As text, because equality of objects would not see their order.
        prop_assert_eq!(again.text(), &*edited);
        prop_assert_eq!(tree(again.root()).to_string(), model.tree().to_string());
    }
}

/// A tree whose values remember which value of the document they were.
#[derive(Debug)]
struct Slot {
    place: Option<usize>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// A scalar, or what an edit put here.
    Whole(Tree),
    Array(Vec<Slot>),
    Object(Vec<(String, Slot)>),
}

impl Slot {
    fn original(value: Value<'_>, next: &mut usize) -> Self {
        let place = Some(*next);
        *next += 1;
        let content = if value.is_array() {
            Content::Array(
                value
                    .items()
                    .map(|item| Self::original(item, next))
                    .collect(),
            )
        } else if value.is_object() {
            let members = value.entries();
            Content::Object(
                members
                    .map(|(key, value)| (key.into_owned(), Self::original(value, next)))
                    .collect(),
            )
        } else {
            Content::Whole(tree(value))
        };
        Self { place, content }
    }

    fn find(&mut self, place: usize) -> Option<&mut Self> {
        if self.place == Some(place) {
            return Some(self);
        }
        match &mut self.content {
            Content::Whole(_) => None,
            Content::Array(items) => items.iter_mut().find_map(|item| item.find(place)),
            Content::Object(members) => members.iter_mut().find_map(|(_, slot)| slot.find(place)),
        }
    }

    fn replace(&mut self, place: usize, with: &Tree) {
        if let Some(slot) = self.find(place) {
            slot.content = Content::Whole(with.clone());
        }
    }

    fn remove(&mut self, place: usize) {
        match &mut self.content {
            Content::Whole(_) => {}
            Content::Array(items) => {
                items.retain(|item| item.place != Some(place));
                for item in items {
                    item.remove(place);
                }
            }
            Content::Object(members) => {
                members.retain(|(_, slot)| slot.place != Some(place));
                for (_, slot) in members {
                    slot.remove(place);
                }
            }
        }
    }

    fn insert(&mut self, place: usize, key: &str, value: &Tree) {
        let Some(Self {
            content: Content::Object(members),
            ..
        }) = self.find(place)
        else {
            return;
        };
        let content = Content::Whole(value.clone());
        match members.iter_mut().find(|(present, _)| present == key) {
            Some((_, slot)) => slot.content = content,
            None => members.push((
                key.to_owned(),
                Self {
                    place: None,
                    content,
                },
            )),
        }
    }

    fn tree(&self) -> Tree {
        match &self.content {
            Content::Whole(tree) => tree.clone(),
            Content::Array(items) => items.iter().map(Self::tree).collect(),
            Content::Object(members) => members
                .iter()
                .map(|(key, slot)| (key.clone(), slot.tree()))
                .collect(),
        }
    }
}

fn preorder<'d>(value: Value<'d>, values: &mut Vec<Value<'d>>) {
    values.push(value);
    value.items().for_each(|item| preorder(item, values));
    value
        .entries()
        .for_each(|(_, member)| preorder(member, values));
}

fn parsed(text: &str) -> Tree {
    tree(
        Document::decode(text.as_bytes(), &Limits::default())
            .unwrap()
            .root(),
    )
}
