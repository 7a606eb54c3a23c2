//! What is published of the document, against what is made.

use serde_json::{Value, json};

use super::super::super::fixture::{World, tool};
use super::*;
use crate::policy::{Arguments, Consent, Leaf, Principal, ResourceFacts};

const SCHEMA: &str = include_str!("../../../../docs/schema/input.schema.json");

#[test]
fn every_document_is_as_its_schema_says() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut seen = 0;
    for sample in samples() {
        let document = json(DocumentNode::Object(sample));
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{document:#}\n{errors:#?}");
        seen += 1;
    }
    assert!(seen >= 60, "{seen}");
}

#[test]
fn the_schema_names_every_member_and_no_other() {
    let mut made = std::collections::BTreeSet::new();
    for sample in samples() {
        names(&json(DocumentNode::Object(sample)), "", &mut made);
    }
    let mut published = std::collections::BTreeSet::new();
    let schema = schema();
    for (part, paths) in [
        ("agent", "/principal"),
        ("server", "/principal"),
        ("tool", "/resource"),
        ("resource", "/resource"),
        ("prompt", "/resource"),
        ("client", "/resource"),
        ("host", "/resource"),
        ("context", "/context"),
    ] {
        published_names(&schema, &schema["$defs"][part], paths, &mut published);
    }
    for name in [
        "/action",
        "/actionGroups",
        "/principal",
        "/resource",
        "/context",
    ] {
        published.insert(name.to_owned());
    }
    // A server may be the resource as well.
    published_names(
        &schema,
        &schema["$defs"]["server"],
        "/resource",
        &mut published,
    );
    assert_eq!(made, published);
}

#[test]
fn the_schema_refuses_what_is_no_document() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for wrong in [json!({}), json!([]), json!({"action": "call_tool"})] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
    let mut document = json(DocumentNode::Object(samples().remove(0)));
    assert!(validator.is_valid(&document));
    document["more"] = json!(1);
    assert!(!validator.is_valid(&document));
}

#[test]
fn action_groups_are_those_of_the_cedar_schema() {
    for line in super::super::cedar::BASE_SCHEMA.lines() {
        let Some(rest) = line.trim().strip_prefix("action ") else {
            continue;
        };
        let Some((names, groups)) = rest.split_once(" in [") else {
            continue;
        };
        let group = groups.split_once(']').unwrap().0;
        for name in names.split(", ") {
            let action = ActionName::ALL.into_iter().find(|it| it.as_str() == name);
            if let Some(action) = action {
                assert_eq!(action_groups(action)[0], group, "{name}");
                assert_eq!(*action_groups(action).last().unwrap(), "any");
            }
        }
    }
}

#[test]
fn capabilities_are_closed_upwards() {
    let world = World::new();
    let mut tool = tool("t");
    tool.capabilities = vec![
        "fs.write".to_owned(),
        "net".to_owned(),
        "fs.read.all".to_owned(),
    ];
    let groups = ToolGroups::default();
    let facts = world.call(&tool);
    let document = json(DocumentNode::Object(of(&facts, &groups).unwrap()));
    let expected = json!(["fs", "fs.read", "fs.read.all", "fs.write", "net"]);
    assert_eq!(document["resource"]["capabilities"], expected);
    assert_eq!(
        document["resource"]["permissions"],
        json!(["write", "connect"])
    );
}

#[test]
fn arguments_are_nested_as_they_were_sent() {
    let text = |text: &'static str| Leaf::String(text.into());
    check(vec![], &Ok(json!({})));
    check(vec![("", Leaf::EmptyObject)], &Ok(json!({})));
    check(
        vec![
            ("/a", text("x")),
            ("/b/c/d", Leaf::Bool(true)),
            ("/b/e", Leaf::Null),
            ("/f", Leaf::EmptyArray),
            ("/g", Leaf::EmptyObject),
            ("/a~1b~0c", Leaf::Number("1.5")),
            ("/", Leaf::Number("7.0")),
        ],
        &Ok(
            json!({"a": "x", "b": {"c": {"d": true}, "e": null}, "f": [], "g": {}, "a/b~c": 1.5, "": 7}),
        ),
    );
    let both = Leaf::Strings(vec!["x".into(), "y".into()]);
    check(
        vec![("/l/0", text("x")), ("/l/1", text("y")), ("/l", both)],
        &Ok(json!({"l": ["x", "y"]})),
    );
}

#[test]
fn an_object_whose_keys_are_numbers_is_no_array() {
    let one = || ("/l/0", Leaf::Number("1"));
    let two = || ("/l/1", Leaf::Bool(false));
    check(vec![one(), two()], &Ok(json!({"l": {"0": 1, "1": false}})));
    check(
        vec![one(), two(), ("/l", Leaf::Array)],
        &Ok(json!({"l": [1, false]})),
    );
    let many = (0..12).map(|_| Leaf::Null).collect::<Vec<_>>();
    let pointers: Vec<String> = (0..12).map(|index| format!("/l/{index}")).collect();
    let mut leaves: Vec<_> = pointers
        .iter()
        .map(|pointer| &**pointer)
        .zip(many)
        .collect();
    leaves.push(("/l", Leaf::Array));
    check(leaves, &Ok(json!({"l": vec![Value::Null; 12]})));
}

#[test]
fn leaves_of_no_value_are_refused() {
    let text = || Leaf::String("x".into());
    for leaves in [
        vec![("/a", text()), ("/a", text())],
        vec![("/a", text()), ("/a/b", text())],
        vec![("/l/0", text()), ("/l/2", text()), ("/l", Leaf::Array)],
        vec![("/l/x", text()), ("/l", Leaf::Array)],
        vec![("/n", Leaf::Number("1e999"))],
    ] {
        check(leaves, &Err(()));
    }
}

#[test]
fn times_compare_as_texts() {
    let mut world = World::new();
    let groups = ToolGroups::default();
    let mut times = Vec::new();
    for now in [0, 999, 1_000, 1_795_000_000_000, 253_402_207_200_000] {
        world.now_ms = now;
        let tool = tool("t");
        let facts = world.call(&tool);
        let document = json(DocumentNode::Object(of(&facts, &groups).unwrap()));
        times.push(
            document["context"]["env"]["now"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(times[0], "1970-01-01T00:00:00.000Z");
    assert!(times.is_sorted(), "{times:?}");
    for beyond in [i64::MAX, i64::MIN, -100_000_000_000_000] {
        world.now_ms = beyond;
        let tool = tool("t");
        assert_eq!(
            of(&world.call(&tool), &groups).unwrap_err(),
            DocumentEncodingError::Time
        );
    }
    world.now_ms = 0;
    world.consent = Consent {
        at_ms: Some(i64::MAX),
        ..Consent::default()
    };
    assert!(of(&world.call(&tool("t")), &groups).is_err());
}

#[test]
fn an_item_of_a_list_is_asked_about_by_its_own_action() {
    let world = World::new();
    let list = ListFacts {
        principal: Principal::Agent(&world.agent),
        env: world.env(),
        uses: crate::policy::UseTime::Now,
    };
    let resource = ResourceFacts::default();
    let asked = listing(&list, Resource::Resource(&resource)).unwrap();
    assert_eq!(asked.action.name(), ActionName::ListResource);
    assert!(listing(&list, Resource::Server(&world.server)).is_none());
}

fn check(leaves: Vec<(&str, Leaf<'static>)>, expected: &Result<Value, ()>) {
    let leaves = leaves
        .into_iter()
        .map(|(pointer, leaf)| (pointer.to_owned(), leaf));
    let arguments = Arguments(leaves.collect());
    let found = arguments::nested(&arguments).map(json).map_err(|_| ());
    assert_eq!(&found, expected, "{arguments:?}");
}

fn schema() -> Value {
    SCHEMA.parse().unwrap()
}

fn json(node: DocumentNode<'_>) -> Value {
    match node {
        DocumentNode::Null => Value::Null,
        DocumentNode::Bool(value) => json!(value),
        DocumentNode::Integer(value) => json!(value),
        DocumentNode::Number(value) => json!(value),
        DocumentNode::Text(text) => json!(text),
        DocumentNode::List(items) => items.into_iter().map(json).collect(),
        DocumentNode::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(key, node)| (key.into_owned(), json(node)))
                .collect()
        }
    }
}

fn names(value: &Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        names(value, &path, found);
        found.insert(path);
    }
}

fn published_names(
    schema: &Value,
    part: &Value,
    path: &str,
    found: &mut std::collections::BTreeSet<String>,
) {
    let part = match part["$ref"].as_str() {
        Some(name) => &schema["$defs"][name.rsplit('/').next().unwrap()],
        None => part,
    };
    for (key, value) in part["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        published_names(schema, value, &path, found);
        found.insert(path);
    }
}
