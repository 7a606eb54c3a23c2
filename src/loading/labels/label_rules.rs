//! Rules that labels come to: Cedar, like all others, so that they are told, tested and explained in
//! the same way.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::agents::Override;
use super::server_sets;
use crate::policy::engines::cedar::ToolGroups;
use crate::policy::{ConsentRule, Labels, PolicySource, TokenGrants};

/// Rules, and the groups that they speak of.
#[derive(Debug, Default)]
pub(in crate::loading) struct LabelRules {
    pub(in crate::loading) sources: Vec<PolicySource>,
    pub(in crate::loading) groups: ToolGroups,
    /// The tools whose permission a label names.
    pub(in crate::loading) labelled: BTreeSet<String>,
}

const CAPABILITIES: &str = include_str!("../../policy/builtin/capabilities.cedar");
const CONSENT: &str = include_str!("../../policy/builtin/consent.cedar");

impl LabelRules {
    pub(super) fn of(labels: &Labels, overrides: Vec<Override>) -> Self {
        let mut compiled = Self::default();
        let mut agents = labels.agents.values();
        let granted = agents.any(|agent| !agent.capabilities.is_empty());
        let by_tokens = labels.tokens == TokenGrants::Capabilities;
        if granted || by_tokens || labels.roles.values().any(|granted| !granted.is_empty()) {
            compiled.add("<capabilities.cedar>", CAPABILITIES);
        }
        let mut tools = labels.all_tools();
        if tools.any(|tool| tool.consent != ConsentRule::Never) {
            compiled.add("<consent.cedar>", CONSENT);
        }
        compiled.of_agents(overrides, server_sets::compiled(labels));
        compiled
    }

    /// Policies of `agents.toml`, after `text`.
    fn of_agents(&mut self, overrides: Vec<Override>, mut text: String) {
        for Override { agent, allow, deny } in overrides {
            for (effect, key, names) in [("permit", "allow", allow), ("forbid", "deny", deny)] {
                if names.is_empty() {
                    continue;
                }
                let group = format!("agents.{agent}.{key}");
                for name in &names {
                    self.groups.add(name, &group);
                }
                // Cedar reads the escapes that Rust writes.
                let written = write!(
                    text,
                    "// `{key}` of the agent in agents.toml.\n\
                     @id(\"{group}\")\n\
                     {effect} (\n  principal == Mcp::Agent::\"{agent}\",\n  \
                     action in [Mcp::Action::\"list_tool\", Mcp::Action::\"call_tool\"],\n  \
                     resource in Mcp::ToolGroup::\"{group}\"\n);\n",
                    group = group.escape_debug(),
                    agent = agent.escape_debug(),
                );
                debug_assert!(written.is_ok(), "a string takes all text");
            }
        }
        if !text.is_empty() {
            self.add("<agents.toml>", &text);
        }
    }

    fn add(&mut self, name: &str, text: &str) {
        self.sources.push(PolicySource::new(name, text));
    }
}
