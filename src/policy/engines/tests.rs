//! The same rules in each language decide the same, alone and together.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::super::fixture::{World, told, tool};
use super::allowlist::AllowlistEngine;
use super::cedar::{Cedar, ToolGroups};
use super::cel::Cel;
use super::rego::Rego;
use crate::policy::{
    Arguments, EngineFault, EngineKind, EngineName, Facts, Leaf, ListFacts, PolicySnapshot,
    PolicySource, Resource, RuleEngine, Tool, Verdict, Visibility,
};

const CEDAR: &str = r#"
@id("reader") permit(principal in Mcp::Role::"reader", action == Mcp::Action::"call_tool", resource)
when { resource.level <= 1 };
@id("hosts") permit(principal, action == Mcp::Action::"call_tool", resource in Mcp::Capability::"net")
when { !context.targets.hosts.isEmpty() && ["a.example", "b.example"].containsAll(context.targets.hosts) };
@id("secret") forbid(principal, action == Mcp::Action::"call_tool", resource)
when { resource.level >= 3 };
@id("path") forbid(principal, action == Mcp::Action::"call_tool", resource)
when {
  context.raw_arguments.hasTag("/opts/path") && context.raw_arguments.getTag("/opts/path") has string &&
  context.raw_arguments.getTag("/opts/path").string == "secret"
};
@id("many") forbid(principal, action == Mcp::Action::"call_tool", resource)
when { context.raw_arguments.hasTag("/n") && context.raw_arguments.getTag("/n") has long && context.raw_arguments.getTag("/n").long > 100 };
@id("pii") forbid(principal, action == Mcp::Action::"call_tool", resource in Mcp::Capability::"net")
when { context.env.session.labels.contains("pii") };
@id("writer") forbid(principal, action == Mcp::Action::"call_tool", resource in Mcp::Permission::"write")
unless { resource.pin.known && principal.trust > 0 };
"#;

const REGO: &str = r#"package mcp

decision := {"allow": false, "deny": true, "reasons": forbids} if {
	count(forbids) > 0
} else := {"allow": true, "reasons": permits} if count(permits) > 0

permits contains {"id": "reader"} if {
	input.action == "call_tool"
	"reader" in input.principal.roles
	input.resource.level <= 1
}

permits contains {"id": "hosts"} if {
	input.action == "call_tool"
	"net" in input.resource.capabilities
	count(input.context.targets.hosts) > 0
	every host in input.context.targets.hosts { host in {"a.example", "b.example"} }
}

forbids contains {"id": "secret"} if {
	input.action == "call_tool"
	input.resource.level >= 3
}

forbids contains {"id": "path"} if input.context.arguments.opts.path == "secret"

forbids contains {"id": "many"} if {
	is_number(input.context.arguments.n)
	input.context.arguments.n == round(input.context.arguments.n)
	input.context.arguments.n > 100
}

forbids contains {"id": "pii"} if {
	input.action == "call_tool"
	"net" in input.resource.capabilities
	"pii" in input.context.env.session.labels
}

forbids contains {"id": "writer"} if {
	input.action == "call_tool"
	"write" in input.resource.permissions
	not vouched
}

vouched if {
	input.resource.pin.known
	input.principal.trust > 0
}
"#;

const CEL: &str = r#"
[[rule]]
id = "reader"
effect = "permit"
actions = ["call_tool"]
when = "'reader' in principal.roles && resource.level <= 1"

[[rule]]
id = "hosts"
effect = "permit"
actions = ["call_tool"]
when = """
'net' in resource.capabilities && context.targets.hosts.size() > 0 &&
context.targets.hosts.all(host, host in ['a.example', 'b.example'])
"""

[[rule]]
id = "secret"
effect = "forbid"
actions = ["call_tool"]
when = "resource.level >= 3"

[[rule]]
id = "path"
effect = "forbid"
actions = ["call_tool"]
when = """
has(context.arguments.opts) && type(context.arguments.opts) == map &&
has(context.arguments.opts.path) && context.arguments.opts.path == 'secret'
"""

[[rule]]
id = "many"
effect = "forbid"
actions = ["call_tool"]
when = """
has(context.arguments.n) && type(context.arguments.n) == int && context.arguments.n > 100
"""

[[rule]]
id = "pii"
effect = "forbid"
actions = ["call_tool"]
when = "'net' in resource.capabilities && 'pii' in context.env.session.labels"

[[rule]]
id = "writer"
effect = "forbid"
actions = ["call_tool"]
when = "'write' in resource.permissions && !(resource.pin.known && principal.trust > 0)"
"#;

/// An engine that several snapshots have.
#[derive(Debug, Clone)]
struct SharedEngine(Arc<dyn RuleEngine>);

/// Each language's rules, and engines that only object, only fail, or say nothing.
struct Engines {
    languages: [SharedEngine; 3],
    objecting: [SharedEngine; 3],
    failing: [SharedEngine; 3],
    silent: [SharedEngine; 3],
}

static ENGINES: LazyLock<Engines> = LazyLock::new(|| Engines {
    languages: all(CEDAR, REGO, CEL),
    objecting: all(
        "@id(\"no\") forbid(principal, action, resource);",
        "package mcp\ndecision := {\"allow\": true, \"deny\": true}",
        "[[rule]]\nid = \"no\"\neffect = \"forbid\"",
    ),
    failing: all(
        "@id(\"bad\") permit(principal, action, resource) when \
         { context.env.session.calls + 9223372036854775807 + 1 > 0 };",
        "package mcp\ndecision := {\"allow\": 7}",
        "[[rule]]\nid = \"bad\"\neffect = \"permit\"\nwhen = \"context.env.session.calls / 0 == 1\"",
    ),
    silent: all(
        "@id(\"never\") permit(principal, action, resource) when { context.env.session.calls == -1 };",
        "package mcp\ndecision := {\"allow\": true} if input.action == \"never\"",
        "[[rule]]\nid = \"never\"\neffect = \"permit\"\nwhen = \"context.env.session.calls == -1\"",
    ),
});

proptest! {
    #[test]
    fn the_same_rules_decide_the_same_in_every_language((world, tool) in any_question()) {
        let decisions = ENGINES.languages.each_ref().map(|engine| judged(&[engine], &world, &tool));
        prop_assert_eq!(&decisions[0], &decisions[1], "Cedar and Rego: {:?} {:?}", world, tool);
        prop_assert_eq!(&decisions[0], &decisions[2], "Cedar and CEL: {:?} {:?}", world, tool);
    }

    #[test]
    fn the_order_of_engines_does_not_matter(
        (world, tool) in any_question(),
        picked in prop::collection::vec(0_usize..12, 0..5),
    ) {
        let mut engines = picked.iter().map(|index| pick(*index)).collect::<Vec<_>>();
        let before = judged(&engines, &world, &tool);
        engines.reverse();
        prop_assert_eq!(&before, &judged(&engines, &world, &tool));
        let turn = usize::from(engines.len() > 1);
        engines.rotate_left(turn);
        prop_assert_eq!(&before, &judged(&engines, &world, &tool));
    }

    #[test]
    fn who_objects_or_fails_denies_and_who_is_silent_changes_nothing(
        (world, tool) in any_question(),
        picked in prop::collection::vec(0_usize..12, 0..3),
        language in 0_usize..3,
    ) {
        let engines = picked.iter().map(|index| pick(*index)).collect::<Vec<_>>();
        let with = |engine| judged(&[engines.as_slice(), &[engine]].concat(), &world, &tool);
        prop_assert!(!with(&ENGINES.objecting[language]).starts_with("allow"));
        prop_assert!(with(&ENGINES.failing[language]).starts_with("fault"));
        let before = judged(&engines, &world, &tool);
        prop_assert_eq!(before, with(&ENGINES.silent[language]));
    }
}

#[test]
fn the_generated_questions_meet_every_rule() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut told = std::collections::BTreeSet::new();
    for _ in 0..600 {
        let (world, tool) = any_question().new_tree(&mut runner).unwrap().current();
        let decision = judged(&[&ENGINES.languages[0]], &world, &tool);
        told.extend(decision.split(' ').map(str::to_owned));
    }
    for word in [
        "allow", "deny", "nothing", "reader", "hosts", "secret", "path", "many", "pii", "writer",
    ] {
        assert!(told.contains(word), "{word}: {told:?}");
    }
}

fn pick(index: usize) -> &'static SharedEngine {
    let engines = &*ENGINES;
    let all = [
        &engines.languages,
        &engines.objecting,
        &engines.failing,
        &engines.silent,
    ];
    &all[index / 3][index % 3]
}

fn judged(engines: &[&SharedEngine], world: &World, tool: &Tool) -> String {
    let engines = engines
        .iter()
        .map(|engine| Box::new((*engine).clone()) as Box<dyn RuleEngine>);
    let snapshot = PolicySnapshot::new(engines.collect(), vec![], vec![]);
    told(&snapshot.judge(&world.call(tool)))
}

fn all(cedar: &str, rego: &str, cel: &str) -> [SharedEngine; 3] {
    [
        compiled(&Cedar::default(), "t.cedar", cedar),
        compiled(&Rego::new(ToolGroups::default()), "t.rego", rego),
        compiled(&Cel::default(), "t.cel.toml", cel),
    ]
}

fn compiled(kind: &dyn EngineKind, name: &str, text: &str) -> SharedEngine {
    let source = PolicySource::new(name, text);
    SharedEngine(kind.compile(&[source]).unwrap().engine.into())
}

fn any_question() -> impl Strategy<Value = (World, Tool)> {
    let some = |names: &'static [&'static str]| {
        prop::sample::subsequence(names, 0..=names.len())
            .prop_map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let leaf = || {
        prop_oneof![
            Just(None),
            prop::sample::select(vec!["secret", "Secret", "", "\u{202e}\""])
                .prop_map(|text| Some(Leaf::String(text.into()))),
            prop::sample::select(vec!["100", "101", "1e3", "100.5", "-7", "0.1"])
                .prop_map(|text| Some(Leaf::Number(text))),
            any::<bool>().prop_map(|value| Some(Leaf::Bool(value))),
            Just(Some(Leaf::Null)),
            Just(Some(Leaf::EmptyArray)),
            Just(Some(Leaf::EmptyObject)),
        ]
    };
    let who = (some(&["reader", "other"]), 0_i64..3, some(&["pii", "x"]));
    let what = (
        some(&["net.http", "net", "network", "fs.write"]),
        0_i64..5,
        any::<[bool; 2]>(),
    );
    let how = (
        some(&["a.example", "b.example", "c.example", "?"]),
        leaf(),
        leaf(),
    );
    (who, what, how).prop_map(
        |((roles, trust, labels), (capabilities, level, flags), (hosts, path, n))| {
            let mut world = World::new();
            world.agent.roles = roles;
            world.agent.trust = trust;
            world.session.labels = labels;
            world.targets.hosts = hosts;
            let path = path.map(|leaf| ("/opts/path".to_owned(), leaf));
            let n = n.map(|leaf| ("/n".to_owned(), leaf));
            world.arguments = Arguments(path.into_iter().chain(n).collect());
            let mut tool = tool("t");
            tool.capabilities = capabilities;
            tool.level = level;
            tool.permissions.write = flags[0];
            tool.pin.known = flags[1];
            (world, tool)
        },
    )
}

impl RuleEngine for SharedEngine {
    fn name(&self) -> EngineName {
        self.0.name()
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        self.0.judge(facts)
    }

    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        self.0.visible(facts, items)
    }
}

#[test]
fn each_engine_has_the_name_of_its_kind() {
    assert_eq!(AllowlistEngine::new(&["t"]).name().to_string(), "allowlist");
    let kinds: [&dyn EngineKind; 3] = [
        &Cedar::default(),
        &Rego::new(ToolGroups::default()),
        &Cel::default(),
    ];
    for (kind, name) in kinds.into_iter().zip(["cedar", "rego", "cel"]) {
        assert_eq!(kind.name(), EngineName(name));
        let rules = match name {
            "rego" => "package mcp\n\ndecision := {\"allow\": true}\n",
            _ => "",
        };
        let source = PolicySource::new("t", rules);
        let compiled = kind.compile(&[source]).unwrap();
        assert_eq!(compiled.engine.name(), EngineName(name));
    }
}
