//! What an operator may write who has no right to commands.

use crate::admin::{ApiProblem, CommandRight};
use crate::wire::Value;

/// Keys that run a command, or tell how it runs.
const OF_COMMANDS: [&str; 4] = ["command", "cwd", "env", "sandbox"];

/// Refuses a table that runs a command or reads variables or files of this machine, unless the operator may.
pub(super) fn check(table: Value<'_>, right: CommandRight) -> Result<(), ApiProblem> {
    let found = match right {
        CommandRight::Granted => None,
        CommandRight::Withheld => found(table),
    };
    let Some(what) = found else {
        return Ok(());
    };
    let detail = format!("this operator has no right to {what}");
    let help = "the name of the operator has to stand in `[admin] command_operators`";
    Err(ApiProblem::new(403, "commands", detail).with_help(help))
}

/// What of a table needs the right.
fn found(table: Value<'_>) -> Option<&'static str> {
    let mut open = vec![table];
    while let Some(value) = open.pop() {
        let has_variable = |text: &str| text.contains("${");
        if value.as_str().is_some_and(|text| has_variable(&text)) {
            return Some("variables of the gate (`${…}`)");
        }
        for (name, member) in value.entries() {
            if has_variable(&name) {
                return Some("variables of the gate (`${…}`)");
            }
            if OF_COMMANDS.contains(&&*name) {
                return Some("servers that run a command");
            }
            if *name == *"policy" || name.ends_with("_file") {
                return Some("files of this machine");
            }
            open.push(member);
        }
        open.extend(value.items());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    #[test]
    fn commands_variables_and_files_need_the_right_at_any_depth() {
        let check = |json: &str, expected: bool| {
            let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
            let table = document.root();
            let is_refused = check(table, CommandRight::Withheld).is_err();
            assert_eq!(is_refused, expected, "{json}");
            assert!(check(table, CommandRight::Granted).is_ok(), "{json}");
        };
        check(
            r#"{"url":"https://a","auth":{"type":"bearer","token":"x"}}"#,
            false,
        );
        check(
            r#"{"url":"https://a","headers":{"x":"$y"},"enabled":true}"#,
            false,
        );
        check(r#"{"command":["sh"]}"#, true);
        check(r#"{"url":"https://a","isolated":{"command":["sh"]}}"#, true);
        check(r#"{"url":"https://a","isolated":[{"env":{}}]}"#, true);
        check(r#"{"url":"https://a","sandbox":{}}"#, true);
        check(r#"{"url":"https://${SECRET}"}"#, true);
        check(
            r#"{"url":"https://a","headers":{"x":"\u0024{SECRET}"}}"#,
            true,
        );
        check(r#"{"url":"https://a","groups":["${SECRET}"]}"#, true);
        check(
            r#"{"url":"https://a","auth":{"token_file":"/etc/passwd"}}"#,
            true,
        );
        check(r#"{"url":"https://a","ca_file":"/etc/passwd"}"#, true);
        check(r#"{"url":"https://a","policy":"/tmp"}"#, true);
    }

    /// The published schema names every key of a server: a new one that takes a path or a program has to be here.
    #[test]
    fn every_key_of_a_server_with_a_path_needs_the_right() {
        let schema = include_str!("../../../docs/schema/gate.schema.json");
        let schema: serde_json::Value = schema.parse().unwrap();
        let definitions = &schema["definitions"];
        let mut seen = 0;
        let mut open = vec![
            (String::new(), &definitions["upstream"]),
            (String::new(), &definitions["server"]),
        ];
        let mut visited = Vec::new();
        while let Some((name, value)) = open.pop() {
            let target = value["$ref"].as_str().unwrap_or_default();
            if ["#/definitions/path", "#/definitions/paths"].contains(&target) {
                seen += 1;
                let json = format!("{{{name:?}:\"x\"}}");
                let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
                assert!(found(document.root()).is_some(), "{name}");
                continue;
            }
            // Below it, all needs the right.
            if OF_COMMANDS.contains(&&*name) {
                continue;
            }
            if let Some(pointer) = target.strip_prefix('#') {
                if !visited.contains(&(name.clone(), target)) {
                    visited.push((name.clone(), target));
                    open.push((name, schema.pointer(pointer).unwrap()));
                }
                continue;
            }
            for (key, member) in value.as_object().into_iter().flatten() {
                if key == "properties" {
                    let members = member.as_object().unwrap();
                    open.extend(members.iter().map(|(name, it)| (name.clone(), it)));
                } else {
                    open.push((name.clone(), member));
                }
            }
            open.extend(
                value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|it| (name.clone(), it)),
            );
        }
        assert!(seen > 3, "{seen}");
    }
}
