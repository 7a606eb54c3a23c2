//! Principal and resource as Cedar entities.
//!
//! INVARIANT: every entity is built with all attributes of the schema and with all its ancestors,
//! near and far, so that the store needs no computation and no lookup can miss. The property tests
//! hold each against the schema.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy_core::ast::{Entity, EntityUID, PartialValue, Value};

use super::inspect::Needs;
use super::value::{entity, literal, record, strings};
use super::vocabulary::{Vocabulary, uid};
use crate::policy::{Agent, Client, Principal, Resource, ResourceFacts, Server, Tool};

/// Which groups the host put each tool in.
#[derive(Debug, Clone, Default)]
pub struct ToolGroups(HashMap<String, Vec<String>>);

/// A principal or a resource, before its attributes are needed.
pub(super) struct Subject {
    pub(super) uid: EntityUID,
    pub(super) ancestors: HashSet<EntityUID>,
}

impl ToolGroups {
    pub fn add(&mut self, tool: &str, group: &str) {
        let groups = self.0.entry(tool.to_owned()).or_default();
        if groups.iter().all(|known| known != group) {
            groups.push(group.to_owned());
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
            Resource::Tool(tool) => own.child(
                uid(&words.tool, &tool.name),
                tool_ancestors(words, groups, tool),
            ),
            Resource::Resource(facts) => {
                let roots = facts.roots.iter().map(|root| uid(&words.root, root));
                own.child(uid(&words.resource, &facts.uri), roots)
            }
            Resource::Prompt(prompt) => own.child(uid(&words.prompt, &prompt.name), []),
            Resource::Server(server) => Self::of_server(words, server),
            Resource::Client(client) => Self {
                uid: uid(&words.client, &client.name),
                ancestors: HashSet::new(),
            },
        }
    }

    fn child(self, uid: EntityUID, others: impl IntoIterator<Item = EntityUID>) -> Self {
        let mut ancestors = self.ancestors;
        ancestors.insert(self.uid);
        ancestors.extend(others);
        Self { uid, ancestors }
    }

    fn of_server(words: &Vocabulary, server: &Server) -> Self {
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

/// The principal and what it refers to, as far as the policies can look at it.
pub(super) fn principal_entities(
    words: &Vocabulary,
    subject: Subject,
    principal: Principal<'_>,
    needs: Needs,
) -> impl Iterator<Item = Arc<Entity>> {
    let (own, client) = match principal {
        Principal::Agent(agent) => {
            let client = entity(uid(&words.client, &agent.client.name));
            let own = build(
                subject,
                [("client", client), ("trust", literal(agent.trust))],
            );
            (
                own,
                needs
                    .has(Needs::CLIENT)
                    .then(|| client_entity(words, &agent.client)),
            )
        }
        Principal::Server(server) => (build(subject, server_fields(server)), None),
    };
    [Some(own), client].into_iter().flatten()
}

/// The resource and what it refers to, as far as the policies can look at it.
pub(super) fn resource_entities(
    words: &Vocabulary,
    subject: Subject,
    server: &Server,
    resource: Resource<'_>,
    needs: Needs,
) -> impl Iterator<Item = Arc<Entity>> {
    let own = match resource {
        Resource::Tool(tool) => build(subject, tool_fields(words, server, tool)),
        Resource::Resource(facts) => build(subject, resource_fields(words, server, facts)),
        Resource::Prompt(prompt) => {
            let server = entity(uid(&words.server, &server.name));
            build(
                subject,
                [("server", server), ("name", literal(prompt.name.as_str()))],
            )
        }
        Resource::Server(server) => build(subject, server_fields(server)),
        Resource::Client(client) => client_entity(words, client),
    };
    let refers = match resource {
        Resource::Tool(_) | Resource::Resource(_) | Resource::Prompt(_) => true,
        Resource::Server(_) | Resource::Client(_) => false,
    };
    let server = (refers && needs.has(Needs::SERVER))
        .then(|| build(Subject::of_server(words, server), server_fields(server)));
    [Some(own), server].into_iter().flatten()
}

fn agent_ancestors(words: &Vocabulary, agent: &Agent) -> HashSet<EntityUID> {
    let roles = agent.roles.iter().map(|role| uid(&words.role, role));
    let teams = agent.teams.iter().map(|team| uid(&words.team, team));
    let user = agent.user.iter().map(|user| uid(&words.user, user));
    roles.chain(teams).chain(user).collect()
}

fn tool_ancestors(words: &Vocabulary, groups: &ToolGroups, tool: &Tool) -> HashSet<EntityUID> {
    let groups = groups.0.get(&tool.name).into_iter().flatten();
    let groups = groups.map(|group| uid(&words.tool_group, group));
    let capabilities = tool.capabilities.iter().flat_map(|name| {
        let ends = name
            .match_indices('.')
            .map(|(end, _)| end)
            .chain([name.len()]);
        ends.filter_map(|end| name.get(..end))
            .map(|name| uid(&words.capability, name))
    });
    groups.chain(capabilities).collect()
}

fn server_fields(server: &Server) -> [(&'static str, Value); 2] {
    [
        ("origin", literal(server.origin.as_str())),
        ("trust", literal(server.trust)),
    ]
}

fn tool_fields(words: &Vocabulary, server: &Server, tool: &Tool) -> [(&'static str, Value); 5] {
    let hints = record([
        ("readOnly", literal(tool.hints.read_only)),
        ("destructive", literal(tool.hints.destructive)),
        ("idempotent", literal(tool.hints.idempotent)),
        ("openWorld", literal(tool.hints.open_world)),
    ]);
    let pin = record([
        ("known", literal(tool.pin.known)),
        ("schemaOk", literal(tool.pin.schema_ok)),
        ("descriptionOk", literal(tool.pin.description_ok)),
    ]);
    [
        ("server", entity(uid(&words.server, &server.name))),
        ("name", literal(tool.name.as_str())),
        ("hints", hints),
        ("level", literal(tool.level)),
        ("pin", pin),
    ]
}

fn resource_fields(
    words: &Vocabulary,
    server: &Server,
    facts: &ResourceFacts,
) -> impl Iterator<Item = (&'static str, Value)> {
    let required = [
        ("server", entity(uid(&words.server, &server.name))),
        ("uri", literal(facts.uri.as_str())),
        ("scheme", literal(facts.scheme.as_str())),
        ("level", literal(facts.level)),
        ("labels", strings(&facts.labels)),
    ];
    let mime = facts
        .mime
        .iter()
        .map(|mime| ("mime", literal(mime.as_str())));
    required.into_iter().chain(mime)
}

fn client_entity(words: &Vocabulary, client: &Client) -> Arc<Entity> {
    let subject = Subject {
        uid: uid(&words.client, &client.name),
        ancestors: HashSet::new(),
    };
    let fields = [
        ("name", literal(client.name.as_str())),
        ("version", literal(client.version.as_str())),
    ];
    build(subject, fields)
}

fn build(subject: Subject, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Arc<Entity> {
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.into(), PartialValue::Value(value)));
    Arc::new(Entity::new_with_attr_partial_value(
        subject.uid,
        fields,
        HashSet::new(),
        subject.ancestors,
        [],
    ))
}
