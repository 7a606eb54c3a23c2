//! `[flow]`: what may flow from one of several servers to another.

use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::settings::{Config, Flow, Servers};
use crate::gate::{Evidence, QuestionsAgain};
use crate::loading::{EgressReach, FlowRule, FlowRules};
use crate::policy::suggest::{did_you_mean, list};
use crate::policy::{LEVELS, ServerKey};

const RULES: [(&str, FlowRule); 3] = [
    ("off", FlowRule::Off),
    ("ask", FlowRule::Ask),
    ("deny", FlowRule::Deny),
];

const AGAIN: [(&str, QuestionsAgain); 2] = [
    ("always", QuestionsAgain::Always),
    ("once_per_destination", QuestionsAgain::OncePerDestination),
];

const EVIDENCE: [(&str, (Evidence, FlowRule)); 4] = [
    ("off", (Evidence::Off, FlowRule::Off)),
    ("record", (Evidence::Kept, FlowRule::Off)),
    ("ask", (Evidence::Kept, FlowRule::Ask)),
    ("deny", (Evidence::Kept, FlowRule::Deny)),
];

const NO_SERVER: ConfigReason = ConfigReason::Invalid("names no server");

pub(super) fn flow(mut section: ConfigSection<'_, '_>, servers: &Servers) -> Flow {
    // Of one server, nothing flows to another.
    let by_default = |rule| {
        if servers.is_empty() {
            FlowRule::Off
        } else {
            rule
        }
    };
    let (evidence, copied) = section.one_of("evidence", &EVIDENCE).unwrap_or_default();
    if servers.is_empty() && evidence != Evidence::Off {
        let reason = ConfigReason::Invalid("needs several servers");
        let help = "remove it: there is one server, and results come back to that alone";
        section.refuse("evidence", reason, Some(help));
    }
    let clearances = servers.iter();
    let clearances = clearances.map(|(key, server)| (key.clone(), server.facts.clearance));
    let mut flow = Flow {
        rules: FlowRules {
            flow_out: section.one_of("flow_out", &RULES).unwrap_or(FlowRule::Deny),
            flow_in: section
                .one_of("flow_in", &RULES)
                .unwrap_or(by_default(FlowRule::Ask)),
            flow_context: section
                .one_of("flow_context", &RULES)
                .unwrap_or(by_default(FlowRule::Deny)),
            copied,
            clearances: clearances.collect(),
            ..FlowRules::default()
        },
        ask: section.one_of("ask", &AGAIN).unwrap_or_default(),
        evidence,
    };
    let mut from = section.section("from");
    for field in from.entries() {
        let server = one_of(field.key, servers);
        if let Err(help) = &server {
            from.tell(&field, NO_SERVER, Some(help));
        }
        let Some(mut wall) = from.table_in(&field) else {
            continue;
        };
        let help = "list keys of servers, as in `to = [\"tickets\"]`";
        let mut to = Vec::new();
        for field in wall.items("to", help).unwrap_or_default() {
            let text = wall.text(&field).map(|text| text.value);
            match text.map(|text| one_of(&text, servers)) {
                Some(Err(help)) => wall.tell(&field, NO_SERVER, Some(&help)),
                Some(Ok(key)) => to.push(key),
                None => {}
            }
        }
        if !wall.has("to") {
            wall.require("to", ConfigReason::Required, help);
        }
        wall.finish();
        flow.rules
            .walls
            .extend(server.ok().map(|server| (server, to)));
    }
    section.finish();
    flow
}

/// Where a rule asks a person, people can be asked.
pub(super) fn needs_consent(root: &mut ConfigSection<'_, '_>, config: &Config) {
    if config.consent.is_some() {
        return;
    }
    let reason = || ConfigReason::Suspicious("asks a person, and no section `[consent]` says how");
    let help = "add `[consent]` with `channels`, or deny";
    let rules = &config.flow.rules;
    let rules = [
        ("flow_out", rules.flow_out),
        ("flow_in", rules.flow_in),
        ("flow_context", rules.flow_context),
        ("evidence", rules.copied),
    ];
    for (key, rule) in rules {
        let mut section = root.section("flow");
        if rule == FlowRule::Ask && section.has(key) {
            section.refuse(key, reason(), Some(help));
        }
    }
    for ((level, _), reach) in LEVELS.into_iter().zip(config.policy.network.reach) {
        let mut ratchet = root.section("ratchet");
        let mut section = ratchet.section("network");
        if reach == EgressReach::Ask && section.has(level) {
            section.refuse(level, reason(), Some(help));
        }
    }
}

/// The server that a text names, which a wall or a view needs.
pub(super) fn one_of(text: &str, servers: &Servers) -> Result<ServerKey, String> {
    if let Some((key, _)) = servers.iter().find(|(key, _)| key.as_str() == text) {
        return Ok(key.clone());
    }
    let keys = || servers.keys().map(ServerKey::as_str);
    let known = format!("the servers are {}", list(keys()));
    Err(match did_you_mean(text, keys()) {
        _ if servers.is_empty() => "there are no `[servers]`".to_owned(),
        Some(question) => format!("{question} {known}"),
        None => known,
    })
}
