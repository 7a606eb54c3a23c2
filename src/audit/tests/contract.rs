//! What we write, `docs/schema/audit.schema.json` and `docs/audit-log-schema.md` say the same.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::super::backpressure::Backpressure;
use super::super::chain::LineHash;
use super::super::finish::LIST_LIMIT;
use super::super::line::LogCondition;
use super::super::line::{LineAddition, LogLine, rfc3339};
use super::super::record::VERSION;
use super::super::*;
use super::{samples, schema};

const DOC: &str = include_str!("../../../docs/audit-log-schema.md");

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).unwrap()
}

fn written(mut record: Record) -> Value {
    let addition = if record.kind == Kind::Checkpoint {
        LineAddition::checkpoint("e30.e30.c2ln")
    } else {
        LineAddition::of(LogCondition::Faulty)
    };
    record.finish(&Redactor::default());
    let mut line = Vec::new();
    let timestamp = rfc3339(Timestamp::UNIX_EPOCH);
    LogLine {
        version: VERSION,
        seq: 1,
        timestamp,
        instance: "0123456789abcdef",
        prev: Some(LineHash::START),
        record: &record,
        addition,
    }
    .write_to(&mut line)
    .unwrap();
    String::from_utf8(line).unwrap().parse().unwrap()
}

#[track_caller]
fn check_valid(line: &Value) {
    let errors: Vec<_> = validator(&schema::closed())
        .iter_errors(line)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{line:#}");
    let problems = schema::problems(&line.to_string());
    assert!(problems.is_empty(), "{problems:#?}");
}

/// A record with every field that its kind may have.
fn full(kind: Kind, text: impl FnMut() -> String) -> Value {
    let mut line = written(samples::full(kind, text));
    let schema = schema::published();
    let definition = schema::definitions(&schema)[kind.as_str()];
    let fields = line.as_object_mut().unwrap();
    fields.retain(|field, _| definition["properties"][field] != false);
    if kind == Kind::Consent {
        let consent = fields["consent"].as_object_mut().unwrap();
        consent.retain(|field, _| ["ticket", "by"].contains(&field.as_str()));
    }
    let events = &definition["properties"]["event"]["examples"];
    if let Some(event) = events.get(0) {
        fields["event"] = event.clone();
    }
    for field in ["method", "direction"] {
        if let Some(only) = definition["properties"][field].get("const") {
            fields[field] = only.clone();
        }
    }
    line
}

#[test]
fn the_schema_is_a_schema() {
    jsonschema::draft202012::meta::validate(&schema::published()).unwrap();
}

#[test]
fn every_record_that_we_can_write_is_valid() {
    let long = || "é".repeat(100_000);
    for kind in Kind::ALL {
        check_valid(&written(samples::least(kind)));
        check_valid(&full(kind, || "text".to_owned()));
        check_valid(&full(kind, long));
    }
    check_valid(&written(
        samples::least(Kind::ToolCall).policies(vec!["p"; 1000]),
    ));
    for level in [
        Level::Public,
        Level::Internal,
        Level::Confidential,
        Level::Secret,
    ] {
        let record = samples::least(Kind::ToolResult).sensitivity(Level::Public, level);
        check_valid(&written(record));
    }
    for direction in [Direction::AgentToUpstream, Direction::UpstreamToAgent] {
        let record = samples::least(Kind::Notification).direction(direction);
        check_valid(&written(record));
    }
    for op in [EditOp::Insert, EditOp::Replace, EditOp::Remove] {
        let edit = Edit {
            pointer: "/params".into(),
            op,
            reason: None,
        };
        check_valid(&written(samples::least(Kind::ToolResult).edits([edit])));
    }
}

#[test]
fn each_kind_has_a_definition_that_says_of_every_field_whether_its_records_have_it() {
    let schema = schema::published();
    let definitions = schema::definitions(&schema);
    let kinds: BTreeSet<String> = definitions.keys().map(|&kind| kind.to_owned()).collect();
    assert_eq!(kinds, serialized(&Kind::ALL));
    let mut code = BTreeSet::new();
    for kind in [Kind::ToolCall, Kind::Checkpoint] {
        let line = written(samples::full(kind, || "text".to_owned()));
        code.extend(line.as_object().unwrap().keys().cloned());
    }
    let all = words(&schema["$defs"]["record"]["required"]);
    let mut had = BTreeSet::new();
    for (kind, definition) in definitions {
        assert_eq!(definition["properties"]["kind"]["const"], kind);
        assert_eq!(definition["$ref"], "#/$defs/record", "{kind}");
        let said = definition["properties"].as_object().unwrap();
        let always = words(&definition["required"]);
        let named: BTreeSet<String> = said.keys().chain(&all).cloned().collect();
        assert_eq!(named, code, "{kind}");
        let has = said.iter().filter(|(_, value)| **value != false);
        let has: BTreeSet<String> = has.map(|(field, _)| field.clone()).collect();
        assert!(always.is_subset(&has), "{kind}: {always:?}");
        had.extend(has);
    }
    had.extend(all);
    assert_eq!(had, code);
}

#[test]
fn a_record_has_the_fields_of_its_kind_and_a_reader_takes_what_is_new() {
    let schema = schema::published();
    let as_published = validator(&schema);
    for kind in Kind::ALL {
        let definition = schema::definitions(&schema)[kind.as_str()];
        let of_kind = schema::validator_of_kind(&schema, kind.as_str());
        let check = |line: &Value, expected: bool, what: &str| {
            assert_eq!(as_published.is_valid(line), expected, "{kind:?} {what}");
            assert_eq!(of_kind.is_valid(line), expected, "{kind:?} {what}");
        };
        let every = written(samples::full(kind, || "text".to_owned()));
        let signed = written(samples::full(Kind::Checkpoint, || "text".to_owned()));
        let good = full(kind, || "text".to_owned());
        check(&good, true, "in full");
        for (field, said) in definition["properties"].as_object().unwrap() {
            let mut line = good.clone();
            let fields = line.as_object_mut().unwrap();
            if *said == false {
                let value = every.get(field).unwrap_or(&signed[field]).clone();
                fields.insert(field.clone(), value);
                check(&line, false, field);
            } else if words(&definition["required"]).contains(field) {
                fields.remove(field);
                check(&line, false, field);
            }
        }
        let mut later = good.clone();
        later["later"] = json!("a field of a later gate");
        check(&later, true, "with a later field");
        if let Some(event) = later.get_mut("event") {
            *event = json!("an event of a later gate");
            check(&later, true, "with a later event");
        }
        later["kind"] = json!("of_a_later_gate");
        assert!(as_published.is_valid(&later), "{kind:?}");
        assert!(!of_kind.is_valid(&later), "{kind:?}");
        later["seq"] = json!(0);
        assert!(!as_published.is_valid(&later), "{kind:?}");
    }
}

#[test]
fn the_schema_refuses_what_is_no_record() {
    let validator = validator(&schema::closed());
    let good = full(Kind::ToolCall, || "text".to_owned());
    check_valid(&good);
    let cases: &[(&str, Option<Value>)] = &[
        ("/version", Some(json!(2))),
        ("/seq", Some(json!(0))),
        ("/timestamp", Some(json!("2026-11-21T20:14:03Z"))),
        ("/instance", Some(json!(""))),
        ("/kind", Some(json!("tool"))),
        ("/kind", None),
        ("/kind", Some(json!("request"))),
        ("/decision", Some(json!("allow"))),
        ("/decision", None),
        ("/allowed", Some(json!(true))),
        ("/method", Some(json!("resources/read"))),
        ("/direction", Some(json!("upstream_to_agent"))),
        ("/allowed", None),
        ("/transports", None),
        ("/event", Some(json!("started"))),
        ("/agent/id", None),
        ("/edits/0/op", Some(json!("moved"))),
        ("/sensitivity/after", Some(json!(3))),
        ("/policies", Some(json!([]))),
        ("/sensitivity/datasets", Some(json!([]))),
        ("/sensitivity/added", Some(json!("payroll"))),
        ("/target", Some(json!(null))),
        ("/target", Some(json!("x".repeat(2000)))),
        ("/unknown", Some(json!("field"))),
    ];
    for (pointer, change) in cases {
        let mut line = good.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let object = line.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match change {
            Some(value) => drop(object.insert((*name).to_owned(), value.clone())),
            None => drop(object.remove(name)),
        }
        assert!(!validator.is_valid(&line), "{pointer} {change:?}");
    }
    // What is wrong with each of these is a value, not a field.
    for (kind, field, value) in [
        (Kind::MalformedMessage, "decision", json!("ALLOW")),
        (Kind::Consent, "event", json!("published")),
        (Kind::Consent, "consent", json!({ "by": "web:ada" })),
        (
            Kind::Consent,
            "consent",
            json!({ "ticket": "1", "required": true }),
        ),
        (Kind::PolicyReload, "event", json!("down")),
    ] {
        let mut line = full(kind, || "text".to_owned());
        check_valid(&line);
        line[field] = value;
        assert!(!validator.is_valid(&line), "{line}");
        assert_ne!(schema::problems(&line.to_string()), [""; 0]);
    }
}

/// `a`, `a.b` and `a[].b` for every field in an example.
fn fields_of_line(line: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match line {
        Value::Object(members) => {
            for (name, value) in members {
                let path = if prefix.is_empty() {
                    name.clone()
                } else {
                    format!("{prefix}.{name}")
                };
                found.insert(path.clone());
                // A peer's.
                if !["arguments", "result", "params"].contains(&path.as_str()) {
                    fields_of_line(value, &path, found);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                fields_of_line(item, &format!("{prefix}[]"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The same, for every field that the schema names.
fn fields_of_schema(schema: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    for (name, value) in schema["properties"].as_object().into_iter().flatten() {
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        found.insert(path.clone());
        fields_of_schema(value, &path, found);
        fields_of_schema(&value["items"], &format!("{path}[]"), found);
    }
}

/// The words in backticks of the first column of a table, and of the whole row.
fn rows<'d>(heading: &str, doc: &'d str) -> Vec<(&'d str, &'d str)> {
    let (_, section) = doc.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section
        .split_once("\n## ")
        .map_or(section, |(section, _)| section);
    let first = |line: &'d str| {
        let cell = line.strip_prefix('|')?.trim_start_matches([' ', '[']);
        Some((cell.strip_prefix('`')?.split_once('`')?.0, line))
    };
    section.lines().filter_map(first).collect()
}

fn words(value: &Value) -> BTreeSet<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

fn serialized<T: serde::Serialize>(all: &[T]) -> BTreeSet<String> {
    all.iter()
        .map(|one| {
            serde_json::to_value(one)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[test]
fn code_schema_and_documentation_name_the_same_fields() {
    let mut code = BTreeSet::new();
    for kind in [Kind::ToolCall, Kind::Checkpoint] {
        let record = samples::full(kind, || "text".to_owned());
        fields_of_line(&written(record), "", &mut code);
    }
    let mut published = BTreeSet::new();
    fields_of_schema(&schema::published()["$defs"]["record"], "", &mut published);
    assert_eq!(code, published);
    let documented: BTreeSet<String> = rows("Fields", DOC)
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(code, documented);
}

#[test]
fn the_documentation_says_which_fields_are_always_there() {
    let always: BTreeSet<String> = rows("Fields", DOC)
        .into_iter()
        .filter(|(_, row)| {
            row.split('|')
                .nth(2)
                .is_some_and(|cell| cell.trim() == "yes")
        })
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(
        always,
        words(&schema::published()["$defs"]["record"]["required"])
    );
}

#[test]
fn code_schema_and_documentation_name_the_same_kinds_and_events() {
    let kinds = serialized(&Kind::ALL);
    let schema = schema::published();
    let fields = &schema["$defs"]["record"]["properties"];
    assert_eq!(kinds, words(&fields["kind"]["examples"]));
    let documented: BTreeSet<String> = rows("What is recorded", DOC)
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(kinds, documented);

    let events = serialized(&Event::ALL);
    assert_eq!(events, words(&fields["event"]["examples"]));
    let of_kinds = schema::definitions(&schema).into_values();
    let of_kinds = of_kinds.filter_map(|it| it["properties"]["event"].get("examples"));
    assert_eq!(events, of_kinds.flat_map(words).collect());
    let (_, row) = rows("Fields", DOC)
        .into_iter()
        .find(|(name, _)| *name == "event")
        .unwrap();
    for event in &events {
        assert!(row.contains(&format!("`{event}`")), "{event}");
    }
}

#[test]
fn the_documentation_has_a_valid_record_of_each_kind() {
    let mut kinds = BTreeSet::new();
    let records = DOC.lines().filter(|line| line.starts_with("{\"version\""));
    for record in records.map(|line| line.parse::<Value>().unwrap()) {
        check_valid(&record);
        kinds.insert(record["kind"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds, serialized(&Kind::ALL));
}

#[test]
fn the_documentation_has_the_numbers_of_the_code() {
    let pace = Backpressure::default();
    assert_eq!(pace.queue_bytes, 4 * 1024 * 1024);
    assert!(DOC.contains("The queue holds 4 MiB of records."));
    assert_eq!(pace.patience, Duration::from_secs(5));
    assert!(DOC.contains("takes nothing for five seconds"));
    assert_eq!(pace.retry_most, Duration::from_secs(1));
    assert!(DOC.contains("tried again, at most a second apart"));
    assert_eq!(pace.grace, Duration::from_millis(500));
    assert!(DOC.contains("half a second after it has taken the last one"));
    assert!(DOC.contains("4 MiB of lines may wait for each."));
    assert_eq!(pace.nap_beside, Duration::from_millis(10));
    assert!(DOC.contains("A follower has a line up to 10 ms after the file"));
    assert_eq!(pace.nap, Duration::from_millis(1));
    assert!(DOC.contains("about a millisecond's worth"));
    assert_eq!((Text::LIMIT, LIST_LIMIT), (1024, 64));
    assert!(DOC.contains("longer than 1,024 bytes"));
    assert!(DOC.contains("more than 64 items"));
    assert_eq!(Body::LIMIT, 16 * 1024);
    assert!(DOC.contains("longer than 16 KiB"));
}
