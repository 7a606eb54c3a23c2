//! The tables of fields of audit records, from their JSON Schema.

use serde_json::Value;

use crate::docs::generated::{json, rows};

const SCHEMA: &str = "docs/schema/audit.schema.json";

/// Fields that say nothing of what a record is about.
const OF_ANY_KIND: [&str; 3] = ["prev", "redactions", "audit_fault"];

/// Every field, those within others by their path; whether each record has it; its meaning.
pub(crate) fn table() -> String {
    let schema = json(SCHEMA);
    let mut fields = Vec::new();
    collect(&schema["$defs"]["record"], "", &mut fields);
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

/// The fields of one kind, as its definition has them.
struct KindFields<'s> {
    kind: &'s str,
    always: Vec<&'s str>,
    sometimes: Vec<&'s str>,
}

/// For each kind which fields it has, but for those that do not depend on it. What all messages have in
/// common stands in a row of its own.
pub(crate) fn by_kind() -> String {
    let schema = json(SCHEMA);
    let kinds = kinds(&schema);
    let of_messages: Vec<_> = kinds.iter().filter(|it| is_message(it)).collect();
    let has = |it: &KindFields<'_>, field: &str| {
        it.always.contains(&field) || it.sometimes.contains(&field)
    };
    let [first, .., last] = of_messages.as_slice() else {
        panic!("no messages");
    };
    let of_all = |field: &&&str| of_messages.iter().all(|it| has(it, field));
    let shared: Vec<&str> = first
        .always
        .iter()
        .chain(&first.sometimes)
        .filter(of_all)
        .copied()
        .collect();
    let is_always = |field: &&str| of_messages.iter().all(|it| it.always.contains(field));
    let (always, sometimes): (Vec<&str>, Vec<&str>) =
        shared.iter().partition(|field| is_always(field));
    let mut table = vec![vec![
        format!("messages: `{}` to `{}`", first.kind, last.kind),
        list(&always),
        list(&sometimes),
    ]];
    for it in &kinds {
        let known = |field: &&&str, told: &[&str]| !is_message(it) || !told.contains(*field);
        let more = it.always.iter().filter(|field| known(field, &always));
        let maybe = it.sometimes.iter().filter(|field| known(field, &sometimes));
        let more: Vec<&str> = more.copied().collect();
        let maybe: Vec<&str> = maybe.copied().collect();
        table.push(vec![format!("`{}`", it.kind), list(&more), list(&maybe)]);
    }
    rows(&["kind", "always", "sometimes"], &table)
}

fn kinds(schema: &Value) -> Vec<KindFields<'_>> {
    let definitions = schema["$defs"].as_object().unwrap();
    let of_kinds = definitions.iter().filter_map(|(kind, definition)| {
        let fields = definition["properties"].as_object()?;
        fields["kind"].get("const")?;
        let has = fields.iter().filter(|(field, said)| {
            **said != false && *field != "kind" && !OF_ANY_KIND.contains(&field.as_str())
        });
        let required = definition["required"].as_array()?;
        let is_required = |field: &&str| required.iter().any(|it| *it == *field);
        let has = has.map(|(field, _)| field.as_str());
        let (always, sometimes) = has.partition(is_required);
        Some(KindFields {
            kind,
            always,
            sometimes,
        })
    });
    of_kinds.collect()
}

fn is_message(kind: &KindFields<'_>) -> bool {
    kind.always.contains(&"duration_us")
}

fn list(fields: &[&str]) -> String {
    let fields: Vec<_> = fields.iter().map(|it| format!("`{it}`")).collect();
    fields.join(", ")
}

/// The description, with the possible words if it ends with a colon.
fn meaning(path: &str, field: &Value) -> String {
    let text = field["description"].as_str();
    let text = text.unwrap_or_else(|| panic!("`{path}` has no description"));
    let Some(before) = text.strip_suffix(':') else {
        return text.to_owned();
    };
    let words = field["examples"].as_array().into_iter().flatten();
    let words: Vec<String> = words
        .map(|word| format!("`{word}`").replace('"', ""))
        .collect();
    format!("{before}: {}.", words.join(", "))
}
