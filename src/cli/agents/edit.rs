//! The text of `agents.toml` with other lists.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use serde::Serialize;

use super::super::args::AgentChanges;

/// The key of the file with all agents.
const AGENTS: &str = "agents";

/// What becomes of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum ListEdit {
    Keep,
    Set(Vec<String>),
    Remove,
}

/// What becomes of the lists of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct AgentEdits {
    pub(in crate::cli) servers: ListEdit,
    pub(in crate::cli) not_servers: ListEdit,
    pub(in crate::cli) allow: ListEdit,
    pub(in crate::cli) deny: ListEdit,
}

/// The lists of one agent as they are written.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::cli) struct AgentLists {
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_servers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deny: Option<Vec<String>>,
}

impl AgentEdits {
    /// Lists that are not given stay.
    pub(super) fn of(changes: &AgentChanges) -> Self {
        let edit = |items: &Option<Vec<String>>| match items {
            None => ListEdit::Keep,
            // `""` is no name: the list is empty.
            Some(items) => {
                let items = items.iter().filter(|item| !item.is_empty());
                ListEdit::Set(items.cloned().collect())
            }
        };
        Self {
            servers: edit(&changes.servers),
            not_servers: edit(&changes.not_servers),
            allow: edit(&changes.allow_tool),
            deny: edit(&changes.deny_tool),
        }
    }
}

impl AgentLists {
    pub(super) fn of(text: &str, agent: &str) -> Self {
        let document = text.parse::<DocumentMut>().unwrap_or_default();
        let agents = document.get(AGENTS).and_then(Item::as_table_like);
        let entry = agents.and_then(|agents| agents.get(agent)?.as_table_like());
        let list = |key| {
            let items = entry?.get(key)?.as_array()?.iter();
            Some(
                items
                    .filter_map(|item| item.as_str().map(str::to_owned))
                    .collect(),
            )
        };
        Self {
            servers: list("servers"),
            not_servers: list("not_servers"),
            allow: list("allow"),
            deny: list("deny"),
        }
    }
}

/// Whether a text describes this agent.
pub(super) fn names(text: &str, agent: &str) -> bool {
    let document = text.parse::<DocumentMut>().ok();
    document.is_some_and(|document| {
        let agents = document.get(AGENTS).and_then(Item::as_table_like);
        agents.is_some_and(|agents| agents.contains_key(agent))
    })
}

/// The text in which the agent has these lists.
///
/// # Errors
/// Why there is none.
pub(super) fn edited(text: &str, agent: &str, edits: &AgentEdits) -> Result<String, String> {
    let document = text.parse::<DocumentMut>();
    let mut document = document.map_err(|error| error.to_string())?;
    let mut all = Table::new();
    all.set_implicit(true);
    let agents = document.entry(AGENTS).or_insert(Item::Table(all));
    let agents = agents.as_table_like_mut();
    let agents = agents.ok_or_else(|| format!("`{AGENTS}` is no table"))?;
    let entry = agents.entry(agent).or_insert(Item::Table(Table::new()));
    let entry = entry.as_table_like_mut();
    let entry = entry.ok_or_else(|| format!("`{AGENTS}.{agent}` is no table"))?;
    for (key, edit) in [
        ("servers", &edits.servers),
        ("not_servers", &edits.not_servers),
        ("allow", &edits.allow),
        ("deny", &edits.deny),
    ] {
        match edit {
            ListEdit::Keep => {}
            ListEdit::Set(items) => set(entry, key, items.iter().map(String::as_str).collect()),
            ListEdit::Remove => {
                entry.remove(key);
            }
        }
    }
    Ok(document.to_string())
}

/// A comment behind the former value stays.
fn set(entry: &mut dyn TableLike, key: &str, items: Array) {
    let mut value = Value::from(items);
    if let Some(found) = entry.get_mut(key).and_then(Item::as_value_mut) {
        *value.decor_mut() = found.decor().clone();
        *found = value;
    } else {
        entry.insert(key, Item::Value(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_replaced_and_everything_else_stays() {
        let check = |before: &str, changes: [Option<&[&str]>; 4], expected: &str| {
            let list = |items: Option<&[&str]>| {
                items.map(|it| it.iter().map(ToString::to_string).collect())
            };
            let [servers, not_servers, allow_tool, deny_tool] = changes.map(list);
            let changes = AgentChanges {
                servers,
                not_servers,
                allow_tool,
                deny_tool,
            };
            assert_eq!(
                edited(before, "a.b", &AgentEdits::of(&changes)).as_deref(),
                Ok(expected)
            );
        };
        check(
            "",
            [Some(&["crm", "mail"]), None, None, None],
            "[agents.\"a.b\"]\nservers = [\"crm\", \"mail\"]\n",
        );
        check(
            "# Of all.\n[roles.x]\n\n[agents.\"a.b\"] # ours\nservers = [\"crm\"] # for now\ntrust = 1\n",
            [Some(&[""]), Some(&["web"]), None, Some(&["crm/x"])],
            "# Of all.\n[roles.x]\n\n[agents.\"a.b\"] # ours\nservers = [] # for now\ntrust = 1\n\
             not_servers = [\"web\"]\ndeny = [\"crm/x\"]\n",
        );
        check(
            "agents = { \"a.b\" = { allow = \"x\" } }\n",
            [None, None, Some(&["y"]), None],
            "agents = { \"a.b\" = { allow = [\"y\"] } }\n",
        );
    }

    #[test]
    fn what_is_no_table_is_told() {
        let changes = AgentChanges {
            servers: Some(Vec::new()),
            not_servers: None,
            allow_tool: None,
            deny_tool: None,
        };
        let check = |text: &str, expected: &str| {
            let why = edited(text, "a", &AgentEdits::of(&changes)).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check("agents = 1\n", "`agents` is no table");
        check("[agents]\na = 1\n", "`agents.a` is no table");
        check("[agents\n", "TOML parse error");
    }
}
