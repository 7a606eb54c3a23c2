//! One document of every shape, for checks that need all names.

use std::net::Ipv4Addr;
use std::sync::LazyLock;

use super::super::cedar::ToolGroups;
use super::{DocumentNode, Object, of};
use crate::policy::{
    Action, Agent, Arguments, Consent, Environment, ExtensionMethod, Facts, Host, Leaf, Principal,
    Prompt, Received, Resource, ResourceFacts, Server, SessionState, Targets, Tool,
};

/// With every member that there can be. Nothing is known of what is below `arguments`.
pub(in super::super) fn samples() -> Vec<Object<'static>> {
    static WORLD: LazyLock<SampleWorld> = LazyLock::new(SampleWorld::new);
    let world = &*WORLD;
    let env = || Environment {
        server: &world.server,
        transport: "stdio",
        protocol: "2025-11-25",
        now_ms: 0,
        peer: Some(Ipv4Addr::LOCALHOST.into()),
        session: SessionState::default(),
        consent: Consent {
            by: Some(String::new()),
            at_ms: Some(0),
            ..Consent::default()
        },
    };
    let resources = [
        Resource::Tool(&world.tool),
        Resource::Resource(&world.resource),
        Resource::Prompt(&world.prompt),
        Resource::Method(&world.method),
        Resource::Server(&world.server),
        Resource::Client(&world.agent.client),
        Resource::Host(&world.host),
    ];
    let actions = [
        Action::CallTool {
            arguments: &world.arguments,
            targets: &world.targets,
        },
        Action::Extension {
            arguments: &world.arguments,
            targets: &world.targets,
        },
        Action::Notify { method: "" },
        Action::Complete { argument: "" },
        Action::ReceiveResult {
            received: &world.received,
        },
        Action::Sample {
            max_tokens: 0,
            include_context: "",
            tools: false,
            messages: 3,
            bytes: 40,
            system: true,
            agent: &world.agent,
        },
        Action::Elicit {
            mode: "",
            fields: &[],
            host: "login.example.com",
        },
        Action::ConnectHost { isolated: false },
    ];
    let mut samples = Vec::new();
    for principal in [
        Principal::Agent(&world.agent),
        Principal::Server(&world.server),
    ] {
        for resource in resources {
            for action in actions {
                let facts = Facts {
                    principal,
                    action,
                    resource,
                    env: env(),
                };
                samples.extend(of(&facts, &world.groups).ok().map(owned));
            }
        }
    }
    samples
}

struct SampleWorld {
    agent: Agent,
    server: Server,
    tool: Tool,
    resource: ResourceFacts,
    prompt: Prompt,
    method: ExtensionMethod,
    host: Host,
    targets: Targets,
    received: Received,
    arguments: Arguments<'static>,
    groups: ToolGroups,
}

impl SampleWorld {
    fn new() -> Self {
        Self {
            agent: Agent {
                user: Some(String::new()),
                ..Agent::default()
            },
            server: Server::default(),
            tool: Tool::default(),
            resource: ResourceFacts {
                mime: Some(String::new()),
                ..ResourceFacts::default()
            },
            prompt: Prompt::default(),
            method: ExtensionMethod::default(),
            host: Host {
                name: String::new(),
                port: 443,
            },
            targets: Targets::default(),
            received: Received::default(),
            arguments: Arguments(vec![(String::new(), Leaf::EmptyObject)]),
            groups: ToolGroups::default(),
        }
    }
}

fn owned(members: Object<'_>) -> Object<'static> {
    members
        .into_iter()
        .map(|(key, node)| (key.into_owned().into(), owned_node(node)))
        .collect()
}

fn owned_node(node: DocumentNode<'_>) -> DocumentNode<'static> {
    match node {
        DocumentNode::Null => DocumentNode::Null,
        DocumentNode::Bool(value) => DocumentNode::Bool(value),
        DocumentNode::Integer(value) => DocumentNode::Integer(value),
        DocumentNode::Number(value) => DocumentNode::Number(value),
        DocumentNode::Text(text) => DocumentNode::Text(text.into_owned().into()),
        DocumentNode::List(items) => {
            DocumentNode::List(items.into_iter().map(owned_node).collect())
        }
        DocumentNode::Object(members) => DocumentNode::Object(owned(members)),
    }
}
