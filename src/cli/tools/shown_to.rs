//! `tools list`: the locked tools, and which of them an agent would be shown.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::super::args::{Format, ToolsOfAgent};
use super::super::exit::heard;
use super::super::proxy;
use super::failure::ToolsFailure;
use super::lines::shown;
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, Listen};
use crate::loading;
use crate::policy::{
    Action, Agent, Consent, Decision, DenialCause, Environment, Facts, ListFacts, PolicySnapshot,
    Principal, Resource, ServerKey, SessionState, Tool, UseTime,
};

/// The protocol that agents are taken to use.
const PROTOCOL: &str = "2025-11-25";

/// What a program reads: one line.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct ToolsReport<'a> {
    /// Version of this format.
    schema: u32,
    agent: &'a str,
    tools: Vec<ToolReport>,
}

#[derive(Debug, Serialize)]
struct ToolReport {
    /// As policies name it.
    name: String,
    shown: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Whose tools are listed.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct ToolsFilter<'f> {
    pub(in crate::cli) agent: &'f str,
    pub(in crate::cli) roles: &'f [String],
    /// Of several, the only one.
    pub(in crate::cli) server: Option<&'f str>,
}

/// The locked tools at the beginning of a session of an agent.
pub(in crate::cli) fn tools_of<'f>(
    config: &Path,
    filter: ToolsFilter<'f>,
) -> Result<ToolsReport<'f>, ToolsFailure> {
    let config = Config::load_offline(config).map_err(ToolsFailure::Config)?;
    let loaded = loading::load(&proxy::policy_settings(&config)).map_err(ToolsFailure::Policies)?;
    let is_known = |key: &&str| config.servers.keys().any(|it| it.as_str() == *key);
    if let Some(unknown) = filter.server.filter(|key| !is_known(key)) {
        return Err(ToolsFailure::NoKey(unknown.to_owned()));
    }
    let agent = Agent {
        id: filter.agent.to_owned(),
        roles: filter.roles.to_vec(),
        ..Agent::default()
    };
    let mut tools = Vec::new();
    for config in config.each() {
        let key = config.key.as_ref().map(ServerKey::as_str);
        if filter.server.is_none() || filter.server == key {
            tools.extend(at_server(&config, &loaded.snapshot, &agent));
        }
    }
    Ok(ToolsReport {
        schema: 1,
        agent: filter.agent,
        tools,
    })
}

pub(super) fn list(args: &ToolsOfAgent, out: &mut dyn Write) -> Result<(), ToolsFailure> {
    let filter = ToolsFilter {
        agent: &args.agent,
        roles: &args.roles,
        server: args.server.as_deref(),
    };
    let report = tools_of(&args.config, filter)?;
    match args.format {
        Format::Json => {
            let line = serde_json::to_string(&report).map_err(io::Error::from)?;
            heard(writeln!(out, "{line}"))?;
        }
        Format::Human => {
            for tool in report.tools {
                let name = shown(&tool.name);
                let why = tool.reason.map_or_else(
                    || "shown".to_owned(),
                    |reason| format!("not shown: {}", shown(&reason)),
                );
                heard(writeln!(out, "{name}: {why}"))?;
            }
        }
    }
    Ok(())
}

/// Those of the server of a configuration of one.
fn at_server(config: &Config, whole: &PolicySnapshot, agent: &Agent) -> Vec<ToolReport> {
    let snapshot = whole.of_server(config.key.as_ref());
    let server = proxy::server(config);
    let now_ms = SystemClock::new().now().as_millisecond();
    let env = Environment {
        server: &server,
        transport: match config.listen {
            Listen::Stdio | Listen::Local => "stdio",
            Listen::Http(_) => "http",
        },
        protocol: PROTOCOL,
        now_ms,
        peer: None,
        session: SessionState::default(),
        consent: Consent::default(),
    };
    let lock = snapshot.lock();
    let tools = lock.tools().map(|(name, _)| Tool {
        name: name.to_owned(),
        pin: lock.unchanged(name),
        ..Tool::default()
    });
    let tools: Vec<Tool> = tools.collect();
    let principal = Principal::Agent(agent);
    let facts = ListFacts {
        principal,
        env: env.clone(),
        uses: UseTime::Now,
    };
    let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
    let listed = snapshot.visible(&facts, &items);
    let reports = tools.iter().zip(listed).map(|(tool, is_shown)| {
        let facts = Facts {
            principal,
            action: Action::ListTool,
            resource: Resource::Tool(tool),
            env: env.clone(),
        };
        let key = config.key.as_ref();
        ToolReport {
            name: key.map_or_else(|| tool.name.clone(), |key| key.id_of(&tool.name)),
            shown: is_shown,
            reason: (!is_shown).then(|| reason(&snapshot.judge(&facts))),
        }
    });
    reports.collect()
}

/// Why a tool is not shown.
fn reason(listing: &Decision) -> String {
    match listing {
        Decision::Deny(denial) if denial.cause != DenialCause::NotPermitted => {
            let ids = denial.reasons.iter();
            let ids = ids.map(|reason| format!("`{}`", reason.policy.as_str()));
            format!("forbidden by {}", ids.collect::<Vec<_>>().join(", "))
        }
        Decision::Deny(_) | Decision::Allow(_) => "no policy permits to call it".to_owned(),
    }
}
