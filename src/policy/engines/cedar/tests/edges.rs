//! The sides of decisions that checked policies and ordinary facts take seldom or never.

use cedar_policy_core::ast::Expr;

use super::super::fact_values::{ContextFacts, FactView};
use super::super::fast_path::FastPath;
use super::super::inspect::FactNeeds;
use super::super::placeholder::{ContextEncodingError, PlaceholderContext};
use super::super::possible_values::PossibleValues;
use super::super::rules::RuleSet;
use super::super::schema_action::{CallIndex, SchemaAction};
use super::super::subjects::Subject;
use super::super::value::{decimal, literal, record_of};
use super::*;
use crate::policy::fixture::{World, tool};
use crate::policy::leaves::Leaves;
use crate::policy::{
    Action, AgentFacts, Client, ExtensionMethod, FaultKind, MismatchKind, Principal, Prompt,
    ResourceFacts, Tristate, TypeMismatch, UseTime,
};

/// An engine whose rules have this condition, as no checked policy has it.
fn with_condition(text: &str, condition: &Expr) -> CedarEngine {
    let words = Vocabulary::get().unwrap();
    let sources = [source(text)];
    let (drafts, _) = compile::parse(&words, &sources);
    let mut rules = RuleSet::new();
    for draft in drafts {
        let (rule, keys) = draft.rule(&words);
        let mut rule = Arc::into_inner(rule).unwrap();
        rule.condition = condition.clone();
        rule.glance = FastPath::Opaque;
        let rule = Arc::new(rule);
        for (verb, key) in keys {
            rules.add(verb, &key, &rule);
        }
    }
    CedarEngine::new(
        words,
        &Cedar::default(),
        rules,
        &sources,
        CheckedPolicies::default(),
    )
    .unwrap()
}

#[test]
fn a_condition_that_is_no_boolean_is_a_fault_and_permits_nothing() {
    let (world, tool) = (World::new(), tool("t"));
    for (text, visibility) in [
        ("permit(principal, action, resource);", Visibility::Abstain),
        ("forbid(principal, action, resource);", Visibility::Hidden),
    ] {
        let engine = with_condition(text, &Expr::val(1));
        let fault = engine.judge(&world.call(&tool)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Evaluation);
        assert_eq!(fault.problem, "the condition is not a boolean");
        let list = ListFacts {
            principal: Principal::Agent(&world.agent),
            env: world.env(),
            uses: UseTime::Now,
        };
        let shown = engine.visible(&list, &[Resource::Tool(&tool)]);
        assert_eq!(shown, [Ok(visibility)], "{text}");
        let question = world.question(ActionName::CallTool, Resource::Tool(&tool));
        assert_eq!(engine.outlook(&question).forbidden, Tristate::Always);
    }
}

#[test]
fn what_the_schema_does_not_have_is_a_fault() {
    let engine = with_condition("permit(principal, action, resource);", &Expr::val(true));
    let (world, tool) = (World::new(), tool("t"));
    let facts = world.call(&tool);
    let words = &engine.words;
    let (principal, resource) = subjects(words, &facts);
    let view = FactView {
        held: None,
        verb: SchemaAction::Call(CallIndex(7)),
        record: None,
        principal: &principal,
        resource: &resource,
        who: facts.principal,
        what: facts.resource,
        context: None,
    };
    let needs = FactNeeds::default();
    let fault = engine.request(&facts, &view, needs, None).unwrap_err();
    assert_eq!(
        (fault.kind, &*fault.problem),
        (FaultKind::Facts, "no such action")
    );
    // Only the call of a locked tool can be refused for its arguments.
    let misfit = TypeMismatch {
        pointer: "/a".to_owned(),
        problem: MismatchKind::Missing,
    };
    for resource in [facts.resource, Resource::Server(&world.server)] {
        let fault = engine
            .misfit((&crate::policy::Server::default(), resource), &misfit)
            .unwrap_err();
        assert_eq!(
            (fault.kind, fault.problem),
            (FaultKind::Facts, misfit.to_string())
        );
    }
}

#[test]
fn a_context_of_another_action_is_refused() {
    let (words, idle) = (
        Vocabulary::get().unwrap(),
        PlaceholderContext::get().unwrap(),
    );
    let context = idle.context(ActionName::CallTool).unwrap();
    let check = |verb| placeholder::check(&words, verb, &context);
    assert_eq!(check(SchemaAction::Named(ActionName::CallTool)), Ok(()));
    let refused = check(SchemaAction::Named(ActionName::Notify)).unwrap_err();
    assert!(refused.contains("notify"), "{refused}");
    let unknown = check(SchemaAction::Call(CallIndex(7)));
    assert_eq!(unknown, Err("no such action".to_owned()));
    assert_eq!(ContextEncodingError.to_string(), "the context does not fit");
}

#[test]
fn a_record_with_a_field_that_has_no_value_has_none() {
    let fields = |value| [("a", Some(literal(1))), ("b", value)];
    assert!(record_of(fields(decimal("1.5"))).is_some());
    // Cedar has four digits behind the point.
    assert!(record_of(fields(decimal("1.00001"))).is_none());
}

#[test]
fn arguments_of_what_has_none_are_left_to_cedar() {
    let words = Vocabulary::get().unwrap();
    let world = World::new();
    let facts = world.facts(Action::Ping, Resource::Server(&world.server));
    let (principal, resource) = subjects(&words, &facts);
    for condition in [
        r#"context.raw_arguments.hasTag("/a")"#,
        r#"context.raw_arguments.getTag("/a") has string"#,
        r#"context.raw_arguments.getTag("/a").string == "x""#,
    ] {
        let glance = FastPath::of(&words, &condition.parse().unwrap());
        let view = FactView {
            held: None,
            verb: SchemaAction::Named(ActionName::Ping),
            record: None,
            principal: &principal,
            resource: &resource,
            who: facts.principal,
            what: facts.resource,
            context: Some(ContextFacts {
                action: &facts.action,
                env: &facts.env,
                arguments: Leaves::default(),
            }),
        };
        assert!(glance.outcomes(&view).is_none(), "{condition}");
    }
    assert_eq!(PossibleValues::of_value(&literal("x")).certain(), None);
}

#[test]
fn a_prompt_is_in_its_groups() {
    let text = r#"@id("p") permit(principal, action == Mcp::Action::"get_prompt", resource in Mcp::PromptGroup::"g");"#;
    let world = World::new();
    let action = || Action::GetPrompt {
        arguments: &world.arguments,
    };
    for (groups, expected) in [
        (vec!["g"], "allow p"),
        (vec!["h"], "nothing"),
        (vec![], "nothing"),
    ] {
        let groups = groups.into_iter().map(str::to_owned).collect();
        let prompt = Prompt {
            groups,
            ..Prompt::named("x")
        };
        let facts = world.facts(action(), Resource::Prompt(&prompt));
        assert_eq!(judged(text, &facts), expected);
    }
}

#[test]
fn groups_of_tools_are_joined_without_repetition() {
    let mut groups = ToolGroups::default();
    groups.add("a", "x");
    let mut more = ToolGroups::default();
    more.add("a", "x");
    more.add("a", "y");
    more.add("b", "y");
    groups.extend(more);
    assert_eq!(groups.of("a"), ["x", "y"]);
    assert_eq!(groups.of("b"), ["y"]);
    assert_eq!(groups.of("c"), [""; 0]);
}

/// Whatever an agent or a server may ask, of whatever it may be about.
#[test]
fn a_condition_on_what_is_known_settles_every_action() {
    let rules = snapshot(
        r#"permit(principal, action, resource) when { context.env.transport == "stdio" };"#,
    );
    let (world, tool) = (World::new(), tool("t"));
    let (uri, prompt) = (ResourceFacts::default(), Prompt::named("p"));
    let (method, client) = (ExtensionMethod::named("m"), Client::default());
    let resources = [
        Resource::Tool(&tool),
        Resource::Resource(&uri),
        Resource::Prompt(&prompt),
        Resource::Method(&method),
        Resource::Server(&world.server),
        Resource::Client(&client),
    ];
    let principals = [
        Principal::Agent(&world.agent),
        Principal::Server(&world.server),
    ];
    let idle = PlaceholderContext::get().unwrap();
    let mut settled = 0;
    for action in ActionName::ALL {
        for (principal, resource) in principals
            .into_iter()
            .flat_map(|principal| resources.map(|resource| (principal, resource)))
        {
            let known = PartialRequest {
                principal,
                transport: Some("stdio"),
                ..world.question(action, resource)
            };
            let expected = if idle.fits(action, principal, resource) {
                settled += 1;
                Some(true)
            } else {
                None
            };
            let told = rules.outlook(&known).settled();
            assert_eq!(told, expected, "{action:?} {resource:?}");
            let open = PartialRequest {
                transport: None,
                ..known
            };
            assert_eq!(rules.outlook(&open).settled(), None, "{action:?}");
        }
    }
    assert!(settled > 20, "{settled}");
}

#[test]
fn an_outlook_says_no_more_than_is_known() {
    let (world, tool) = (World::new(), tool("t"));
    let call = |condition: &str, change: fn(&mut PartialRequest<'_>)| {
        let text = format!(
            "permit(principal, action == Mcp::Action::\"call_tool\", resource) when {{ {condition} }};"
        );
        let mut asked = world.question(ActionName::CallTool, Resource::Tool(&tool));
        change(&mut asked);
        snapshot(&text).outlook(&asked).permitted
    };
    let level = "context.env.session.level < 2";
    assert_eq!(call(level, |it| it.level = Some(1)), Tristate::Always);
    assert_eq!(call(level, |it| it.level = Some(2)), Tristate::Never);
    assert_eq!(call(level, |_| ()), Tristate::Sometimes);
    // Over standard streams there is no peer.
    let peer = "!(context.env has peer)";
    assert_eq!(
        call(peer, |it| it.transport = Some("stdio")),
        Tristate::Always
    );
    assert_eq!(
        call(peer, |it| it.transport = Some("http")),
        Tristate::Sometimes
    );
    let client = r#"principal.client.name == "tester""#;
    assert_eq!(call(client, |_| ()), Tristate::Always);
    assert_eq!(
        call(client, |it| it.agent = AgentFacts::OfRecord),
        Tristate::Sometimes
    );
    // No rule is about a prompt.
    let text = "permit(principal, action == Mcp::Action::\"get_prompt\", resource);";
    let asked = world.question(ActionName::CallTool, Resource::Tool(&tool));
    assert_eq!(snapshot(text).outlook(&asked), PartialDecision::SILENT);
}

#[test]
fn a_connection_is_known_by_the_server_that_asks_for_it() {
    let rules = snapshot(
        r#"permit(principal, action == Mcp::Action::"connect_host", resource) when { context.isolated };"#,
    );
    let world = World::new();
    let host = crate::policy::Host {
        name: "a.example".to_owned(),
        port: 443,
    };
    for (isolated, expected) in [
        (Some(true), Tristate::Always),
        (Some(false), Tristate::Never),
        (None, Tristate::Sometimes),
    ] {
        let said = isolated.map(|isolated| Action::ConnectHost { isolated });
        let asked = PartialRequest {
            principal: Principal::Server(&world.server),
            message: said.as_ref(),
            ..world.question(ActionName::ConnectHost, Resource::Host(&host))
        };
        assert_eq!(rules.outlook(&asked).permitted, expected, "{isolated:?}");
    }
}

#[test]
fn a_notification_is_known_by_its_method() {
    let rules = snapshot(
        r#"permit(principal, action == Mcp::Action::"notify", resource) when { context.method == "a" };"#,
    );
    let world = World::new();
    for (method, expected) in [
        (Some("a"), Tristate::Always),
        (Some("b"), Tristate::Never),
        (None, Tristate::Sometimes),
    ] {
        let said = method.map(|method| Action::Notify { method });
        let asked = PartialRequest {
            message: said.as_ref(),
            ..world.question(ActionName::Notify, Resource::Server(&world.server))
        };
        assert_eq!(rules.outlook(&asked).permitted, expected, "{method:?}");
    }
}

fn subjects(words: &Vocabulary, facts: &Facts<'_>) -> (Subject, Subject) {
    let groups = ToolGroups::default();
    let principal = Subject::of_principal(words, facts.principal);
    let resource = Subject::of_resource(words, &groups, facts.env.server, facts.resource);
    (principal, resource)
}
