//! `[unified]`: one endpoint for all servers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::settings::{Servers, Unified};
use super::tool_names::tool_name;
use crate::policy::ServerKey;
use crate::policy::suggest::{did_you_mean, list};

const WAIT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(1);

/// Between the key of a server and the name of its tool.
const SEPARATOR: &str = "__";

pub(super) fn unified(mut section: ConfigSection<'_, '_>, servers: &Servers) -> Option<Unified> {
    let is_present = section.is_present();
    if is_present && servers.is_empty() {
        let reason = ConfigReason::Invalid("needs `[servers]`");
        section.refuse_section(
            reason,
            "remove it, or write `[servers.KEY]` in place of `[upstream]`",
        );
    }
    let wait = section.duration("wait", &WAIT);
    let aliases = aliases(section.section("aliases"), servers);
    section.finish();
    is_present.then(|| Unified {
        wait: wait.unwrap_or(Unified::WAIT),
        aliases,
    })
}

fn aliases(mut section: ConfigSection<'_, '_>, servers: &Servers) -> BTreeMap<String, String> {
    let mut aliases: BTreeMap<String, String> = BTreeMap::new();
    for field in section.entries() {
        if let Some(reason) = unfit(field.key) {
            let help =
                "an alias is the name of a tool, without `__`, as in `search = \"web__find\"`";
            section.tell(&field, reason, Some(help));
        }
        let Some(name) = section.text(&field).map(|text| text.value) else {
            continue;
        };
        let other = aliases.iter().find(|(_, known)| **known == name);
        if let Err(help) = named(&name, servers) {
            let reason = ConfigReason::Invalid("does not begin with the key of a server and `__`");
            section.tell(&field, reason, Some(&help));
        } else if let Some((other, _)) = other {
            let help = format!("its alias is `{other}`: remove one");
            let reason = ConfigReason::Invalid("names a tool that has an alias already");
            section.tell(&field, reason, Some(&help));
        } else {
            aliases.insert(field.key.to_owned(), name);
        }
    }
    aliases
}

fn unfit(alias: &str) -> Option<ConfigReason> {
    if alias.contains(SEPARATOR) {
        return Some(ConfigReason::Invalid(
            "contains `__`, which separates the key of a server from its tool",
        ));
    }
    tool_name(alias)
}

/// # Errors
/// What to do about a name that is none of a server's tool.
fn named(name: &str, servers: &Servers) -> Result<(), String> {
    let (key, tool) = name.split_once(SEPARATOR).unwrap_or((name, ""));
    let is_known = servers.keys().any(|it| it.as_str() == key);
    if is_known && !tool.is_empty() {
        return Ok(());
    }
    let keys = || servers.keys().map(ServerKey::as_str);
    let question = did_you_mean(key, keys()).map(|question| format!("{question} "));
    Err(format!(
        "{}write `KEY__TOOL`; the servers are {}",
        question.unwrap_or_default(),
        list(keys())
    ))
}
