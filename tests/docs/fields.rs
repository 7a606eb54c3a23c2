//! The table of fields of audit records, from their JSON Schema.

use serde_json::Value;

use crate::docs::generated::{json, rows};

const SCHEMA: &str = "docs/schema/audit.schema.json";

/// Every field, those within others by their path; whether each record has it; its meaning.
pub(crate) fn table() -> String {
    let schema = json(SCHEMA);
    let mut fields = Vec::new();
    collect(&schema, "", &mut fields);
    assert!(fields.len() > 40, "{fields:?}");
    rows(&["field", "always", "meaning"], &fields)
}

fn collect(object: &Value, path: &str, fields: &mut Vec<Vec<String>>) {
    let always = object["required"].as_array();
    let always = always.filter(|_| path.is_empty());
    for (key, field) in object["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}{key}");
        let name = match field["$comment"].as_str() {
            Some(link) => format!("[`{path}`]({link})"),
            None => format!("`{path}`"),
        };
        let is_always = always.is_some_and(|all| all.iter().any(|it| it == key.as_str()));
        let always = if is_always { "yes" } else { "" };
        fields.push(vec![name, always.to_owned(), meaning(&path, field)]);
        collect(field, &format!("{path}."), fields);
        collect(&field["items"], &format!("{path}[]."), fields);
    }
}

/// The description, with the possible words if it ends with a colon.
fn meaning(path: &str, field: &Value) -> String {
    let text = field["description"].as_str();
    let text = text.unwrap_or_else(|| panic!("`{path}` has no description"));
    let Some(before) = text.strip_suffix(':') else {
        return text.to_owned();
    };
    let words = field["enum"].as_array().into_iter().flatten();
    let words: Vec<String> = words
        .map(|word| format!("`{word}`").replace('"', ""))
        .collect();
    format!("{before}: {}.", words.join(", "))
}
