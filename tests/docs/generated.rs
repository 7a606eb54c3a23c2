//! Regions of the reference pages that are rendered from the schemas, the help texts and the code.
//!
//! A region is the lines between `<!-- generated: NAME -->` and `<!-- end -->`. With `UPDATE_DOCS=1` the test writes
//! the regions instead of comparing them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use mcp_protector::loading::{BUILTIN_POLICIES, BuiltinPolicy};
use serde_json::Value;

use crate::agentdojo;
use crate::docs::pages::{self, root};
use crate::docs::{codes, fields, help, keys, lints, metrics};
use crate::user_ci::yaml;

const BEGINS: &str = "\n<!-- generated: ";
const NAME_ENDS: &str = " -->\n";
const END: &str = "<!-- end -->";

/// Names of regions that some page must have.
fn required() -> BTreeSet<String> {
    let groups = codes::groups().into_iter().map(|(name, _)| name);
    let codes = groups.map(|name| format!("codes {name}"));
    let keys = keys::tables()
        .into_iter()
        .map(|path| format!("keys {path}"));
    let help = help::commands().into_iter();
    let help = help.map(|command| format!("help {command}"));
    let all = codes.chain(keys).chain(help);
    all.chain(
        [
            "action inputs",
            "action outputs",
            "agentdojo",
            "builtin",
            "fields",
            "kinds",
            "lints",
            "metrics",
        ]
        .map(str::to_owned),
    )
    .collect()
}

fn rendered(name: &str) -> Result<String, String> {
    match name.split_once(' ').unwrap_or((name, "")) {
        ("keys", path) => keys::table(path),
        ("help", command) => Ok(help::section(command)),
        ("codes", group) => codes::table(group),
        ("action", fields) => Ok(action(fields)),
        ("agentdojo", "") => Ok(agentdojo::table()),
        ("builtin", "") => Ok(builtin_policies()),
        ("fields", "") => Ok(fields::table()),
        ("kinds", "") => Ok(fields::by_kind()),
        ("lints", "") => Ok(lints::table()),
        ("metrics", "") => Ok(metrics::table()),
        _ => Err(format!("nothing renders the region `{name}`")),
    }
}

/// What the action takes or gives.
fn action(kind: &str) -> String {
    let action = yaml::of_project("action.yml");
    let row = |(name, field): (&str, &Value)| {
        let default = field["default"].as_str().filter(|text| !text.is_empty());
        let default = default.map(|text| format!(" Default: `{text}`."));
        let about = yaml::text(field, "description");
        vec![
            format!("`{name}`"),
            format!("{about}.{}", default.unwrap_or_default()),
        ]
    };
    let all: Vec<_> = yaml::fields(&action[kind]).map(row).collect();
    let name = kind.trim_end_matches('s');
    rows(&[name, "meaning"], &all)
}

/// The gate's own policies.
fn builtin_policies() -> String {
    let row = |it: &BuiltinPolicy| {
        let key = it.key.map_or_else(String::new, |key| format!("`{key}`"));
        vec![format!("`{}`", it.id), key, it.about.to_owned()]
    };
    let all: Vec<_> = BUILTIN_POLICIES.iter().map(row).collect();
    rows(&["policy", "key", "what it does"], &all)
}

/// A page with each region as it should be, and the names of its regions.
fn renewed(page: &str) -> Result<(String, Vec<String>), String> {
    let (mut renewed, mut names, mut rest) = (String::new(), Vec::new(), page);
    while let Some((before, after)) = rest.split_once(BEGINS) {
        let (name, region) = after.split_once(NAME_ENDS).ok_or("a region has no name")?;
        let after = region.split_once(END).map(|(_, after)| after);
        let after = after.ok_or_else(|| format!("the region `{name}` has no end"))?;
        let text = rendered(name)?;
        write!(renewed, "{before}{BEGINS}{name}{NAME_ENDS}{text}{END}").unwrap();
        names.push(name.to_owned());
        rest = after;
    }
    Ok((renewed + rest, names))
}

/// A table. Cells have no blanks around them, so that a row is short.
pub(crate) fn rows(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("|{}|\n", cells.join("|"));
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let rule = vec!["---".to_owned(); head.len()];
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(&head) + &line(&rule) + &rows
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn json(path: &str) -> Value {
    read(path).parse().unwrap()
}

#[test]
fn every_generated_region_is_as_its_source_has_it() {
    let writes = std::env::var_os("UPDATE_DOCS").is_some();
    let (mut stale, mut seen) = (Vec::new(), BTreeSet::new());
    for page in pages::all() {
        let (text, names) =
            renewed(&page.text).unwrap_or_else(|why| panic!("{}: {why}", page.path));
        for name in names {
            assert!(seen.insert(name.clone()), "two regions are called `{name}`");
        }
        if text != page.text && writes {
            fs::write(root().join(&page.path), text).unwrap();
        } else if text != page.text {
            let lines = text.lines().zip(page.text.lines());
            let first = lines.into_iter().find(|(new, old)| new != old);
            stale.push(format!("{}: {first:?}", page.path));
        }
    }
    assert!(stale.is_empty(), "UPDATE_DOCS=1 writes them: {stale:#?}");
    assert_eq!(seen, required());
}

#[test]
fn a_region_that_is_wrong_is_renewed_or_refused() {
    let page = "a\n<!-- generated: codes tests -->\nstale\n<!-- end -->\nb\n";
    let (text, names) = renewed(page).unwrap();
    assert!(text.contains("|`test::failed`|"), "{text}");
    assert!(!text.contains("stale") && text.ends_with("<!-- end -->\nb\n"));
    assert_eq!(names, ["codes tests"]);
    assert_eq!(renewed(&text).unwrap().0, text);
    for wrong in ["keys nowhere", "codes nowhere", "nothing"] {
        let page = format!("\n<!-- generated: {wrong} -->\n<!-- end -->\n");
        renewed(&page).unwrap_err();
    }
    renewed("\n<!-- generated: codes tests -->\n").unwrap_err();
}
