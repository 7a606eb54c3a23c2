//! Which tools of a server each agent reaches.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::failure::ServersFailure;
use crate::cli::proxy;
use crate::cli::tools::{LockComparison, shown};
use crate::cli::validate_config::InvalidConfig;
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

/// What becomes of the tools of a server for one agent.
#[derive(Debug)]
pub(in crate::cli) struct AgentReach {
    pub(in crate::cli) id: String,
    /// Whether the agent stands for all that `agents.toml` does not name.
    pub(in crate::cli) others: Others,
    /// `None`: the agent does not reach this server.
    pub(in crate::cli) tools: Option<BTreeMap<ToolReach, Vec<String>>>,
}

/// Whom an agent stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Others {
    Included,
    Excluded,
}

/// Of all agents, as far as they are evaluated.
#[derive(Debug)]
pub(in crate::cli) struct AllReaches {
    pub(in crate::cli) agents: Vec<AgentReach>,
    /// How many agents are not evaluated.
    pub(in crate::cli) left_out: usize,
}

/// What becomes of each tool of a server, for each agent of `agents.toml` and one that it does not name.
pub(in crate::cli) struct Reaches<'r> {
    pub(in crate::cli) config: &'r Config,
    /// The view of the server.
    pub(in crate::cli) view: &'r Config,
    pub(in crate::cli) offered: &'r LockFile,
    /// Its differences from the lock, if there is one.
    pub(in crate::cli) lock: Option<&'r LockComparison>,
}

impl Reaches<'_> {
    pub(in crate::cli) fn of_all(&self) -> Result<AllReaches, ServersFailure> {
        let loaded = loading::load(&proxy::policy_settings(self.config));
        let policies = loaded
            .map_err(|errors| ServersFailure::Invalid(InvalidConfig::of_policies(&errors)))?
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
        let agents = agents.into_iter().map(|id| (Others::Excluded, id));
        let all = std::iter::once((Others::Included, unnamed)).chain(agents);
        let evaluated = all.take(count).map(|(others, id)| {
            Ok(AgentReach {
                id: id.to_owned(),
                others,
                tools: self.of_agent(&policies, id, &tools)?,
            })
        });
        Ok(AllReaches {
            agents: evaluated.collect::<Result<_, ServersFailure>>()?,
            left_out,
        })
    }

    fn of_agent(
        &self,
        policies: &PolicySnapshot,
        id: &str,
        tools: &[&str],
    ) -> Result<Option<BTreeMap<ToolReach, Vec<String>>>, ServersFailure> {
        let agent = Agent {
            id: id.to_owned(),
            ..Agent::default()
        };
        let key = self.view.key.as_ref();
        if key.is_some_and(|key| !policies.labels().leave_server(&agent, key)) {
            return Ok(None);
        }
        let server = ConfiguredServer {
            server: proxy::server(self.view),
            gate: proxy::gate_settings(self.view),
        };
        let now = SystemClock::new().now();
        let mut found: BTreeMap<ToolReach, Vec<String>> = BTreeMap::new();
        for tool in tools {
            let id = server.server.id_of(tool);
            let reach = if self.lock.is_some_and(|lock| lock.has_tool(&id)) {
                ToolReach::Denied
            } else {
                let reach = tool_reach(policies, &server, &agent, tool, now);
                reach.map_err(ServersFailure::NotEvaluated)?
            };
            found.entry(reach).or_default().push((*tool).to_owned());
        }
        Ok(Some(found))
    }
}

impl AllReaches {
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "tools, called without arguments in a session that has read nothing:"
        )?;
        for agent in &self.agents {
            let name = match agent.others {
                Others::Included => "any other agent",
                Others::Excluded => "agent",
            };
            let id = shown(&agent.id);
            let line = match &agent.tools {
                None => "does not reach this server".to_owned(),
                Some(found) => {
                    let all = found.iter().map(|(reach, tools)| listed(*reach, tools));
                    all.collect::<Vec<_>>().join("; ")
                }
            };
            writeln!(out, "  {name} `{id}`: {line}")?;
        }
        if self.left_out > 0 {
            writeln!(out, "  {} agent(s) not evaluated", self.left_out)?;
        }
        Ok(())
    }
}

fn listed(reach: ToolReach, tools: &[String]) -> String {
    let word = match reach {
        ToolReach::Permitted => "permitted",
        ToolReach::Asks => "ask for consent",
        ToolReach::ByArguments => "depend on arguments",
        ToolReach::Denied => "denied",
    };
    let names = tools.iter().take(MAX_NAMES).map(|name| shown(name));
    let names: Vec<String> = names.collect();
    let more = match tools.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{word}: {}{more}", names.join(", "))
}
