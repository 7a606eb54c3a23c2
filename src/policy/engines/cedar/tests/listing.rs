//! A tool is listed when some call of it could be permitted.

use std::str::FromStr;

use cedar_policy::{PartialEntities, PartialEntityUid, PartialRequest as CedarRequest, PolicySet};

use super::*;
use crate::policy::fixture::{World, tool};
use crate::policy::{
    ActionName, AgentFacts, ListDependency, ListFacts, PartialRequest, Principal, Prompt, Resource,
    ResourceFacts, Tool, UseTime,
};

#[test]
fn what_no_call_could_be_permitted_for_is_not_shown() {
    // Each with the names of `a`, `b` and `c` (level 3) that are shown.
    for (text, expected) in [
        ("", ""),
        ("permit(principal, CALL, resource);", "abc"),
        (
            r#"permit(principal, CALL, resource == Mcp::Tool::"b");"#,
            "b",
        ),
        (
            r"permit(principal, CALL, resource) unless { resource.level > 2 };",
            "ab",
        ),
        (
            r"permit(principal, CALL, resource) when { context.targets.outside };",
            "abc",
        ),
        (
            r"permit(principal, CALL, resource) when { context.targets.outside && resource.level > 2 };",
            "c",
        ),
        (
            r"permit(principal, CALL, resource) when { resource.level > 2 && context.targets.outside };",
            "c",
        ),
        (
            r"permit(principal, CALL, resource);
               forbid(principal, CALL, resource) when { context.targets.outside || resource.level > 2 };",
            "ab",
        ),
        (
            r"permit(principal, CALL, resource);
               forbid(principal, CALL, resource) unless { resource.level < 3 && context.targets.outside };",
            "ab",
        ),
        (
            r#"permit(principal, CALL, resource);
               forbid(principal, CALL, resource == Mcp::Tool::"a");"#,
            "bc",
        ),
        (
            r#"permit(principal, CALL, resource);
               forbid(principal, action == Mcp::Action::"list_tool", resource == Mcp::Tool::"a");"#,
            "bc",
        ),
        (
            r#"permit(principal, CALL, resource);
               forbid(principal, action == Mcp::Action::"list_tool", resource)
               when { context.env.transport == "stdio" && resource.name like "*a" };"#,
            "bc",
        ),
        // A permit to list shows nothing that cannot be called, and is not asked for either.
        (
            r#"permit(principal, action == Mcp::Action::"list_tool", resource);"#,
            "",
        ),
        (
            r"permit(principal, CALL, resource)
               when { if resource.level > 2 then context.targets.outside else false };",
            "c",
        ),
        // Only Cedar can tell these, and it does not know which branch.
        (
            r"permit(principal, CALL, resource)
               when { if context.targets.bytes * 2 > 5 then resource.level > 2 else false };",
            "c",
        ),
        (
            r"permit(principal, CALL, resource)
               when { if context.targets.bytes * 2 > 5 then false else resource.level <= 2 };",
            "ab",
        ),
        (
            r#"permit(principal in Mcp::Role::"writer", CALL, resource);
               permit(principal is Mcp::Server, action, resource);"#,
            "",
        ),
        (
            r"permit(principal, CALL, resource);
               forbid(principal, CALL, resource) when { !(context.targets.outside && !context.targets.outside) };",
            "abc",
        ),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn a_rule_that_fails_whatever_the_context_hides_and_is_counted() {
    let text = calls(
        r"permit(principal, CALL, resource);
           forbid(principal, CALL, resource) when { resource.level * 9223372036854775807 > 9 };",
    );
    let (world, tools) = (World::new(), tools());
    let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
    let listing = snapshot(&text).listing(&list_facts(&world), &items);
    assert_eq!(listing.shown, [true, true, false]);
    assert_eq!(listing.faults.len(), 1);
}

#[test]
fn prompts_and_resources_are_listed_by_the_same_rule() {
    let text = r#"
        permit(principal, action == Mcp::Action::"get_prompt", resource) unless { resource.name == "b" };
        permit(principal, action == Mcp::Action::"read_resource", resource) when { resource.level < 2 };
        forbid(principal, action == Mcp::Action::"list_resource", resource) when { resource.uri like "*hidden*" };"#;
    let prompt = |name: &str| Prompt::named(name);
    let resource = |uri: &str, level| ResourceFacts {
        uri: uri.to_owned(),
        level,
        ..ResourceFacts::default()
    };
    let prompts = [prompt("a"), prompt("b")];
    let resources = [
        resource("file:///a", 0),
        resource("file:///hidden", 0),
        resource("x", 2),
    ];
    let items: Vec<Resource<'_>> = prompts
        .iter()
        .map(Resource::Prompt)
        .chain(resources.iter().map(Resource::Resource))
        .collect();
    let world = World::new();
    let shown = snapshot(text).visible(&list_facts(&world), &items);
    assert_eq!(shown, [true, false, true, false, false]);
}

#[test]
fn nothing_lists_servers_or_clients() {
    let world = World::new();
    let items = [
        Resource::Server(&world.server),
        Resource::Client(&world.agent.client),
    ];
    let snapshot = snapshot("permit(principal, action, resource);");
    assert_eq!(
        snapshot.visible(&list_facts(&world), &items),
        [false, false]
    );
}

/// Over every pair of rules from a small language, and every call of a small universe: a tool that
/// can be called is shown, and a tool that is shown can be called, unless the permit and the forbid
/// ask for contradictory things of the same part of the context.
#[test]
fn shown_means_that_some_call_is_allowed() {
    let conditions = [
        "true",
        "resource.level > 2",
        "context.targets.outside",
        "!context.targets.outside",
        "context.targets.bytes > 5",
        "context.targets.outside && resource.level > 2",
        "context.targets.outside || resource.level > 2",
        "resource.level > 2 || context.targets.outside",
        "!(context.targets.outside || resource.level <= 2)",
        "if resource.level > 2 then context.targets.bytes > 5 else context.targets.outside",
        "if context.targets.outside then resource.level > 2 else context.targets.bytes > 5",
        r#"context.raw_arguments.hasTag("/p") && resource.name == "a""#,
        r#"resource in Mcp::Capability::"net" && context.raw_arguments.hasTag("/p")"#,
    ];
    let rule = |effect: &str, condition: &str| {
        calls(&format!(
            "{effect}(principal, CALL, resource) when {{ {condition} }};\n"
        ))
    };
    let universe = universe();
    let allowed = |snapshot: &PolicySnapshot, tool: &Tool| {
        universe
            .iter()
            .any(|world| snapshot.judge(&world.call(tool)).is_allow())
    };
    for permit in conditions {
        let permit_only = snapshot(&rule("permit", permit));
        for forbid in conditions.into_iter().chain(["false"]) {
            let forbid_only = snapshot(&(rule("permit", "true") + &rule("forbid", forbid)));
            let text = rule("permit", permit) + &rule("forbid", forbid);
            let both = snapshot(&text);
            for tool in tools() {
                let shown = both.visible(&list_facts(&universe[0]), &[Resource::Tool(&tool)])[0];
                let could = allowed(&permit_only, &tool) && allowed(&forbid_only, &tool);
                assert_eq!(shown, could, "{text} {}", tool.name);
                let called = allowed(&both, &tool);
                assert!(shown || !called, "{text} {}", tool.name);
                assert!(
                    called == shown || share_context(permit, forbid),
                    "{text} {}",
                    tool.name
                );
            }
        }
    }
}

/// The same where rules look at what the session has read, which is known when a list is made; of what any
/// session may have read, it is left open.
#[test]
fn what_the_session_has_read_counts_for_what_it_is_shown() {
    let conditions = [
        "context.env.session.level >= 2",
        "context.env.session.level < 2",
        r#"context.env.session.labels.contains("pii")"#,
        "context.env.session.untrusted",
        "context.env.session.level > 0 && context.targets.outside",
        "context.env.session.level > 0 && resource.level > 2",
        "!(context.env.session.untrusted || context.targets.outside)",
        "if context.env.session.level > 1 then resource.level > 2 else context.targets.bytes > 5",
        // What only Cedar can tell.
        "context.env.session.level + 1 > 2",
        "context.env.session.level > 1 && context.targets.bytes * 2 > 5",
        r#"["pii", "a"].containsAny(context.env.session.labels)"#,
        "(if resource.level > 2 then context.env else context.env).session.level > 1",
        // What is not read, or not known.
        "context.env.session.calls > 3 || context.env.session.level > 2",
        "context.env has peer || context.env.session.level > 2",
        "context.env has peer && context.env.session.level + 1 > 2",
    ];
    let rule = |effect: &str, condition: &str| {
        calls(&format!(
            "{effect}(principal, CALL, resource) when {{ {condition} }};\n"
        ))
    };
    let worlds_at = |level: i64| {
        let mut worlds = universe();
        for mut world in universe() {
            world.session.calls = 9;
            worlds.push(world);
        }
        for world in &mut worlds {
            world.session.level = level;
            world.session.untrusted = level > 0;
            world.session.labels = vec!["pii".to_owned(); usize::from(level > 1)];
        }
        worlds
    };
    for level in 0..4 {
        let universe = worlds_at(level);
        let allowed = |snapshot: &PolicySnapshot, tool: &Tool| {
            let mut worlds = universe.iter();
            worlds.any(|world| snapshot.judge(&world.call(tool)).is_allow())
        };
        for condition in conditions {
            let permit = rule("permit", condition);
            let forbid = rule("permit", "true") + &rule("forbid", condition);
            for text in [permit, forbid] {
                let snapshot = snapshot(&text);
                assert!(snapshot.list_by(ActionName::ListPrompt) == ListDependency::Names);
                for tool in tools() {
                    let case = format!("{text} {} {level}", tool.name);
                    let item = [Resource::Tool(&tool)];
                    let mut facts = list_facts(&universe[0]);
                    let now = snapshot.visible(&facts, &item)[0];
                    let could = allowed(&snapshot, &tool);
                    // What may ask for a peer is left open.
                    assert!(now == could || now && text.contains("peer"), "{case}");
                    facts.uses = UseTime::Ever;
                    assert!(snapshot.visible(&facts, &item)[0] || !could, "{case}");
                    let looks = snapshot.list_by(ActionName::ListTool) == ListDependency::Held;
                    assert_ne!(looks, text.contains("peer"), "{case}");
                }
            }
        }
    }
}

#[test]
fn what_only_this_session_may_not_use_is_there_for_others() {
    let text = calls(
        "permit(principal, CALL, resource);
         forbid(principal, CALL, resource) when { context.env.session.level > 1 };",
    );
    let (mut world, tools) = (World::new(), tools());
    world.session.level = 2;
    let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
    let mut facts = list_facts(&world);
    assert_eq!(snapshot(&text).visible(&facts, &items), [false; 3]);
    facts.uses = UseTime::Ever;
    assert_eq!(snapshot(&text).visible(&facts, &items), [true; 3]);
}

/// Over the same rules and calls: what is said to be settled is so for every call.
#[test]
fn what_is_settled_whatever_the_context_is_so_in_each() {
    let conditions = [
        "true",
        "resource.level > 2",
        "context.targets.outside",
        "context.targets.outside && resource.level > 2",
        "context.targets.outside || resource.level > 2",
        "resource.level > 2 || context.targets.outside",
        "if resource.level > 2 then context.targets.bytes > 5 else context.targets.outside",
        "resource.level > 2 || context.targets.bytes * 9223372036854775807 > 5",
        "context.targets.bytes * 9223372036854775807 > 5 || resource.level > 2",
        "resource.level * 9223372036854775807 > 9",
        r#"context.raw_arguments.hasTag("/p") && resource.name == "a""#,
        r#"context.env.now > datetime("2026-01-01")"#,
        r#"context.env.transport == "stdio""#,
        "context.env has peer || context.env.session.level > 1",
    ];
    let universe = universe();
    let mut settled = 0;
    for permit in conditions {
        for forbid in conditions.into_iter().chain(["false"]) {
            let rule = |effect, condition| {
                format!("{effect}(principal, CALL, resource) when {{ {condition} }};\n")
            };
            let text = calls(&(rule("permit", permit) + &rule("forbid", forbid)));
            let snapshot = snapshot(&text);
            for tool in tools() {
                let question = PartialRequest {
                    principal: Principal::Agent(&universe[0].agent),
                    action: ActionName::CallTool,
                    resource: Resource::Tool(&tool),
                    server: &universe[0].server,
                    transport: Some("stdio"),
                    level: Some(universe[0].session.level),
                    datasets: None,
                    now_ms: Some(universe[0].now_ms),
                    message: None,
                    agent: AgentFacts::Known,
                };
                let Some(allowed) = snapshot.outlook(&question).settled() else {
                    continue;
                };
                settled += 1;
                for world in &universe {
                    let judged = snapshot.judge(&world.call(&tool)).is_allow();
                    assert_eq!(judged, allowed, "{text} {}", tool.name);
                }
            }
        }
    }
    // Else the law says nothing.
    assert!(settled > 200, "{settled}");
}

fn share_context(one: &str, other: &str) -> bool {
    ["outside", "bytes", "hasTag"]
        .iter()
        .any(|part| one.contains(part) && other.contains(part))
}

/// What Cedar's typed partial evaluation denies is hidden. The converse does not hold: it gives up on
/// `unknown && false`, for the unknown could fail, which with us would deny all the same.
#[test]
fn what_typed_partial_evaluation_denies_is_hidden() {
    let words = Vocabulary::get().unwrap();
    let world = World::new();
    let conditions = [
        "resource.level > 2",
        "context.targets.outside",
        "context.targets.outside && resource.level > 2",
        "resource.level > 2 || context.targets.outside",
        "if resource.level > 2 then context.targets.bytes > 5 else false",
        "!(resource.level > 2 || context.targets.outside)",
        "context.raw_arguments.hasTag(\"/p\") && principal.trust > 0",
        "resource.hints.destructive && principal.client.name == \"tester\"",
    ];
    let mut agreed = 0;
    for permit in conditions {
        for forbid in conditions {
            let text = calls(&format!(
                "permit(principal, CALL, resource) when {{ {permit} }};
                 forbid(principal, CALL, resource) when {{ {forbid} }};"
            ));
            let ours = snapshot(&text);
            let set = PolicySet::from_str(&text).unwrap();
            for tool in tools() {
                let shown = ours.visible(&list_facts(&world), &[Resource::Tool(&tool)])[0];
                let denied =
                    typed(&words, &set, &world, &tool) == Some(cedar_policy::Decision::Deny);
                assert!(!(shown && denied), "{text} {}", tool.name);
                agreed += u32::from(shown != denied);
            }
        }
    }
    assert!(agreed > 150, "{agreed} of 192");
}

fn typed(
    words: &Vocabulary,
    set: &PolicySet,
    world: &World,
    tool: &Tool,
) -> Option<cedar_policy::Decision> {
    let (request, entities) = super::laws::whole_request(&world.call(tool), &ToolGroups::default());
    let schema = words.schema();
    let known = |uid: Option<&cedar_policy::EntityUid>| {
        PartialEntityUid::from_concrete(uid.unwrap().clone())
    };
    let partial = CedarRequest::new(
        known(request.principal()),
        request.action().unwrap().clone(),
        known(request.resource()),
        None,
        schema,
    );
    let entities = PartialEntities::from_concrete(entities, schema).unwrap();
    set.tpe(&partial.unwrap(), &entities, schema)
        .unwrap()
        .decision()
}

fn universe() -> Vec<World> {
    let mut worlds = Vec::new();
    for (outside, bytes) in [(false, 0), (false, 9), (true, 0), (true, 9)] {
        for arguments in [vec![], vec![("/p", "x")]] {
            let mut world = World::new().with(&arguments);
            world.targets.outside = outside;
            world.targets.bytes = bytes;
            worlds.push(world);
        }
    }
    worlds
}

fn shown(text: &str) -> String {
    let (world, tools) = (World::new(), tools());
    let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
    let shown = snapshot(&calls(text)).visible(&list_facts(&world), &items);
    tools
        .iter()
        .zip(shown)
        .filter(|(_, shown)| *shown)
        .map(|(tool, _)| tool.name.as_str())
        .collect()
}

fn calls(text: &str) -> String {
    text.replace("CALL", r#"action == Mcp::Action::"call_tool""#)
}

fn tools() -> [Tool; 3] {
    let net = vec!["net.http".to_owned()];
    [
        tool("a"),
        Tool {
            capabilities: net,
            ..tool("b")
        },
        Tool {
            level: 3,
            ..tool("c")
        },
    ]
}

fn list_facts(world: &World) -> ListFacts<'_> {
    ListFacts {
        principal: Principal::Agent(&world.agent),
        env: world.env(),
        uses: UseTime::Now,
    }
}

/// Listing, or every use of a tool, fails before any tool is looked at.
#[test]
fn a_rule_that_fails_for_every_item_hides_all_of_them() {
    let fails = "context.env.session.level + 9223372036854775807 > 0";
    let mut world = World::new();
    world.session.level = 1;
    let tools = tools();
    let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
    for action in ["call_tool", "list_tool"] {
        let text = format!(
            "permit(principal, action, resource);
             forbid(principal, action == Mcp::Action::\"{action}\", resource) when {{ {fails} }};"
        );
        let listing = snapshot(&text).listing(&list_facts(&world), &items);
        assert_eq!(listing.shown, [false; 3], "{action}");
        assert_eq!(listing.faults.len(), 3, "{action}");
    }
}

#[test]
fn of_several_rules_that_fail_the_same_one_is_named_in_any_order() {
    let rule = |id: &str| {
        calls(&format!(
            "@id(\"{id}\") forbid(principal, CALL, resource) when {{ resource.level * 9223372036854775807 > 9 }};"
        ))
    };
    let (world, tools) = (World::new(), tools());
    for ids in [["a", "b"], ["b", "a"]] {
        let text = ids.map(rule).concat();
        let listing = snapshot(&text).listing(&list_facts(&world), &[Resource::Tool(&tools[2])]);
        let blamed = listing.faults.iter().map(|fault| fault.policy.clone());
        let expected = crate::policy::PolicyId::new("a");
        assert_eq!(blamed.collect::<Vec<_>>(), [Some(expected)], "{ids:?}");
    }
}

#[test]
fn a_server_is_shown_no_list() {
    let world = World::new();
    let facts = ListFacts {
        principal: Principal::Server(&world.server),
        ..list_facts(&world)
    };
    let listing = snapshot("permit(principal, action, resource);")
        .listing(&facts, &[Resource::Tool(&tool("t"))]);
    assert_eq!(listing.shown, [false]);
    assert!(
        listing.faults[0]
            .problem
            .contains("not for such a principal")
    );
}
