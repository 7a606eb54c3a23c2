//! What files of labels have lost. A root that is not there yet, or a key of a tool, opens what it
//! closed, and the file is valid without it.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::file_names::{AGENTS, file_name};
use crate::policy::PolicySource;

/// Lists of `agents.toml` that only grant: a shorter list withdraws a permission.
const GIVING: [&str; 5] = ["roles", "teams", "capabilities", "allow", "servers"];

/// Tables and keys that are gone, lists that are shorter, and numbers that may be cut.
pub(in super::super) fn lost(old: &[&PolicySource], new: &[&PolicySource]) -> Vec<String> {
    let then = all_said(old);
    let now = all_said(new);
    let mut lost = Vec::new();
    for source in old {
        let keys = gone(source, &now);
        if keys.is_empty() || new.iter().any(|new| new.name == source.name) {
            lost.extend(keys);
        } else {
            let file = &source.name;
            lost.push(format!("`{file}`: labels are in force and are not there"));
        }
    }
    for source in new {
        lost.extend(said(source).into_iter().filter_map(|(path, value)| {
            let KeyContent::Number { text, ends: true } = &value else {
                return None;
            };
            let same = then.get(&path).is_some_and(|then| then.is_number(text));
            let shown = shown(&path);
            (!same).then(|| format!("`{}`: the number of `{shown}` may be cut", source.name))
        }));
    }
    lost
}

/// The name of the file, then the keys down to a value.
type KeyPath = Vec<String>;

/// What stands under a key, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyContent {
    Table,
    Texts(usize),
    Number {
        text: String,
        /// Nothing tells that it ends where the file does.
        ends: bool,
    },
    Other,
}

impl KeyContent {
    fn is_number(&self, written: &str) -> bool {
        matches!(self, Self::Number { text, .. } if text == written)
    }
}

/// What several files say together: where a file lies makes no difference.
fn all_said(sources: &[&PolicySource]) -> BTreeMap<KeyPath, KeyContent> {
    sources.iter().flat_map(|source| said(source)).collect()
}

fn gone(source: &PolicySource, now: &BTreeMap<KeyPath, KeyContent>) -> Vec<String> {
    let file = &source.name;
    let mut told: Vec<KeyPath> = Vec::new();
    let mut gone = Vec::new();
    for (path, then) in said(source) {
        if told.iter().any(|above| path.starts_with(above)) {
            continue;
        }
        let shown = shown(&path);
        match (then, now.get(&path)) {
            (_, None) => {
                gone.push(format!("`{file}`: `{shown}` is in force and is not there"));
                told.push(path);
            }
            (KeyContent::Texts(then), Some(KeyContent::Texts(now)))
                if *now < then && !is_giving(&path) =>
            {
                gone.push(format!(
                    "`{file}`: `{shown}` names less than what is in force"
                ));
            }
            (
                KeyContent::Table
                | KeyContent::Texts(_)
                | KeyContent::Number { .. }
                | KeyContent::Other,
                Some(_),
            ) => {}
        }
    }
    gone
}

fn is_giving(path: &KeyPath) -> bool {
    let of_agents = path.first().is_some_and(|file| file == AGENTS);
    let key = path.last().map(String::as_str).unwrap_or_default();
    of_agents && GIVING.contains(&key)
}

/// Every key, those of tables before what is in them.
fn said(source: &PolicySource) -> Vec<(KeyPath, KeyContent)> {
    let mut found = Vec::new();
    if let Ok(root) = DeTable::parse(&source.text) {
        let file = file_name(source);
        let server = source.server.as_ref();
        let path = vec![server.map_or_else(|| file.to_owned(), |key| key.id_of(file))];
        walk(source, root.get_ref(), &path, &mut found);
    }
    found
}

fn walk(
    source: &PolicySource,
    table: &DeTable<'_>,
    above: &KeyPath,
    found: &mut Vec<(KeyPath, KeyContent)>,
) {
    for (key, value) in table {
        let mut path = above.clone();
        path.push(key.get_ref().to_string());
        let said = match value.get_ref() {
            DeValue::Table(_) => KeyContent::Table,
            DeValue::Array(items) => KeyContent::Texts(items.len()),
            DeValue::String(_) => KeyContent::Texts(1),
            DeValue::Integer(number) => KeyContent::Number {
                text: number.to_string(),
                ends: ends_file(source, value.span().end),
            },
            DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => KeyContent::Other,
        };
        found.push((path.clone(), said));
        if let DeValue::Table(inside) = value.get_ref() {
            walk(source, inside, &path, found);
        }
    }
}

fn ends_file(source: &PolicySource, at: usize) -> bool {
    let rest = source.text.get(at..).unwrap_or_default();
    !rest.contains('\n')
}

fn shown(path: &KeyPath) -> String {
    let keys: Vec<&str> = path.iter().skip(1).map(String::as_str).collect();
    keys.join(".")
}
