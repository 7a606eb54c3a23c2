//! The contracts of today and those of the last release.
//!
//! `tests/contracts/published` has the contracts of the last release: its version, its JSON Schemas, its names, and its
//! policy packs, which `tests/test_policy/program.rs` runs. The commit of a release, which gives the heading of the
//! changelog its date, replaces them. Before the first release, they are those of today.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::admin_api;
use crate::compare::{At, Comparison, Written, changes};
use crate::names;
use crate::releases::{Version, last, permitted};

const PUBLISHED: &str = "tests/contracts/published";
const SCHEMAS: &str = "docs/schema";
const CODES: &str = "codes.json";
const ADMIN_API: &str = "admin-api.json";
/// Users write the configuration; the program writes everything else, also the input of rules.
const CONFIGURATION: &str = "gate.schema.json";

struct Contracts {
    schemas: BTreeMap<String, Value>,
    names: BTreeSet<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn schemas(directory: &str) -> BTreeMap<String, Value> {
    let files = fs::read_dir(root().join(directory)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .map(|name| {
            (
                name.clone(),
                read(&format!("{directory}/{name}")).parse().unwrap(),
            )
        })
        .collect()
}

impl Contracts {
    fn today() -> Self {
        let schemas = schemas(SCHEMAS);
        let [commands, metrics, lints] =
            ["commands", "operating", "lints"].map(|page| read(&format!("docs/{page}.md")));
        Self {
            names: names::of(&schemas[CODES], &commands, &metrics, &lints),
            schemas,
        }
    }

    fn published() -> Option<(Version, Self)> {
        let version = fs::read_to_string(root().join(PUBLISHED).join("version.txt")).ok()?;
        let names = read(&format!("{PUBLISHED}/names.txt"))
            .lines()
            .map(str::to_owned)
            .collect();
        Some((
            version.trim().parse().unwrap(),
            Self {
                schemas: schemas(&format!("{PUBLISHED}/schema")),
                names,
            },
        ))
    }

    /// What other contracts lack of these, or break.
    fn broken_by(&self, new: &Self) -> Vec<String> {
        let gone = self.names.difference(&new.names);
        let mut found: Vec<String> = gone
            .map(|name| format!("names: `{name}` is gone"))
            .collect();
        for (file, before) in &self.schemas {
            let changes = match (file.as_str(), new.schemas.get(file)) {
                (_, None) => vec!["is gone".to_owned()],
                // Its codes are among the names.
                (CODES, _) => Vec::new(),
                (ADMIN_API, Some(after)) => admin_api::changes(before, after),
                (CONFIGURATION, Some(after)) => changes(before, after, Written::ByUsers),
                (_, Some(after)) => changes(before, after, Written::ByProgram),
            };
            found.extend(
                changes
                    .into_iter()
                    .map(|change| format!("{file}: {change}")),
            );
        }
        found
    }
}

/// Replaces what is published by the contracts of today.
fn publish(version: Version, today: &Contracts) {
    let published = root().join(PUBLISHED);
    fs::remove_dir_all(&published).ok();
    copy(&root().join(SCHEMAS), &published.join("schema"));
    copy(&root().join("policies"), &published.join("policies"));
    let names: Vec<&str> = today.names.iter().map(String::as_str).collect();
    fs::write(published.join("names.txt"), names.join("\n") + "\n").unwrap();
    fs::write(published.join("version.txt"), format!("{version}\n")).unwrap();
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn a_version_keeps_what_the_last_release_has_published() {
    let (version, changelog, today) = (
        Version::today(),
        read("docs/CHANGELOG.md"),
        Contracts::today(),
    );
    let published = Contracts::published();
    let (base, before) = published.unwrap_or_else(|| (version, Contracts::today()));
    let verdict = permitted(&before.broken_by(&today), base, version, &changelog);
    assert_eq!(verdict, Ok(()), "{}", verdict.as_ref().unwrap_err());

    let released = last(&changelog);
    let is_new =
        released == Some(version) && Contracts::published().is_none_or(|(it, _)| it != version);
    if is_new && std::env::var_os("UPDATE_CONTRACTS").is_some() {
        publish(version, &today);
    }
    let published = Contracts::published().map(|(version, _)| version);
    assert_eq!(
        published, released,
        "the last release in docs/CHANGELOG.md has no contracts: `UPDATE_CONTRACTS=1 cargo test --test contracts` \
         writes those of {version} into {PUBLISHED}"
    );
}

#[test]
fn names_are_found_in_every_table() {
    let names = Contracts::today().names;
    let expected = [
        "code configuration config::syntax",
        "command audit exits with 1",
        "command check --format VALUE may be sarif",
        "command proxy --config VALUE",
        "lint can_error",
        "metric mcp_protector_ready gauge",
    ];
    for name in expected {
        assert!(names.contains(name), "{name}: {names:#?}");
    }
    let gone = "lint can_error".to_owned();
    let before = Contracts {
        schemas: BTreeMap::new(),
        names: BTreeSet::from([gone.clone()]),
    };
    let after = Contracts {
        schemas: BTreeMap::new(),
        names: BTreeSet::new(),
    };
    assert_eq!(
        before.broken_by(&after),
        [format!("names: `{gone}` is gone")]
    );
}

/// Every schema of a schema, by its pointer.
fn pointers(schema: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let inside: Vec<(String, &Value)> = match schema {
        Value::Object(all) => all.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .map(|(at, it)| (at.to_string(), it))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (key, it) in inside {
        let key = key.replace('~', "~0").replace('/', "~1");
        pointers(it, &format!("{at}/{key}"), found);
    }
}

#[test]
fn no_key_of_the_configuration_and_no_field_of_a_record_goes_unnoticed() {
    let schemas = schemas(SCHEMAS);
    let files = [
        (CONFIGURATION, Written::ByUsers),
        ("audit.schema.json", Written::ByProgram),
    ];
    for (file, written) in files {
        let whole = &schemas[file];
        let mut all = Vec::new();
        pointers(whole, "", &mut all);
        // Tables of their own, and not parts of conditions.
        all.retain(|at| {
            let conditions = ["/if", "/then", "/not", "/allOf", "/anyOf"];
            let table = whole.pointer(at).unwrap();
            let closed = table.get("additionalProperties") == Some(&json!(false));
            let kept = closed || written == Written::ByProgram;
            kept && table.get("properties").is_some()
                && !conditions.iter().any(|word| at.contains(word))
        });
        assert!(all.len() > 15, "{all:?}");
        for table in all {
            let mut changed = whole.clone();
            let keys = changed.pointer_mut(&format!("{table}/properties")).unwrap();
            let mut gone = Vec::new();
            for (key, schema) in keys.as_object_mut().unwrap() {
                if schema != &json!(false) {
                    gone.push(format!("/{key}: is gone"));
                    *schema = json!(false);
                }
            }
            let (new, at) = (&changed, At::new(&table));
            let comparison = Comparison {
                old: whole,
                new,
                written,
            };
            let pair = [whole, new].map(|it| it.pointer(&table).unwrap());
            let found = comparison.schemas(&at, pair[0], pair[1]);
            let missed: Vec<_> = gone
                .iter()
                .filter(|it| !found.iter().any(|at| at.ends_with(*it)))
                .collect();
            assert!(missed.is_empty(), "{file} {table}: {missed:?} of {found:?}");
        }
    }
}
