//! The servers that an agent may use, of several.

use std::collections::BTreeSet;

use super::Labels;
use crate::policy::ServerKey;
use crate::policy::agent::Agent;

/// What the host says of servers for an agent, or for all agents of a role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerSet {
    /// No others; `None` if there is no such limit.
    pub only: Option<BTreeSet<ServerKey>>,
    /// None of these.
    pub never: BTreeSet<ServerKey>,
}

impl ServerSet {
    fn has(&self, key: &ServerKey) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.contains(key)) && !self.never.contains(key)
    }
}

impl Labels {
    /// Whether the sets of an agent and of its roles all leave it this server. Policies decide what it may do there.
    pub fn leave_server(&self, agent: &Agent, key: &ServerKey) -> bool {
        let own = self.agents.get(&agent.id);
        let known = own.map_or(&[][..], |labels| &labels.roles);
        let roles = agent.roles.iter().chain(known);
        let of_roles = roles.filter_map(|role| self.role_servers.get(role));
        let sets = own.map(|labels| &labels.servers).into_iter();
        sets.chain(of_roles).all(|set| set.has(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::AgentLabels;

    fn keys(names: &[&str]) -> BTreeSet<ServerKey> {
        names.iter().filter_map(|key| ServerKey::of(key)).collect()
    }

    #[test]
    fn the_sets_of_an_agent_and_of_its_roles_narrow_each_other() {
        let only = |names: &[&str]| ServerSet {
            only: Some(keys(names)),
            never: BTreeSet::new(),
        };
        let never = |names: &[&str]| ServerSet {
            only: None,
            never: keys(names),
        };
        let agent = |servers, roles: &[&str]| AgentLabels {
            servers,
            roles: roles.iter().map(ToString::to_string).collect(),
            ..AgentLabels::default()
        };
        let labels = Labels {
            agents: [
                ("ada", agent(only(&["crm", "mail"]), &["staff"])),
                ("bob", agent(ServerSet::default(), &["staff"])),
                ("eve", agent(only(&[]), &[])),
            ]
            .map(|(name, labels)| (name.to_owned(), labels))
            .into(),
            role_servers: [("staff", never(&["mail"])), ("guest", only(&["web"]))]
                .map(|(name, set)| (name.to_owned(), set))
                .into(),
            ..Labels::default()
        };
        let check = |id: &str, roles: &[&str], expected: &[&str]| {
            let agent = Agent {
                id: id.to_owned(),
                roles: roles.iter().map(ToString::to_string).collect(),
                ..Agent::default()
            };
            let all = keys(&["crm", "mail", "web"]);
            let left = all.iter().filter(|key| labels.leave_server(&agent, key));
            let left: Vec<_> = left.map(ServerKey::as_str).collect();
            assert_eq!(left, expected, "{id} {roles:?}");
        };
        check("ada", &[], &["crm"]);
        check("bob", &[], &["crm", "web"]);
        check("eve", &[], &[]);
        check("dan", &[], &["crm", "mail", "web"]);
        // By its token.
        check("dan", &["staff"], &["crm", "web"]);
        check("dan", &["guest", "staff"], &["web"]);
        check("ada", &["guest"], &[]);
    }
}
