//! `[servers]`: several servers by their keys, each like `[upstream]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::config_text::MAX_SERVERS;
use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::server_section::at_server;
use super::settings::{
    Config, HttpListen, Listen, Policy, ServerFacts, ServerNeed, ServerState, ServerTerms, Servers,
    Upstream,
};
use super::truncation::truncation;
use super::upstream::open;
use super::views::RESERVED;
use super::{guards, limits};
use crate::policy::{LEVELS, ServerKey};

/// What holds at each of several servers.
type TermsOfServers = BTreeMap<ServerKey, ServerTerms>;

/// What `[servers]` says.
#[derive(Debug, Default)]
pub(super) struct ReadServers {
    pub(super) servers: Servers,
    /// What holds at each: what is not said of one is as for all.
    pub(super) terms: TermsOfServers,
    /// The directories of their own policies.
    pub(super) policies: BTreeMap<ServerKey, PathBuf>,
}

pub(super) fn servers(
    mut section: ConfigSection<'_, '_>,
    base: &Path,
    all: &ServerTerms,
) -> ReadServers {
    let mut read = ReadServers::default();
    let entries = section.entries();
    if section.is_present() && !(1..=MAX_SERVERS).contains(&entries.len()) {
        let reason = ConfigReason::Invalid("expected 1 to 32 servers");
        section.refuse_section(reason, "one table for each, as in `[servers.files]`");
    }
    for field in entries {
        let key = ServerKey::of(field.key);
        if key.is_none() {
            let reason = ConfigReason::Invalid(
                "expected a lower-case letter and up to 31 more, digits and `-`",
            );
            section.tell(&field, reason, Some("as in `[servers.files]`"));
        }
        if field.key == RESERVED {
            let reason = ConfigReason::Invalid("is the path of views (`[views]`)");
            section.tell(&field, reason, Some("give the server another key"));
        }
        let name = field.key.to_owned();
        if let Some(mut table) = section.table_in(&field) {
            let (state, need) = (state(&mut table), need(&mut table));
            let facts = facts(&mut table);
            let own = terms_of(&mut table, all);
            let policies = table.path("policy", base);
            let server = Upstream {
                state,
                need,
                facts,
                ..open(table, base, name)
            };
            if let Some(key) = key {
                read.terms.insert(key.clone(), own);
                read.policies.extend(policies.map(|dir| (key.clone(), dir)));
                read.servers.insert(key, server);
            }
        }
    }
    let mut all = read.servers.values();
    if !read.servers.is_empty() && all.all(|server| !server.is_enabled()) {
        let reason = ConfigReason::Invalid("has no server that is enabled");
        section.refuse_section(
            reason,
            "the gate serves at least one: remove `enabled = false`",
        );
    }
    read
}

fn terms_of(table: &mut ConfigSection<'_, '_>, all: &ServerTerms) -> ServerTerms {
    ServerTerms {
        limits: limits::of_server(table.section("limits"), &all.limits),
        guards: guards::of_server(table.section("guards"), &all.guards),
        truncation: truncation(table.section("truncation"), all.truncation.as_ref()),
    }
}

fn state(table: &mut ConfigSection<'_, '_>) -> ServerState {
    let state = table.switch("enabled", ServerState::Enabled, ServerState::Disabled);
    let state = state.unwrap_or_default();
    if state == ServerState::Disabled {
        let reason = "where `enabled` is false: the gate does not wait for this server";
        table.without_effect(&["required"], reason, "remove it, or enable the server");
    }
    state
}

fn need(table: &mut ConfigSection<'_, '_>) -> ServerNeed {
    let need = table.switch("required", ServerNeed::Required, ServerNeed::Optional);
    need.unwrap_or_default()
}

/// Where there are several servers, tools and prompts are named at theirs.
pub(super) fn have_names(root: &mut ConfigSection<'_, '_>, config: &Config) {
    if config.servers.is_empty() {
        return;
    }
    let reason = || ConfigReason::Invalid("names tools or prompts without their server");
    let tell = |mut section: ConfigSection<'_, '_>, key: &'static str, at: &str| {
        if !section.section(key).entries().is_empty() {
            let help = format!("write it into `[servers.KEY.{at}]`, with the server's own names");
            section.refuse(key, reason(), Some(&help));
        }
    };
    tell(root.section("limits"), "tool_timeouts", "limits");
    tell(
        root.section("limits").section("rates"),
        "tools",
        "limits.rates",
    );
    tell(root.section("guards"), "content_tools", "guards");
    tell(root.section("truncation"), "tools", "truncation");
    tell(root.section("truncation"), "prompts", "truncation");
}

/// Where single servers have policies of their own, and there are none of all, the others have none.
pub(super) fn have_policies(root: &mut ConfigSection<'_, '_>, config: &Config) {
    let policy = &config.policy;
    if policy.own.is_empty() || policy.dir.is_some() {
        return;
    }
    for config in config.each() {
        let has_own = |key: &ServerKey| policy.own.contains_key(key);
        if !config.key.as_ref().is_some_and(has_own) {
            let reason = ConfigReason::Suspicious(
                "has no policies: all but the life of its sessions, and calls of tools in `policy.allow`, is denied",
            );
            let help = "give it a directory in `policy`, or all servers one in `policy.dir`";
            at_server(root, &config, |server| server.refuse_section(reason, help));
        }
    }
}

/// What policies know of a server.
fn facts(table: &mut ConfigSection<'_, '_>) -> ServerFacts {
    let default = ServerFacts::default();
    let help = "list names, as in `[\"internal\"]`";
    let mut groups = Vec::new();
    for field in table.items("groups", help).unwrap_or_default() {
        match table.text(&field).map(|text| text.value) {
            Some(group) if group.is_empty() => {
                table.tell(&field, ConfigReason::Invalid("names no group"), Some(help));
            }
            group => groups.extend(group),
        }
    }
    ServerFacts {
        groups,
        clearance: table
            .one_of("clearance", &LEVELS)
            .unwrap_or(default.clearance),
        untrusted: table
            .switch("untrusted", true, false)
            .unwrap_or(default.untrusted),
    }
}

/// The servers have paths of one listener.
pub(super) fn have_endpoints(root: &mut ConfigSection<'_, '_>, config: &Config) {
    if matches!(config.listen, Listen::Local) {
        is_attached_to(root, config);
    }
    if config.servers.is_empty() {
        return;
    }
    let is_at_top = |listen: &HttpListen| listen.path == "/";
    if matches!(&config.listen, Listen::Http(listen) if is_at_top(listen)) {
        let reason = ConfigReason::Invalid("has no room for the paths of several servers");
        let help =
            "name a directory, as in `path = \"/mcp\"`: the gate has paths of its own at the top";
        root.section("listen").refuse("path", reason, Some(help));
    }
    if root.has("upstream") {
        let reason =
            ConfigReason::Invalid("`[upstream]` is the only server, and `[servers]` has several");
        let help = "remove one of the two sections";
        root.section("upstream").refuse_section(reason, help);
    }
    match config.listen {
        Listen::Stdio if !config.views.is_empty() => {
            let reason = ConfigReason::Invalid("has paths of a listener");
            let help = "remove it, or use `transport = \"http\"`: the agent on standard streams has the servers that \
                        `agents.toml` leaves it";
            root.section("views").refuse_section(reason, help);
        }
        Listen::Stdio if config.unified.is_some() => {}
        Listen::Stdio if root.section("listen").has("transport") => {
            let reason = ConfigReason::Invalid("standard streams lead to one server");
            root.section("listen")
                .refuse("transport", reason, Some(WAYS));
        }
        Listen::Stdio => {
            let reason = ConfigReason::RequiredWhen("there are several servers");
            root.section("listen").require("transport", reason, WAYS);
        }
        Listen::Local if config.unified.is_some() => {
            let reason = ConfigReason::Invalid("agents attach to one server by its key");
            let help = "remove it, or use `transport = \"http\"`";
            root.section("unified").refuse_section(reason, help);
        }
        Listen::Http(_) | Listen::Local => {}
    }
}

/// How agents reach several servers.
const WAYS: &str = "agents reach each server at its own path with `transport = \"http\"`, those of this user by \
                    its key with `transport = \"local\"`, and all in one with `[unified]`";

/// Agents attach to servers by their keys, and to a gate whose standard streams have no reader.
fn is_attached_to(root: &mut ConfigSection<'_, '_>, config: &Config) {
    if !root.has("servers") && config.servers.is_empty() {
        let reason = ConfigReason::RequiredWhen("transport is 'local'");
        let help = "agents attach to a server by its key, as in `[servers.files]`";
        root.require("servers", reason, help);
    }
    if !root.section("audit").has("file") {
        let reason = ConfigReason::RequiredWhen("transport is 'local'");
        let help =
            "as in `file = \"audit.jsonl\"`: the standard streams of such a gate have no reader";
        root.section("audit").require("file", reason, help);
    }
}

impl Policy {
    /// Every directory of policies, by the key that names it.
    pub fn directories(&self) -> Vec<(String, &Path)> {
        let of_all = [("policy.dir", &self.dir), ("policy.shadow", &self.shadow)];
        let of_all = of_all
            .into_iter()
            .filter_map(|(field, dir)| Some((field.to_owned(), dir.as_deref()?)));
        let own = self.own.iter();
        let own = own.map(|(key, dir)| (format!("servers.{key}.policy"), dir.as_path()));
        of_all.chain(own).collect()
    }
}

impl Upstream {
    pub fn is_enabled(&self) -> bool {
        self.state == ServerState::Enabled
    }
}

impl Config {
    /// All servers that are enabled, without their isolated instances.
    pub fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        self.configured_upstreams()
            .filter(|server| server.is_enabled())
    }

    /// The same with those that are not.
    pub fn configured_upstreams(&self) -> impl Iterator<Item = &Upstream> {
        let only = self.servers.is_empty().then_some(&self.upstream);
        self.servers.values().chain(only)
    }

    /// What holds without a word about single servers.
    fn terms(&self) -> ServerTerms {
        ServerTerms {
            limits: self.limits.clone(),
            guards: self.guards.clone(),
            truncation: self.truncation.clone(),
        }
    }

    /// The keys of servers that are not.
    pub fn disabled(&self) -> impl Iterator<Item = &ServerKey> {
        let all = self.servers.iter();
        all.filter_map(|(key, server)| (!server.is_enabled()).then_some(key))
    }

    /// The same for each server that is enabled: alike in everything but that.
    pub fn each(&self) -> Vec<Self> {
        if self.servers.is_empty() {
            return vec![self.clone()];
        }
        let servers = self.servers.iter();
        let enabled = servers.filter(|(_, upstream)| upstream.is_enabled());
        enabled
            .map(|(key, upstream)| {
                let terms = self.server_terms.get(key);
                let terms = terms.cloned().unwrap_or_else(|| self.terms());
                Self {
                    upstream: upstream.clone(),
                    servers: Servers::new(),
                    server_terms: TermsOfServers::new(),
                    key: Some(key.clone()),
                    limits: terms.limits,
                    guards: terms.guards,
                    truncation: terms.truncation,
                    ..self.clone()
                }
            })
            .collect()
    }
}
