//! One schema as plain keywords: references followed, conditions in `allOf`.

use serde_json::{Map, Value, json};

/// A schema without `$ref`. What depends on the value is in `allOf`: `if` with `then` and `else`, and `not`.
pub(crate) fn flat(document: &Value, schema: &Value) -> Value {
    let Some(object) = schema.as_object() else {
        return if schema == &json!(true) {
            json!({})
        } else {
            schema.clone()
        };
    };
    let is_part = |word: &&String| {
        !["definitions", "$defs", "description", "$comment"].contains(&word.as_str())
    };
    let parts = object.iter().filter(|(word, _)| is_part(word));
    let mut own: Map<_, _> = parts
        .map(|(word, part)| (word.clone(), part.clone()))
        .collect();
    let mut conditions = Vec::new();
    // The same once references are followed.
    if let Some(rest) = own.remove("unevaluatedProperties") {
        own.insert("additionalProperties".to_owned(), rest);
    }
    if let Some(condition) = own.remove("if") {
        let mut whole = Map::from_iter([("if".to_owned(), condition)]);
        for branch in ["then", "else"] {
            whole.extend(own.remove(branch).map(|it| (branch.to_owned(), it)));
        }
        conditions.push(Value::Object(whole));
    }
    conditions.extend(own.remove("not").map(|it| json!({ "not": it })));
    for keyword in ["dependencies", "dependentRequired"] {
        for (key, needs) in object
            .get(keyword)
            .into_iter()
            .flat_map(|it| it.as_object().unwrap())
        {
            let then = if needs.is_array() {
                json!({ "required": needs })
            } else {
                needs.clone()
            };
            conditions.push(json!({ "if": { "required": [key] }, "then": then }));
        }
        own.remove(keyword);
    }
    if !conditions.is_empty() {
        own.entry("allOf")
            .or_insert(json!([]))
            .as_array_mut()
            .unwrap()
            .extend(conditions);
    }
    match own.remove("$ref") {
        None => Value::Object(own),
        Some(reference) => {
            let target = flat(document, referred(document, reference.as_str().unwrap()));
            merged(&target, &Value::Object(own))
        }
    }
}

pub(crate) fn referred<'d>(document: &'d Value, reference: &str) -> &'d Value {
    let found = reference
        .strip_prefix('#')
        .and_then(|pointer| document.pointer(pointer));
    found.unwrap_or_else(|| panic!("the document has no `{reference}`"))
}

/// The branches of `anyOf` or `oneOf`, and what stands beside them.
pub(crate) fn split(schema: &Value) -> Option<(Value, Vec<Value>)> {
    let keyword = ["anyOf", "oneOf"]
        .into_iter()
        .find(|it| schema.get(it).is_some())?;
    let mut rest = schema.as_object()?.clone();
    let branches = rest.remove(keyword)?.as_array()?.clone();
    Some((Value::Object(rest), branches))
}

/// The schemas of which a value fits one, for `anyOf` and `oneOf`; otherwise the schema alone.
pub(crate) fn alternatives(document: &Value, schema: &Value) -> Vec<Value> {
    let Some((rest, branches)) = split(schema) else {
        return vec![schema.clone()];
    };
    let whole = |branch| merged(&rest, &flat(document, branch));
    let all = branches.iter().map(whole);
    all.flat_map(|schema| alternatives(document, &schema))
        .collect()
}

/// Both schemas in one; where they cannot be joined, the second one's keyword.
fn merged(first: &Value, second: &Value) -> Value {
    let (Some(one), Some(other)) = (first.as_object(), second.as_object()) else {
        return if second == &json!(true) {
            first.clone()
        } else {
            second.clone()
        };
    };
    let mut both = one.clone();
    for (keyword, value) in other {
        let joined = match (keyword.as_str(), both.get(keyword)) {
            ("properties", Some(Value::Object(before))) => {
                let mut all = before.clone();
                for (key, schema) in value.as_object().unwrap() {
                    let whole = all
                        .get(key)
                        .map_or_else(|| schema.clone(), |it| merged(it, schema));
                    all.insert(key.clone(), whole);
                }
                Value::Object(all)
            }
            ("required" | "allOf", Some(Value::Array(before))) => {
                let more = value
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|it| !before.contains(it));
                before.iter().chain(more).cloned().collect()
            }
            _ => value.clone(),
        };
        both.insert(keyword.clone(), joined);
    }
    Value::Object(both)
}

/// The names of the types that a schema accepts; `None` are all.
pub(crate) fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type") {
        Some(Value::Array(all)) => Some(all.iter().map(|it| it.as_str().unwrap()).collect()),
        Some(one) => one.as_str().map(|it| vec![it]),
        None => values(schema).map(|all| all.into_iter().map(kind).collect()),
    }
}

/// The values of an enumeration; `None` without one.
pub(crate) fn values(schema: &Value) -> Option<Vec<&Value>> {
    let one = schema.get("const").map(|it| vec![it]);
    one.or_else(|| Some(schema.get("enum")?.as_array()?.iter().collect()))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a type is among others; every integer is a number.
pub(crate) fn is_among(kind: &str, types: &[&str]) -> bool {
    types.contains(&kind) || (kind == "integer" && types.contains(&"number"))
}

pub(crate) fn words(schema: &Value, keyword: &str) -> Vec<String> {
    let all = schema
        .get(keyword)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    all.map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// Whether no value can fit both schemas: only if that is sure.
pub(crate) fn disjoint(documents: [&Value; 2], schemas: [&Value; 2]) -> bool {
    let [one, other] = [0, 1].map(|side| {
        let flat = flat(documents[side], schemas[side]);
        if flat == json!(false) {
            Vec::new()
        } else {
            alternatives(documents[side], &flat)
        }
    });
    let never = |a: &Value, b: &Value| {
        kinds_differ(a, b)
            || lacks(documents, [a, b])
            || lacks([documents[1], documents[0]], [b, a])
    };
    one.iter().all(|a| other.iter().all(|b| never(a, b)))
}

fn kinds_differ(a: &Value, b: &Value) -> bool {
    let by_type = types(a).zip(types(b)).is_some_and(|(a, b)| {
        !a.iter().any(|it| is_among(it, &b)) && !b.iter().any(|it| is_among(it, &a))
    });
    by_type
        || values(a)
            .zip(values(b))
            .is_some_and(|(a, b)| !a.iter().any(|it| b.contains(it)))
}

/// Whether the second schema requires a key that the first one has not, or has with other values.
fn lacks(documents: [&Value; 2], [a, b]: [&Value; 2]) -> bool {
    let closed = a.get("additionalProperties") == Some(&json!(false));
    words(b, "required").iter().any(|key| {
        let [in_a, in_b] = [a, b].map(|it| it.get("properties").and_then(|all| all.get(key)));
        match (in_a, in_b) {
            (None, _) => closed,
            (Some(a), Some(b)) => disjoint(documents, [a, b]),
            (Some(_), None) => false,
        }
    })
}
