//! The gate's own policies: what each does, and the key that switches it.

use serde::Serialize;

use crate::policy::PolicySnapshot;

/// A policy that the gate adds to those of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BuiltinPolicy {
    pub id: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The key of the configuration or of labels; `None` if nothing switches it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'static str>,
}

const fn builtin(id: &'static str, key: &'static str, about: &'static str) -> BuiltinPolicy {
    BuiltinPolicy {
        id,
        about,
        key: Some(key),
    }
}

const fn always(id: &'static str, about: &'static str) -> BuiltinPolicy {
    BuiltinPolicy {
        id,
        about,
        key: None,
    }
}

/// All of them.
pub const BUILTIN_POLICIES: [BuiltinPolicy; 26] = [
    always(
        "core.lifecycle",
        "permits the messages that begin, check and end sessions",
    ),
    always(
        "core.results",
        "permits answers of servers; other policies can forbid them",
    ),
    builtin(
        "ratchet.hosts",
        "ratchet.network",
        "limits tools that connect to `ratchet.network.hosts`, from a level on",
    ),
    builtin(
        "builtin.ask_egress",
        "ratchet.network",
        "asks a person about tools that connect, from a level on",
    ),
    builtin(
        "builtin.no_egress",
        "ratchet.network",
        "denies tools that connect, from a level on",
    ),
    builtin(
        "builtin.flow_out",
        "flow.flow_out",
        "denies sessions above a server's `clearance` the use of that server",
    ),
    builtin(
        "builtin.flow_in",
        "flow.flow_in",
        "after untrusted content, denies calls that write or connect, or asks a person",
    ),
    builtin(
        "builtin.evidence",
        "flow.evidence",
        "denies calls that write or connect with pieces of another server's results, or asks a person",
    ),
    builtin(
        "builtin.flow_context",
        "flow.flow_context",
        "denies sampling requests for the context of all servers",
    ),
    builtin(
        "builtin.walls",
        "flow.from",
        "denies sessions behind a wall the use of other servers",
    ),
    builtin(
        "egress",
        "egress",
        "permits started servers the connections that `egress` lists",
    ),
    builtin(
        "base.logging",
        "policy.other_methods",
        "permits agents to set log levels",
    ),
    builtin(
        "base.listen",
        "policy.other_methods",
        "permits agents to listen to notifications",
    ),
    builtin(
        "base.resources",
        "policy.other_methods",
        "permits agents to list, read and subscribe to resources",
    ),
    builtin(
        "base.prompts",
        "policy.other_methods",
        "permits agents to list and get prompts",
    ),
    builtin(
        "base.completion",
        "policy.other_methods",
        "permits agents to complete arguments",
    ),
    builtin(
        "capabilities",
        "capabilities",
        "denies tools that need a capability which the agent lacks",
    ),
    builtin(
        "consent",
        "consent",
        "asks a person about tools with `consent` in `tools.toml`",
    ),
    builtin(
        "sampling.agentic",
        "agentic",
        "denies servers the model of agents without `agentic` in `agents.toml`",
    ),
    builtin(
        "sampling.approved",
        "consent",
        "asks a person about sampling, unless `consent` in `agents.toml` stands",
    ),
    builtin(
        "labels.required",
        "policy.require_labels",
        "hides and denies tools without a `permission` label",
    ),
    builtin(
        "lock.drift",
        "policy.pinning",
        "hides and denies tools whose definition changed",
    ),
    builtin(
        "lock.prompt-drift",
        "policy.pinning",
        "hides and denies prompts whose definition changed",
    ),
    builtin(
        "lock.unapproved",
        "policy.pinning",
        "hides and denies tools that are not approved",
    ),
    builtin(
        "lock.unapproved-prompt",
        "policy.pinning",
        "hides and denies prompts that are not approved",
    ),
    builtin(
        "lock.arguments",
        "policy.pinning",
        "denies arguments that do not fit the types of a locked tool",
    ),
];

/// Those among these policies.
pub fn builtin_policies(snapshot: &PolicySnapshot) -> Vec<BuiltinPolicy> {
    let is_in_force = |builtin: &&BuiltinPolicy| {
        let mut policies = snapshot.policies().iter();
        policies.any(|it| it.id.as_str() == builtin.id && is_own(&it.origin.file))
    };
    BUILTIN_POLICIES
        .iter()
        .filter(is_in_force)
        .copied()
        .collect()
}

/// Files of an operator have other names.
fn is_own(file: &str) -> bool {
    file.starts_with('<')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loading::{EgressReach, EgressRules, FlowRule, FlowRules, egress};
    use crate::policy::{LOCKED_ARGUMENTS, SAMPLING_AGENTIC, SAMPLING_APPROVED, ServerKey};

    #[test]
    fn each_policy_of_the_gate_is_in_the_list_once() {
        let key = |key: &str| ServerKey::of(key).unwrap();
        let network = EgressRules {
            reach: [
                EgressReach::Full,
                EgressReach::Proxied,
                EgressReach::Ask,
                EgressReach::None,
            ],
            hosts: vec!["a.example".to_owned()],
        };
        let flow = FlowRules {
            flow_out: FlowRule::Deny,
            flow_in: FlowRule::Ask,
            flow_context: FlowRule::Deny,
            copied: FlowRule::Deny,
            clearances: [(key("crm"), 0)].into(),
            walls: [(key("crm"), Vec::new())].into(),
        };
        let compiled = [
            network.compiled(),
            flow.compiled(),
            egress::compiled(&["a.example:443".to_owned()]),
        ];
        let compiled = compiled.map(|source| source.unwrap().text.to_string());
        let files = [
            include_str!("../policy/builtin/core.cedar"),
            include_str!("../policy/builtin/base.cedar"),
            include_str!("../policy/builtin/capabilities.cedar"),
            include_str!("../policy/builtin/consent.cedar"),
            include_str!("../policy/builtin/labelled.cedar"),
            include_str!("../policy/builtin/lock.cedar"),
            include_str!("../policy/builtin/approved.cedar"),
            include_str!("../policy/builtin/approved-prompts.cedar"),
        ];
        let texts = compiled.iter().map(String::as_str).chain(files);
        let ids = texts.flat_map(str::lines).filter_map(|line| {
            let id = line.strip_prefix("@id(\"")?;
            id.strip_suffix("\")")
        });
        let in_code = [LOCKED_ARGUMENTS, SAMPLING_AGENTIC, SAMPLING_APPROVED];
        let mut ids: Vec<&str> = ids.chain(in_code).collect();
        let mut listed: Vec<&str> = BUILTIN_POLICIES.iter().map(|it| it.id).collect();
        ids.sort_unstable();
        listed.sort_unstable();
        assert_eq!(ids, listed);
    }
}
