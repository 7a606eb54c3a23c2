//! Which forms a server may have filled in: one object of plain fields (2025-11-25, schema,
//! `ElicitRequestFormParams`). What lies deeper, or elsewhere, a client may show though nobody has
//! judged it.

use crate::guard::{asks_for_secret, describes_secret};
use crate::wire::Value;

use crate::gate::query::Unaskable;

/// What is known of a form.
#[derive(Debug, Default)]
pub(super) struct Form {
    pub(super) fields: Vec<String>,
    pub(super) problem: Option<Unaskable>,
}

/// Kinds of fields that hold one value.
const PLAIN: [&str; 4] = ["string", "number", "integer", "boolean"];

/// Keywords by which a schema has other schemas, or demands what is no field of its own.
const NESTING: [&str; 29] = [
    "$defs",
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "extends",
    "if",
    "items",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "disallow",
];

/// Members of a field whose text may be any word.
const TEXTS: [&str; 5] = ["title", "description", "default", "const", "examples"];

/// Reads the form that a question brings.
pub(super) fn read(params: Option<Value<'_>>) -> Form {
    let schema = params.and_then(|params| params.get("requestedSchema"));
    let properties = schema.and_then(|schema| schema.get("properties"));
    let entries = properties.into_iter().flat_map(Value::entries);
    let fields = entries.map(|(name, _)| name.into_owned()).collect();
    let has_page = params.is_some_and(|params| params.get("url").is_some());
    let odd = match schema {
        _ if has_page => Some("it has a page beside its fields"),
        None => Some("it has no fields"),
        Some(schema) => odd(schema).err(),
    };
    let secret = || secret(schema?).map(Unaskable::Secret);
    Form {
        fields,
        problem: odd.map(Unaskable::Form).or_else(secret),
    }
}

/// What the protocol does not allow of a form.
fn odd(schema: Value<'_>) -> Result<(), &'static str> {
    let kind = schema.get("type").and_then(Value::as_str);
    if kind.as_deref() != Some("object") {
        return Err("it is no object");
    }
    let properties = schema.get("properties").filter(|it| it.is_object());
    let properties = properties.ok_or("its `properties` are no object")?;
    let mut members = schema.entries();
    let is_flat = members.all(|(key, value)| match &*key {
        "properties" | "required" => true,
        "additionalProperties" | "unevaluatedProperties" => value.as_bool().is_some(),
        key => !NESTING.contains(&key),
    });
    if !is_flat {
        return Err("it has fields elsewhere than in its `properties`");
    }
    if let Some(required) = schema.get("required") {
        let is_field = |name: Value<'_>| {
            let name = name.as_str();
            name.is_some_and(|name| properties.get(&name).is_some())
        };
        if !required.is_array() || !required.items().all(is_field) {
            return Err("it requires what is none of its fields");
        }
    }
    let mut fields = properties.entries();
    if fields.all(|(_, field)| is_plain(field)) {
        Ok(())
    } else {
        Err("a field of it is more than one value, or some of a list")
    }
}

/// Whether a field holds one value, or some of a list that is told with it.
fn is_plain(field: Value<'_>) -> bool {
    let mut members = field.entries();
    let is_flat = members.all(|(key, value)| match &*key {
        "items" => is_item(value),
        "oneOf" | "anyOf" => are_choices(value),
        key => !NESTING.contains(&key),
    });
    let holds_one = match field.get("type") {
        None => is_chosen(field),
        Some(kind) => match kind.as_str() {
            Some(kind) if kind == "array" => field.get("items").is_some(),
            Some(kind) => PLAIN.contains(&&*kind),
            None => kind.is_array() && !kind.is_empty() && kind.items().all(is_plain_kind),
        },
    };
    field.is_object() && is_flat && holds_one
}

/// What may stand in a list: choices, or values with nothing in them.
fn is_item(item: Value<'_>) -> bool {
    let mut members = item.entries();
    let is_flat = members.all(|(key, value)| match &*key {
        "oneOf" | "anyOf" => are_choices(value),
        key => !NESTING.contains(&key),
    });
    let holds_one = match item.get("type") {
        None => is_chosen(item),
        Some(kind) => kind.as_str().is_some_and(|kind| PLAIN.contains(&&*kind)),
    };
    item.is_object() && is_flat && holds_one
}

/// Values with a title each, or kinds of values: libraries that have no other words for an optional
/// field write `anyOf` with `null`.
fn are_choices(choices: Value<'_>) -> bool {
    let is_choice = |choice: Value<'_>| {
        let is_one = choice.get("const").is_some() || choice.get("type").is_some_and(is_plain_kind);
        let mut members = choice.entries();
        is_one && members.all(|(key, _)| !NESTING.contains(&&*key))
    };
    choices.is_array() && !choices.is_empty() && choices.items().all(is_choice)
}

fn is_plain_kind(kind: Value<'_>) -> bool {
    let kind = kind.as_str();
    kind.is_some_and(|kind| kind == "null" || PLAIN.contains(&&*kind))
}

fn is_chosen(field: Value<'_>) -> bool {
    let mut words = ["enum", "const", "oneOf", "anyOf"].iter();
    words.any(|word| field.get(word).is_some())
}

/// The field that asks for a secret, if one does.
fn secret(schema: Value<'_>) -> Option<String> {
    let properties = schema.get("properties")?;
    let mut fields = properties.entries();
    let named = fields.find(|(name, field)| {
        asks_for_secret(name)
            || asks_for_secret(&text(*field, "title"))
            || is_concealed(*field)
            || takes_any_text(*field) && describes_secret(&text(*field, "description"))
    });
    // A form of one field may say above it what the field is for.
    let titled = || {
        let mut fields = properties.entries();
        let field = fields.find(|(_, field)| takes_any_text(*field))?;
        asks_for_secret(&text(schema, "title")).then_some(field)
    };
    let (name, _) = named.or_else(titled)?;
    Some(name.into_owned())
}

fn text(schema: Value<'_>, key: &str) -> String {
    let text = schema.get(key).and_then(Value::as_str);
    text.unwrap_or_default().into_owned()
}

/// Whether a client is told to show dots.
fn is_concealed(field: Value<'_>) -> bool {
    let is_written_only = field.get("writeOnly").and_then(Value::as_bool) == Some(true);
    let mut members = field.entries();
    is_written_only
        || members.any(|(key, value)| {
            let is_password = |text: &str| text.eq_ignore_ascii_case("password");
            !TEXTS.contains(&&*key) && value.as_str().as_deref().is_some_and(is_password)
        })
}

/// Whether somebody may write into a field what they like.
fn takes_any_text(field: Value<'_>) -> bool {
    let kind = field.get("type").and_then(Value::as_str);
    let field = field.get("items").unwrap_or(field);
    let is_optional = field.get("anyOf").is_some_and(|choices| {
        let mut choices = choices.items();
        choices.any(|choice| choice.get("const").is_none())
    });
    (is_optional || !is_chosen(field)) && kind.as_deref() != Some("boolean")
}
