//! One text for all spellings of a value: members by name, strings with one set of escapes.

use super::strings::push_quoted;
use super::tape::JsonKind;
use super::value::Value;

impl Value<'_> {
    /// The value without anything that depends on who wrote it down: white space, the order of
    /// members, which characters of a string are escaped. Members are sorted by the bytes of their
    /// names. Numbers keep their digits: `1.0` is not `1`, because its reader is unknown.
    pub fn canonical(self) -> String {
        let mut out = String::with_capacity(self.text().len());
        // The decoder's limit of depth bounds the recursion.
        push(self, &mut out);
        out
    }

    /// The same of an object that has only the members whose name is to be kept.
    pub fn canonical_with(self, keep: impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        push_object(self, &keep, &mut out);
        out
    }
}

fn push(value: Value<'_>, out: &mut String) {
    match value.kind() {
        JsonKind::Object => push_object(value, &|_| true, out),
        JsonKind::Array => {
            out.push('[');
            for (index, item) in value.items().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push(item, out);
            }
            out.push(']');
        }
        JsonKind::String => push_quoted(out, &value.as_str().unwrap_or_default()),
        JsonKind::Number | JsonKind::Bool | JsonKind::Null => out.push_str(value.text()),
    }
}

fn push_object(value: Value<'_>, keep: &dyn Fn(&str) -> bool, out: &mut String) {
    let mut members: Vec<_> = value.entries().filter(|(key, _)| keep(key)).collect();
    members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    out.push('{');
    for (index, (key, member)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_quoted(out, &key);
        out.push(':');
        push(member, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Document, Limits};

    fn canonical(text: &str) -> String {
        let document = Document::decode(text.as_bytes(), &Limits::default()).unwrap();
        document.root().canonical()
    }

    #[test]
    fn spellings_of_one_value_have_one_text() {
        let one = canonical(r#"{"b": [1, {"y":2,"x":"é"}], "a": "\/"}"#);
        let other = canonical("{\"a\":\"/\",\"b\":[1,{\"x\":\"\\u00e9\",\"y\":2}]}");
        assert_eq!(one, other);
        assert_eq!(one, "{\"a\":\"/\",\"b\":[1,{\"x\":\"é\",\"y\":2}]}");
    }

    #[test]
    fn different_values_have_different_texts() {
        let texts = [
            "1",
            "1.0",
            "\"1\"",
            "[1]",
            "[[1]]",
            "{\"a\":1}",
            "{\"a\":[1]}",
            "null",
            "[]",
            "{}",
            "\"\"",
            "[1,2]",
            "[2,1]",
        ];
        let mut all: Vec<String> = texts.iter().map(|text| canonical(text)).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), texts.len());
    }

    #[test]
    fn members_can_be_left_out() {
        let text = r#"{"name":"x","z":1,"a":2}"#;
        let document = Document::decode(text.as_bytes(), &Limits::default()).unwrap();
        let rest = document.root().canonical_with(|key| key != "name");
        assert_eq!(rest, r#"{"a":2,"z":1}"#);
    }

    proptest! {
        #[test]
        fn the_canonical_text_is_its_own(keys in prop::collection::vec("[a-c\"\\\\é]{1,3}", 0..5)) {
            let members: Vec<String> = keys.iter().enumerate()
                .map(|(at, key)| format!("{}: {at}", serde_json::to_string(&format!("{key}{at}")).unwrap()))
                .collect();
            let once = canonical(&format!("{{{}}}", members.join(" ,")));
            prop_assert_eq!(canonical(&once), once);
        }
    }
}
