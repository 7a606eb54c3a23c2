//! Whether an agent reaches a tool, as far as that is known before a call.

use jiff::Timestamp;

use super::build::could_be_lifted;
use super::request_frame::request;
use crate::policy::{
    Agent, Consent, Environment, ListFacts, PolicySnapshot, Principal, Resource, SessionState,
    Tool, UseTime,
};
use crate::policy_tests::{ConfiguredServer, DryRun, DryRunMessage, StartState, TestDecision};
use crate::wire::Side;

/// What becomes of an agent's call of a tool, in a session that has read nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolReach {
    /// A call without arguments is permitted.
    Permitted,
    /// A call without arguments needs a person's consent.
    Asks,
    /// A call without arguments is denied, and some other call may be permitted.
    ByArguments,
    Denied,
}

/// What becomes of it. The server has the tool as it is locked, if it is.
///
/// # Errors
/// Why there is no decision.
pub fn tool_reach(
    policies: &PolicySnapshot,
    server: &ConfiguredServer,
    agent: &Agent,
    tool: &str,
    now: Timestamp,
) -> Result<ToolReach, String> {
    let dry_run = DryRun {
        agent: agent.clone(),
        server: server.server.clone(),
        now,
        start: StartState::default(),
        sent: DryRunMessage::Frame {
            from: Side::Agent,
            frame: request("tools/call", "name", tool, Some("{}")),
        },
    };
    let outcome = dry_run.run(policies, &server.gate)?;
    Ok(if outcome.decision == TestDecision::Allow {
        ToolReach::Permitted
    } else if could_be_lifted(&outcome) {
        ToolReach::Asks
    } else if is_listed(policies, server, agent, tool, now) {
        ToolReach::ByArguments
    } else {
        ToolReach::Denied
    })
}

fn is_listed(
    policies: &PolicySnapshot,
    server: &ConfiguredServer,
    agent: &Agent,
    tool: &str,
    now: Timestamp,
) -> bool {
    let server = &server.server;
    let policies = policies.of_server(server.key.as_ref());
    let now_ms = now.as_millisecond();
    let facts = ListFacts {
        principal: Principal::Agent(agent),
        env: Environment {
            server,
            transport: "stdio",
            protocol: "2025-11-25",
            now_ms,
            peer: None,
            session: SessionState::default(),
            consent: Consent::default(),
        },
        uses: UseTime::Now,
    };
    let tool = Tool {
        name: tool.to_owned(),
        pin: policies.lock().unchanged(tool),
        ..Tool::default()
    };
    let visible = policies.visible(&facts, &[Resource::Tool(&tool)]);
    visible.first() == Some(&true)
}
