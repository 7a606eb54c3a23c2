//! Tables of the keys of `gate.toml`, from its JSON Schema and the list of keys that reload.

use serde_json::Value;

use crate::docs::generated::{json, read, rows};

const SCHEMA: &str = "docs/schema/gate.schema.json";

/// The file and the beginning of the list of keys that come into force while the gate runs.
const LIVE: (&str, &str) = ("src/config/changes.rs", "const LIVE: [&str; ");

/// Types that the schema names, in words.
const NAMED: [(&str, &str); 9] = [
    ("address", "IP address, `\"localhost\"`"),
    ("duration", "duration"),
    ("path", "path"),
    ("paths", "array of paths"),
    ("rate", "rate"),
    ("size", "size"),
    ("trusted_url", "URL"),
    ("url", "URL"),
    ("word", "string"),
];

/// The name of the definition that a schema refers to.
fn definition(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn resolved<'s>(all: &'s Value, schema: &'s Value) -> &'s Value {
    definition(schema).map_or(schema, |name| &all["definitions"][name])
}

/// The paths of the tables with keys of their own, without repetitions of a definition.
pub(crate) fn tables() -> Vec<String> {
    let schema = json(SCHEMA);
    let mut found = Vec::new();
    collect(&schema, &schema, "", &mut Vec::new(), &mut found);
    found
}

fn collect<'s>(
    all: &'s Value,
    object: &'s Value,
    path: &str,
    seen: &mut Vec<&'s str>,
    found: &mut Vec<String>,
) {
    let object = one_table(object);
    if let Some(name) = definition(object) {
        if seen.contains(&name) {
            return;
        }
        seen.push(name);
    }
    let object = resolved(all, object);
    if let Some(properties) = object["properties"].as_object() {
        if !path.is_empty() && !properties.values().all(is_elsewhere) {
            found.push(path.to_owned());
        }
        for (key, property) in properties.iter().filter(|(_, it)| !is_elsewhere(it)) {
            let path = format!("{path}.{key}");
            collect(all, property, path.trim_start_matches('.'), seen, found);
        }
    }
    let chosen = &object["additionalProperties"];
    if chosen.is_object() {
        collect(all, chosen, &format!("{path}.*"), seen, found);
    }
}

/// The keys of one table: type, default, whether they reload, meaning.
pub(crate) fn table(path: &str) -> Result<String, String> {
    let schema = json(SCHEMA);
    let mut object = &schema;
    for part in path.split('.') {
        let inside = resolved(&schema, object);
        object = match part {
            "*" => &inside["additionalProperties"],
            key => one_table(&inside["properties"][key]),
        };
    }
    let object = resolved(&schema, object);
    let keys = object["properties"].as_object();
    let keys = keys.ok_or_else(|| format!("the schema has no table `{path}`"))?;
    let required = object["required"].as_array();
    let required = |key: &str| required.is_some_and(|all| all.iter().any(|it| it == key));
    let live = live();
    let row = |(key, property): (&String, &Value)| {
        let inside = resolved(&schema, property);
        let meaning = property["description"].as_str();
        let meaning = meaning.or_else(|| inside["description"].as_str());
        let link = property["$comment"].as_str();
        let is_live = live.iter().any(|it| is_below(&format!("{path}.{key}"), it));
        vec![
            link.map_or_else(|| format!("`{key}`"), |to| format!("[`{key}`]({to})")),
            kind(&schema, property),
            match property.get("default").or_else(|| inside.get("default")) {
                Some(default) => format!("`{default}`"),
                None if required(key) => "required".to_owned(),
                None => String::new(),
            },
            if is_live { "live" } else { "" }.to_owned(),
            meaning
                .unwrap_or_else(|| panic!("`{path}.{key}` has no description"))
                .to_owned(),
        ]
    };
    let keys = keys.iter().filter(|(_, property)| !is_elsewhere(property));
    let table: Vec<Vec<String>> = keys.map(row).collect();
    Ok(rows(&["key", "type", "default", "live", "meaning"], &table))
}

/// Whether it is a key of another table, which has its row.
fn is_elsewhere(property: &Value) -> bool {
    let reference = property["$ref"].as_str();
    reference.is_some_and(|to| to.contains("/properties/"))
}

/// The table itself of a key that takes one table or an array of them.
fn one_table(property: &Value) -> &Value {
    let ways = property["anyOf"].as_array().into_iter().flatten();
    let mut tables = ways.filter(|way| definition(way).is_some_and(|it| it != "variable"));
    tables.next().unwrap_or(property)
}

/// The type of a value, in words.
fn kind(all: &Value, schema: &Value) -> String {
    if let Some(name) = definition(schema) {
        let named = NAMED.iter().find(|(known, _)| *known == name);
        return named.map_or_else(
            || kind(all, resolved(all, schema)),
            |(_, words)| (*words).to_owned(),
        );
    }
    let parts = ["anyOf", "allOf"].map(|several| schema[several].as_array());
    let parts = parts.into_iter().flatten().flatten();
    let parts = parts.filter(|part| definition(part) != Some("variable"));
    let parts: Vec<&Value> = parts.collect();
    if !parts.is_empty() && schema["type"] != "object" {
        let kinds: Vec<String> = parts.iter().map(|part| kind(all, part)).collect();
        return kinds.join(", ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    if let Some(word) = schema.get("const") {
        return format!("`{word}`");
    }
    match schema["type"].as_str() {
        Some("array") => format!("array of {}", plural(all, &schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("table of {}", plural(all, &schema["additionalProperties"]))
        }
        Some("object") => "table".to_owned(),
        Some(number @ ("integer" | "number")) => {
            match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
                (Some(least), Some(most)) => format!("{number}, {least} to {most}"),
                _ => number.to_owned(),
            }
        }
        Some(other) => other.to_owned(),
        None => panic!("a type without a word: {schema}"),
    }
}

fn plural(all: &Value, schema: &Value) -> String {
    let kind = kind(all, schema);
    if kind.starts_with('`') {
        kind
    } else {
        kind.replacen("integer", "integers", 1)
            .split_once(',')
            .map_or_else(|| many(&kind), |(first, rest)| format!("{first},{rest}"))
    }
}

fn many(kind: &str) -> String {
    if kind.ends_with('s') {
        kind.to_owned()
    } else {
        format!("{kind}s")
    }
}

/// The keys that come into force while the gate runs, with everything below them.
fn live() -> Vec<String> {
    let (file, begins) = LIVE;
    let text = read(file);
    let list = text
        .split_once(begins)
        .and_then(|(_, list)| list.split_once("];"));
    let (list, _) = list.unwrap_or_else(|| panic!("`{file}` has no list of live keys"));
    let code = list
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect();
    let keys: Vec<String> = code
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert!(keys.iter().any(|key| key == "guards"), "{keys:?}");
    keys
}

fn is_below(path: &str, key: &str) -> bool {
    let rest = path.strip_prefix(key);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
