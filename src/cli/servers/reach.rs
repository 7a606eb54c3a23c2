//! Which tools of a server each agent reaches.

use std::collections::BTreeMap;
use std::io::Write;

use super::failure::ServersFailure;
use crate::cli::tools::{self, LockComparison};
use crate::cli::{proxy, report};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, Listen};
use crate::explain::{ToolReach, tool_reach};
use crate::loading::{self, LockFile};
use crate::policy::{Agent, PolicySnapshot};
use crate::policy_tests::ConfiguredServer;

/// Calls that are evaluated: each takes a gate of its own.
const MAX_CALLS: usize = 1_000;

/// Names on one line, which the server chooses.
const MAX_NAMES: usize = 10;

/// What becomes of each tool of a server, for each agent of `agents.toml` and one that it does not name.
pub(super) struct Reaches<'r> {
    pub(super) config: &'r Config,
    /// The view of the server.
    pub(super) view: &'r Config,
    pub(super) offered: &'r LockFile,
    /// Its differences from the lock, if there is one.
    pub(super) lock: Option<&'r LockComparison>,
}

impl Reaches<'_> {
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), ServersFailure> {
        let loaded = loading::load(&proxy::policy_settings(self.config));
        let policies = loaded
            .map_err(|errors| ServersFailure::Invalid(report::text(&errors)))?
            .snapshot;
        let unnamed = match self.config.listen {
            Listen::Http(_) => "anonymous",
            Listen::Stdio | Listen::Local => "stdio",
        };
        let mut agents: Vec<&str> = policies
            .labels()
            .agents
            .keys()
            .map(String::as_str)
            .collect();
        agents.sort_unstable();
        agents.retain(|id| *id != unnamed);
        let tools: Vec<&str> = self.offered.names().collect();
        let count = MAX_CALLS / tools.len().max(1);
        let left_out = (agents.len() + 1).saturating_sub(count);
        writeln!(
            out,
            "tools, called without arguments in a session that has read nothing:"
        )?;
        for (name, id) in std::iter::once(("any other agent", unnamed))
            .chain(agents.into_iter().map(|id| ("agent", id)))
            .take(count)
        {
            let found = self.of_agent(&policies, id, &tools)?;
            let id = tools::shown(id);
            writeln!(out, "  {name} `{id}`: {}", found.join("; "))?;
        }
        if left_out > 0 {
            writeln!(out, "  {left_out} agent(s) not evaluated")?;
        }
        Ok(())
    }

    fn of_agent(
        &self,
        policies: &PolicySnapshot,
        id: &str,
        tools: &[&str],
    ) -> Result<Vec<String>, ServersFailure> {
        let agent = Agent {
            id: id.to_owned(),
            ..Agent::default()
        };
        let key = self.view.key.as_ref();
        if key.is_some_and(|key| !policies.labels().leave_server(&agent, key)) {
            return Ok(vec!["does not reach this server".to_owned()]);
        }
        let server = ConfiguredServer {
            server: proxy::server(self.view),
            gate: proxy::gate_settings(self.view),
        };
        let now = SystemClock::new().now();
        let mut found: BTreeMap<ToolReach, Vec<&str>> = BTreeMap::new();
        for tool in tools {
            let id = server.server.id_of(tool);
            let reach = if self.lock.is_some_and(|lock| lock.has_tool(&id)) {
                ToolReach::Denied
            } else {
                let reach = tool_reach(policies, &server, &agent, tool, now);
                reach.map_err(ServersFailure::NotEvaluated)?
            };
            found.entry(reach).or_default().push(tool);
        }
        let line = |(reach, tools): (ToolReach, Vec<&str>)| {
            let word = match reach {
                ToolReach::Permitted => "permitted",
                ToolReach::Asks => "ask for consent",
                ToolReach::ByArguments => "depend on arguments",
                ToolReach::Denied => "denied",
            };
            let names = tools.iter().take(MAX_NAMES).map(|name| tools::shown(name));
            let names: Vec<String> = names.collect();
            let more = match tools.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            format!("{word}: {}{more}", names.join(", "))
        };
        Ok(found.into_iter().map(line).collect())
    }
}
