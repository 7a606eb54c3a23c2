//! Every action, every kind of principal and resource, and what a reason carries.

use std::net::IpAddr;

use super::*;
use crate::policy::fixture::{World, told, tool};
use crate::policy::{
    Action, ActionName, Client, ExtensionMethod, Facts, Host, Prompt, Received, Resource,
    ResourceFacts, Tool,
};

const WORDS: [&str; 1] = ["pii"];

#[test]
fn each_action_is_judged_by_the_policies_that_name_it() {
    let text = ActionName::ALL
        .map(|name| permits(name.as_str(), "=="))
        .concat();
    let snapshot = snapshot(&text);
    let world = World::new();
    for facts in every_action(&world, &TestEntities::new()) {
        let name = facts.action.name().as_str();
        assert_eq!(told(&snapshot.judge(&facts)), format!("allow {name}"));
    }
}

#[test]
fn the_groups_of_actions_hold_what_the_schema_says() {
    let groups = ["any", "lifecycle", "discover", "use", "server_request"];
    let text = groups.map(|name| permits(name, "in")).concat();
    let snapshot = snapshot(&text);
    let world = World::new();
    for facts in every_action(&world, &TestEntities::new()) {
        let group = match facts.action.name() {
            ActionName::Initialize | ActionName::Ping | ActionName::Cancel | ActionName::Notify => {
                "allow any lifecycle"
            }
            ActionName::ListTool | ActionName::ListResource | ActionName::ListPrompt => {
                "allow any discover"
            }
            ActionName::SetLevel
            | ActionName::Listen
            | ActionName::CallTool
            | ActionName::ReadResource
            | ActionName::Subscribe
            | ActionName::GetPrompt
            | ActionName::Complete
            | ActionName::Extension => "allow any use",
            ActionName::ReceiveResult | ActionName::ConnectHost => "allow any",
            ActionName::Sample | ActionName::Elicit | ActionName::ListRoots => {
                "allow any server_request"
            }
        };
        assert_eq!(
            told(&snapshot.judge(&facts)),
            group,
            "{:?}",
            facts.action.name()
        );
    }
}

#[test]
fn every_part_of_the_context_can_be_asked_for() {
    let things = TestEntities::new();
    let mut world = World::new();
    world.now_ms = 1_795_000_000_123;
    fill(&mut world);
    for (action, condition) in [
        (
            "any",
            r#"context.env.transport == "stdio" && context.env.protocol == "2025-11-25""#,
        ),
        (
            "any",
            r#"context.env.now == datetime("2026-11-18T11:06:40.123Z")"#,
        ),
        (
            "any",
            r#"context.env has peer && context.env.peer.isInRange(ip("10.0.0.0/8"))"#,
        ),
        (
            "any",
            r#"context.env.session.level == 2 && context.env.session.labels.contains("pii")"#,
        ),
        (
            "any",
            "context.env.session.untrusted && context.env.session.calls == 7",
        ),
        (
            "any",
            r#"context.env.now.durationSince(context.env.session.startedAt) == duration("60s")"#,
        ),
        (
            "any",
            r#"context.env.consent.granted && context.env.consent.scope == "once""#,
        ),
        (
            "any",
            r#"context.env.consent has by && context.env.consent.by == "eve""#,
        ),
        (
            "any",
            "context.env.consent has at && context.env.consent.at < context.env.now",
        ),
        ("notify", r#"context.method == "notifications/progress""#),
        (
            "call_tool",
            r#"[Mcp::Root::"workspace"].containsAll(context.targets.roots)"#,
        ),
        (
            "call_tool",
            r#"context.targets.outside && context.targets.hosts.contains("example.com")"#,
        ),
        ("call_tool", "context.targets.bytes == 12"),
        (
            "call_tool",
            r#"context.targets.secrets.contains("github-token")"#,
        ),
        (
            "receive_result",
            r#"context.result.flags.contains("override")"#,
        ),
        (
            "receive_result",
            r#"context.result.secrets == ["github-token"]"#,
        ),
        (
            "call_tool",
            "context has env.consent.at && context.env.consent.at < context.env.now",
        ),
        ("complete", r#"context.argument == "path""#),
        (
            "receive_result",
            r#"context.result.level == 1 && context.result.labels.contains("pii")"#,
        ),
        (
            "receive_result",
            "context.result.bytes == 100 && context.result.isError && context.result.fatal",
        ),
        (
            "sample",
            r#"context.maxTokens == 50 && context.includeContext == "none" && !context.tools && context.messages == 3 && context.bytes == 40 && context.system"#,
        ),
        (
            "elicit",
            r#"context.mode == "form" && context.host == "login.example.com" && context.fields.contains("pii")"#,
        ),
    ] {
        let text = format!(
            "@id(\"p\") permit(principal, action in Mcp::Action::\"{action}\", resource) when {{ {condition} }};"
        );
        let snapshot = snapshot(&text);
        for mut facts in every_action(&world, &things) {
            if action != "any" && facts.action.name().as_str() != action {
                continue;
            }
            // IPv4 that came over IPv6 is IPv4.
            facts.env.peer = Some("::ffff:10.1.2.3".parse::<IpAddr>().unwrap());
            assert_eq!(told(&snapshot.judge(&facts)), "allow p", "{condition}");
        }
    }
}

#[test]
fn what_is_not_there_is_absent() {
    let text = r#"@id("p") permit(principal, action == Mcp::Action::"call_tool", resource)
        unless { context.env has peer || context.env.consent has by || context.env.consent has at };"#;
    assert_eq!(judged(text, &World::new().call(&tool("t"))), "allow p");
}

#[test]
fn agents_belong_to_what_the_host_says() {
    let mut world = World::new();
    world.agent.roles = vec!["writer".to_owned()];
    world.agent.teams = vec!["docs".to_owned()];
    world.agent.user = Some("ann".to_owned());
    world.agent.trust = 3;
    for (scope, condition, other) in [
        (
            r#"principal in Mcp::Role::"writer""#,
            "true",
            r#"principal in Mcp::Role::"reader""#,
        ),
        (
            r#"principal in Mcp::Team::"docs""#,
            "true",
            r#"principal in Mcp::Team::"writer""#,
        ),
        (
            r#"principal in Mcp::User::"ann""#,
            "true",
            r#"principal in Mcp::User::"ANN""#,
        ),
        (
            r#"principal == Mcp::Agent::"a1""#,
            "true",
            r#"principal == Mcp::Agent::"a2""#,
        ),
        (
            "principal is Mcp::Agent",
            "principal.trust == 3",
            "principal is Mcp::Server",
        ),
        (
            r#"principal is Mcp::Agent in Mcp::Role::"writer""#,
            r#"principal.client.name == "tester" && principal.client.version == "1""#,
            r#"principal is Mcp::Agent in Mcp::Role::"reader""#,
        ),
    ] {
        check_scope(
            &world,
            &tool("t"),
            scope,
            "resource",
            condition,
            other,
            "resource",
        );
    }
}

#[test]
fn tools_belong_to_groups_capabilities_and_the_server() {
    let mut world = World::new();
    world.server.groups = vec!["local".to_owned()];
    world.server.origin = "npx fs".to_owned();
    world.server.trust = 1;
    let mut tool = tool("write_file");
    tool.capabilities = vec!["fs.write.new".to_owned(), "net".to_owned()];
    tool.level = 2;
    for (scope, condition, other) in [
        (
            r#"resource == Mcp::Tool::"write_file""#,
            "true",
            r#"resource == Mcp::Tool::"Write_file""#,
        ),
        (
            r#"resource in Mcp::Tool::"write_file""#,
            "true",
            r#"resource in Mcp::Tool::"write""#,
        ),
        (
            r#"resource in Mcp::Capability::"fs""#,
            "true",
            r#"resource in Mcp::Capability::"f""#,
        ),
        (
            r#"resource in Mcp::Capability::"fs.write""#,
            "true",
            r#"resource in Mcp::Capability::"""#,
        ),
        (
            r#"resource in Mcp::Capability::"fs.write.new""#,
            r#"resource in Mcp::Capability::"net""#,
            r#"resource in Mcp::Capability::"write""#,
        ),
        (
            r#"resource in Mcp::Server::"files""#,
            "true",
            r#"resource in Mcp::Server::"other""#,
        ),
        (
            r#"resource in Mcp::ServerGroup::"local""#,
            "true",
            r#"resource in Mcp::ServerGroup::"l""#,
        ),
        (
            "resource is Mcp::Tool",
            r#"resource.server.origin == "npx fs" && resource.server.trust == 1"#,
            r#"resource is Mcp::Tool in Mcp::ToolGroup::"allow""#,
        ),
        (
            "resource",
            r#"resource.name == "write_file" && resource.level == 2 && !resource.pin.known
               && resource.hints.destructive && resource.hints.openWorld
               && !resource.hints.readOnly && !resource.hints.idempotent"#,
            r#"resource == Mcp::Tool::"x""#,
        ),
    ] {
        check_scope(
            &world,
            &tool,
            "principal",
            scope,
            condition,
            "principal",
            other,
        );
    }
}

#[test]
fn resources_belong_to_roots_and_the_server() {
    let world = World::new();
    let mut things = TestEntities::new();
    things.resource.roots = vec!["workspace".to_owned()];
    things.resource.mime = Some("text/plain".to_owned());
    let text = r#"@id("p") permit(principal, action == Mcp::Action::"read_resource",
            resource in Mcp::Root::"workspace")
        when { resource in Mcp::Server::"files" && resource.server == Mcp::Server::"files"
            && resource.uri == "file:///srv/a" && resource.scheme == "file" && resource.level == 1
            && resource.labels.contains("pii") && resource has mime && resource.mime == "text/plain" };"#;
    let facts = world.facts(Action::ReadResource, Resource::Resource(&things.resource));
    assert_eq!(judged(text, &facts), "allow p");
    let outside = ResourceFacts {
        roots: vec![],
        ..things.resource.clone()
    };
    let facts = world.facts(Action::ReadResource, Resource::Resource(&outside));
    assert_eq!(judged(text, &facts), "nothing");
}

#[test]
fn a_server_asks_as_a_principal() {
    let mut world = World::new();
    world.server.groups = vec!["trusted".to_owned()];
    let text = r#"@id("p") permit(principal in Mcp::ServerGroup::"trusted", action, resource is Mcp::Client)
        when { principal.trust == 0 && principal.origin == "" };
        @id("q") permit(principal == Mcp::Server::"files", action == Mcp::Action::"list_roots",
            resource == Mcp::Client::"tester") when { resource.version == "1" };"#;
    assert_eq!(
        judged(text, &world.server_facts(Action::ListRoots)),
        "allow p q"
    );
    assert_eq!(judged(text, &world.server_facts(Action::Ping)), "allow p");
    world.server.groups.clear();
    assert_eq!(judged(text, &world.server_facts(Action::Ping)), "nothing");
}

#[test]
fn conditions_on_the_action_itself_see_the_whole_hierarchy() {
    let text = r#"@id("p") permit(principal, action, resource)
        when { action in Mcp::Action::"use"
            && Mcp::Action::"ping" in Mcp::Action::"lifecycle"
            && !(Mcp::Action::"ping" in Mcp::Action::"use") };"#;
    assert_eq!(judged(text, &World::new().call(&tool("t"))), "allow p");
}

#[test]
fn a_reason_says_where_it_comes_from_and_what_to_tell() {
    let text = r#"
        permit(principal, action, resource);

        @code("E-ROOTS")
        @advice("Paths must stay inside the workspace")
        forbid(principal, action == Mcp::Action::"call_tool", resource);"#;
    let snapshot = snapshot(text);
    let decision = snapshot.judge(&World::new().call(&tool("t")));
    assert_eq!(told(&decision), "deny t.cedar:4");
    let reason = &decision.reasons()[0];
    assert_eq!(reason.code.as_deref(), Some("E-ROOTS"));
    assert_eq!(
        reason.advice.as_deref(),
        Some("Paths must stay inside the workspace")
    );
    assert_eq!(reason.origin.to_string(), "t.cedar:4");
    let (origin, snippet) = snapshot.policy_source(&reason.policy).unwrap();
    assert_eq!(origin, &reason.origin);
    assert!(
        snippet.starts_with("@code(\"E-ROOTS\")") && snippet.ends_with(';'),
        "{snippet}"
    );
}

#[test]
fn facts_that_the_schema_has_no_place_for_are_a_fault() {
    let world = World::new();
    let client = Client::default();
    for text in [
        "permit(principal, action, resource);",
        r#"permit(principal, action, resource) when { context.env.transport == "stdio" };"#,
    ] {
        let facts = world.facts(Action::ListRoots, Resource::Client(&client));
        assert_eq!(judged(text, &facts), "fault");
        let facts = world.facts(Action::ListTool, Resource::Server(&world.server));
        assert_eq!(judged(text, &facts), "fault");
    }
}

fn permits(action: &str, relation: &str) -> String {
    format!(
        "@id(\"{action}\") permit(principal, action {relation} Mcp::Action::\"{action}\", resource);"
    )
}

/// What the world holds beside the agent.
struct TestEntities {
    tool: Tool,
    resource: ResourceFacts,
    prompt: Prompt,
    method: ExtensionMethod,
    host: Host,
    words: Vec<String>,
}

impl TestEntities {
    fn new() -> Self {
        let words: Vec<String> = WORDS.iter().map(ToString::to_string).collect();
        let resource = ResourceFacts {
            uri: "file:///srv/a".to_owned(),
            scheme: "file".to_owned(),
            level: 1,
            labels: words.clone(),
            ..ResourceFacts::default()
        };
        Self {
            tool: tool("t"),
            resource,
            prompt: Prompt::named("p"),
            method: ExtensionMethod::named("vendor/do"),
            host: Host {
                name: "api.example.com".to_owned(),
                port: 443,
            },
            words,
        }
    }
}

#[test]
fn the_host_of_a_connection_can_be_asked_for() {
    let (things, world) = (TestEntities::new(), World::new());
    let text = r#"@id("p") permit(principal is Mcp::Server, action, resource is Mcp::Host)
        when { resource == Mcp::Host::"api.example.com:443" && resource.name == "api.example.com"
            && resource.port == 443 && context.isolated };"#;
    let mut allowed = every_action(&world, &things);
    allowed.retain(|facts| judged(text, facts) == "allow p");
    let allowed: Vec<ActionName> = allowed.iter().map(|it| it.action.name()).collect();
    assert_eq!(allowed, [ActionName::ConnectHost]);
}

/// A session with a past, what a call reaches for, and what comes of one.
fn fill(world: &mut World) {
    world.session.level = 2;
    world.session.labels = vec!["pii".to_owned()];
    world.session.untrusted = true;
    world.session.calls = 7;
    world.session.started_ms = world.now_ms - 60_000;
    world.consent.granted = true;
    world.consent.scope = "once".to_owned();
    world.consent.by = Some("eve".to_owned());
    world.consent.at_ms = Some(world.now_ms - 1000);
    world.targets.roots = vec!["workspace".to_owned()];
    world.targets.outside = true;
    world.targets.hosts = vec!["example.com".to_owned()];
    world.targets.bytes = 12;
    world.received = Received {
        level: 1,
        datasets: Vec::new(),
        labels: world.session.labels.clone(),
        bytes: 100,
        is_error: true,
        fatal: true,
        secrets: vec!["github-token".to_owned()],
        flags: vec!["override".to_owned()],
    };
    world.targets.secrets = world.received.secrets.clone();
}

fn every_action<'a>(world: &'a World, things: &'a TestEntities) -> Vec<Facts<'a>> {
    let server = Resource::Server(&world.server);
    let tool = Resource::Tool(&things.tool);
    let resource = Resource::Resource(&things.resource);
    let prompt = Resource::Prompt(&things.prompt);
    let call = Action::CallTool {
        arguments: &world.arguments,
        targets: &world.targets,
    };
    let result = Action::ReceiveResult {
        received: &world.received,
    };
    let method = Resource::Method(&things.method);
    let extension = Action::Extension {
        arguments: &world.arguments,
        targets: &world.targets,
    };
    let notify = Action::Notify {
        method: "notifications/progress",
    };
    let from_agent = [
        (Action::Initialize, server),
        (Action::Ping, server),
        (Action::SetLevel, server),
        (Action::Cancel, server),
        (notify, server),
        (Action::ListTool, tool),
        (Action::ListResource, resource),
        (Action::ListPrompt, prompt),
        (Action::Listen, server),
        (call, tool),
        (Action::ReadResource, resource),
        (Action::Subscribe, resource),
        (
            Action::GetPrompt {
                arguments: &world.arguments,
            },
            prompt,
        ),
        (Action::Complete { argument: "path" }, prompt),
        (Action::Complete { argument: "path" }, resource),
        (result, tool),
        (result, resource),
        (result, prompt),
        (extension, method),
        (result, method),
        (result, server),
    ];
    let from_server = [
        Action::Ping,
        Action::Cancel,
        notify,
        Action::Sample {
            max_tokens: 50,
            include_context: "none",
            tools: false,
            messages: 3,
            bytes: 40,
            system: true,
            agent: &world.agent,
        },
        Action::Elicit {
            mode: "form",
            fields: &things.words,
            host: "login.example.com",
        },
        Action::ListRoots,
    ];
    let from_agent = from_agent.map(|(action, resource)| world.facts(action, resource));
    let from_server = from_server.map(|action| world.server_facts(action));
    let connects = Facts {
        resource: Resource::Host(&things.host),
        ..world.server_facts(Action::ConnectHost { isolated: true })
    };
    from_agent
        .into_iter()
        .chain(from_server)
        .chain([connects])
        .collect()
}

fn check_scope(
    world: &World,
    tool: &Tool,
    principal: &str,
    resource: &str,
    condition: &str,
    other_principal: &str,
    other_resource: &str,
) {
    let call = r#"action == Mcp::Action::"call_tool""#;
    let text =
        format!("@id(\"p\") permit({principal}, {call}, {resource}) when {{ {condition} }};");
    assert_eq!(judged(&text, &world.call(tool)), "allow p", "{text}");
    let text = format!("@id(\"p\") permit({other_principal}, {call}, {other_resource});");
    assert_eq!(judged(&text, &world.call(tool)), "nothing", "{text}");
}
