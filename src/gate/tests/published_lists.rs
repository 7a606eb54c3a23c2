//! What sanitizing does to the lists of published servers: `tests/corpora/tool_lists/`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::*;
use crate::guard::secrets::SecretRules;
use crate::guard::text::StrippedTags;

/// The settings of the shipped configurations.
fn shipped(settings: &mut Settings) {
    let guards = &mut settings.terms.guards;
    guards.arguments = Level::Strict;
    guards.secrets = Some(Secrets {
        sent: Level::Strict,
        received: Treatment::Redact,
        rules: Arc::new(SecretRules::builtin()),
    });
    guards.texts = Texts {
        definitions: Cleaning::Clean,
        content: Cleaning::Clean,
        definition_tags: StrippedTags::Suspicious,
        longest: 16_384,
        ..Texts::default()
    };
}

fn lists() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/tool_lists");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ext| ext == "json"));
    let mut lists: Vec<(String, Value)> = files
        .map(|path| {
            let list: Value = fs::read_to_string(&path).unwrap().parse().unwrap();
            let package = list.get("package").and_then(Value::as_str).unwrap();
            (package.to_owned(), list.get("tools").unwrap().clone())
        })
        .collect();
    lists.sort_by(|one, other| one.0.cmp(&other.0));
    lists
}

/// Each string that differs, with its place.
fn differences(place: &str, sent: &Value, got: &Value, told: &mut Vec<String>) {
    match (sent, got) {
        (Value::Array(sent), Value::Array(got)) if sent.len() == got.len() => {
            for (at, (sent, got)) in sent.iter().zip(got).enumerate() {
                differences(&format!("{place}/{at}"), sent, got, told);
            }
        }
        (Value::Object(sent), Value::Object(got)) if sent.keys().eq(got.keys()) => {
            for ((key, sent), (_, got)) in sent.iter().zip(got) {
                differences(&format!("{place}/{key}"), sent, got, told);
            }
        }
        (sent, got) if sent == got => {}
        (sent, got) => {
            let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
            told.push(format!(
                "{place}: {} characters, {}",
                length(sent),
                length(got)
            ));
        }
    }
}

#[tokio::test]
async fn no_tool_of_a_published_server_is_refused_and_only_what_the_page_says_is_altered() {
    let mut altered = Vec::new();
    let lists = lists();
    assert!(lists.len() >= 40, "{}", lists.len());
    for (package, sent) in lists {
        let bench = Bench::with(open, shipped);
        bench.shake_hands().await;
        bench
            .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{sent}}}}}"#
            ))
            .await;
        let got: Value = bench.to_agent().remove(0).parse().unwrap();
        let got = got.pointer("/result/tools").unwrap();
        let (names, got_names) = (names(&sent), names(got));
        assert_eq!(names, got_names, "{package}");
        differences(&package, &sent, got, &mut altered);
    }
    insta::assert_snapshot!(altered.join("\n"));
}

fn names(tools: &Value) -> Vec<&str> {
    let names = tools.as_array().into_iter().flatten();
    names
        .filter_map(|tool| tool.get("name")?.as_str())
        .collect()
}

/// Words that a good server has are no reason to close its tools. How many have flags is a figure, and
/// each is named.
#[test]
fn of_the_tools_of_published_servers_few_are_flagged() {
    let mut flagged = Vec::new();
    for (package, tools) in lists() {
        for tool in tools.as_array().unwrap() {
            let text = tool.to_string();
            let document = crate::wire::Document::decode(text.as_bytes(), &Limits::default());
            let flags = super::super::text::flags_of(document.unwrap().root());
            if !flags.is_empty() {
                let name = tool.get("name").and_then(Value::as_str).unwrap();
                flagged.push(format!("{package} {name}: {flags}"));
            }
        }
    }
    insta::assert_snapshot!(flagged.join("\n"));
}

/// With `guards.arguments = "block"` a tool without a usable schema cannot be called.
#[test]
fn the_arguments_of_every_tool_of_published_servers_can_be_checked() {
    let mut unusable = Vec::new();
    for (package, tools) in lists() {
        for tool in tools.as_array().unwrap() {
            let text = tool.to_string();
            let document = crate::wire::Document::decode(text.as_bytes(), &Limits::default());
            let schemas = crate::guard::ToolSchemas::of(document.unwrap().root());
            if let Err(problem) = schemas.input() {
                let name = tool.get("name").and_then(Value::as_str).unwrap();
                unusable.push(format!("{package} {name}: {problem}"));
            }
        }
    }
    insta::assert_snapshot!(unusable.join("\n"));
}
