//! `agents.toml`.

use std::collections::{BTreeSet, HashMap};

use super::super::several;
use super::server_sets::server_set;
use super::standing;
use super::tools::capabilities;
use crate::policy::table::TomlTable;
use crate::policy::{AgentLabels, Labels, SamplingTerms, ServerKey, ServerSet};

/// What all `agents.toml` together say.
#[derive(Debug, Default)]
pub(super) struct Agents {
    described: HashMap<String, (AgentEntry, String)>,
    /// The roles of each team.
    teams: HashMap<String, Vec<String>>,
    /// The capabilities that each role brings.
    roles: HashMap<String, Vec<String>>,
    agentic_roles: BTreeSet<String>,
    role_servers: HashMap<String, ServerSet>,
}

/// Exact names of tools that one agent may call beyond the rules for all, or must not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Override {
    pub(super) agent: String,
    pub(super) allow: Vec<String>,
    pub(super) deny: Vec<String>,
}

#[derive(Debug)]
struct AgentEntry {
    labels: AgentLabels,
    tools: Override,
}

impl Agents {
    pub(super) fn read(&mut self, mut root: TomlTable<'_, '_>, servers: Option<&[ServerKey]>) {
        let file = root.source().name.to_string();
        if let Some(mut teams) = root.table("teams") {
            for (name, place, field) in teams.entries() {
                let Some(mut team) = teams.inside(field) else {
                    continue;
                };
                let roles = team.names("roles");
                team.finish();
                if self.teams.insert(name.clone(), roles).is_some() {
                    let message = format!("the team `{name}` is described twice");
                    teams.report(place, &message, None);
                }
            }
        }
        if let Some(mut roles) = root.table("roles") {
            for (name, place, field) in roles.entries() {
                let Some(mut role) = roles.inside(field) else {
                    continue;
                };
                let granted = capabilities(&mut role, "capabilities");
                if role.boolean("agentic") == Some(true) {
                    self.agentic_roles.insert(name.clone());
                }
                let set = server_set(&mut role, servers);
                role.finish();
                self.role_servers.insert(name.clone(), set);
                if self.roles.insert(name.clone(), granted).is_some() {
                    let message = format!("the role `{name}` is described twice");
                    roles.report(place, &message, None);
                }
            }
        }
        if let Some(mut agents) = root.table("agents") {
            for (name, place, field) in agents.entries() {
                if let Some((_, first)) = self.described.get(&name) {
                    let message = format!("the agent `{name}` is described twice");
                    agents.report(place, &message, Some(format!("the first time in {first}")));
                } else if let Some(table) = agents.inside(field) {
                    let described = agent(name.clone(), table, servers);
                    self.described.insert(name, (described, file.clone()));
                }
            }
        }
        root.finish();
    }

    /// After the tools, whose capabilities it needs. In the order of the agents' names.
    pub(super) fn finish(self, labels: &mut Labels) -> Vec<Override> {
        let tools = labels.all_tools();
        let needed = tools.flat_map(|tool| tool.capabilities.iter().cloned());
        labels.needed = needed.collect();
        let mut overrides = Vec::new();
        for (name, (described, _)) in self.described {
            let AgentEntry {
                labels: mut agent,
                tools,
            } = described;
            let roles = agent.teams.iter().filter_map(|team| self.teams.get(team));
            for role in roles.flatten() {
                if !agent.roles.contains(role) {
                    agent.roles.push(role.clone());
                }
            }
            labels.widen(&mut agent.capabilities);
            overrides.push(tools);
            labels.agents.insert(name, agent);
        }
        for (role, mut granted) in self.roles {
            labels.widen(&mut granted);
            labels.roles.insert(role, granted);
        }
        labels.agentic_roles = self.agentic_roles;
        labels.role_servers = self.role_servers;
        overrides.sort_by(|one, other| one.agent.cmp(&other.agent));
        overrides
    }
}

/// Exact names of tools, which begin with the key of one of several servers.
fn tools_of(
    table: &mut TomlTable<'_, '_>,
    key: &'static str,
    servers: Option<&[ServerKey]>,
) -> Vec<String> {
    let names = table.strings(key);
    for (name, place) in &names {
        if let Some(help) = ServerKey::help_for(servers.unwrap_or_default(), name) {
            let name = name.escape_debug();
            let message = format!("`{name}` {}", several::NO_SERVER);
            table.report_as(several::CODE, place.clone(), &message, Some(help));
        }
    }
    names.into_iter().map(|(name, _)| name).collect()
}

fn agent(name: String, mut table: TomlTable<'_, '_>, servers: Option<&[ServerKey]>) -> AgentEntry {
    let agentic = table.boolean("agentic");
    let labels = AgentLabels {
        roles: table.names("roles"),
        teams: table.names("teams"),
        user: table.string("user").map(|(user, _)| user),
        trust: table.integer("trust"),
        capabilities: capabilities(&mut table, "capabilities"),
        servers: server_set(&mut table, servers),
        sampling: SamplingTerms {
            agentic: agentic == Some(true),
            standing: standing::read(&mut table),
        },
        is_never_agentic: agentic == Some(false),
    };
    let tools = Override {
        agent: name,
        allow: tools_of(&mut table, "allow", servers),
        deny: tools_of(&mut table, "deny", servers),
    };
    table.finish();
    AgentEntry { labels, tools }
}
