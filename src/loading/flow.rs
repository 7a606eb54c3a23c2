//! What may flow from one of several servers to another, as Cedar, like all rules.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::policy::{FLOW_FILE, MAX_LEVEL, PolicySource, ServerKey, UNKNOWN_SERVER};

/// What may flow from where to where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowRules {
    /// Agents use no server above its clearance.
    pub flow_out: FlowRule,
    /// After untrusted content, nothing writes or connects by itself.
    pub flow_in: FlowRule,
    /// Calls that repeat another server's results do not write or connect by themselves.
    pub copied: FlowRule,
    /// No server gets what other servers have told the agent, in a message that the agent's model answers.
    pub flow_context: FlowRule,
    /// The highest level of a session that may use each server.
    pub clearances: BTreeMap<ServerKey, i64>,
    /// After reading from this server, a session uses only these servers, and this one.
    pub walls: BTreeMap<ServerKey, Vec<ServerKey>>,
}

/// Whether a built-in rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlowRule {
    #[default]
    Off,
    /// A person's consent lifts it.
    Ask,
    Deny,
}

impl FlowRules {
    /// The rules; none where nothing is limited.
    pub(super) fn compiled(&self) -> Option<PolicySource> {
        let rules = [
            self.out_rule(),
            self.in_rule(),
            self.copied_rule(),
            self.context_rule(),
            self.walls_rule(),
        ];
        let rules: Vec<String> = rules.into_iter().flatten().collect();
        (!rules.is_empty()).then(|| {
            PolicySource::new(
                FLOW_FILE,
                format!(
                    "// What may flow from one server to another (`[flow]`).\n{}",
                    rules.concat()
                ),
            )
        })
    }

    fn out_rule(&self) -> Option<String> {
        let limited = self.clearances.iter();
        let limited = limited.filter(|(_, clearance)| **clearance < MAX_LEVEL);
        let told = limited.map(|(key, clearance)| {
            // A server may always be told what it has said itself.
            format!(
                "({subject} && context.env.session.level > {clearance} && \
                 (context.env.session.sources.isEmpty() || \
                 ![{server}].containsAll(context.env.session.sources)))",
                server = server(key.as_str()),
                subject = told(key),
            )
        });
        let told: Vec<String> = told.collect();
        let (annotation, unless) = self.flow_out.lifted()?;
        (!told.is_empty()).then(|| {
            format!(
                r#"@id("builtin.flow_out")
@code("above_clearance")
@advice("This session has read data above the clearance of this server. Use the server in a new session.")
{annotation}forbid (
  principal,
  action in [Mcp::Action::"use", Mcp::Action::"server_request"],
  resource
)
when {{
  {}
}}{unless};
"#,
                told.join(" ||\n  ")
            )
        })
    }

    fn in_rule(&self) -> Option<String> {
        let (annotation, or_granted) = match self.flow_in {
            FlowRule::Off => return None,
            FlowRule::Ask => (CONSENT, " || context.env.consent.granted"),
            FlowRule::Deny => ("", ""),
        };
        Some(format!(
            r#"@id("builtin.flow_in")
@code("untrusted_content")
@advice("This session has read untrusted content, which may contain instructions. A call that writes or connects needs a person's approval, or a new session.")
{annotation}forbid (
  principal is Mcp::Agent,
  action in [Mcp::Action::"call_tool", Mcp::Action::"extension"],
  resource
)
when {{
  context.env.session.untrusted &&
  (resource in Mcp::Permission::"write" || resource in Mcp::Permission::"connect")
}}
unless {{ context.targets.approved{or_granted} }};
"#
        ))
    }

    fn copied_rule(&self) -> Option<String> {
        let (annotation, or_granted, way) = match self.copied {
            FlowRule::Off => return None,
            FlowRule::Ask => (
                CONSENT,
                " || context.env.consent.granted",
                "A call that writes or connects with them needs a person's approval.",
            ),
            FlowRule::Deny => (
                "",
                "",
                "A call that writes or connects needs other arguments.",
            ),
        };
        Some(format!(
            r#"@id("builtin.evidence")
@code("copied_data")
@advice("The arguments repeat results of another server. {way}")
{annotation}forbid (
  principal is Mcp::Agent,
  action in [Mcp::Action::"call_tool", Mcp::Action::"extension"],
  resource
)
when {{
  !context.targets.copiedFrom.isEmpty() &&
  (resource in Mcp::Permission::"write" || resource in Mcp::Permission::"connect")
}}
unless {{ context.targets.approved{or_granted} }};
"#
        ))
    }

    fn context_rule(&self) -> Option<String> {
        let (annotation, unless) = self.flow_context.lifted()?;
        Some(format!(
            r#"@id("builtin.flow_context")
@code("context_of_all_servers")
@advice("A server does not get the context of other servers. Ask without `includeContext`, or with `thisServer`.")
{annotation}forbid (
  principal is Mcp::Server,
  action == Mcp::Action::"sample",
  resource
)
when {{ context.includeContext == "allServers" }}{unless};
"#
        ))
    }

    fn walls_rule(&self) -> Option<String> {
        let walls = self.walls.iter().map(|(from, to)| {
            let mut text = format!(
                "((context.env.session.sources.contains({}) || context.env.session.sources.contains({}))",
                server(from.as_str()),
                server(UNKNOWN_SERVER)
            );
            let reached = to.iter().filter(|key| *key != from).chain([from]);
            for key in reached {
                let _ = write!(text, " && !{}", told(key));
            }
            text.push(')');
            text
        });
        let walls: Vec<String> = walls.collect();
        (!walls.is_empty()).then(|| {
            format!(
                r#"@id("builtin.walls")
@code("behind_wall")
@advice("What this session has read may not go to this server. Use it in a new session.")
forbid (
  principal,
  action in [Mcp::Action::"use", Mcp::Action::"server_request"],
  resource
)
when {{
  {}
}};
"#,
                walls.join(" ||\n  ")
            )
        })
    }
}

impl FlowRule {
    /// The annotation and the end of a rule that consent lifts, or nothing does; `None` if there is no rule.
    fn lifted(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Off => None,
            Self::Ask => Some((CONSENT, "\nunless { context.env.consent.granted }")),
            Self::Deny => Some(("", "")),
        }
    }
}

/// Has a person asked, whose consent the rule reads.
const CONSENT: &str = "@requires_consent\n";

/// Whether a message is for that server: what the agent sends it, or what it asks the agent for.
fn told(key: &ServerKey) -> String {
    let server = server(key.as_str());
    format!("(principal in {server} || resource in {server})")
}

/// A key has nothing that needs an escape.
fn server(key: &str) -> String {
    format!("Mcp::Server::\"{key}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> ServerKey {
        ServerKey::of(text).unwrap()
    }

    #[test]
    fn only_what_is_limited_has_a_rule() {
        let check = |rules: FlowRules, expected: &[&str]| {
            let text = rules.compiled().map(|source| source.text.to_string());
            let text = text.unwrap_or_default();
            let ids: Vec<_> = text
                .lines()
                .filter_map(|line| line.strip_prefix("@id(\"")?.strip_suffix("\")"))
                .collect();
            assert_eq!(ids, expected, "{rules:?}");
        };
        check(FlowRules::default(), &[]);
        let clearances: BTreeMap<_, _> = [(key("crm"), 3), (key("web"), 0)].into();
        let open = FlowRules {
            flow_out: FlowRule::Deny,
            ..FlowRules::default()
        };
        check(open.clone(), &[]);
        let limited = FlowRules { clearances, ..open };
        check(limited.clone(), &["builtin.flow_out"]);
        let off = FlowRules {
            flow_out: FlowRule::Off,
            flow_in: FlowRule::Ask,
            ..limited.clone()
        };
        let copied = FlowRules {
            copied: FlowRule::Deny,
            ..FlowRules::default()
        };
        check(copied, &["builtin.evidence"]);
        check(off.clone(), &["builtin.flow_in"]);
        let context = FlowRules {
            flow_context: FlowRule::Deny,
            ..off
        };
        check(context, &["builtin.flow_in", "builtin.flow_context"]);
        let walls = FlowRules {
            walls: [(key("crm"), vec![])].into(),
            ..limited
        };
        check(walls, &["builtin.flow_out", "builtin.walls"]);
    }
}
