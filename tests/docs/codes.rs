//! Tables of stable codes: their meanings are in `docs/schema/codes.json`, the codes themselves in the library.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::docs::generated::{json, rows};
use crate::docs::pages::root;

const MEANINGS: &str = "docs/schema/codes.json";

/// How codes of diagnostics begin. Lints have a page of their own.
const AREAS: [&str; 8] = [
    "config::",
    "policy::",
    "consent::",
    "limits::",
    "test::",
    "check::",
    "explain::",
    "client::",
];

/// Calls that take the code of a record as a literal, and annotations of builtin policies.
const LITERALS: [&str; 7] = [
    "Reason::code(\"",
    "@code(\"",
    "code: Some(\"",
    " code: \"",
    "finding(\"",
    "let reason = \"",
    "unknown_tool(name, \"",
];

/// Groups of codes with their meanings.
pub(crate) fn groups() -> Vec<(String, Vec<(String, String)>)> {
    let meanings = json(MEANINGS);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let groups = meanings.as_object().unwrap().iter();
    let groups = groups.map(|(group, codes)| {
        let codes = codes.as_object().unwrap().iter();
        (
            group.clone(),
            codes
                .map(|(code, means)| (code.clone(), text(means)))
                .collect(),
        )
    });
    groups.collect()
}

pub(crate) fn table(group: &str) -> Result<String, String> {
    let found = groups().into_iter().find(|(name, _)| name == group);
    let (_, codes) = found.ok_or_else(|| format!("`{MEANINGS}` has no group `{group}`"))?;
    let row = |(code, means)| vec![format!("`{code}`"), means];
    let codes: Vec<Vec<String>> = codes.into_iter().map(row).collect();
    Ok(rows(&["code", "meaning"], &codes))
}

/// The code of the library, without tests and comments.
fn sources(directory: &Path, found: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path
            .extension()
            .is_some_and(|kind| kind == "rs" || kind == "cedar")
            && !path.ends_with("tests.rs")
        {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            lines.for_each(|line| {
                *found += line;
                found.push('\n');
            });
        }
    }
}

fn is_code(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
}

/// The words between quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

fn cut<'t>(text: &'t str, end: &str) -> &'t str {
    text.split(end).next().unwrap_or(text)
}

/// The codes that functions called `code`, `reason_code` or `denial_code` return.
fn returned(source: &str) -> Vec<&str> {
    let functions = source.split("fn ").skip(1).filter(|text| {
        let name = text.split('(').next().unwrap_or_default();
        let signature = text.split('{').next().unwrap_or_default();
        (name == "code" || name.ends_with("_code")) && signature.contains("str")
    });
    // Of a method, or of a function outside of them.
    let ends = ["\n    }\n", "\n}\n"];
    let bodies = functions.map(|text| ends.iter().fold(text, |text, end| cut(text, end)));
    bodies
        .flat_map(quoted)
        .filter(|word| is_code(word))
        .collect()
}

/// Every code in the library's source.
fn declared() -> BTreeSet<String> {
    let mut source = String::new();
    sources(&root().join("src"), &mut source);
    let literals = LITERALS.into_iter().flat_map(|begins| {
        let rest = source.split(begins).skip(1);
        rest.filter_map(|rest| rest.split('"').next())
            .collect::<Vec<_>>()
    });
    let diagnostics = AREAS.into_iter().flat_map(|area| {
        let begins = format!("\"{area}");
        let rest = source.split(&begins).skip(1);
        let codes = rest.filter_map(|rest| rest.split('"').next());
        let codes = codes.filter(|code| is_code(code));
        codes
            .map(|code| format!("{area}{code}"))
            .collect::<Vec<_>>()
    });
    // A rejection is built with its stage and its code.
    let after_stages = source.split("Stage::").skip(1).filter_map(|rest| {
        let (_, rest) = rest.split_once(',')?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    });
    let literals = literals.chain(after_stages);
    let reasons = returned(&source).into_iter();
    let reasons = reasons.chain(literals.filter(|word| is_code(word)));
    reasons.map(str::to_owned).chain(diagnostics).collect()
}

#[test]
fn every_code_of_the_library_has_a_meaning() {
    let known: BTreeSet<String> = groups()
        .into_iter()
        .flat_map(|(_, codes)| codes.into_iter().map(|(code, _)| code))
        .collect();
    let declared = declared();
    assert!(declared.len() > 200, "{declared:?}");
    let nameless: Vec<_> = declared.difference(&known).collect();
    assert!(nameless.is_empty(), "{MEANINGS} lacks {nameless:?}");
}

#[test]
fn every_meaning_is_that_of_a_code_of_the_library() {
    let mut source = String::new();
    sources(&root().join("src"), &mut source);
    let words: BTreeSet<&str> = source.split('"').collect();
    let groups = groups();
    let codes = groups.iter().flat_map(|(_, codes)| codes);
    let stray: Vec<_> = codes
        .filter(|(code, _)| !words.contains(code.as_str()))
        .collect();
    assert!(stray.is_empty(), "{stray:?}");
}
