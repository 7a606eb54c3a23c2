//! Exact tool names: compiled into Cedar for the gate, and in a hash map as the oracle of that.
//!
//! Names are compared byte for byte: no case folding, no normalisation, no patterns.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use super::super::{
    Action, EngineFault, EngineName, Facts, ListFacts, PolicyId, PolicyOrigin, PolicySource,
    Principal, Reason, RequiredDetectors, Resource, RuleEngine, Verdict, Visibility,
};
use super::cedar::ToolGroups;

/// The group that the allowlist makes.
pub const GROUP: &str = "allow";

/// The one policy of every allowlist. The names are data beside it: a literal set of 10,000 names
/// takes milliseconds to evaluate, membership of a group microseconds.
const POLICY: &str = r#"// The configured allowlist: exact names, held as members of the group.
@id("allowlist")
permit (
  principal is Mcp::Agent,
  action in [Mcp::Action::"list_tool", Mcp::Action::"call_tool"],
  resource in Mcp::ToolGroup::"allow"
);
"#;

/// An allowlist as Cedar.
#[derive(Debug, Clone)]
pub struct CompiledAllowlist {
    /// The policy, which is the same for all.
    pub policy: PolicySource,
    /// The names, in Cedar's JSON format for entities; for people and for the revision.
    pub entities: PolicySource,
    pub groups: ToolGroups,
}

/// An allowlist as a set.
#[derive(Debug)]
pub struct AllowlistEngine {
    names: HashSet<String>,
}

impl CompiledAllowlist {
    pub fn of<T: AsRef<str>>(names: &[T]) -> Self {
        let mut groups = ToolGroups::default();
        for name in names {
            groups.add(name.as_ref(), GROUP);
        }
        let sorted: BTreeSet<&str> = names.iter().map(AsRef::as_ref).collect();
        let lines: Vec<String> = sorted.into_iter().map(entity).collect();
        let entities = format!("[\n{}\n]\n", lines.join(",\n"));
        Self {
            policy: PolicySource::new("<allowlist>", POLICY),
            entities: PolicySource::new("<allowlist entities>", entities),
            groups,
        }
    }
}

/// What the configuration came to: the policy and the entities, for review.
impl fmt::Display for CompiledAllowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n// Entities:\n{}",
            self.policy.text, self.entities.text
        )
    }
}

impl AllowlistEngine {
    pub fn new<T: AsRef<str>>(names: &[T]) -> Self {
        Self {
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
        }
    }

    fn holds(&self, principal: Principal<'_>, resource: Resource<'_>) -> bool {
        match (principal, resource) {
            (Principal::Agent(_), Resource::Tool(tool)) => self.names.contains(&tool.name),
            _ => false,
        }
    }
}

impl RuleEngine for AllowlistEngine {
    fn name(&self) -> EngineName {
        EngineName("allowlist")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let about_tools = matches!(facts.action, Action::CallTool { .. } | Action::ListTool);
        if !about_tools || !self.holds(facts.principal, facts.resource) {
            return Ok(Verdict::Abstain);
        }
        let reason = Reason {
            policy: PolicyId::new("allowlist"),
            origin: PolicyOrigin {
                file: "<allowlist>".into(),
                line: 2,
            },
            code: None,
            advice: None,
            on_deny: None,
        };
        Ok(Verdict::Allow {
            reasons: vec![reason],
            obligations: Vec::new(),
        })
    }

    fn looks_for(&self) -> RequiredDetectors {
        RequiredDetectors::NOTHING
    }

    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        let visibility = |item: &Resource<'_>| {
            let shown = self.holds(facts.principal, *item);
            Ok(if shown {
                Visibility::Shown
            } else {
                Visibility::Abstain
            })
        };
        items.iter().map(visibility).collect()
    }
}

fn entity(name: &str) -> String {
    let name = serde_json::Value::from(name);
    format!(
        r#"  {{ "uid": {{ "type": "Mcp::Tool", "id": {name} }}, "attrs": {{}}, "parents": [{{ "type": "Mcp::ToolGroup", "id": "{GROUP}" }}] }}"#
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::fixture::{World, told, tool};
    use super::super::super::{EngineKind, Environment, PolicySnapshot, Prompt, WarningMode};
    use super::super::cedar::Cedar;
    use super::*;

    /// Names that are easily taken for each other, or that would break out of a quotation.
    const NAMES: [&str; 8] = [
        "a",
        "A",
        "\u{430}",
        "a ",
        "é",
        "e\u{301}",
        "a\" || true || \"",
        "\\\"\n\u{0}",
    ];

    /// Every allowlist over these names, and every question about them.
    #[test]
    fn both_forms_agree_on_every_small_universe() {
        for bits in 0u32..1 << NAMES.len() {
            let allowed: Vec<&str> = NAMES
                .iter()
                .enumerate()
                .filter(|(at, _)| bits & (1 << at) != 0)
                .map(|(_, name)| *name)
                .collect();
            check(&allowed, &NAMES);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn both_forms_agree_on_any_names(
            allowed in prop::collection::vec(any::<String>(), 0..6),
            others in prop::collection::vec(any::<String>(), 0..6),
        ) {
            let asked: Vec<String> = allowed
                .iter()
                .flat_map(|name| [name.clone(), name.to_uppercase(), format!("{name} "), name.replace('a', "\u{430}")])
                .chain(others)
                .collect();
            check(&allowed, &asked);
        }
    }

    #[test]
    fn it_permits_agents_to_list_and_call_and_nothing_else() {
        let world = World::new();
        let named = tool("t");
        for snapshot in both(&["t", "files", "tester"]) {
            let judge = |facts: &Facts<'_>| told(&snapshot.judge(facts));
            let result = Action::ReceiveResult {
                received: &world.received,
            };
            assert_eq!(judge(&world.call(&named)), "allow allowlist");
            let listed = world.facts(Action::ListTool, Resource::Tool(&named));
            assert_eq!(judge(&listed), "allow allowlist");
            assert_eq!(
                judge(&world.facts(result, Resource::Tool(&named))),
                "nothing"
            );
            let server = Resource::Server(&world.server);
            assert_eq!(judge(&world.facts(Action::Initialize, server)), "nothing");
            assert_eq!(judge(&world.server_facts(Action::ListRoots)), "nothing");
        }
    }

    #[test]
    fn the_reason_is_where_the_compiled_policy_stands() {
        let (world, named) = (World::new(), tool("t"));
        let [cedar, set] = both(&["t"]);
        let facts = world.call(&named);
        assert_eq!(cedar.judge(&facts), set.judge(&facts));
    }

    #[test]
    fn the_compiled_form_can_be_printed() {
        let text = CompiledAllowlist::of(&["read_file", "a\"b\n", "read_file"]).to_string();
        insta::assert_snapshot!(text, @r#"
        // The configured allowlist: exact names, held as members of the group.
        @id("allowlist")
        permit (
          principal is Mcp::Agent,
          action in [Mcp::Action::"list_tool", Mcp::Action::"call_tool"],
          resource in Mcp::ToolGroup::"allow"
        );

        // Entities:
        [
          { "uid": { "type": "Mcp::Tool", "id": "a\"b\n" }, "attrs": {}, "parents": [{ "type": "Mcp::ToolGroup", "id": "allow" }] },
          { "uid": { "type": "Mcp::Tool", "id": "read_file" }, "attrs": {}, "parents": [{ "type": "Mcp::ToolGroup", "id": "allow" }] }
        ]
        "#);
    }

    /// Cedar itself reads the printed form back to the same groups.
    #[test]
    fn the_printed_entities_are_cedars_own_format() {
        let compiled = CompiledAllowlist::of(&NAMES);
        let entities =
            cedar_policy::Entities::from_json_str(&compiled.entities.text, None).unwrap();
        let names: HashSet<String> = entities
            .iter()
            .map(|entity| entity.uid().id().unescaped().to_owned())
            .collect();
        assert_eq!(names, NAMES.iter().map(ToString::to_string).collect());
    }

    fn check<T: AsRef<str>, U: AsRef<str>>(allowed: &[T], asked: &[U]) {
        let world = World::new();
        let tools: Vec<_> = asked.iter().map(|name| tool(name.as_ref())).collect();
        let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
        let [cedar, set] = both(allowed);
        let env: Environment<'_> = world.env();
        let list = ListFacts {
            principal: Principal::Agent(&world.agent),
            env,
            uses: crate::policy::UseTime::Now,
        };
        let shown = set.listing(&list, &items);
        assert_eq!(cedar.listing(&list, &items), shown);
        for (tool, shown) in tools.iter().zip(shown.shown) {
            let facts = world.call(tool);
            let expected = allowed.iter().any(|name| name.as_ref() == tool.name);
            assert_eq!(set.judge(&facts).is_allow(), expected, "{:?}", tool.name);
            assert_eq!(cedar.judge(&facts), set.judge(&facts), "{:?}", tool.name);
            assert_eq!(shown, expected, "{:?}", tool.name);
        }
    }

    /// Compiled to Cedar, and as a set.
    fn both<T: AsRef<str>>(allowed: &[T]) -> [PolicySnapshot; 2] {
        let compiled = CompiledAllowlist::of(allowed);
        let cedar = Cedar {
            groups: compiled.groups,
            warnings: WarningMode::Error,
            ..Cedar::default()
        };
        let cedar = cedar.compile(&[compiled.policy]).unwrap().engine;
        let set: Box<dyn RuleEngine> = Box::new(AllowlistEngine::new(allowed));
        [cedar, set].map(|engine| PolicySnapshot::new(vec![engine], vec![], vec![]))
    }

    #[test]
    fn what_is_no_tool_is_not_in_it() {
        let world = World::new();
        let prompt = Prompt::named("t");
        let items = [Resource::Prompt(&prompt), Resource::Server(&world.server)];
        let mut list = ListFacts {
            principal: Principal::Agent(&world.agent),
            env: world.env(),
            uses: crate::policy::UseTime::Now,
        };
        let tool = tool("t");
        for snapshot in both(&["t", "files"]) {
            list.principal = Principal::Agent(&world.agent);
            assert_eq!(snapshot.visible(&list, &items), [false; 2]);
            assert_eq!(snapshot.visible(&list, &[Resource::Tool(&tool)]), [true]);
            list.principal = Principal::Server(&world.server);
            assert_eq!(snapshot.visible(&list, &[Resource::Tool(&tool)]), [false]);
        }
    }
}
