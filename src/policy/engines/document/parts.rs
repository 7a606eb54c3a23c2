//! Principal, resource and context, member by member.

use std::borrow::Cow;

use jiff::Timestamp;

use super::super::cedar::ToolGroups;
use super::arguments;
use super::node::{DocumentEncodingError, DocumentNode, Object, object, text, texts};
use crate::policy::{
    Action, Agent, ClaimValue, Claims, Client, Consent, Environment, Permissions, Pin, Principal,
    Prompt, Resource, ResourceFacts, Server, SessionState, Targets, Tool,
};

pub(super) fn principal(principal: Principal<'_>) -> DocumentNode<'_> {
    match principal {
        Principal::Agent(agent) => DocumentNode::Object(agent_members(agent)),
        Principal::Server(server) => DocumentNode::Object(server_members(server)),
    }
}

/// `server` is the protected one: tools, resources and prompts belong to it.
pub(super) fn resource<'a>(
    resource: Resource<'a>,
    server: &'a Server,
    groups: &'a ToolGroups,
) -> DocumentNode<'a> {
    let belongs = |name: &'a str, mut members: Object<'a>| {
        let id = DocumentNode::Text(server.id_of(name));
        members.insert(Cow::Borrowed("id"), id);
        members.insert(
            Cow::Borrowed("server"),
            DocumentNode::Object(server_members(server)),
        );
        DocumentNode::Object(members)
    };
    match resource {
        Resource::Tool(tool) => {
            let groups = groups.of(&server.id_of(&tool.name));
            belongs(&tool.name, tool_members(tool, groups))
        }
        Resource::Resource(facts) => belongs(&facts.uri, resource_members(facts)),
        Resource::Prompt(Prompt {
            name,
            groups,
            pin,
            flags,
        }) => belongs(
            name,
            object([
                ("type", text("Prompt")),
                ("name", text(name)),
                ("groups", texts(groups)),
                ("pin", pin_node(*pin)),
                ("flags", texts(flags)),
            ]),
        ),
        Resource::Method(method) => belongs(
            &method.name,
            object([
                ("type", text("Method")),
                ("name", text(&method.name)),
                ("level", DocumentNode::Integer(method.level)),
                ("capabilities", capabilities(&method.capabilities)),
                ("declaredCapabilities", texts(&method.capabilities)),
                ("permissions", permissions(method.permissions)),
            ]),
        ),
        Resource::Server(server) => DocumentNode::Object(server_members(server)),
        Resource::Client(client) => DocumentNode::Object(client_members(client)),
        Resource::Host(host) => DocumentNode::Object(object([
            ("type", text("Host")),
            ("id", DocumentNode::Text(Cow::Owned(host.id()))),
            ("name", text(&host.name)),
            ("port", DocumentNode::Integer(host.port.into())),
        ])),
    }
}

pub(super) fn context<'a>(
    action: &Action<'a>,
    env: &'a Environment<'_>,
) -> Result<DocumentNode<'a>, DocumentEncodingError> {
    let mut members = object([("env", env_node(env)?)]);
    let mut put = |key: &'static str, value| members.insert(Cow::Borrowed(key), value);
    match *action {
        Action::Initialize
        | Action::Ping
        | Action::SetLevel
        | Action::Cancel
        | Action::ListTool
        | Action::ListResource
        | Action::ListPrompt
        | Action::Listen
        | Action::ReadResource
        | Action::Subscribe
        | Action::ListRoots => {}
        Action::Notify { method } => {
            put("method", text(method));
        }
        Action::CallTool {
            arguments: given,
            targets,
        }
        | Action::Extension {
            arguments: given,
            targets,
        } => {
            put("arguments", arguments::nested(given)?);
            put("targets", targets_node(targets));
        }
        Action::GetPrompt { arguments: given } => {
            put("arguments", arguments::nested(given)?);
        }
        Action::Complete { argument } => {
            put("argument", text(argument));
        }
        Action::ReceiveResult { received } => {
            let result = object([
                ("level", DocumentNode::Integer(received.level)),
                ("labels", texts(&received.labels)),
                ("bytes", DocumentNode::Integer(received.bytes)),
                ("isError", DocumentNode::Bool(received.is_error)),
                ("fatal", DocumentNode::Bool(received.fatal)),
                ("secrets", texts(&received.secrets)),
                ("flags", texts(&received.flags)),
            ]);
            put("result", DocumentNode::Object(result));
        }
        Action::Sample {
            max_tokens,
            include_context,
            tools,
            messages,
            bytes,
            system,
            agent: _,
        } => {
            put("maxTokens", DocumentNode::Integer(max_tokens));
            put("includeContext", text(include_context));
            put("tools", DocumentNode::Bool(tools));
            put("messages", DocumentNode::Integer(messages));
            put("bytes", DocumentNode::Integer(bytes));
            put("system", DocumentNode::Bool(system));
        }
        Action::Elicit { mode, fields, host } => {
            put("host", text(host));
            put("mode", text(mode));
            put("fields", texts(fields));
        }
        Action::ConnectHost { isolated } => {
            put("isolated", DocumentNode::Bool(isolated));
        }
    }
    Ok(DocumentNode::Object(members))
}

fn agent_members(agent: &Agent) -> Object<'_> {
    let mut members = object([
        ("type", text("Agent")),
        ("id", text(&agent.id)),
        ("roles", texts(&agent.roles)),
        ("teams", texts(&agent.teams)),
        (
            "client",
            DocumentNode::Object(client_members(&agent.client)),
        ),
        ("capabilities", texts(&agent.capabilities)),
        ("claims", claims(&agent.claims)),
        ("trust", DocumentNode::Integer(agent.trust)),
    ]);
    if let Some(user) = &agent.user {
        members.insert(Cow::Borrowed("user"), text(user));
    }
    members
}

/// Each under its name, as a value of its type.
fn claims(claims: &Claims) -> DocumentNode<'_> {
    let members = claims.iter().map(|(name, claim)| {
        let node = match claim {
            ClaimValue::String(value) => text(value),
            ClaimValue::Long(number) => DocumentNode::Integer(*number),
            ClaimValue::Bool(value) => DocumentNode::Bool(*value),
            ClaimValue::Strings(items) => texts(items),
        };
        (Cow::Borrowed(name), node)
    });
    DocumentNode::Object(members.collect())
}

fn client_members(client: &Client) -> Object<'_> {
    object([
        ("type", text("Client")),
        ("id", text(&client.name)),
        ("name", text(&client.name)),
        ("version", text(&client.version)),
    ])
}

fn server_members(server: &Server) -> Object<'_> {
    object([
        ("type", text("Server")),
        ("id", text(&server.name)),
        ("name", text(&server.name)),
        ("groups", texts(&server.groups)),
        ("origin", text(&server.origin)),
        ("trust", DocumentNode::Integer(server.trust)),
        ("clearance", DocumentNode::Integer(server.clearance)),
        ("untrusted", DocumentNode::Bool(server.untrusted)),
    ])
}

fn tool_members<'a>(tool: &'a Tool, groups: &'a [String]) -> Object<'a> {
    let hints = object([
        ("readOnly", DocumentNode::Bool(tool.hints.read_only)),
        ("destructive", DocumentNode::Bool(tool.hints.destructive)),
        ("idempotent", DocumentNode::Bool(tool.hints.idempotent)),
        ("openWorld", DocumentNode::Bool(tool.hints.open_world)),
    ]);
    object([
        ("type", text("Tool")),
        ("name", text(&tool.name)),
        ("level", DocumentNode::Integer(tool.level)),
        ("capabilities", capabilities(&tool.capabilities)),
        ("declaredCapabilities", texts(&tool.capabilities)),
        ("permissions", permissions(tool.permissions)),
        ("hints", DocumentNode::Object(hints)),
        ("pin", pin_node(tool.pin)),
        ("flags", texts(&tool.flags)),
        ("groups", tool_groups(groups, &tool.groups)),
        ("consent", text(tool.consent.as_str())),
    ])
}

fn pin_node(pin: Pin) -> DocumentNode<'static> {
    DocumentNode::Object(object([
        ("known", DocumentNode::Bool(pin.known)),
        ("schemaOk", DocumentNode::Bool(pin.schema_ok)),
        ("descriptionOk", DocumentNode::Bool(pin.description_ok)),
    ]))
}

/// Those that were compiled, and those of `tools.toml`.
fn tool_groups<'a>(compiled: &'a [String], own: &'a [String]) -> DocumentNode<'a> {
    let mut all: Vec<&str> = compiled.iter().chain(own).map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    DocumentNode::List(all.into_iter().map(text).collect())
}

/// Closed upwards, as the hierarchy of Cedar's entities is: `fs.write` is also `fs`.
fn capabilities(names: &[String]) -> DocumentNode<'_> {
    let mut closed: Vec<&str> = names
        .iter()
        .flat_map(|name| {
            let ends = name
                .match_indices('.')
                .map(|(end, _)| end)
                .chain([name.len()]);
            ends.filter_map(|end| name.get(..end))
        })
        .collect();
    closed.sort_unstable();
    closed.dedup();
    DocumentNode::List(closed.into_iter().map(text).collect())
}

fn permissions(permissions: Permissions) -> DocumentNode<'static> {
    let Permissions {
        read,
        write,
        connect,
    } = permissions;
    let all = [("read", read), ("write", write), ("connect", connect)];
    let held = all.into_iter().filter(|(_, has)| *has);
    DocumentNode::List(held.map(|(name, _)| text(name)).collect())
}

fn resource_members(facts: &ResourceFacts) -> Object<'_> {
    let mut members = object([
        ("type", text("Resource")),
        ("uri", text(&facts.uri)),
        ("scheme", text(&facts.scheme)),
        ("level", DocumentNode::Integer(facts.level)),
        ("labels", texts(&facts.labels)),
        ("roots", texts(&facts.roots)),
        ("groups", texts(&facts.groups)),
    ]);
    if let Some(mime) = &facts.mime {
        members.insert(Cow::Borrowed("mime"), text(mime));
    }
    members
}

fn targets_node(targets: &Targets) -> DocumentNode<'_> {
    DocumentNode::Object(object([
        ("roots", texts(&targets.roots)),
        ("outside", DocumentNode::Bool(targets.outside)),
        ("hosts", texts(&targets.hosts)),
        ("bytes", DocumentNode::Integer(targets.bytes)),
        ("level", DocumentNode::Integer(targets.level)),
        ("writable", DocumentNode::Bool(targets.writable)),
        ("destinations", texts(&targets.destinations)),
        ("approved", DocumentNode::Bool(targets.approved)),
        ("copiedFrom", texts(&targets.copied_from)),
        ("secrets", texts(&targets.secrets)),
        ("options", texts(&targets.options)),
    ]))
}

fn env_node<'a>(env: &'a Environment<'_>) -> Result<DocumentNode<'a>, DocumentEncodingError> {
    let mut members = object([
        ("transport", text(env.transport)),
        ("protocol", text(env.protocol)),
        ("now", time(env.now_ms)?),
        ("nowMs", DocumentNode::Integer(env.now_ms)),
        ("session", session(&env.session)?),
        ("consent", consent(&env.consent)?),
    ]);
    if let Some(peer) = env.peer {
        // As for Cedar: an IPv4 address in IPv6 would pass by every filter.
        let peer = peer.to_canonical().to_string();
        members.insert(Cow::Borrowed("peer"), DocumentNode::Text(Cow::Owned(peer)));
    }
    Ok(DocumentNode::Object(members))
}

fn session(session: &SessionState) -> Result<DocumentNode<'_>, DocumentEncodingError> {
    Ok(DocumentNode::Object(object([
        ("level", DocumentNode::Integer(session.level)),
        ("labels", texts(&session.labels)),
        ("datasets", texts(&session.datasets)),
        ("untrusted", DocumentNode::Bool(session.untrusted)),
        ("sources", texts(&session.sources)),
        ("untrustedFrom", texts(&session.untrusted_from)),
        ("calls", DocumentNode::Integer(session.calls)),
        ("startedAt", time(session.started_ms)?),
        ("startedAtMs", DocumentNode::Integer(session.started_ms)),
    ])))
}

fn consent(consent: &Consent) -> Result<DocumentNode<'_>, DocumentEncodingError> {
    let mut members = object([
        ("granted", DocumentNode::Bool(consent.granted)),
        ("scope", text(&consent.scope)),
    ]);
    if let Some(by) = &consent.by {
        members.insert(Cow::Borrowed("by"), text(by));
    }
    if let Some(at) = consent.at_ms {
        members.insert(Cow::Borrowed("at"), time(at)?);
        members.insert(Cow::Borrowed("atMs"), DocumentNode::Integer(at));
    }
    Ok(DocumentNode::Object(members))
}

/// RFC 3339 in UTC, always with milliseconds, so that texts compare as the times do: years of four
/// digits only.
fn time(ms: i64) -> Result<DocumentNode<'static>, DocumentEncodingError> {
    let time = Timestamp::from_millisecond(ms).map_err(|_| DocumentEncodingError::Time)?;
    let text = format!("{time:.3}");
    if text.starts_with('-') {
        return Err(DocumentEncodingError::Time);
    }
    Ok(DocumentNode::Text(Cow::Owned(text)))
}
