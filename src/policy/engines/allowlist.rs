//! Exact tool names: compiled into Cedar for the gate, and in a hash map as the oracle of that.
//!
//! Names are compared byte for byte: no case folding, no normalisation, no patterns.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use super::super::{
    Action, EngineFault, EngineName, Facts, ListFacts, Origin, PolicyId, PolicySource, Principal,
    Reason, Resource, RuleEngine, Verdict, Visibility,
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
            policy: PolicySource {
                name: "<allowlist>".into(),
                text: POLICY.into(),
            },
            entities: PolicySource {
                name: "<allowlist entities>".into(),
                text: entities.into(),
            },
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
            origin: Origin {
                file: "<allowlist>".into(),
                line: 2,
            },
            code: None,
            advice: None,
        };
        Ok(Verdict::Allow {
            reasons: vec![reason],
            obligations: Vec::new(),
        })
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
