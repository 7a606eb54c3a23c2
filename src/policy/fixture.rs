//! Facts for tests: a world that each test changes where it matters.

use proptest::prelude::*;

use super::{
    Action, ActionName, Agent, AgentFacts, Arguments, Client, Consent, Decision, Environment,
    Facts, Leaf, ListFacts, PartialRequest, PolicySnapshot, PolicyTrace, Principal, Prompt,
    Received, Resource, ResourceFacts, Server, SessionState, Targets, Tool, UseTime,
};
use super::{MAX_LEVEL, SessionSensitivity};

/// One agent in front of one server.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) agent: Agent,
    pub(crate) server: Server,
    pub(crate) session: SessionState,
    pub(crate) consent: Consent,
    pub(crate) targets: Targets,
    pub(crate) received: Received,
    pub(crate) arguments: Arguments<'static>,
    pub(crate) now_ms: i64,
}

impl World {
    pub(crate) fn new() -> Self {
        let client = Client {
            name: "tester".to_owned(),
            version: "1".to_owned(),
        };
        Self {
            agent: Agent {
                id: "a1".to_owned(),
                client,
                ..Agent::default()
            },
            server: Server {
                name: "files".to_owned(),
                ..Server::default()
            },
            session: SessionState::default(),
            consent: Consent::default(),
            targets: Targets::default(),
            received: Received::default(),
            arguments: Arguments::default(),
            now_ms: 1_795_000_000_000,
        }
    }

    /// Arguments that are all strings.
    pub(crate) fn with(mut self, arguments: &[(&str, &str)]) -> Self {
        let leaf = |text: &str| Leaf::String(text.to_owned().into());
        let leaves = arguments
            .iter()
            .map(|(key, text)| ((*key).to_owned(), leaf(text)));
        self.arguments = Arguments(leaves.collect());
        self
    }

    pub(crate) fn env(&self) -> Environment<'_> {
        Environment {
            server: &self.server,
            transport: "stdio",
            protocol: "2025-11-25",
            now_ms: self.now_ms,
            peer: None,
            session: self.session.clone(),
            consent: self.consent.clone(),
        }
    }

    pub(crate) fn call<'a>(&'a self, tool: &'a Tool) -> Facts<'a> {
        let action = Action::CallTool {
            arguments: &self.arguments,
            targets: &self.targets,
        };
        self.facts(action, Resource::Tool(tool))
    }

    pub(crate) fn facts<'a>(&'a self, action: Action<'a>, resource: Resource<'a>) -> Facts<'a> {
        Facts {
            principal: Principal::Agent(&self.agent),
            action,
            resource,
            env: self.env(),
        }
    }

    /// A question whose context is open: only the agent, the action and the resource are known.
    pub(crate) fn question<'a>(
        &'a self,
        action: ActionName,
        resource: Resource<'a>,
    ) -> PartialRequest<'a> {
        PartialRequest {
            principal: Principal::Agent(&self.agent),
            action,
            resource,
            server: &self.server,
            transport: None,
            level: None,
            datasets: None,
            now_ms: None,
            message: None,
            agent: AgentFacts::Known,
        }
    }

    pub(crate) fn server_facts<'a>(&'a self, action: Action<'a>) -> Facts<'a> {
        Facts {
            principal: Principal::Server(&self.server),
            action,
            resource: Resource::Client(&self.agent.client),
            env: self.env(),
        }
    }
}

pub(crate) fn any_held() -> impl Strategy<Value = SessionSensitivity> {
    let labels = prop::collection::btree_set("[a-d]", 0..4);
    let datasets = prop::collection::btree_set("[a-c?]", 0..4);
    let sources = prop::collection::btree_set("[a-c?]", 0..4);
    let strangers = prop::collection::btree_set("[a-c?]", 0..4);
    let all = (
        0..=MAX_LEVEL,
        labels,
        datasets,
        any::<bool>(),
        sources,
        strangers,
    );
    all.prop_map(
        |(level, labels, datasets, untrusted, sources, untrusted_from)| SessionSensitivity {
            level,
            labels,
            datasets,
            untrusted,
            sources,
            untrusted_from,
        },
    )
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        ..Tool::default()
    }
}

/// `allow`, `deny`, `nothing` or `fault`, with the policies that decided: easy to compare.
pub(crate) fn told(decision: &Decision) -> String {
    let word = match decision {
        Decision::Allow(_) => "allow",
        Decision::Deny(denial) => match denial.cause {
            super::DenialCause::Forbidden => "deny",
            super::DenialCause::NotPermitted => "nothing",
            super::DenialCause::Fault(_) => "fault",
        },
    };
    let ids: Vec<&str> = decision
        .reasons()
        .iter()
        .map(|reason| reason.policy.as_str())
        .collect();
    [&[word], ids.as_slice()].concat().join(" ")
}

/// Each part on its line, with what it came to and what it looked at.
pub(crate) fn told_trace(traced: &PolicyTrace) -> String {
    let mut lines = vec![format!("{} {:?}", traced.outline.id, traced.value)];
    for (part, trace) in traced.parts() {
        let mut depth = 0;
        let mut above = part.parent;
        while let Some(place) = above {
            depth += 1;
            above = traced.outline.parts[place].parent;
        }
        let indent = "  ".repeat(depth);
        let reached = if trace.reached { "" } else { " (not reached)" };
        let text = if part.is_leaf() {
            traced.outline.text(part)
        } else {
            ""
        };
        lines.push(format!(
            "{indent}{:?} {:?}{reached} {text}",
            part.kind, trace.value
        ));
        for sight in &trace.saw {
            let value = sight.value.as_deref().unwrap_or("missing");
            lines.push(format!("{indent}    {} = {value}", sight.what));
        }
    }
    lines.join("\n")
}

/// Of the tools `a` to `d` only the first is listed, and one of the others not because of a fault.
/// Nor is anything that is no tool.
#[track_caller]
pub(crate) fn check_lists_only_a(snapshot: &PolicySnapshot) {
    let world = World::new();
    let list = ListFacts {
        principal: Principal::Agent(&world.agent),
        env: world.env(),
        uses: UseTime::Now,
    };
    let tools = ["a", "b", "c", "d"].map(tool);
    let items: Vec<Resource<'_>> = tools.iter().map(Resource::Tool).collect();
    let listing = snapshot.listing(&list, &items);
    assert_eq!(listing.shown, [true, false, false, false]);
    assert_eq!(listing.faults.len(), 1);
    let (prompt, resource) = (Prompt::default(), ResourceFacts::default());
    let others = [
        Resource::Prompt(&prompt),
        Resource::Resource(&resource),
        Resource::Server(&world.server),
    ];
    assert_eq!(snapshot.visible(&list, &others), [false; 3]);
}
