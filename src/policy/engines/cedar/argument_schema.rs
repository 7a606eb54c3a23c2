//! Types of arguments as a schema of Cedar's: one action for each tool, in `call_tool`.

use cedar_policy::SchemaFragment;
use serde_json::{Map, Value, json};

use super::schema_action::CALL;
use crate::policy::{Lock, Presence, RecordShape, Scalar, ValueShape};

/// In Cedar's JSON format, where every name of a tool and of an argument is a string: the format for
/// people would need them quoted.
pub(super) fn calls(lock: &Lock) -> Result<SchemaFragment, String> {
    let actions: Map<String, Value> = lock
        .typed()
        .map(|(name, arguments)| (format!("{CALL}{name}"), call(arguments)))
        .collect();
    let fragment = SchemaFragment::from_json_value(json!({
        "Mcp": { "commonTypes": {}, "entityTypes": {}, "actions": actions }
    }));
    fragment.map_err(|error| error.to_string())
}

fn call(arguments: &RecordShape) -> Value {
    // What `call_tool` has, and the arguments.
    let context = json!({
        "type": "Record",
        "attributes": {
            "env": { "type": "EntityOrCommon", "name": "Env" },
            "targets": { "type": "EntityOrCommon", "name": "Targets" },
            "raw_arguments": { "type": "EntityOrCommon", "name": "Args" },
            "arguments": record(arguments),
        },
    });
    json!({
        "memberOf": [{ "id": "call_tool" }],
        "appliesTo": {
            "principalTypes": ["Agent"],
            "resourceTypes": ["Tool"],
            "context": context,
        },
    })
}

fn record(record: &RecordShape) -> Value {
    let attributes: Map<String, Value> = record
        .members
        .iter()
        .map(|member| {
            let mut kind = shape(&member.shape);
            if let (Value::Object(kind), true) = (&mut kind, member.presence != Presence::Required)
            {
                kind.insert("required".to_owned(), false.into());
            }
            (member.name.clone(), kind)
        })
        .collect();
    json!({ "type": "Record", "attributes": attributes })
}

fn shape(of: &ValueShape) -> Value {
    match of {
        ValueShape::One(one) => scalar(*one),
        ValueShape::Many(one) => json!({ "type": "Set", "element": scalar(*one) }),
        ValueShape::Record(inner) => record(inner),
    }
}

fn scalar(of: Scalar) -> Value {
    // Whatever else is called so, these are Cedar's own.
    let name = match of {
        Scalar::String => "__cedar::String",
        Scalar::Integer => "__cedar::Long",
        Scalar::Number => "__cedar::decimal",
        Scalar::Boolean => "__cedar::Bool",
    };
    json!({ "type": "EntityOrCommon", "name": name })
}
