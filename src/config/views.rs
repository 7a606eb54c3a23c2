//! `[views.NAME]`: a part of the endpoint of all servers.

use std::collections::BTreeMap;

use super::errors::ConfigReason;
use super::flow::one_of;
use super::section::ConfigSection;
use super::settings::{Servers, Unified, Upstream, View};
use crate::policy::ServerKey;
use crate::unified::matches;

/// The name of a server at whose path the views would be.
pub(super) const RESERVED: &str = "view";

const SERVERS: &str = "list keys of servers, as in `servers = [\"crm\"]`";

const TOOLS: &str = "list names or patterns, as in `tools = [\"crm__*\"]`";

pub(super) fn views(
    mut section: ConfigSection<'_, '_>,
    servers: &Servers,
    unified: Option<&Unified>,
) -> BTreeMap<String, View> {
    let mut views = BTreeMap::new();
    if section.is_present() && unified.is_none() {
        let reason = ConfigReason::Invalid("needs `[unified]`");
        let help = "add `[unified]`: a view is a part of that endpoint, and has its names";
        section.refuse_section(reason, help);
    }
    for field in section.entries() {
        if ServerKey::of(field.key).is_none() {
            let reason = ConfigReason::Invalid(
                "expected a lower-case letter and up to 31 more, digits and `-`",
            );
            section.tell(&field, reason, Some("as in `[views.dev]`"));
        }
        let name = field.key.to_owned();
        if let Some(mut table) = section.table_in(&field) {
            let servers = servers_of(&mut table, servers);
            let tools = tools_of(&mut table, &servers, unified);
            table.finish();
            views.insert(name, View { servers, tools });
        }
    }
    views
}

fn servers_of(table: &mut ConfigSection<'_, '_>, known: &Servers) -> Vec<ServerKey> {
    let mut keys = Vec::new();
    for field in table.items("servers", SERVERS).unwrap_or_default() {
        let text = table.text(&field).map(|text| text.value);
        match text.map(|text| one_of(&text, known)) {
            Some(Err(help)) => {
                let reason = ConfigReason::Invalid("names no server");
                table.tell(&field, reason, Some(&help));
            }
            Some(Ok(key)) => keys.push(key),
            None => {}
        }
    }
    if !table.has("servers") {
        table.require("servers", ConfigReason::Required, SERVERS);
    } else if keys.is_empty() {
        let reason = ConfigReason::Invalid("leaves the view no server");
        table.refuse("servers", reason, Some(SERVERS));
    } else if !keys.iter().any(|key| is_enabled(known, key)) {
        let reason = ConfigReason::Invalid("leaves the view no server that is enabled");
        table.refuse("servers", reason, Some(SERVERS));
    }
    keys
}

fn is_enabled(known: &Servers, key: &ServerKey) -> bool {
    known.get(key).is_some_and(Upstream::is_enabled)
}

fn tools_of(
    table: &mut ConfigSection<'_, '_>,
    servers: &[ServerKey],
    unified: Option<&Unified>,
) -> Option<Vec<String>> {
    let items = table.items("tools", TOOLS)?;
    let mut patterns = Vec::new();
    if items.is_empty() {
        let reason = ConfigReason::Invalid("leaves the view no tool");
        let help = "remove it for all tools of the servers, or list some";
        table.refuse("tools", reason, Some(help));
    }
    for field in items {
        let Some(pattern) = table.text(&field).map(|text| text.value) else {
            continue;
        };
        let is_of = |name: &str| {
            let key = name.split_once("__").map(|(key, _)| key);
            key.is_some_and(|key| servers.iter().any(|it| it.as_str() == key))
        };
        let aliases = unified.map(|unified| unified.aliases.iter());
        let mut aliases = aliases.into_iter().flatten();
        if !is_of(&pattern) && !aliases.any(|(alias, name)| matches(&pattern, alias) && is_of(name))
        {
            let reason = ConfigReason::Invalid("names no tool of a server of the view");
            let help = "begin with the key of a server in `servers`, as in `crm__find_customer` or `crm__*`, or \
                        write the alias of one of their tools";
            table.tell(&field, reason, Some(help));
        }
        patterns.push(pattern);
    }
    Some(patterns)
}
