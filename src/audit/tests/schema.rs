//! Lines of the log, held to the published schema. Also a part of the tests that start the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

const PUBLISHED: &str = include_str!("../../../docs/schema/audit.schema.json");

/// Each kind with the validator of its definition.
static BY_KIND: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let schema = closed();
    let kinds = definitions(&schema).into_keys();
    let of_kind = |kind: &str| (kind.to_owned(), validator_of_kind(&schema, kind));
    kinds.map(of_kind).collect()
});

/// The schema as readers have it.
pub(crate) fn published() -> Value {
    PUBLISHED.parse().unwrap()
}

/// The schema, but a field, a kind or an event that it does not name is an error. The published one lets
/// readers of version 1 read what later gates add.
pub(crate) fn closed() -> Value {
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                if members.get("type") == Some(&json!("object")) {
                    let closed = members.entry("additionalProperties");
                    closed.or_insert(Value::Bool(false));
                }
                if let Some(words) = members.remove("examples") {
                    members.insert("enum".to_owned(), words);
                }
                members.values_mut().for_each(close);
            }
            Value::Array(items) => items.iter_mut().for_each(close),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut schema = published();
    close(&mut schema);
    schema
}

/// The kinds and what the records of each are: those definitions that name a kind.
pub(crate) fn definitions(schema: &Value) -> BTreeMap<&str, &Map<String, Value>> {
    let definitions = schema["$defs"].as_object().unwrap().iter();
    let of_kinds = definitions.filter_map(|(name, definition)| {
        definition["properties"]["kind"].get("const")?;
        Some((name.as_str(), definition.as_object()?))
    });
    of_kinds.collect()
}

/// The schema, as a reader takes it who reads records of one kind: `audit.schema.json#/$defs/tool_call`.
pub(crate) fn validator_of_kind(schema: &Value, kind: &str) -> Validator {
    let mut schema = schema.clone();
    schema["$ref"] = format!("#/$defs/{kind}").into();
    schema.as_object_mut().unwrap().remove("allOf");
    jsonschema::draft202012::new(&schema).unwrap()
}

/// Where a line is not as the definition of its kind says; nothing where it is.
pub(crate) fn problems(line: &str) -> Vec<String> {
    let told = |problem: &dyn std::fmt::Display| format!("{problem}: {line}");
    let record = match line.parse::<Value>() {
        Ok(record) => record,
        Err(error) => return vec![told(&error)],
    };
    let kind = record["kind"].as_str().unwrap_or_default();
    let Some(validator) = BY_KIND.get(kind) else {
        return vec![told(&"no kind")];
    };
    let errors = validator.iter_errors(&record);
    errors
        .map(|error| told(&format_args!("{}: {error}", error.instance_path())))
        .collect()
}
