//! How far tools that connect may reach, by what the session has read: as Cedar, like all rules, so
//! that it is reported, tested and explained in the same way.

use crate::policy::{PolicySource, RATCHET_FILE};

/// How far tools that connect may reach, for each level of sensitivity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressRules {
    /// From the lowest level to the highest.
    pub reach: [EgressReach; 4],
    /// What may be reached where not everything may.
    pub hosts: Vec<String>,
}

/// How far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EgressReach {
    /// Anywhere.
    Full,
    /// To hosts that the configuration names.
    Proxied,
    /// Where a person consents.
    Ask,
    /// Nowhere: such tools cannot be called.
    None,
}

/// Nothing connects any more once anything confidential was read.
impl Default for EgressRules {
    fn default() -> Self {
        Self {
            reach: [
                EgressReach::Full,
                EgressReach::Full,
                EgressReach::None,
                EgressReach::None,
            ],
            hosts: Vec::new(),
        }
    }
}

impl EgressRules {
    /// From which level on no call of a tool that connects can be permitted.
    pub(super) fn closed_from(&self) -> Option<i64> {
        let is_closed = |reach: &EgressReach| match reach {
            EgressReach::Full | EgressReach::Ask => false,
            EgressReach::Proxied => self.hosts.is_empty(),
            EgressReach::None => true,
        };
        i64::try_from(self.reach.iter().position(is_closed)?).ok()
    }

    /// The rules that it comes to; none where everything may be reached at every level.
    pub(super) fn compiled(&self) -> Option<PolicySource> {
        let first = |least: EgressReach| self.reach.iter().position(|reach| *reach >= least);
        let closed = first(EgressReach::None);
        let asked = first(EgressReach::Ask).filter(|level| Some(*level) != closed);
        let limited = first(EgressReach::Proxied).filter(|level| Some(*level) != asked.or(closed));
        let hosts = limited.map(|level| self.hosts_rule(level, asked.or(closed)));
        let asking = asked.map(|level| asking_rule(level, closed));
        let rules = [hosts, asking, closed.map(closed_rule)];
        let rules: Vec<String> = rules.into_iter().flatten().collect();
        let title = "// How far tools that connect may reach (`[ratchet.network]`).\n";
        (!rules.is_empty())
            .then(|| PolicySource::new(RATCHET_FILE, format!("{title}{}", rules.concat())))
    }

    fn hosts_rule(&self, level: usize, closed: Option<usize>) -> String {
        let until = below(closed);
        let hosts: Vec<String> = self.hosts.iter().map(|host| quoted(host)).collect();
        let hosts = hosts.join(", ");
        // `unless`, so that what names no host, or one that cannot be read, is closed.
        format!(
            r#"@id("ratchet.hosts")
@code("host_not_allowed")
@advice("After what was read in this session only some hosts can be reached.")
forbid (
  principal is Mcp::Agent,
  action in [Mcp::Action::"call_tool", Mcp::Action::"extension"],
  resource in Mcp::Permission::"connect"
)
when {{ context.env.session.level >= {level}{until} }}
unless {{ !context.targets.hosts.isEmpty() && [{hosts}].containsAll(context.targets.hosts) }};
"#
        )
    }
}

/// Until the level at which another rule begins.
fn below(level: Option<usize>) -> String {
    level.map_or_else(String::new, |level| {
        format!(" && context.env.session.level < {level}")
    })
}

fn asking_rule(level: usize, closed: Option<usize>) -> String {
    let until = below(closed);
    format!(
        r#"@id("builtin.ask_egress")
@code("session_too_sensitive")
@advice("Sensitive data was read in this session, so only a person can permit what connects.")
@requires_consent
forbid (
  principal is Mcp::Agent,
  action in [Mcp::Action::"call_tool", Mcp::Action::"extension"],
  resource in Mcp::Permission::"connect"
)
when {{ context.env.session.level >= {level}{until} }}
unless {{ context.targets.approved || context.env.consent.granted }};
"#
    )
}

fn closed_rule(level: usize) -> String {
    format!(
        r#"@id("builtin.no_egress")
@code("session_too_sensitive")
@advice("Sensitive data was read in this session, so nothing can connect any more. Connect in a new session.")
forbid (
  principal is Mcp::Agent,
  action in [Mcp::Action::"call_tool", Mcp::Action::"extension"],
  resource in Mcp::Permission::"connect"
)
when {{ context.env.session.level >= {level} }}
unless {{ context.targets.approved }};
"#
    )
}

/// Cedar reads the escapes that Rust writes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_is_what_no_call_can_be_permitted_of() {
        use EgressReach::{Full, None as Nowhere, Proxied};
        let check = |reach: [EgressReach; 4], hosts: &[&str], closed: Option<i64>| {
            let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            let network = EgressRules { reach, hosts };
            assert_eq!(network.closed_from(), closed, "{network:?}");
        };
        check([Full; 4], &[], None);
        check([Full, Full, Nowhere, Nowhere], &[], Some(2));
        check([Full, Proxied, Nowhere, Nowhere], &["a"], Some(2));
        check([Full, Proxied, Nowhere, Nowhere], &[], Some(1));
        check([Nowhere; 4], &["a"], Some(0));
    }
}
