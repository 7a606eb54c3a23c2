//! Arguments that the schema of a tool certainly accepts, for a test of a call.

use std::collections::BTreeSet;

use crate::guard::Schema;
use crate::wire::{Document, Fragment, JsonKind, Limits, Value};

/// Objects inside each other, the arguments themselves included.
const MAX_DEPTH: usize = 4;

/// The most arguments of an example.
const MAX_ARGUMENTS: usize = 32;

/// The longest name of an argument, and the longest listed value, in bytes.
const MAX_TEXT_BYTES: usize = 64;

/// Keywords of an object that do not narrow it further than is understood here.
const OBJECT: [&str; 8] = [
    "$schema",
    "additionalProperties",
    "default",
    "description",
    "properties",
    "required",
    "title",
    "type",
];

/// The same of a value.
const SCALAR: [&str; 6] = [
    "default",
    "description",
    "enum",
    "examples",
    "title",
    "type",
];

/// The same of a list, which is empty in an example.
const LIST: [&str; 6] = [
    "default",
    "description",
    "examples",
    "items",
    "title",
    "type",
];

/// The required arguments. `None` if the schema asks more of them than the plainest keywords do, or if a gate could
/// not check any arguments by it: then no example is certain.
pub(super) fn example(schema: Value<'_>) -> Option<Fragment> {
    let found = object(schema, 1)?;
    let decoded = Document::decode(found.as_str().as_bytes(), &Limits::default()).ok()?;
    let compiled = Schema::compile(schema).ok()?;
    let checked = compiled.check_arguments(Some(decoded.root()));
    checked.ok().map(|()| found)
}

fn object(schema: Value<'_>, depth: usize) -> Option<Fragment> {
    let kind = schema.get("type")?.as_str()?;
    if kind != "object" || !has_only(schema, &OBJECT) || depth > MAX_DEPTH {
        return None;
    }
    let properties = schema.get("properties");
    // Two spellings of one name would be ambiguous.
    let mut names = BTreeSet::new();
    for (name, _) in properties.into_iter().flat_map(Value::entries) {
        if !is_plain(&name) || !names.insert(name.to_ascii_lowercase()) {
            return None;
        }
    }
    let mut members = Vec::new();
    for name in schema.get("required").into_iter().flat_map(Value::items) {
        let name = name.as_str()?;
        let value = value(properties?.get(&name)?, depth)?;
        let is_known = members.iter().any(|(known, _)| *known == name);
        if members.len() == MAX_ARGUMENTS || is_known {
            return None;
        }
        members.push((name, value));
    }
    let members = members.iter().map(|(name, value)| (&**name, value.clone()));
    Some(Fragment::object(members))
}

fn value(schema: Value<'_>, depth: usize) -> Option<Fragment> {
    let kind = schema.get("type")?.as_str()?;
    let listed = schema.get("enum");
    match &*kind {
        "object" => object(schema, depth + 1),
        "array" if has_only(schema, &LIST) => Some(Fragment::array([])),
        "string" if has_only(schema, &SCALAR) => match listed {
            None => Some(Fragment::string("example")),
            Some(listed) => {
                let first = listed.items().next()?.as_str()?;
                is_plain(&first).then(|| Fragment::string(&first))
            }
        },
        "integer" | "number" if has_only(schema, &SCALAR) && listed.is_none() => {
            Some(Fragment::unsigned(0))
        }
        "boolean" if has_only(schema, &SCALAR) && listed.is_none() => Some(Fragment::falsehood()),
        _ => None,
    }
}

fn has_only(schema: Value<'_>, keywords: &[&str]) -> bool {
    schema.kind() == JsonKind::Object && schema.entries().all(|(key, _)| keywords.contains(&&*key))
}

/// A text that no guard takes for anything else.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    !text.is_empty() && text.len() <= MAX_TEXT_BYTES && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_what_is_required_and_is_certain() {
        let check = |schema: &str, expected: Option<&str>| {
            let document = Document::decode(schema.as_bytes(), &Limits::default()).unwrap();
            let found = example(document.root()).map(Fragment::into_string);
            assert_eq!(found.as_deref(), expected, "{schema}");
        };
        let of = |property: &str| {
            format!(r#"{{"type":"object","properties":{{"a":{property}}},"required":["a"]}}"#)
        };
        check(r#"{"type":"object"}"#, Some("{}"));
        check(
            &of(r#"{"type":"string","description":"x"}"#),
            Some(r#"{"a":"example"}"#),
        );
        check(
            &of(r#"{"type":"string","enum":["json","xml"]}"#),
            Some(r#"{"a":"json"}"#),
        );
        check(&of(r#"{"type":"integer"}"#), Some(r#"{"a":0}"#));
        check(&of(r#"{"type":"boolean"}"#), Some(r#"{"a":false}"#));
        check(
            &of(r#"{"type":"array","items":{"type":"string"}}"#),
            Some(r#"{"a":[]}"#),
        );
        check(&of(&of(r#"{"type":"number"}"#)), Some(r#"{"a":{"a":0}}"#));
        check(
            r#"{"type":"object","properties":{"b":{"type":"string","pattern":"x"}}}"#,
            Some("{}"),
        );
        for uncertain in [
            "{}",
            "true",
            r#"{"type":"string","pattern":"x"}"#,
            r#"{"type":"integer","minimum":1}"#,
            r#"{"type":"array","minItems":1}"#,
            r#"{"type":["string","null"]}"#,
            r#"{"type":"string","enum":[]}"#,
            r##"{"$ref":"#/x"}"##,
        ] {
            check(&of(uncertain), None);
        }
        check(
            r##"{"type":"object","properties":{"b":{"$ref":"#/$defs/none"}}}"##,
            None,
        );
        check(r#"{"type":"object","required":["a"]}"#, None);
        check(r#"{"type":"object","minProperties":1}"#, None);
        check(r#"{"type":"object","properties":{"a":{},"A":{}}}"#, None);
        check("{}", None);
    }
}
