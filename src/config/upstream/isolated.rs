//! `[upstream.isolated]`.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::SecretString;

use super::server::{UpstreamFields, server};
use crate::config::errors::ConfigReason;
use crate::config::sandbox::{CONFIDENTIAL, NetworkDefault};
use crate::config::section::ConfigSection;
use crate::config::settings::{Isolated, Keep, Upstream};
use crate::secret;
use crate::session::Instance;

const LEVELS: &str =
    "one place for each of the levels internal, confidential and secret, the widest first";

/// `[upstream.isolated]`: the same server in a narrower place; or several of them.
pub(super) fn servers(
    section: &mut ConfigSection<'_, '_>,
    base: &Path,
    name: &str,
) -> Vec<Isolated> {
    let Some(items) = section.tables("isolated") else {
        let first = Instance::ISOLATED[0].name_of(name);
        let one = isolated(section.section("isolated"), base, first, None);
        return one.into_iter().collect();
    };
    section.refuse_empty("isolated", "expected at least one table", LEVELS);
    if items.len() > Instance::ISOLATED.len() {
        section.refuse(
            "isolated",
            ConfigReason::Invalid("expected at most 3 tables"),
            Some(LEVELS),
        );
    }
    let mut servers: Vec<Isolated> = Vec::new();
    for (item, instance) in items.iter().zip(Instance::ISOLATED) {
        let Some(table) = section.table_in(item) else {
            continue;
        };
        let before = servers.last().map(|before| before.min_sensitivity);
        servers.extend(isolated(table, base, instance.name_of(name), before));
    }
    servers
}

fn isolated(
    mut section: ConfigSection<'_, '_>,
    base: &Path,
    name: String,
    before: Option<i64>,
) -> Option<Isolated> {
    let is_present = section.is_present();
    let levels = [
        ("internal", 1),
        ("confidential", CONFIDENTIAL),
        ("secret", 3),
    ];
    let min_sensitivity = section
        .one_of("min_sensitivity", &levels)
        .unwrap_or(CONFIDENTIAL);
    if before.is_some_and(|before| before >= min_sensitivity) {
        let reason = ConfigReason::Invalid("is not higher than that of the table before");
        section.refuse("min_sensitivity", reason, Some(LEVELS));
    }
    let keeps = [("cold", Keep::Cold), ("warm", Keep::Warm)];
    let keep = section.one_of("keep", &keeps).unwrap_or_default();
    // Absent or not, so that its keys are known.
    let unsaid = NetworkDefault::OfLevel(min_sensitivity);
    let read = UpstreamFields::of(&mut section, base, unsaid);
    if !is_present {
        section.finish();
        return None;
    }
    let server = server(&mut section, read, name);
    let path = section.name().to_owned();
    section.finish();
    Some(Isolated {
        section: path,
        min_sensitivity,
        keep,
        server,
    })
}

/// They are there to differ in what they can reach.
pub(super) fn tell_of_the_same(section: &mut ConfigSection<'_, '_>, upstream: &Upstream) {
    let mut before = vec![upstream];
    for isolated in &upstream.isolated {
        for wider in &before {
            tell_if_same(section, wider, isolated);
        }
        before.push(&isolated.server);
    }
}

fn tell_if_same(section: &mut ConfigSection<'_, '_>, open: &Upstream, isolated: &Isolated) {
    let server = &isolated.server;
    let is_same = match (&open.http, &server.http) {
        (Some(open), Some(isolated)) => open.url == isolated.url,
        (None, None) => {
            open.command == server.command
                && open.cwd == server.cwd
                && open.sandbox == server.sandbox
                && are_same(&open.env, &server.env)
        }
        (Some(_), None) | (None, Some(_)) => false,
    };
    // Where neither could be read there is nothing to compare.
    let is_known = !open.command.is_empty() || open.http.is_some();
    if is_same && is_known {
        let reason =
            ConfigReason::Suspicious("is reached like a server before it, and isolates nothing");
        let help = "confine it, with `sandbox` in its table, or name another server";
        match section.item("isolated", &isolated.section) {
            Some(item) => section.tell(&item, reason, Some(help)),
            None => section.refuse("isolated", reason, Some(help)),
        }
    }
}

fn are_same(one: &BTreeMap<String, SecretString>, other: &BTreeMap<String, SecretString>) -> bool {
    let is_same = |(name, value): (&String, &SecretString)| {
        let other = other.get(name);
        other.is_some_and(|other| secret::are_same(value, other))
    };
    one.len() == other.len() && one.iter().all(is_same)
}
