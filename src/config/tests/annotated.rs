//! `docs/gate.toml`, which shows every section and key.

use std::collections::{BTreeMap, BTreeSet};

use super::published::{known, schema};
use super::{render, valid};
use crate::config::Config;
use crate::config::reader::KeyAvailability;
use serde_json::Value;

const TEXT: &str = include_str!("../../../docs/gate.toml");

/// Lines that can be said besides, or instead of others.
#[derive(Debug, Default)]
struct Alternative {
    /// Dotted paths of keys that make room.
    instead: Vec<String>,
    /// Alternatives that it needs.
    with: Vec<String>,
    /// The numbers of its lines.
    lines: Vec<usize>,
}

/// All that the file offers, by name.
fn alternatives() -> BTreeMap<String, Alternative> {
    let mut found = BTreeMap::new();
    let mut current: Option<(String, Alternative)> = None;
    for (number, line) in TEXT.lines().enumerate() {
        if let Some(title) = line.strip_prefix("# Alternative: ") {
            found.extend(current.take());
            current = Some(titled(title));
        } else if is_setting(line) {
            let (_, alternative) = current.as_mut().expect("a title stands above it");
            alternative.lines.push(number);
        } else {
            found.extend(current.take());
        }
    }
    found.extend(current);
    found
}

fn is_setting(line: &str) -> bool {
    line.len() > 1 && line.starts_with('#') && !line.starts_with("# ")
}

/// `NAME`, or `NAME (instead of KEY, KEY; with NAME; with NAME)`.
fn titled(title: &str) -> (String, Alternative) {
    let mut alternative = Alternative::default();
    let (name, conditions) = title.split_once(" (").unwrap_or((title, ")"));
    let conditions = conditions.strip_suffix(')').expect("the bracket is closed");
    for condition in conditions.split("; ").filter(|it| !it.is_empty()) {
        if let Some(keys) = condition.strip_prefix("instead of ") {
            alternative.instead = keys.split(", ").map(str::to_owned).collect();
        } else {
            let needed = condition.strip_prefix("with ");
            let needed = needed.expect("`instead of` or `with`");
            alternative.with.push(needed.to_owned());
        }
    }
    (name.to_owned(), alternative)
}

/// The file with one alternative taken, and those that it needs.
fn with(alternatives: &BTreeMap<String, Alternative>, name: &str) -> String {
    let mut lines: Vec<String> = TEXT.lines().map(str::to_owned).collect();
    let mut wanted = vec![name.to_owned()];
    let mut out = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        let alternative = alternatives.get(&name);
        let alternative = alternative.unwrap_or_else(|| panic!("there is no `{name}`"));
        for number in &alternative.lines {
            lines[*number].remove(0);
        }
        wanted.extend(alternative.with.iter().cloned());
        out.extend(alternative.instead.iter().cloned());
    }
    let (mut section, mut is_out) = (String::new(), false);
    for (line, original) in lines.iter_mut().zip(TEXT.lines()) {
        if let Some(header) = original.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            section = format!("{header}.");
            is_out = out.remove(header);
        }
        if is_out && line == original {
            line.insert(0, '#');
            continue;
        }
        let key = original
            .split_once(" = ")
            .map(|(key, _)| format!("{section}{key}"));
        if let Some(key) = key.filter(|key| out.remove(key)) {
            assert!(!original.starts_with('#'), "{key}");
            line.insert(0, '#');
        }
    }
    assert!(
        out.is_empty(),
        "`{name}` makes room for what is not there: {out:?}"
    );
    lines.join("\n")
}

/// Takes it as the code and as the schema does, and notes its keys.
fn check(name: &str, text: &str, keys: &mut BTreeSet<String>) {
    let config = Config::parse(
        text,
        std::path::Path::new("gate.toml"),
        std::path::Path::new("/etc/gate"),
        &|name| Some(format!("the-value-of-{name}-0123456789").into()),
    );
    let config = config.unwrap_or_else(|errors| panic!("{name}: {}", render(&errors)));
    // Who has no page to answer at has one with the alternative of questions to people.
    let mut warnings = config.warnings.iter();
    let warning = warnings.find(|it| it.field() != "admin.approvers");
    assert!(warning.is_none(), "{name}: {warning:?}");
    let instance: Value = toml::from_str(text).expect("TOML");
    let validator = jsonschema::validator_for(&schema()).expect("the schema is a schema");
    let problems: Vec<_> = validator
        .iter_errors(&instance)
        .map(|it| it.to_string())
        .collect();
    assert!(problems.is_empty(), "{name}: {problems:?}");
    note("", &instance, keys);
}

fn note(path: &str, value: &Value, keys: &mut BTreeSet<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{key}").trim_start_matches('.').to_owned();
        note(&path, value, keys);
        keys.insert(path);
    }
}

#[test]
fn each_alternative_of_the_annotated_file_is_valid_and_all_keys_stand_in_it() {
    let alternatives = alternatives();
    assert!(alternatives.len() >= 30, "{}", alternatives.len());
    let mut keys = BTreeSet::new();
    check("as it stands", TEXT, &mut keys);
    for name in alternatives.keys() {
        check(name, &with(&alternatives, name), &mut keys);
    }
    let is_shown = |path: &String| {
        let path = path.trim_start_matches('.');
        keys.contains(path.strip_suffix(".*").unwrap_or(path))
    };
    let missing: Vec<_> = known(KeyAvailability::Now)
        .into_iter()
        .filter(|path| !is_shown(path))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_the_annotated_file_says_by_itself_is_what_a_gate_does_that_is_told_nothing() {
    let without = "upstream.command = [\"cat\"]\npolicy.allow = [\"read_file\"]\n";
    let of = |text| {
        let config = Config {
            warnings: Vec::new(),
            ..valid(text)
        };
        format!("{config:?}")
    };
    assert_eq!(of(TEXT), of(without));
}
