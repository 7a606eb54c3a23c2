//! Laws over generated policies and facts.

use std::collections::BTreeMap;

use cedar_policy::{Authorizer, Entities, Entity, PolicySet, Request};
use cedar_policy_core::ast;
use proptest::prelude::*;

use super::super::entities::{principal_entities, resource_entities};
use super::super::inspect::FactNeeds;
use super::super::placeholder::PlaceholderContext;
use super::super::subjects::Subject;
use super::super::typed::{RecordReads, value};
use super::super::value::datetime;
use super::*;
use crate::policy::fixture::{World, told, tool};
use crate::policy::leaves::Leaves;
use crate::policy::{
    Action, AgentFacts, Arguments, ClaimValue, Client, Consent, Decision, DenialCause, FaultKind,
    Hints, Leaf, PartValue, Pin, Prompt, Received, Resource, ResourceFacts, RuleEffect,
    SessionState, Targets, Tool, Trace,
};

/// The facts of any message, owned.
#[derive(Debug, Clone)]
pub(super) struct OwnedFacts {
    pub(super) world: World,
    pub(super) tool: Tool,
    resource: ResourceFacts,
    prompt: Prompt,
    peer: Option<std::net::IpAddr>,
    words: Vec<String>,
    number: i64,
    pub(super) action: usize,
}

/// What Cedar's own authorizer decides, given everything, in the words of [`told`].
pub(super) fn authorized(text: &str, (request, entities): (Request, Entities)) -> String {
    let set: PolicySet = text.parse().unwrap();
    let answer = Authorizer::new().is_authorized(&request, &set, &entities);
    let mut ids: Vec<String> = answer
        .diagnostics()
        .reason()
        .map(|id| set.policy(id).unwrap().annotation("id").unwrap().to_owned())
        .collect();
    ids.sort();
    let word = if answer.diagnostics().errors().next().is_some() {
        ids.clear();
        "fault"
    } else {
        match answer.decision() {
            cedar_policy::Decision::Allow => "allow",
            cedar_policy::Decision::Deny if ids.is_empty() => "nothing",
            cedar_policy::Decision::Deny => "deny",
        }
    };
    ids.insert(0, word.to_owned());
    ids.join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever the facts, the request and the entities are what the schema says, and complete.
    #[test]
    fn the_bridge_only_makes_what_the_schema_allows(scene in any_scene(), groups in any_groups()) {
        let (request, entities) = whole_request(&scene.facts(), &groups);
        let words = Vocabulary::get().unwrap();
        let context = ast::Context::clone(AsRef::<ast::Request>::as_ref(&request).context().unwrap());
        prop_assert!(ast::Request::new(
            (uid_of(request.principal()), None),
            (uid_of(request.action()), None),
            (uid_of(request.resource()), None),
            context,
            Some(words.core_schema()),
            cedar_policy_core::extensions::Extensions::all_available(),
        ).is_ok());
        // Checked against the schema, with the closure computed anew: nothing may change.
        let again = Entities::from_entities(
            entities.iter().cloned().collect::<Vec<Entity>>(), Some(words.schema())).unwrap();
        for entity in entities.iter() {
            prop_assert!(again.get(&entity.uid()).unwrap().deep_eq(entity));
        }
    }

    /// Policies that are accepted cannot fail, but for arithmetic that overflows.
    #[test]
    fn accepted_policies_fail_by_overflow_only(text in any_policies(), scene in any_scene()) {
        if let Decision::Deny(denial) = snapshot(&text).judge(&scene.facts())
            && let DenialCause::Fault(fault) = denial.cause {
                prop_assert_eq!(fault.kind, FaultKind::Evaluation);
                prop_assert!(fault.problem.contains("overflow"), "{}", fault);
            }
    }

    /// Finding rules by scope, leaving out what they cannot see and balancing their conditions
    /// changes nothing: Cedar's own authorizer, given everything, decides the same.
    #[test]
    fn cedars_own_authorizer_decides_the_same(
        text in any_policies(), scene in any_scene(), groups in any_groups(),
    ) {
        let cedar = Cedar { groups: groups.clone(), warnings: WarningMode::Allow, ..Cedar::default() };
        let compiled = cedar.compile(&[source(&text)]).unwrap();
        let ours = PolicySnapshot::new(vec![compiled.engine], vec![], vec![]).without_sampling_terms().judge(&scene.facts());

        let asked = whole_request(&scene.facts(), &groups);
        prop_assert_eq!(told(&ours), authorized(&text, asked));
    }

    /// What is certain of a message before its session is known is so in this session.
    #[test]
    fn what_is_certain_of_a_message_is_so(text in any_policies(), scene in any_scene()) {
        let (ours, facts) = (snapshot(&text), scene.facts());
        let question = PartialRequest {
            principal: facts.principal,
            action: facts.action.name(),
            resource: facts.resource,
            server: facts.env.server,
            transport: None,
            level: Some(facts.env.session.level),
            datasets: Some(&facts.env.session.datasets),
            now_ms: Some(facts.env.now_ms),
            message: None,
            agent: AgentFacts::Known,
        };
        for outlook in [ours.outlook_of(&facts, &question), ours.outlook(&question)] {
            if let Some(allowed) = outlook.settled() {
                prop_assert_eq!(ours.judge(&facts).is_allow(), allowed);
            }
        }
    }

    /// The parts of all policies, each evaluated by itself, sum up to the verdict.
    #[test]
    fn what_the_parts_come_to_is_the_verdict(
        text in any_policies(), scene in any_scene(), groups in any_groups(),
    ) {
        let cedar = Cedar { groups, warnings: WarningMode::Allow, ..Cedar::default() };
        let compiled = cedar.compile(&[source(&text)]).unwrap();
        let snapshot = PolicySnapshot::new(vec![compiled.engine], vec![], vec![]).without_sampling_terms();
        let facts = scene.facts();
        let [trace] = &snapshot.trace(&facts)[..] else { panic!("one engine") };
        prop_assert_eq!(told_by(trace), told(&snapshot.judge(&facts)));
    }

    #[test]
    fn an_added_forbid_never_allows(
        text in any_policies(), added in any_policy("forbid", 99), scene in any_scene(),
    ) {
        let before = snapshot(&text).judge(&scene.facts()).is_allow();
        let after = snapshot(&format!("{text}{added}")).judge(&scene.facts()).is_allow();
        prop_assert!(before || !after);
    }

    #[test]
    fn the_order_of_policies_and_files_does_not_matter(
        (policies, shuffled) in prop::collection::vec(any_effect(), 0..6)
            .prop_flat_map(numbered_policies)
            .prop_flat_map(|list| (Just(list.clone()), Just(list).prop_shuffle())),
        scene in any_scene(),
    ) {
        let cedar = Cedar { warnings: WarningMode::Allow, ..Cedar::default() };
        let judge = |texts: &[String]| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let compiled = cedar.compile(&numbered(&texts)).unwrap();
            let snapshot = PolicySnapshot::new(vec![compiled.engine], vec![], vec![]).without_sampling_terms();
            told(&snapshot.judge(&scene.facts()))
        };
        prop_assert_eq!(judge(&policies), judge(&shuffled));
        prop_assert_eq!(judge(&policies), judge(&[policies.concat()]));
    }

    #[test]
    fn every_moment_has_a_datetime(ms: i64) {
        prop_assert!(datetime(ms).is_some());
    }
}

/// The request and everything there is, as public Cedar takes it.
pub(super) fn whole_request(facts: &Facts<'_>, groups: &ToolGroups) -> (Request, Entities) {
    whole_request_in(&Vocabulary::get().unwrap(), facts, groups)
}

/// The same where some tools have actions of their own; their arguments must fit.
pub(super) fn whole_request_in(
    words: &Vocabulary,
    facts: &Facts<'_>,
    groups: &ToolGroups,
) -> (Request, Entities) {
    let subject = Subject::of_resource(words, groups, facts.env.server, facts.resource);
    let verb = subject.schema_action(words, facts.action.name());
    let typed = words.arguments_of(verb).map(|record| {
        let leaves = Leaves::of(facts.action.arguments()).unwrap();
        (verb, value(record, &leaves, RecordReads::AtAll).unwrap())
    });
    let principal = Subject::of_principal(words, facts.principal);
    let resource = Subject::of_resource(words, groups, facts.env.server, facts.resource);
    let known = |uid: &ast::EntityUID| ast::EntityUIDEntry::known(uid.clone(), None);
    let context = placeholder::context(
        words,
        PlaceholderContext::get().unwrap(),
        &facts.action,
        &facts.env,
        FactNeeds::ALL,
        typed,
    )
    .unwrap();
    let request = ast::Request::new_unchecked(
        known(&principal.uid),
        known(words.action(verb).unwrap().uid()),
        known(&resource.uid),
        Some(context),
    );
    let arguments = facts.action.arguments();
    let arguments = arguments.map(|given| {
        arguments::entity(words, given, FactNeeds::ALL)
            .unwrap()
            .into()
    });
    let added = principal_entities(words, &principal, facts.principal, FactNeeds::ALL)
        .chain(resource_entities(
            words,
            &resource,
            facts.env.server,
            facts.resource,
            FactNeeds::ALL,
        ))
        .chain(arguments);
    let entities = judge::with_entities(words.actions.clone(), added).unwrap();
    (Request::from(request), Entities::from(entities))
}

fn uid_of(uid: Option<&cedar_policy::EntityUid>) -> ast::EntityUID {
    AsRef::<ast::EntityUID>::as_ref(uid.unwrap()).clone()
}

impl OwnedFacts {
    pub(super) fn facts(&self) -> Facts<'_> {
        let world = &self.world;
        let server = Resource::Server(&world.server);
        let tool = Resource::Tool(&self.tool);
        let resource = Resource::Resource(&self.resource);
        let prompt = Resource::Prompt(&self.prompt);
        let first = self.words.first().map_or("", String::as_str);
        let number = self.number;
        let (arguments, labels) = (&world.arguments, &self.words);
        let result = Action::ReceiveResult {
            received: &world.received,
        };
        let mut facts = match self.action {
            0 => world.facts(Action::Initialize, server),
            1 => world.facts(Action::Notify { method: first }, server),
            2 => world.facts(Action::ListTool, tool),
            3 => world.facts(Action::ReadResource, resource),
            4 => world.facts(Action::GetPrompt { arguments }, prompt),
            5 => world.facts(Action::Complete { argument: first }, prompt),
            6 => world.facts(result, tool),
            7 => world.facts(result, resource),
            8 => world.server_facts(Action::Ping),
            9 => world.server_facts(Action::Sample {
                max_tokens: number,
                include_context: first,
                tools: false,
                messages: 3,
                bytes: 40,
                system: true,
                agent: &world.agent,
            }),
            10 => world.server_facts(Action::Elicit {
                mode: first,
                fields: labels,
                host: "login.example.com",
            }),
            _ => world.call(&self.tool),
        };
        facts.env.peer = self.peer;
        facts
    }
}

pub(super) fn any_scene() -> impl Strategy<Value = OwnedFacts> {
    let items = (any_tool(), any_resource(), any_name(), any_names());
    (
        any_world(),
        items,
        prop::option::of(any::<std::net::IpAddr>()),
        any_long(),
        0..24usize,
    )
        .prop_map(
            |(world, (tool, resource, prompt, words), peer, number, action)| OwnedFacts {
                world,
                tool,
                resource,
                prompt: Prompt::named(prompt),
                peer,
                words,
                number,
                action,
            },
        )
}

fn any_world() -> impl Strategy<Value = World> {
    let agent = (
        any_names(),
        any_names(),
        prop::option::of(any_name()),
        any_name(),
        any_long(),
    );
    let session = (
        any_long(),
        any_names(),
        any::<bool>(),
        any_long(),
        any_long(),
    );
    let consent = (
        any::<bool>(),
        any_name(),
        prop::option::of(any_name()),
        prop::option::of(any_long()),
    );
    let targets = (any_names(), any::<bool>(), any_names(), any_long());
    (
        agent,
        session,
        consent,
        targets,
        any_arguments(),
        any_long(),
    )
        .prop_map(|(agent, session, consent, targets, arguments, now_ms)| {
            let mut world = World::new();
            (
                world.agent.roles,
                world.agent.teams,
                world.agent.user,
                _,
                world.agent.trust,
            ) = agent.clone();
            world.agent.capabilities = world.agent.roles.clone();
            world.agent.client = Client {
                name: agent.3,
                version: String::new(),
            };
            world.session = SessionState {
                level: session.0,
                labels: session.1.clone(),
                datasets: targets.2.clone(),
                untrusted: session.2,
                sources: targets.2.clone(),
                untrusted_from: session.1.clone(),
                calls: session.3,
                started_ms: session.4,
            };
            world.consent = Consent {
                granted: consent.0,
                scope: consent.1,
                by: consent.2,
                at_ms: consent.3,
            };
            world.targets = Targets {
                roots: targets.0.clone(),
                outside: targets.1,
                level: targets.3,
                writable: !targets.1,
                destinations: targets.0.clone(),
                approved: targets.1,
                copied_from: session.1,
                hosts: targets.2,
                bytes: targets.3,
                secrets: world.session.labels.clone(),
                options: world.session.labels.clone(),
                astray: false,
                known_as: BTreeMap::new(),
            };
            world.received = Received {
                level: world.targets.level,
                labels: world.targets.hosts.clone(),
                datasets: Vec::new(),
                bytes: world.targets.bytes,
                is_error: world.targets.outside,
                fatal: !world.targets.outside,
                secrets: world.targets.roots.clone(),
                flags: world.targets.hosts.clone(),
            };
            // Of some tokens nothing is known.
            let tools = ClaimValue::set(world.session.labels.clone());
            let claims = [
                ("tools", tools),
                ("tier", ClaimValue::String(world.consent.scope.clone())),
                ("quota", ClaimValue::Long(world.session.level)),
                ("admin", ClaimValue::Bool(world.consent.granted)),
            ];
            let claims = claims.map(|(name, value)| (name.to_owned(), value));
            let known = if world.session.untrusted { 4 } else { 0 };
            world.agent.claims = claims.into_iter().take(known).collect();
            world.arguments = arguments;
            world.now_ms = now_ms;
            world
        })
}

fn any_arguments() -> impl Strategy<Value = Arguments<'static>> {
    let leaf = prop_oneof![
        any_name().prop_map(|text| Leaf::String(text.into())),
        prop::sample::select(vec![
            "0",
            "1.5",
            "-7e2",
            "1e999",
            "9223372036854775808",
            "0.00001"
        ])
        .prop_map(Leaf::Number),
        any::<bool>().prop_map(Leaf::Bool),
        Just(Leaf::Null),
        any_names().prop_map(|names| Leaf::Strings(names.into_iter().map(Into::into).collect())),
        Just(Leaf::EmptyArray),
        Just(Leaf::Array),
        Just(Leaf::EmptyObject),
    ];
    let pointer = prop::sample::select(vec!["/path", "/n", "/__entity", "", "/a/b", "/é\"\n"]);
    prop::collection::btree_map(pointer, leaf, 0..5).prop_map(|leaves| {
        Arguments(
            leaves
                .into_iter()
                .map(|(pointer, leaf)| (pointer.to_owned(), leaf))
                .collect(),
        )
    })
}

fn any_tool() -> impl Strategy<Value = Tool> {
    (any_name(), any::<[bool; 7]>(), any_long(), any_names()).prop_map(
        |(name, flags, level, capabilities)| Tool {
            hints: Hints {
                read_only: flags[0],
                destructive: flags[1],
                idempotent: flags[2],
                open_world: flags[3],
            },
            pin: Pin {
                known: flags[4],
                schema_ok: flags[5],
                description_ok: flags[6],
            },
            level,
            groups: capabilities.clone(),
            capabilities,
            ..tool(&name)
        },
    )
}

fn any_resource() -> impl Strategy<Value = ResourceFacts> {
    (
        any_name(),
        prop::option::of(any_name()),
        any_long(),
        any_names(),
        any_names(),
    )
        .prop_map(|(uri, mime, level, labels, roots)| ResourceFacts {
            scheme: "file".to_owned(),
            uri,
            mime,
            level,
            groups: labels.clone(),
            datasets: Vec::new(),
            labels,
            roots,
            known_as: None,
        })
}

/// A few names that policies also use, and some that only trouble.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "fs.write", "fs", "allow"]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => prop::sample::select(vec!["", ".", "..", "a.", "\u{430}", "A", "\"", "\\", "a\u{0}", "\u{202e}"])
            .prop_map(str::to_owned),
    ]
}

fn any_names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any_name(), 0..4)
}

fn any_groups() -> impl Strategy<Value = ToolGroups> {
    prop::collection::vec((any_name(), any_name()), 0..4).prop_map(|pairs| {
        let mut groups = ToolGroups::default();
        for (tool, group) in pairs {
            groups.add(&tool, &group);
        }
        groups
    })
}

fn any_long() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..4i64, 1 => any::<i64>(), 1 => Just(i64::MAX), 1 => Just(i64::MIN)]
}

fn any_effect() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["permit", "forbid"])
}

/// Up to six policies, each called by its number.
fn any_policies() -> impl Strategy<Value = String> {
    prop::collection::vec(any_effect(), 0..6)
        .prop_flat_map(numbered_policies)
        .prop_map(|policies| policies.concat())
}

fn numbered_policies(effects: Vec<&'static str>) -> Vec<BoxedStrategy<String>> {
    let policies = effects.into_iter().enumerate();
    policies
        .map(|(number, effect)| any_policy(effect, number).boxed())
        .collect()
}

fn any_policy(effect: &'static str, number: usize) -> impl Strategy<Value = String> {
    let principal = prop::sample::select(vec![
        "principal",
        "principal is Mcp::Agent",
        r#"principal in Mcp::Role::"a""#,
        r#"principal == Mcp::Agent::"a1""#,
        r#"principal is Mcp::Agent in Mcp::User::"b""#,
    ]);
    let resource = prop::sample::select(vec![
        "resource",
        "resource is Mcp::Tool",
        r#"resource == Mcp::Tool::"a""#,
        r#"resource in Mcp::ToolGroup::"allow""#,
        r#"resource in Mcp::Capability::"fs""#,
        r#"resource in Mcp::Server::"files""#,
    ]);
    let scope = prop::sample::select(vec![
        (r#"action == Mcp::Action::"call_tool""#, true),
        (r#"action in [Mcp::Action::"call_tool"]"#, true),
        ("action", false),
        (r#"action in Mcp::Action::"use""#, false),
        (
            r#"action in [Mcp::Action::"list_tool", Mcp::Action::"receive_result"]"#,
            false,
        ),
    ]);
    (principal, scope, resource)
        .prop_flat_map(|(principal, (action, calls), resource)| {
            let head = format!("{principal}, {action}, {resource}");
            (Just(head), any_condition(calls))
        })
        .prop_map(move |(head, condition)| {
            format!("@id(\"{number}\") {effect}({head}) when {{ {condition} }};\n")
        })
}

/// `calls`: the policy is about calls only, so that their context is there.
fn any_condition(calls: bool) -> BoxedStrategy<String> {
    let mut atoms = vec![
        "true",
        "false",
        "context.env.session.level > 1",
        "context.env.session.level + context.env.session.calls > 2",
        "context.env.session.calls * 4611686018427387904 > 0",
        "context.env.session.labels.contains(\"a\")",
        "context.env.now.durationSince(context.env.session.startedAt) > duration(\"5m\")",
        "context.env.consent has at && context.env.consent.at <= context.env.now",
        "context.env has peer && context.env.peer.isLoopback()",
        "context.env.consent has by",
        "action in Mcp::Action::\"use\"",
        "Mcp::Action::\"ping\" in Mcp::Action::\"lifecycle\"",
        "principal is Mcp::Agent && principal.trust > 1",
        "principal is Mcp::Agent && resource is Mcp::Tool && principal.capabilities.containsAll(resource.capabilities)",
        "resource is Mcp::Tool && resource.consent == \"never\"",
        "principal is Mcp::Agent && principal.capabilities.contains(Mcp::Capability::\"a\")",
        "resource is Mcp::Tool && resource.capabilities.containsAll([Mcp::Capability::\"fs\"])",
        "principal is Mcp::Agent && principal.client.name == \"a\"",
        "principal is Mcp::Agent && resource is Mcp::Tool && principal.claims.hasTag(\"tools\") && principal.claims.getTag(\"tools\") has strings && principal.claims.getTag(\"tools\").strings.contains(resource.name)",
        "principal is Mcp::Agent && principal.claims.hasTag(\"quota\") && principal.claims.getTag(\"quota\") has long && principal.claims.getTag(\"quota\").long + 1 > 2",
        "principal is Mcp::Agent && principal.claims.hasTag(\"tier\") && principal.claims.getTag(\"tier\") has string && principal.claims.getTag(\"tier\").string like \"a*\"",
        "resource is Mcp::Tool && resource.hints.destructive",
        "resource is Mcp::Tool && resource.server.trust > 0",
        "resource is Mcp::Resource && resource has mime && resource.mime like \"*a*\"",
        "context.env.transport == \"stdio\"",
        "context.env.session.level <= context.env.session.calls",
        "context.env.session.untrusted == context.env.consent.granted",
        "context.env.consent.scope like \"*a*\"",
        "principal == Mcp::Agent::\"a1\"",
        "principal in [Mcp::Role::\"a\", Mcp::Role::\"b\"]",
        "resource is Mcp::Tool && resource.name == \"a\"",
        "resource is Mcp::Tool && resource.pin.known == resource.hints.idempotent",
        "resource is Mcp::Tool && resource.level >= 1",
        "resource is Mcp::Prompt && resource.name like \"fs*\"",
        "resource is Mcp::Resource && resource.scheme == \"file\" && resource.labels.contains(resource.uri)",
        "action == Mcp::Action::\"call_tool\"",
        "resource is Mcp::Tool && [\"a\", \"fs\"].contains(resource.name)",
        "resource is Mcp::Tool && [Mcp::Tool::\"a\", Mcp::Tool::\"b\"].contains(resource)",
        "[\"a\", \"allow\"].containsAll(context.env.session.labels)",
        "context.env.session.labels.containsAll([\"a\"])",
        "context.env.session.datasets.contains(\"a\")",
        "context.env.session.datasets.containsAny([\"a\", \"?\"]) || context.env.session.labels == context.env.session.datasets",
        "[\"a\", \"b\"].contains(context.env.consent.scope)",
        "action in [Mcp::Action::\"call_tool\", Mcp::Action::\"lifecycle\"]",
        "{ now: context.env.now, x: 1 } == { now: datetime(\"1970-01-01\"), x: 1 }",
    ];
    if calls {
        atoms.extend([
            "context.raw_arguments.hasTag(\"/path\") && context.raw_arguments.getTag(\"/path\") has string \
             && context.raw_arguments.getTag(\"/path\").string like \"a*\"",
            "context.raw_arguments.hasTag(\"/n\") && context.raw_arguments.getTag(\"/n\") has decimal \
             && context.raw_arguments.getTag(\"/n\").decimal.lessThan(decimal(\"1.6\"))",
            "context.raw_arguments.hasTag(\"/n\") && context.raw_arguments.getTag(\"/n\") has long \
             && context.raw_arguments.getTag(\"/n\").long + 1 > 0",
            "context.raw_arguments.hasTag(\"/path\") && context.raw_arguments.getTag(\"/path\") has strings \
             && context.raw_arguments.getTag(\"/path\").strings.contains(\"a\")",
            "context.raw_arguments.hasTag(context.env.consent.scope)",
            "context.raw_arguments.hasTag(\"/path\") && context.raw_arguments.getTag(\"/path\") has text \
             && context.raw_arguments.getTag(\"/path\").text == \"1.5\"",
            "context.raw_arguments.hasTag(\"/n\") && context.raw_arguments.getTag(\"/n\") has long \
             && context.raw_arguments.getTag(\"/n\").long < context.targets.bytes",
            "context.raw_arguments.hasTag(\"/n\") && context.raw_arguments.getTag(\"/n\") has bool \
             && context.raw_arguments.getTag(\"/n\").bool",
            "context.raw_arguments.hasTag(\"/n\") && context.raw_arguments.getTag(\"/n\") has isNull",
            "context.raw_arguments.hasTag(\"\") && !(context.raw_arguments.getTag(\"\") has string)",
            "context.targets.hosts.contains(\"fs\")",
            "context.targets.level < 2 && context.targets.writable",
            "context.targets.outside || context.targets.hosts.contains(\"a\")",
            "context.targets.bytes + 1 > 3",
            "context.targets.secrets.contains(\"a\")",
            "[Mcp::Root::\"a\", Mcp::Root::\"b\"].containsAll(context.targets.roots)",
            "context.targets.roots.contains(Mcp::Root::\"a\")",
            "!context.targets.hosts.isEmpty()",
            "resource in Mcp::Capability::\"fs\"",
        ]);
    }
    let atom = prop::sample::select(atoms).prop_map(|atom| format!("({atom})"));
    atom.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone()
                .prop_map(|(one, other)| format!("({one} && {other})")),
            two.clone()
                .prop_map(|(one, other)| format!("({one} || {other})")),
            two.prop_map(|(one, other)| format!("({one} == {other})")),
            inner.clone().prop_map(|one| format!("!{one}")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(test, one, other)| format!("(if {test} then {one} else {other})")),
        ]
    })
    .boxed()
}

/// As [`told`] tells a decision.
fn told_by(trace: &Trace) -> String {
    let with = |effect, holds: fn(&PartValue) -> bool| {
        let mut ids: Vec<&str> = trace
            .policies
            .iter()
            .filter(|policy| policy.outline.effect == effect && holds(&policy.value))
            .map(|policy| policy.outline.id.as_str())
            .collect();
        ids.sort_unstable();
        ids
    };
    let failed = |value: &PartValue| matches!(value, PartValue::Failed(_));
    let [permits, forbids] = [RuleEffect::Permit, RuleEffect::Forbid];
    let holds = |value: &PartValue| *value == PartValue::True;
    let fails = [with(permits, failed), with(forbids, failed)].concat();
    if trace.fault.is_some() || !fails.is_empty() {
        return "fault".to_owned();
    }
    let (permits, forbids) = (with(permits, holds), with(forbids, holds));
    match (permits.is_empty(), forbids.is_empty()) {
        (_, false) => ["deny"]
            .into_iter()
            .chain(forbids)
            .collect::<Vec<_>>()
            .join(" "),
        (false, true) => ["allow"]
            .into_iter()
            .chain(permits)
            .collect::<Vec<_>>()
            .join(" "),
        (true, true) => "nothing".to_owned(),
    }
}
