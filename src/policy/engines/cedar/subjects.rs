//! Who is who in Cedar: the uids of principal and resource, and all that they belong to.

use std::collections::HashMap;

use cedar_policy_core::ast::EntityUID;

use super::schema_action::SchemaAction;
use super::vocabulary::{Vocabulary, uid};
use crate::policy::{ActionName, Agent, Permissions, Principal, Resource, Server, Tool};

/// Which groups the host put each tool in.
#[derive(Debug, Clone, Default)]
pub struct ToolGroups(HashMap<String, Vec<String>>);

/// A principal or a resource, before its attributes are needed.
///
/// INVARIANT: the ancestors are all there are, near and far, so that no closure is computed later.
/// They are few, so that looking through them costs less than hashing one.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) uid: EntityUID,
    pub(super) ancestors: Vec<EntityUID>,
}

impl ToolGroups {
    pub fn add(&mut self, tool: &str, group: &str) {
        let groups = self.0.entry(tool.to_owned()).or_default();
        if groups.iter().all(|known| known != group) {
            groups.push(group.to_owned());
        }
    }

    pub fn of(&self, tool: &str) -> &[String] {
        self.0.get(tool).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn extend(&mut self, other: Self) {
        for (tool, groups) in other.0 {
            for group in groups {
                self.add(&tool, &group);
            }
        }
    }

    /// In no order.
    pub fn members(&self, group: &str) -> impl Iterator<Item = &str> {
        let of_group = move |groups: &[String]| groups.iter().any(|name| name == group);
        self.0
            .iter()
            .filter(move |(_, groups)| of_group(groups))
            .map(|(tool, _)| tool.as_str())
    }
}

impl Subject {
    pub(super) fn of_principal(words: &Vocabulary, principal: Principal<'_>) -> Self {
        match principal {
            Principal::Agent(agent) => Self {
                uid: uid(&words.agent, &agent.id),
                ancestors: agent_ancestors(words, agent),
            },
            Principal::Server(server) => Self::of_server(words, server),
        }
    }

    /// `server` is the protected one: tools, resources and prompts belong to it.
    pub(super) fn of_resource(
        words: &Vocabulary,
        groups: &ToolGroups,
        server: &Server,
        resource: Resource<'_>,
    ) -> Self {
        let own = Self::of_server(words, server);
        match resource {
            Resource::Tool(tool) => {
                let id = server.id_of(&tool.name);
                own.child(
                    uid(&words.tool, &id),
                    tool_ancestors(words, groups, tool, &id),
                )
            }
            Resource::Resource(facts) => {
                let roots = facts.roots.iter().map(|root| uid(&words.root, root));
                let groups = facts.groups.iter();
                let groups = groups.map(|group| uid(&words.resource_group, group));
                let id = uid(&words.resource, &server.id_of(&facts.uri));
                own.child(id, roots.chain(groups))
            }
            Resource::Prompt(prompt) => {
                let groups = prompt.groups.iter();
                let groups = groups.map(|group| uid(&words.prompt_group, group));
                own.child(uid(&words.prompt, &server.id_of(&prompt.name)), groups)
            }
            Resource::Method(method) => {
                let granted = capabilities(words, &method.capabilities);
                let acts = permissions(words, method.permissions);
                let id = uid(&words.method, &server.id_of(&method.name));
                own.child(id, granted.chain(acts))
            }
            Resource::Server(server) => Self::of_server(words, server),
            Resource::Client(client) => Self {
                uid: uid(&words.client, &client.name),
                ancestors: Vec::new(),
            },
            Resource::Host(host) => Self {
                uid: uid(&words.host, &host.id()),
                ancestors: Vec::new(),
            },
        }
    }

    /// What is asked for of this resource: of a tool by its id, as the lock has it.
    pub(super) fn schema_action(&self, words: &Vocabulary, action: ActionName) -> SchemaAction {
        let is_call = action == ActionName::CallTool && *self.uid.entity_type() == words.tool;
        let id: &str = self.uid.eid().as_ref();
        let call = is_call.then(|| words.call(id)).flatten();
        call.map_or(SchemaAction::Named(action), SchemaAction::Call)
    }

    fn child(self, uid: EntityUID, others: impl IntoIterator<Item = EntityUID>) -> Self {
        let mut ancestors = self.ancestors;
        ancestors.push(self.uid);
        ancestors.extend(others);
        Self { uid, ancestors }
    }

    pub(super) fn of_server(words: &Vocabulary, server: &Server) -> Self {
        let groups = server
            .groups
            .iter()
            .map(|group| uid(&words.server_group, group));
        Self {
            uid: uid(&words.server, &server.name),
            ancestors: groups.collect(),
        }
    }
}

fn agent_ancestors(words: &Vocabulary, agent: &Agent) -> Vec<EntityUID> {
    let roles = agent.roles.iter().map(|role| uid(&words.role, role));
    let teams = agent.teams.iter().map(|team| uid(&words.team, team));
    let user = agent.user.iter().map(|user| uid(&words.user, user));
    roles.chain(teams).chain(user).collect()
}

fn tool_ancestors(
    words: &Vocabulary,
    groups: &ToolGroups,
    tool: &Tool,
    id: &str,
) -> Vec<EntityUID> {
    let groups = groups.0.get(id).into_iter().flatten();
    let groups = groups.chain(&tool.groups);
    let groups = groups.map(|group| uid(&words.tool_group, group));
    let capabilities = capabilities(words, &tool.capabilities);
    let permissions = permissions(words, tool.permissions);
    groups.chain(capabilities).chain(permissions).collect()
}

/// Those named, and those that they are in.
fn capabilities(words: &Vocabulary, names: &[String]) -> impl Iterator<Item = EntityUID> {
    names.iter().flat_map(|name| {
        let ends = name
            .match_indices('.')
            .map(|(end, _)| end)
            .chain([name.len()]);
        ends.filter_map(|end| name.get(..end))
            .map(|name| uid(&words.capability, name))
    })
}

fn permissions(words: &Vocabulary, has: Permissions) -> impl Iterator<Item = EntityUID> {
    let Permissions {
        read,
        write,
        connect,
    } = has;
    let permissions = [("read", read), ("write", write), ("connect", connect)];
    let permissions = permissions.into_iter().filter(|(_, has)| *has);
    permissions.map(|(name, _)| uid(&words.permission, name))
}
