//! Labels of arguments that a tool does not take.

use std::ops::Range;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::findings::{Lint, LintFindings};
use super::material::LintContext;
use crate::policy::suggest::nearest;
use crate::policy::{PolicyProblem, ToolLabels};

pub(super) const UNKNOWN_ARGUMENT: Lint = Lint {
    code: "lint::unknown_argument",
    about: "a pointer in `tools.toml` to an argument that the tool lacks, by `tools.lock`",
    look,
};

/// Keywords by which a schema may allow members that stand elsewhere.
const ELSEWHERE: [&str; 11] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "patternProperties",
    "unevaluatedProperties",
];

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    let mut tools: Vec<(&String, &ToolLabels)> = world.given.said.tools.iter().collect();
    tools.sort_by_key(|(name, _)| *name);
    for (name, labels) in tools {
        let Some(locked) = world.given.lock.tool(name) else {
            continue;
        };
        let Ok(definition) = read(&locked.definition) else {
            continue;
        };
        let Some(schema) = definition.get("inputSchema") else {
            continue;
        };
        let paths = labels.paths.iter().flatten();
        let keys = [("urls", &labels.urls), ("hosts", &labels.hosts)];
        let others = keys.into_iter().flat_map(|(key, pointers)| {
            let pointers = pointers.iter();
            pointers.map(move |pointer| (key, pointer))
        });
        let by = labels
            .datasets_by
            .iter()
            .map(|by| ("datasets_by", &by.pointer));
        let paths = paths.map(|pointer| ("paths", pointer));
        for (key, pointer) in paths.chain(others).chain(by) {
            if let Some(help) = doubt(schema, pointer) {
                found.add(
                    &UNKNOWN_ARGUMENT,
                    problem(world, (name, key, pointer), help),
                );
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lock is read as strictly as a message before this"
)]
fn read(definition: &str) -> serde_json::Result<Value> {
    serde_json::from_str(definition)
}

fn problem(world: &LintContext<'_>, at: (&str, &str, &str), help: String) -> PolicyProblem {
    let (name, key, pointer) = at;
    let [shown_name, shown] = [name, pointer].map(|text| text.escape_debug().to_string());
    let message = format!("`{shown_name}` takes no argument `{shown}`, as `tools.lock` says");
    let problem = PolicyProblem::warning(UNKNOWN_ARGUMENT.code, message).with_help(help);
    let mut files = world.label_files("tools.toml");
    let place = files.find_map(|file| Some((file, place(&file.text, (name, key, pointer))?)));
    match place {
        Some((file, place)) => problem.in_source(file).at(place, "nothing is found there"),
        None => problem,
    }
}

/// Where a pointer stands in a file of labels.
fn place(text: &str, (name, key, pointer): (&str, &str, &str)) -> Option<Range<usize>> {
    let file = DeTable::parse(text).ok()?;
    let tool = file
        .get_ref()
        .get("tools")?
        .get_ref()
        .as_table()?
        .get(name)?;
    let value = tool.get_ref().as_table()?.get(key)?;
    if let DeValue::Array(items) = value.get_ref() {
        let mut items = items.iter();
        let item = items.find(|item| item.get_ref().as_str() == Some(pointer))?;
        Some(item.span())
    } else {
        Some(value.span())
    }
}

/// What to do about a pointer that leads nowhere; `None` for one that may lead somewhere.
fn doubt(schema: &Value, pointer: &str) -> Option<String> {
    let mut schema = schema;
    let mut above = String::new();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        if !is_plain(schema) {
            return None;
        }
        let members = schema.get("properties").and_then(Value::as_object);
        let items = schema.get("items").filter(|items| items.is_object());
        if let Some(member) = members.and_then(|members| members.get(&name)) {
            schema = member;
        } else if let Some(items) = items.filter(|_| name.chars().all(|c| c.is_ascii_digit())) {
            schema = items;
        } else if members.is_none() && !is_leaf(schema) {
            return None;
        } else {
            let mut known: Vec<String> = members
                .into_iter()
                .flat_map(serde_json::Map::keys)
                .map(|known| format!("{above}/{}", known.replace('~', "~0").replace('/', "~1")))
                .collect();
            known.sort();
            return Some(advice(&format!("{above}/{part}"), &known));
        }
        above = format!("{above}/{part}");
    }
    None
}

/// All its members stand in `properties`.
fn is_plain(schema: &Value) -> bool {
    schema.is_object()
        && ELSEWHERE
            .iter()
            .all(|keyword| schema.get(keyword).is_none())
}

/// It has nothing in it.
fn is_leaf(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    matches!(kind, Some("string" | "integer" | "number" | "boolean"))
}

fn advice(written: &str, known: &[String]) -> String {
    match (nearest(written, known.iter().map(String::as_str)), known) {
        (Some(nearest), _) => format!("did you mean `{}`?", nearest.escape_debug()),
        (None, []) => "it takes none there; a label on it finds nothing".to_owned(),
        (None, known) => {
            let known: Vec<String> = known
                .iter()
                .map(|it| format!("`{}`", it.escape_debug()))
                .collect();
            format!("it takes {}", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::super::fixture::{found, source};
    use super::super::material::Material;
    use crate::policy::{
        DefinitionFingerprint, Labels, Lock, LockedTool, PolicyOrigin, ToolLabels,
    };

    const SCHEMA: &str = r#"{"name":"t","inputSchema":{"type":"object","properties":{
        "path":{"type":"string"},
        "paths":{"type":"array","items":{"type":"string"}},
        "files":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}},
        "options":{"type":"object","properties":{"target":{"type":"string"}}},
        "any":{},
        "open":{"type":"object"},
        "either":{"anyOf":[{"type":"object","properties":{"path":{"type":"string"}}},{"type":"string"}]},
        "a/b":{"type":"string"}
    }}}"#;

    fn told(definition: &str, tool: &str, pointer: &str) -> Vec<String> {
        let locked = LockedTool {
            fingerprint: DefinitionFingerprint::of("", ""),
            definition: definition.into(),
            arguments: Err("none".to_owned()),
            origin: PolicyOrigin {
                file: "tools.lock".into(),
                line: 1,
            },
        };
        let mut said = Labels::default();
        let labels = ToolLabels {
            paths: Some(vec![pointer.to_owned()]),
            ..ToolLabels::default()
        };
        said.tools.insert(tool.to_owned(), labels);
        let text = format!("[tools.{tool}]\npaths = [\"{pointer}\"]\n");
        let material = Material {
            labels: vec![source("p/tools.toml", &text)],
            said,
            lock: Arc::new(Lock::new(BTreeMap::from([("t".to_owned(), locked)]))),
            ..Material::default()
        };
        let found = found("unknown_argument", &material);
        let told = found.iter().map(|problem| {
            let place = problem.labels[0].inner();
            let at = text
                .get(place.offset()..place.offset() + place.len())
                .unwrap();
            assert_eq!(at, format!("\"{pointer}\""));
            format!("{problem} ({})", problem.help.as_deref().unwrap())
        });
        told.collect()
    }

    #[test]
    fn a_pointer_to_what_a_tool_does_not_take_is_found() {
        let check = |pointer: &str, says: &str| {
            let [told] = told(SCHEMA, "t", pointer).try_into().unwrap();
            assert!(told.contains(says), "{told}");
        };
        check("/pth", "did you mean `/path`?");
        check("/Path", "did you mean `/path`?");
        check("/options/traget", "did you mean `/options/target`?");
        check("/option/target", "did you mean `/options`?");
        check("/files/0/nam", "did you mean `/files/0/name`?");
        check("/destination", "it takes `/any`, `/a~1b`");
        check("/path/x", "it takes none there");
        check("/a/b", "takes no argument `/a/b`");
    }

    #[test]
    fn a_pointer_that_may_lead_somewhere_is_not() {
        for pointer in [
            "/path",
            "/paths",
            "/paths/0",
            "/files/3/name",
            "/options",
            "/options/target",
            "/any/thing",
            "/open/thing",
            "/either/path",
            "/a~1b",
        ] {
            assert_eq!(told(SCHEMA, "t", pointer), [""; 0], "{pointer}");
        }
        // A tool without a lock is unknown.
        assert_eq!(told(SCHEMA, "other", "/pth"), [""; 0]);
        let elsewhere = SCHEMA.replace(
            "\"type\":\"object\",\"properties\":{\n",
            "\"$ref\":\"x\",\"properties\":{\n",
        );
        assert_eq!(told(&elsewhere, "t", "/pth"), [""; 0]);
        assert_eq!(told("no JSON", "t", "/pth"), [""; 0]);
        assert_eq!(told("{}", "t", "/pth"), [""; 0]);
    }
}
