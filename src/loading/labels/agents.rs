//! `agents.toml`.

use std::collections::HashMap;

use super::table::Table;
use crate::policy::{AgentLabels, Labels};

/// What all `agents.toml` together say.
#[derive(Debug, Default)]
pub(super) struct Agents {
    agents: HashMap<String, (AgentLabels, String)>,
    /// The roles of each team.
    teams: HashMap<String, Vec<String>>,
}

impl Agents {
    pub(super) fn read(&mut self, mut root: Table<'_, '_>) {
        let file = root.source().name.to_string();
        let teams = root.take("teams");
        if let Some(mut teams) = teams.and_then(|field| root.inside(field)) {
            for (name, place, field) in teams.entries() {
                let Some(mut team) = teams.inside(field) else {
                    continue;
                };
                let roles = names(&mut team, "roles");
                team.finish();
                if self.teams.insert(name.clone(), roles).is_some() {
                    let message = format!("the team `{name}` is described twice");
                    teams.report(place, &message, None);
                }
            }
        }
        let agents = root.take("agents");
        if let Some(mut agents) = agents.and_then(|field| root.inside(field)) {
            for (name, place, field) in agents.entries() {
                if let Some((_, first)) = self.agents.get(&name) {
                    let message = format!("the agent `{name}` is described twice");
                    agents.report(place, &message, Some(format!("the first time in {first}")));
                } else if let Some(table) = agents.inside(field) {
                    self.agents.insert(name, (agent(table), file.clone()));
                }
            }
        }
        root.finish();
    }

    pub(super) fn finish(self, labels: &mut Labels) {
        for (name, (mut agent, _)) in self.agents {
            let roles = agent.teams.iter().filter_map(|team| self.teams.get(team));
            for role in roles.flatten() {
                if !agent.roles.contains(role) {
                    agent.roles.push(role.clone());
                }
            }
            labels.agents.insert(name, agent);
        }
    }
}

fn agent(mut table: Table<'_, '_>) -> AgentLabels {
    let labels = AgentLabels {
        roles: names(&mut table, "roles"),
        teams: names(&mut table, "teams"),
        user: table.string("user").map(|(user, _)| user),
        trust: table.integer("trust"),
    };
    table.finish();
    labels
}

fn names(table: &mut Table<'_, '_>, key: &'static str) -> Vec<String> {
    let names = table.strings(key);
    names.into_iter().map(|(name, _)| name).collect()
}
