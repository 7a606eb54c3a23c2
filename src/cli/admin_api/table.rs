//! A JSON object as the table of a server.

use toml_edit::{Array, InlineTable, Item, Table, Value};

use crate::admin::ApiProblem;
use crate::wire::{JsonKind, Value as Json};

/// Every string is written as TOML quotes it: none can end its place and begin another.
pub(super) fn table(object: Json<'_>) -> Result<Table, ApiProblem> {
    let mut table = Table::new();
    for (name, value) in object.entries() {
        let item = match value.kind() {
            JsonKind::Object => Item::Table(self::table(value)?),
            JsonKind::Null
            | JsonKind::Bool
            | JsonKind::Number
            | JsonKind::String
            | JsonKind::Array => Item::Value(self::value(value)?),
        };
        table.insert(&name, item);
    }
    Ok(table)
}

fn value(json: Json<'_>) -> Result<Value, ApiProblem> {
    Ok(match json.kind() {
        JsonKind::Null => return Err(no_value(json, "`null` is no value here: leave the key out")),
        JsonKind::Bool => Value::from(json.as_bool() == Some(true)),
        JsonKind::Number => number(json)?,
        JsonKind::String => Value::from(json.as_str().unwrap_or_default().as_ref()),
        JsonKind::Array => {
            let items: Result<Array, _> = json.items().map(value).collect();
            Value::Array(items?)
        }
        JsonKind::Object => {
            let mut table = InlineTable::new();
            for (name, item) in json.entries() {
                table.insert(&*name, value(item)?);
            }
            Value::InlineTable(table)
        }
    })
}

fn number(json: Json<'_>) -> Result<Value, ApiProblem> {
    let text = json.as_number().unwrap_or_default();
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(Value::from(integer));
    }
    let float = text.parse::<f64>().ok();
    let is_whole = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    match float.filter(|float| float.is_finite() && !is_whole) {
        Some(float) => Ok(Value::from(float)),
        None => Err(no_value(json, "the number is too large")),
    }
}

fn no_value(json: Json<'_>, why: &str) -> ApiProblem {
    let place = json.pointer().escape_debug().to_string();
    ApiProblem::new(422, "value", format!("`{place}`: {why}"))
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;
    use crate::wire::{Document, Limits};

    fn written(json: &str) -> Result<String, u16> {
        let document = Document::decode(json.as_bytes(), &Limits::default());
        let document = document.map_err(|_| 400_u16)?;
        let table = table(document.root()).map_err(|problem| problem.status())?;
        Ok(DocumentMut::from(table).to_string())
    }

    #[test]
    fn what_is_written_is_what_was_sent() {
        let check = |json: &str, expected: &str| {
            assert_eq!(written(json).as_deref(), Ok(expected), "{json}");
        };
        check(
            r#"{"url":"https://a","enabled":false,"n":7,"f":1.5,"l":["a",{"b":-1}]}"#,
            "url = \"https://a\"\nenabled = false\nn = 7\nf = 1.5\nl = [\"a\", { b = -1 }]\n",
        );
        check(r#"{"a b":"x\"y"}"#, "\"a b\" = 'x\"y'\n");
        for json in [
            r#"{"a":null}"#,
            r#"{"a":[null]}"#,
            r#"{"a":1e999}"#,
            r#"{"a":99999999999999999999}"#,
        ] {
            assert_eq!(written(json), Err(422), "{json}");
        }
    }

    #[test]
    fn no_string_and_no_key_ends_its_place() {
        for hostile in [
            "x\"\n[policy]\nallow = [\"all\"]\n",
            "'''\n[servers.other]\n",
            "\"\"\"\n[policy]\n# end\n",
            "]\n[policy]",
            "a\u{0}b\u{7f}\\",
            "# end",
        ] {
            let quoted = serde_json::to_string(hostile).unwrap();
            for json in [
                format!("{{\"url\":{quoted}}}"),
                format!("{{{quoted}:1}}"),
                format!("{{\"env\":{{{quoted}:{quoted}}}}}"),
                format!("{{\"l\":[{{{quoted}:{quoted}}}]}}"),
            ] {
                // A key with control characters is no message.
                let Ok(text) = written(&json) else {
                    assert!(hostile.contains(char::is_control) && !json.starts_with("{\"url"));
                    continue;
                };
                let read: toml::Table = text.parse().unwrap();
                let sent: serde_json::Value = json.parse().unwrap();
                assert_eq!(serde_json::to_value(read).unwrap(), sent, "{text}");
            }
        }
    }
}
