//! `servers` and `not_servers` of `agents.toml`, and the policies made of them.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::policy::table::TomlTable;
use crate::policy::{Labels, ServerKey, ServerSet};

const ONLY: &str = "servers";
const NEVER: &str = "not_servers";

/// What the table of an agent or a role says of the servers with these keys, if they are known.
pub(super) fn server_set(table: &mut TomlTable<'_, '_>, known: Option<&[ServerKey]>) -> ServerSet {
    let has_only = table.has(ONLY);
    let only = keys(table, ONLY, known);
    ServerSet {
        only: has_only.then_some(only),
        never: keys(table, NEVER, known),
    }
}

fn keys(
    table: &mut TomlTable<'_, '_>,
    key: &'static str,
    known: Option<&[ServerKey]>,
) -> BTreeSet<ServerKey> {
    let mut keys = BTreeSet::new();
    for (name, place) in table.strings(key) {
        let problem = known.and_then(|known| match known {
            [] => Some("there is one server, without a key: remove it".to_owned()),
            known => ServerKey::help_for_key(known, &name),
        });
        match (problem, ServerKey::of(&name)) {
            (None, Some(server)) => {
                keys.insert(server);
            }
            (help, _) => {
                let message = format!("there is no server `{}`", name.escape_debug());
                table.report(place, &message, help);
            }
        }
    }
    keys
}

/// A policy for each set. In the order of the names.
pub(super) fn compiled(labels: &Labels) -> String {
    let agents = labels.agents.iter();
    let agents = agents.map(|(name, labels)| ("agents", name, &labels.servers));
    let roles = labels.role_servers.iter();
    let roles = roles.map(|(name, set)| ("roles", name, set));
    let mut sets: Vec<_> = agents.chain(roles).collect();
    sets.sort_by_key(|(table, name, _)| (*table, *name));
    let mut text = String::new();
    for (table, name, set) in sets {
        let name = name.escape_debug();
        let whose = match table {
            "agents" => format!("principal == Mcp::Agent::\"{name}\""),
            _ => format!("principal in Mcp::Role::\"{name}\""),
        };
        let only = set.only.as_ref().map(|only| (ONLY, "unless", only));
        let never = Some(&set.never).filter(|never| !never.is_empty());
        let never = never.map(|never| (NEVER, "when", never));
        for (key, clause, servers) in only.into_iter().chain(never) {
            let servers = servers.iter().map(|key| format!("Mcp::Server::\"{key}\""));
            let servers: Vec<String> = servers.collect();
            let condition = if servers.is_empty() {
                String::new()
            } else {
                format!("\n{clause} {{ resource in [{}] }}", servers.join(", "))
            };
            // Cedar reads the escapes that Rust writes.
            let written = write!(
                text,
                "// `{key}` of the same table in agents.toml.\n\
                 @id(\"{table}.{name}.{key}\")\n\
                 @code(\"server_not_permitted\")\n\
                 forbid (\n  {whose},\n  action,\n  resource\n){condition};\n"
            );
            debug_assert!(written.is_ok(), "a string takes all text");
        }
    }
    text
}
