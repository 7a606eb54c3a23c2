//! What an operator may write, replace and remove who has no right to commands.

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::admin::{ApiProblem, CommandRight};
use crate::policy::ServerKey;

/// Keys of a server that need no right. Every other key does, also one that is new.
const FREE: [&str; 6] = ["auth", "enabled", "headers", "limits", "type", "url"];

/// The same below `auth`.
const FREE_AUTH: [&str; 10] = [
    "audience",
    "client_auth",
    "client_id",
    "client_secret",
    "issuer",
    "resource",
    "scopes",
    "token",
    "token_url",
    "type",
];

/// Credentials that the gate has from its configuration, not from an agent.
const FREE_AUTH_TYPES: [&str; 2] = ["bearer", "client_credentials"];

/// Checks the table that an operator sends.
///
/// # Errors
/// 403 if it has a key that needs the right, or a variable.
pub(super) fn check_new(table: &Table, right: CommandRight) -> Result<(), ApiProblem> {
    let found = match right {
        CommandRight::Granted => None,
        CommandRight::Withheld => found(table),
    };
    found.map_or(Ok(()), |what| {
        Err(refused(&format!("this operator may not write {what}")))
    })
}

/// Checks the file that a change replaces or removes: its policies and guards could go with it.
///
/// # Errors
/// 403 if the operator could not have written it.
pub(super) fn check_former(
    text: &str,
    key: &ServerKey,
    right: CommandRight,
) -> Result<(), ApiProblem> {
    if right == CommandRight::Granted {
        return Ok(());
    }
    let document: Option<DocumentMut> = text.parse().ok();
    let servers = document.as_ref().and_then(|it| it.get("servers"));
    let servers = servers.and_then(Item::as_table_like);
    let table = servers.and_then(|servers| servers.get(key.as_str()));
    let found = match table.and_then(Item::as_table_like) {
        Some(table) => found(table),
        None => Some("a table that cannot be read".to_owned()),
    };
    found.map_or(Ok(()), |what| {
        let detail = format!("this operator may not replace or remove {what}");
        Err(refused(&detail))
    })
}

fn refused(detail: &str) -> ApiProblem {
    let help = "the name of the operator has to stand in `[admin] command_operators`";
    ApiProblem::new(403, "commands", detail).with_help(help)
}

/// The first of a table that needs the right.
fn found(table: &dyn TableLike) -> Option<String> {
    let quoted = |name: &str| format!("`{}`", name.escape_debug());
    let mut keys = table.iter().map(|(name, _)| name);
    if let Some(name) = keys.find(|name| !FREE.contains(name)) {
        return Some(quoted(name));
    }
    if let Some(auth) = table.get("auth") {
        let Some(auth) = auth.as_table_like() else {
            return Some("an `auth` that is no table".to_owned());
        };
        let mut keys = auth.iter().map(|(name, _)| name);
        if let Some(name) = keys.find(|name| !FREE_AUTH.contains(name)) {
            return Some(quoted(&format!("auth.{name}")));
        }
        let of_type = auth.get("type").and_then(Item::as_str);
        if !of_type.is_some_and(|name| FREE_AUTH_TYPES.contains(&name)) {
            let free = FREE_AUTH_TYPES.join("` and `");
            return Some(format!("an `auth.type` beside `{free}`"));
        }
    }
    has_variable(table).then(|| "variables of the gate (`${…}`)".to_owned())
}

/// Whether a string or key at any depth could be a variable.
fn has_variable(table: &dyn TableLike) -> bool {
    table.iter().any(|(name, item)| {
        is_variable(name)
            || match item {
                Item::None => false,
                Item::Value(value) => has_variable_in(value),
                Item::Table(table) => has_variable(table),
                Item::ArrayOfTables(tables) => tables.iter().any(|it| has_variable(it)),
            }
    })
}

fn has_variable_in(value: &Value) -> bool {
    match value {
        Value::String(text) => is_variable(text.value()),
        Value::Array(items) => items.iter().any(has_variable_in),
        Value::InlineTable(table) => has_variable(table),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => false,
    }
}

fn is_variable(text: &str) -> bool {
    text.contains("${")
}

#[cfg(test)]
mod tests {
    use super::super::table::table;
    use super::*;
    use crate::wire::{Document, Limits};

    fn read(json: &str) -> Table {
        let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
        table(document.root()).unwrap()
    }

    #[test]
    fn without_the_right_a_table_has_harmless_literals_alone() {
        let check = |json: &str, expected: bool| {
            let table = read(json);
            let key = ServerKey::of("web").unwrap();
            let is_refused = check_new(&table, CommandRight::Withheld).is_err();
            assert_eq!(is_refused, expected, "{json}");
            assert!(check_new(&table, CommandRight::Granted).is_ok(), "{json}");
            let mut servers = Table::new();
            servers.insert("web", Item::Table(table));
            let mut document = DocumentMut::new();
            document.insert("servers", Item::Table(servers));
            let text = document.to_string();
            let former = |right| check_former(&text, &key, right).is_err();
            assert_eq!(former(CommandRight::Withheld), expected, "{text}");
            assert!(!former(CommandRight::Granted), "{text}");
        };
        for free in [
            r#"{"url":"https://a","auth":{"type":"bearer","token":"x"}}"#,
            r#"{"url":"https://a","headers":{"x":"$y","policy":"z"},"enabled":true}"#,
            r#"{"url":"https://a","limits":{"tool_timeouts":{"env":"1s","ca_file":"1s"}}}"#,
            r#"{"auth":{"type":"client_credentials","token_url":"https://b","client_id":"c"}}"#,
        ] {
            check(free, false);
        }
        for refused in [
            r#"{"command":["sh"]}"#,
            r#"{"url":"https://a","identity":"forward","identity_audience":"crm"}"#,
            r#"{"url":"https://a","auth":{"type":"token_exchange","token_url":"https://b"}}"#,
            r#"{"url":"https://a","auth":{"token":"x"}}"#,
            r#"{"url":"https://a","auth":["token_exchange"]}"#,
            r#"{"url":"https://a","auth":[{"type":"token_exchange"}]}"#,
            r#"{"url":"https://a","auth":{"type":"bearer","token_file":"/etc/passwd"}}"#,
            r#"{"url":"https://a","isolated":{"command":["sh"]}}"#,
            r#"{"url":"https://${SECRET}"}"#,
            r#"{"url":"https://a","headers":{"x":"\u0024{SECRET}"}}"#,
            r#"{"url":"https://a","headers":{"${SECRET}":"x"}}"#,
            r#"{"url":"https://a","limits":{"rates":{"tools":{"x":["${SECRET}"]}}}}"#,
            r#"{"url":"https://a","limits":[[{"x":"${SECRET}"}]]}"#,
            r#"{"url":"https://a","auth":{"type":"bearer","token":"${SECRET}"}}"#,
        ] {
            check(refused, true);
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_needs_the_right() {
        let key = ServerKey::of("web").unwrap();
        for (text, expected) in [
            ("[servers.web]\nurl = 'https://a'\n", false),
            ("[servers.web]\nurl = 'https://a'\npolicy = 'p'\n", true),
            ("servers.web.guards.secrets = 'block'\n", true),
            ("servers = { web = { url = '${A}' } }\n", true),
            ("[[servers.web.isolated]]\n", true),
            ("[[servers.web.headers]]\nx = '${A}'\n", true),
            ("[servers.other]\n", true),
            ("servers = 1\n", true),
            ("[servers.web\n", true),
            ("", true),
        ] {
            let is_refused = check_former(text, &key, CommandRight::Withheld).is_err();
            assert_eq!(is_refused, expected, "{text}");
        }
    }

    /// The published schema names every key of a server.
    #[test]
    fn every_key_of_a_server_needs_the_right_unless_it_is_listed() {
        let schema = include_str!("../../../docs/schema/gate.schema.json");
        let schema: serde_json::Value = schema.parse().unwrap();
        let check = |pointer: &str, form: &dyn Fn(&str) -> String, listed: &[&str]| {
            let keys = schema.pointer(pointer).unwrap().as_object().unwrap().keys();
            let free = keys.filter(|key| {
                let table = read(&form(key));
                check_new(&table, CommandRight::Withheld).is_ok()
            });
            let free: Vec<&str> = free.map(String::as_str).collect();
            let mut listed = listed.to_vec();
            listed.sort_unstable();
            let mut found = free;
            found.sort_unstable();
            assert_eq!(found, listed, "{pointer}");
        };
        let of_server = |key: &str| match key {
            "auth" => r#"{"auth":{"type":"bearer"}}"#.to_owned(),
            _ => format!("{{{key:?}:{{}}}}"),
        };
        check("/definitions/server/properties", &of_server, &FREE);
        let of_auth = |key: &str| match key {
            "type" => r#"{"auth":{"type":"bearer"}}"#.to_owned(),
            _ => format!("{{\"auth\":{{\"type\":\"bearer\",{key:?}:\"x\"}}}}"),
        };
        check("/definitions/server_auth/properties", &of_auth, &FREE_AUTH);
    }
}
