//! Principal, resource and what they refer to, as Cedar entities.
//!
//! INVARIANT: an entity has all attributes of the schema, or none where no policy names any, so that
//! no lookup can miss. The property tests hold each against the schema.

use std::collections::HashSet;
use std::sync::Arc;

use cedar_policy_core::ast::{Entity, Literal, PartialValue, Value};

use super::inspect::FactNeeds;
use super::subjects::Subject;
use super::value::{entity, literal, record, strings};
use super::vocabulary::{Vocabulary, uid};
use crate::policy::{
    ClaimValue, Claims, Client, Pin, Principal, Resource, ResourceFacts, Server, Tool,
};

/// The principal and what it refers to, as far as the policies can look at it.
pub(super) fn principal_entities(
    words: &Vocabulary,
    subject: &Subject,
    principal: Principal<'_>,
    needs: FactNeeds,
) -> impl Iterator<Item = Arc<Entity>> {
    let mut client = None;
    let mut claims = None;
    let own = match principal {
        _ if !needs.has(FactNeeds::DETAILS) => build(subject, []),
        Principal::Agent(agent) => {
            client = needs
                .has(FactNeeds::CLIENT)
                .then(|| client_entity(words, &agent.client));
            claims = needs
                .has(FactNeeds::CLAIMS)
                .then(|| claims_entity(words, &agent.claims));
            let name = entity(uid(&words.client, &agent.client.name));
            let granted = capabilities(words, &agent.capabilities);
            let fields = [
                ("client", name),
                ("trust", literal(agent.trust)),
                ("capabilities", granted),
                ("claims", entity(words.claims.clone())),
            ];
            build(subject, fields)
        }
        Principal::Server(server) => build(subject, server_fields(server)),
    };
    [Some(own), client, claims].into_iter().flatten()
}

/// The resource and what it refers to, as far as the policies can look at it.
pub(super) fn resource_entities(
    words: &Vocabulary,
    subject: &Subject,
    server: &Server,
    resource: Resource<'_>,
    needs: FactNeeds,
) -> impl Iterator<Item = Arc<Entity>> {
    let name = || ("server", entity(uid(&words.server, &server.name)));
    let mut refers = needs.has(FactNeeds::SERVER);
    let own = match resource {
        _ if !needs.has(FactNeeds::DETAILS) => build(subject, []),
        Resource::Tool(tool) => build(
            subject,
            [name()].into_iter().chain(tool_fields(words, tool)),
        ),
        Resource::Resource(facts) => {
            build(subject, [name()].into_iter().chain(resource_fields(facts)))
        }
        Resource::Prompt(prompt) => {
            let flags = ("flags", strings(&prompt.flags));
            let own = ("name", literal(prompt.name.as_str()));
            let pin = ("pin", pin_record(prompt.pin));
            build(subject, [name(), own, flags, pin])
        }
        Resource::Method(method) => {
            let own = [
                name(),
                ("name", literal(method.name.as_str())),
                ("level", literal(method.level)),
                ("capabilities", capabilities(words, &method.capabilities)),
            ];
            build(subject, own)
        }
        Resource::Server(server) => {
            refers = false;
            build(subject, server_fields(server))
        }
        Resource::Client(client) => {
            refers = false;
            build(subject, client_fields(client))
        }
        Resource::Host(host) => {
            refers = false;
            let name = ("name", literal(host.name.as_str()));
            build(subject, [name, ("port", literal(i64::from(host.port)))])
        }
    };
    let server = refers.then(|| build(&Subject::of_server(words, server), server_fields(server)));
    [Some(own), server].into_iter().flatten()
}

fn server_fields(server: &Server) -> [(&'static str, Value); 4] {
    [
        ("origin", literal(server.origin.as_str())),
        ("trust", literal(server.trust)),
        ("clearance", literal(server.clearance)),
        ("untrusted", literal(server.untrusted)),
    ]
}

fn client_fields(client: &Client) -> [(&'static str, Value); 2] {
    [
        ("name", literal(client.name.as_str())),
        ("version", literal(client.version.as_str())),
    ]
}

/// A set of entities of which nothing but the name is ever looked at.
fn capabilities(words: &Vocabulary, names: &[String]) -> Value {
    let names = names.iter();
    let uids = names.map(|name| Literal::from(uid(&words.capability, name)));
    Value::set_of_lits(uids, None)
}

fn tool_fields(words: &Vocabulary, tool: &Tool) -> [(&'static str, Value); 7] {
    let hints = record([
        ("readOnly", literal(tool.hints.read_only)),
        ("destructive", literal(tool.hints.destructive)),
        ("idempotent", literal(tool.hints.idempotent)),
        ("openWorld", literal(tool.hints.open_world)),
    ]);
    let name = literal(tool.name.as_str());
    [
        ("name", name),
        ("hints", hints),
        ("level", literal(tool.level)),
        ("pin", pin_record(tool.pin)),
        ("flags", strings(&tool.flags)),
        ("capabilities", capabilities(words, &tool.capabilities)),
        ("consent", literal(tool.consent.as_str())),
    ]
}

fn pin_record(pin: Pin) -> Value {
    record([
        ("known", literal(pin.known)),
        ("schemaOk", literal(pin.schema_ok)),
        ("descriptionOk", literal(pin.description_ok)),
    ])
}

fn resource_fields(facts: &ResourceFacts) -> impl Iterator<Item = (&'static str, Value)> {
    let required = [
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

/// One tag for each claim, with the attribute of its type.
fn claims_entity(words: &Vocabulary, claims: &Claims) -> Arc<Entity> {
    let tags = claims.iter().map(|(name, claim)| {
        let value = match claim {
            ClaimValue::String(text) => literal(text.as_str()),
            ClaimValue::Long(number) => literal(*number),
            ClaimValue::Bool(value) => literal(*value),
            ClaimValue::Strings(items) => strings(items),
        };
        let tag = record([(claim.claim_type().word(), value)]);
        (name.into(), PartialValue::Value(tag))
    });
    let uid = words.claims.clone();
    let (attributes, indirect, ancestors) = ([], HashSet::new(), HashSet::new());
    Arc::new(Entity::new_with_attr_partial_value(
        uid, attributes, indirect, ancestors, tags,
    ))
}

fn client_entity(words: &Vocabulary, client: &Client) -> Arc<Entity> {
    let subject = Subject {
        uid: uid(&words.client, &client.name),
        ancestors: Vec::new(),
    };
    build(&subject, client_fields(client))
}

fn build(
    subject: &Subject,
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> Arc<Entity> {
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.into(), PartialValue::Value(value)));
    let (uid, ancestors) = (
        subject.uid.clone(),
        subject.ancestors.iter().cloned().collect(),
    );
    let (indirect, tags) = (HashSet::new(), []);
    Arc::new(Entity::new_with_attr_partial_value(
        uid, fields, indirect, ancestors, tags,
    ))
}
