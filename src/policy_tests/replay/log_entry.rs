//! A line of the audit log, as far as it says what policies decided.

use std::borrow::Cow;

use jiff::Timestamp;

use super::super::fixture_words::TestDecision;
use crate::audit::{self, Body, MARKER};
use crate::gate::Stage;
use crate::session::Instance;
use crate::wire::{Side, Value};

/// Codes of refusals that are the gate's own, at the step at which policies decide.
const OF_THE_GATE: [&str; 5] = [
    "unknown_tool",
    "look_alike",
    "not_ascii",
    "session_store_full",
    "request_state_mismatch",
];

/// One line of a log.
#[derive(Debug)]
pub(in super::super) enum LogEntry {
    Decided(Box<RecordedDecision>),
    /// Such as half a line of a gate that was killed.
    Unreadable(usize),
}

/// A decision of policies.
#[derive(Debug)]
pub(in super::super) struct RecordedDecision {
    pub(super) line: usize,
    pub(super) was: TestDecision,
    pub(super) method: String,
    /// Who sent what was judged.
    pub(super) from: Side,
    /// It answers a request.
    pub(super) role: RecordRole,
    pub(super) target: String,
    pub(super) agent: RecordedAgent,
    /// How the agent is connected, if the record tells.
    pub(super) transport: Option<String>,
    pub(super) upstream: String,
    pub(super) now_ms: Option<i64>,
    /// How sensitive what the session had read was, under the labels of that day.
    pub(super) level: i64,
    /// The data sets that it had read, if the record has them all.
    pub(super) datasets: Option<Vec<String>>,
    /// It added to them.
    pub(super) is_adding: bool,
    /// It raised that level.
    pub(super) is_raising: bool,
    pub(super) revision: String,
    pub(super) policies: Vec<String>,
    /// The arguments of a call as JSON text, if the record has them whole.
    pub(super) arguments: Option<String>,
    /// The record was cut, or something was taken out of it.
    pub(super) incomplete: bool,
}

/// The agent, as a record names it.
#[derive(Debug)]
pub(in super::super) struct RecordedAgent {
    pub(super) id: String,
    pub(super) asserted_name: String,
    pub(super) roles: Vec<String>,
    pub(super) user: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordRole {
    Question,
    Reply,
}

impl LogEntry {
    pub(super) fn unreadable(line: usize) -> Self {
        Self::Unreadable(line)
    }

    /// A record of a message whose decision was the policies' own; of all others nothing is to be
    /// compared: no policy makes them another one.
    pub(super) fn of(record: Value<'_>, line: usize) -> Option<Self> {
        let at = |path: &[&str]| record.at(path).and_then(Value::as_str);
        let text = |path: &[&str]| at(path).unwrap_or_default().into_owned();
        let kind = text(&["kind"]);
        let role = match kind.as_str() {
            "tools_list" | "tool_call" | "request" | "server_request" | "notification" => {
                RecordRole::Question
            }
            "tool_result" | "gate_decision" => RecordRole::Reply,
            _ => return None,
        };
        let from = match at(&["direction"])?.as_ref() {
            "agent_to_upstream" => Side::Agent,
            "upstream_to_agent" => Side::Upstream,
            _ => return None,
        };
        let code = text(&["reason", "code"]);
        let by_policy = text(&["stage"]) == Stage::Decide.name();
        let was = match at(&["decision"])?.as_ref() {
            "ALLOW" => TestDecision::Allow,
            // What the gate refuses by itself, no policy changes.
            "BLOCK" if by_policy && !OF_THE_GATE.contains(&code.as_str()) => TestDecision::Deny,
            "ERROR" if by_policy && code == "engine_fault" => TestDecision::Deny,
            _ => return None,
        };
        let names = |path: &[&str]| {
            let items = record.at(path).into_iter().flat_map(Value::items);
            items
                .filter_map(Value::as_str)
                .map(Cow::into_owned)
                .collect()
        };
        let level = |when| {
            at(&["sensitivity", when])
                .and_then(|name| level_of(&name))
                .unwrap_or(0)
        };
        let added: Vec<String> = names(&["sensitivity", "added"]);
        let mut datasets: Vec<String> = names(&["sensitivity", "datasets"]);
        let has_all =
            datasets.len() <= audit::LIST_LIMIT && !datasets.iter().any(|name| is_cut(name));
        datasets.retain(|name| !added.contains(name));
        let recorded = RecordedDecision {
            line,
            was,
            method: text(&["method"]),
            from,
            role,
            target: text(&["target"]),
            agent: RecordedAgent {
                id: text(&["agent", "id"]),
                asserted_name: text(&["agent", "asserted_name"]),
                roles: names(&["agent", "roles"]),
                user: at(&["agent", "user"]).map(Cow::into_owned),
            },
            transport: at(&["transports", "agent"]).map(Cow::into_owned),
            upstream: Instance::server_of(&text(&["upstream"])).to_owned(),
            now_ms: at(&["timestamp"])
                .and_then(|time| time.parse::<Timestamp>().ok())
                .map(Timestamp::as_millisecond),
            level: level("before"),
            datasets: has_all.then_some(datasets),
            is_adding: !added.is_empty(),
            is_raising: level("after") > level("before"),
            revision: text(&["revision"]),
            policies: names(&["policies"]),
            arguments: record
                .get("arguments")
                .filter(|it| Body::is_whole(it.text()))
                .map(|it| it.text().to_owned()),
            incomplete: false,
        };
        let agent = &recorded.agent;
        let cut = [
            &recorded.method,
            &recorded.target,
            &agent.id,
            &agent.asserted_name,
            &recorded.upstream,
        ];
        let of_agent = agent.roles.iter().chain(&agent.user);
        let incomplete = cut.into_iter().chain(of_agent).any(|text| is_cut(text))
            || agent.roles.len() > audit::LIST_LIMIT;
        Some(Self::Decided(Box::new(RecordedDecision {
            incomplete,
            ..recorded
        })))
    }
}

/// The number of a level, by the word that records have for it.
fn level_of(name: &str) -> Option<i64> {
    let place = audit::Level::ALL
        .iter()
        .position(|level| level.as_str() == name)?;
    i64::try_from(place).ok()
}

/// Whether the log has shortened a string, or taken a secret out of it.
fn is_cut(text: &str) -> bool {
    text.contains(MARKER) || text.ends_with(Body::CUT)
}

impl RecordedDecision {
    pub(super) fn about(&self) -> String {
        self.asked(&self.target)
    }

    /// What it is about, without the URI of a resource: there are as many as agents like.
    pub(super) fn kind_of_question(&self) -> String {
        let has_name = matches!(self.method.as_str(), "tools/call" | "prompts/get");
        self.asked(if has_name { &self.target } else { "" })
    }

    fn asked(&self, target: &str) -> String {
        let asked = match (self.method.as_str(), target) {
            ("tools/call", tool) => format!("a call of `{tool}`"),
            (method, "") => format!("`{method}`"),
            (method, target) => format!("`{method}` of `{target}`"),
        };
        match self.role {
            RecordRole::Question => asked,
            RecordRole::Reply => format!("the answer to {asked}"),
        }
    }
}
