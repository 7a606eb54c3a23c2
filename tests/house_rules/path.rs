//! The path of a message is short, and knows no feature.

use super::tree::{read, rust};

/// The functions that a reviewer of the path reads, and where they are.
const PATH: [(&str, &str); 3] = [
    ("src/gate/path.rs", "exchange"),
    ("src/gate/path.rs", "pass"),
    ("src/gate/authorize.rs", "authorize"),
];

/// The lines of a function, from its name to its end.
fn function(path: &str, name: &str) -> Vec<String> {
    let text = read(path);
    let begins = |line: &str| {
        let head = line.trim_start();
        ["(", "<"]
            .iter()
            .any(|end| head.contains(&format!("fn {name}{end}")) && !head.starts_with("//"))
    };
    let from = text.lines().skip_while(|line| !begins(line));
    let mut lines: Vec<String> = Vec::new();
    for line in from {
        lines.push(line.to_owned());
        if line == "    }" {
            return lines;
        }
    }
    panic!("`{path}` has no function `{name}`");
}

/// Every type that is a filter, and the file that has it.
fn filters() -> Vec<(String, String)> {
    let mut filters = Vec::new();
    for (path, text) in rust() {
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("impl Filter for "))
            .filter_map(|rest| rest.strip_suffix(" {"));
        filters.extend(names.map(|name| (name.to_owned(), path.clone())));
    }
    assert!(filters.len() > 20, "{filters:?}");
    filters
}

#[test]
fn the_path_of_a_message_fits_on_a_page() {
    let all = PATH.map(|(path, name)| function(path, name));
    for ((_, name), lines) in PATH.iter().zip(&all) {
        assert!(lines.len() <= 30, "`{name}` has {} lines", lines.len());
    }
    let sum: usize = all.iter().map(Vec::len).sum();
    assert!(sum <= 60, "the path has {sum} lines");
}

#[test]
fn only_the_list_of_filters_imports_a_filter() {
    let filters = filters();
    for (path, text) in rust() {
        if path == "src/gate/assemble.rs" || !path.starts_with("src/gate/") {
            continue;
        }
        for line in text.lines().filter(|line| line.starts_with("use ")) {
            let words: Vec<&str> = line
                .split(|it: char| !it.is_alphanumeric() && it != '_')
                .collect();
            let imported = filters.iter().find(|(name, own)| {
                let module = own.trim_end_matches(".rs").rsplit('/').next();
                let is_named = words.contains(&name.as_str());
                *own != path && is_named && module.is_some_and(|it| words.contains(&it))
            });
            // The filter of consent is spread over its room.
            let is_in_its_room = path.starts_with("src/gate/consent/");
            assert!(imported.is_none() || is_in_its_room, "{path}: {line}");
        }
    }
}

/// The rooms that a message passes.
const ROOMS: [&str; 9] = [
    "src/agent/",
    "src/bridge/",
    "src/cli/proxy/",
    "src/consent/",
    "src/gate/",
    "src/inward/",
    "src/outward/",
    "src/session/",
    "src/upstream/",
];

/// The most fields of one struct; more are grouped by what needs them.
const MOST_FIELDS: usize = 12;

/// Every struct with named fields in a source text, and how many it has.
fn structs(text: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if is_inside {
            let is_field = line.starts_with("    ")
                && !line.starts_with("     ")
                && !line.trim_start().starts_with(['/', '#', ')', '>']);
            if line == "}" {
                is_inside = false;
            } else if is_field && let Some((_, fields)) = found.last_mut() {
                *fields += 1;
            }
            continue;
        }
        let Some((_, rest)) = line.split_once("struct ") else {
            continue;
        };
        if !line.starts_with(' ') && !line.starts_with('/') && line.ends_with('{') {
            let name = rest.split(|it: char| !it.is_alphanumeric()).next();
            found.push((name.unwrap_or_default().to_owned(), 0));
            is_inside = true;
        }
    }
    found
}

#[test]
fn fields_are_counted_without_their_comments_and_attributes() {
    let text = "/// A struct of two.\npub struct Pair<'a> {\n    /// The first.\n    pub a: u8,\n    \
                #[serde(skip)]\n    b: Map<\n        u8,\n    >,\n}\n";
    assert_eq!(structs(text), [("Pair".to_owned(), 2)]);
}

#[test]
fn no_struct_of_the_path_has_more_than_twelve_fields() {
    let mut seen = 0;
    for (path, text) in rust() {
        let of_path = ROOMS.iter().any(|room| path.starts_with(room));
        // Settings have one field for each key of the configuration.
        if !of_path || path.ends_with("/settings.rs") || path.contains("/tests") {
            continue;
        }
        for (name, fields) in structs(&text) {
            seen += 1;
            assert!(
                fields <= MOST_FIELDS,
                "{path}: `{name}` has {fields} fields"
            );
        }
    }
    assert!(seen > 300, "{seen} structs were found");
}
