//! JSON Schema to types of arguments (2020-12 and what older drafts have in common with it).
//!
//! Only `type` counts, with what stands in it: whatever else a schema asks for narrows the type
//! further, so that a value of the schema is always one of the type. What has no single type is left
//! to the view of arguments by tags: that property, or the whole tool where there is nothing else.

use crate::policy::{Member, Presence, RecordShape, Scalar, UntypedMember, ValueShape};
use crate::wire::pointer_step;
use crate::wire::{JsonKind, Value};

/// Objects inside each other, the arguments themselves included.
const MAX_DEPTH: usize = 8;

/// Members of one tool, those of members included.
const MAX_MEMBERS: usize = 256;

/// What a call of a tool takes.
///
/// # Errors
/// Why nothing can be said of it.
pub(super) fn arguments(schema: Value<'_>) -> Result<RecordShape, String> {
    if schema.get("$ref").is_some() {
        return Err("its `inputSchema` refers to another schema by `$ref`".to_owned());
    }
    match kind_of(schema) {
        Ok(("object", Presence::Required)) => {}
        Ok(_) => return Err("its `inputSchema` is not of type `object`".to_owned()),
        Err(why) => return Err(format!("its `inputSchema` {why}")),
    }
    let mut room = MAX_MEMBERS;
    record(schema, "", 1, &mut room)
        .ok_or_else(|| format!("it has more than {MAX_MEMBERS} arguments"))
}

/// `None` when there is no more room.
fn record(schema: Value<'_>, above: &str, depth: usize, room: &mut usize) -> Option<RecordShape> {
    let required: Vec<_> = schema
        .get("required")
        .into_iter()
        .flat_map(Value::items)
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties");
    let mut record = RecordShape::default();
    for (name, property) in properties.into_iter().flat_map(Value::entries) {
        *room = room.checked_sub(1)?;
        let pointer = format!("{above}/{}", pointer_step(&name));
        match shape(property, &pointer, depth, room)? {
            Ok((shape, presence)) => record.members.push(Member {
                presence: if presence == Presence::Required && !required.contains(&name) {
                    Presence::Optional
                } else {
                    presence
                },
                name: name.into_owned(),
                pointer,
                shape,
            }),
            Err(why) => record.untyped.push(UntypedMember { pointer, why }),
        }
    }
    record
        .members
        .sort_by(|one, other| one.name.cmp(&other.name));
    Some(record)
}

/// `None` when there is no more room; an error where the property has no type.
fn shape(
    schema: Value<'_>,
    pointer: &str,
    depth: usize,
    room: &mut usize,
) -> Option<Result<(ValueShape, Presence), String>> {
    let schema = match nullable(schema) {
        Ok(Some(schema)) => {
            let shape = shape(schema, pointer, depth, room)?;
            return Some(shape.map(|(shape, _)| (shape, Presence::Nullable)));
        }
        Ok(None) => schema,
        Err(why) => return Some(Err(why)),
    };
    let (kind, presence) = match kind_of(schema) {
        Ok(kind) => kind,
        Err(why) => return Some(Err(why)),
    };
    let shape = match kind {
        "array" => match items(schema) {
            Ok(scalar) => ValueShape::Many(scalar),
            Err(why) => return Some(Err(why)),
        },
        "object" if depth >= MAX_DEPTH => {
            return Some(Err(format!("is more than {MAX_DEPTH} objects deep")));
        }
        "object" => {
            let record = record(schema, pointer, depth + 1, room)?;
            if record.members.is_empty() {
                return Some(Err("is an object of which no member has a type".to_owned()));
            }
            ValueShape::Record(record)
        }
        kind => match scalar(kind) {
            Some(scalar) => ValueShape::One(scalar),
            None => return Some(Err(format!("is of type `{}`", shown(kind)))),
        },
    };
    Some(Ok((shape, presence)))
}

/// The one branch of `anyOf` or `oneOf` beside `null`, where that is all there is.
fn nullable(schema: Value<'_>) -> Result<Option<Value<'_>>, String> {
    if schema.get("$ref").is_some() || schema.get("$dynamicRef").is_some() {
        return Err("refers to another schema by `$ref`".to_owned());
    }
    if schema.get("type").is_some() || is_constant(schema) {
        return Ok(None);
    }
    for key in ["anyOf", "oneOf"] {
        let Some(branches) = schema.get(key) else {
            continue;
        };
        let is_null = |branch: &Value<'_>| {
            branch.get("type").and_then(Value::as_str).as_deref() == Some("null")
        };
        let (nulls, others): (Vec<_>, Vec<_>) = branches.items().partition(is_null);
        return match (nulls.as_slice(), others.as_slice()) {
            ([_], [one]) => Ok(Some(*one)),
            _ => Err(format!("is one of several things (`{key}`)")),
        };
    }
    Ok(None)
}

fn is_constant(schema: Value<'_>) -> bool {
    schema.get("const").is_some() || schema.get("enum").is_some()
}

/// The name of the one type that a schema has, beside `null`.
fn kind_of(schema: Value<'_>) -> Result<(&'static str, Presence), String> {
    if schema.kind() == JsonKind::Bool {
        return Err("may be anything".to_owned());
    }
    let Some(given) = schema.get("type") else {
        return constant(schema);
    };
    if let Some(name) = given.as_str() {
        return known(&name).map(|name| (name, Presence::Required));
    }
    let mut names: Vec<_> = given.items().filter_map(Value::as_str).collect();
    let all = names.len();
    names.retain(|name| *name != "null");
    match names.as_slice() {
        [one] if all == 1 => known(one).map(|name| (name, Presence::Required)),
        [one] => known(one).map(|name| (name, Presence::Nullable)),
        [] => Err("has no type but `null`".to_owned()),
        _ => Err("is of several types".to_owned()),
    }
}

/// Of a schema without `type` whose values are listed: the type that all of them have.
fn constant(schema: Value<'_>) -> Result<(&'static str, Presence), String> {
    let listed = schema.get("enum").into_iter().flat_map(Value::items);
    let mut kinds: Vec<&'static str> = schema
        .get("const")
        .into_iter()
        .chain(listed)
        .map(|value| match value.kind() {
            JsonKind::String => "string",
            JsonKind::Bool => "boolean",
            JsonKind::Number => "number",
            JsonKind::Null => "null",
            JsonKind::Array | JsonKind::Object => "object",
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    match kinds.as_slice() {
        [] => Err("may be anything".to_owned()),
        [one @ ("string" | "boolean" | "number")] => Ok((one, Presence::Required)),
        _ => Err("is one of values that have no type in common".to_owned()),
    }
}

fn items(schema: Value<'_>) -> Result<Scalar, String> {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
        return Err("is an array of items without a type".to_owned());
    };
    let of_any = |_| "is an array of items without a type of their own".to_owned();
    if schema.get("prefixItems").is_some() || nullable(items).map_err(of_any)?.is_some() {
        return Err("is an array of items of several types".to_owned());
    }
    match kind_of(items).map_err(of_any)? {
        // A set cannot tell that an item is missing.
        (_, Presence::Nullable | Presence::Optional) => {
            Err("is an array of items that may be `null`".to_owned())
        }
        (kind, Presence::Required) => match scalar(kind) {
            Some(Scalar::Number) => Err("is an array of numbers that are no integers".to_owned()),
            Some(scalar) => Ok(scalar),
            None => Err(format!("is an array of {kind}s")),
        },
    }
}

fn known(name: &str) -> Result<&'static str, String> {
    let names = [
        "string", "integer", "number", "boolean", "array", "object", "null",
    ];
    let found = names.into_iter().find(|known| *known == name);
    found.ok_or_else(|| format!("is of type `{}`, which is none", shown(name)))
}

fn scalar(kind: &str) -> Option<Scalar> {
    match kind {
        "string" => Some(Scalar::String),
        "integer" => Some(Scalar::Integer),
        "number" => Some(Scalar::Number),
        "boolean" => Some(Scalar::Boolean),
        _ => None,
    }
}

/// Of a name that a server chose: not too much.
fn shown(name: &str) -> String {
    name.chars().take(32).flat_map(char::escape_debug).collect()
}
