//! What the host says of agents and tools, beside the rules: who has which role, what a tool does.
//!
//! Labels are part of a revision. Facts name an agent and a tool; the snapshot adds what the host
//! says of them, so that every question is asked with the same labels, for every caller. What a
//! server says of its own tools is never read here.

mod base;
mod canonical;
mod data_labels;
mod datasets_by;
mod destinations;
mod holder;
mod hosts;
mod links;
mod outside_roots;
mod resources;
mod roots;
mod server_sets;
mod targets;
mod templates;
mod virtual_paths;

use std::collections::{BTreeSet, HashMap};

pub use base::{Base, BaseProblem};
pub use canonical::{CanonicalPathError, CanonicalPaths};
pub use datasets_by::DatasetsBy;
pub use destinations::{
    ApprovedDestination, Destination, DestinationSyntax, UNREADABLE_DESTINATION,
};
pub use holder::Holder;
pub use hosts::{UNREADABLE_HOST, host_in, host_named, page_host};
pub use links::{opened_as, spelled_like};
pub use resources::{ResourceLabels, ResourceProblem, Resources};
pub use roots::{Root, RootProblem, Roots};
pub use server_sets::ServerSet;
pub use templates::{AllOwnDirectories, OwnDirectory, TemplateProblem};
pub use virtual_paths::VirtualPathError;

use super::action::Action;
use super::claims::TokenGrants;
use super::facts::{
    Agent, ConsentRule, ExtensionMethod, Facts, Hints, Permissions, Principal, Prompt, Resource,
    ResourceFacts, SamplingTerms, StandingConsent, Tool,
};
use super::message_facts::Targets;
use super::server_key::ServerKey;

/// Everything that the host says.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    /// By exact name.
    pub tools: HashMap<String, ToolLabels>,
    /// Of tools that have none.
    pub unlabelled: ToolLabels,
    /// The same where it differs at one of several servers.
    pub unlabelled_at: HashMap<ServerKey, ToolLabels>,
    /// By the gate's own id of the agent.
    pub agents: HashMap<String, AgentLabels>,
    /// The capabilities that each role brings, the narrower ones included.
    pub roles: HashMap<String, Vec<String>>,
    /// The servers that each role leaves its agents.
    pub role_servers: HashMap<String, ServerSet>,
    /// The roles whose agents' models may work for servers.
    pub agentic_roles: BTreeSet<String>,
    pub roots: Roots,
    pub resources: Resources,
    /// The groups of each prompt, by exact name.
    pub prompts: HashMap<String, Vec<String>>,
    /// Tools of the allowlist beside the policies, by exact name.
    pub allowed: BTreeSet<String>,
    /// The capabilities that tools need: a wide one that a token grants brings the narrower of them.
    pub needed: BTreeSet<String>,
    /// What tokens grant by themselves.
    pub tokens: TokenGrants,
    /// From which level of a session on no call of a tool that connects can be permitted.
    pub closed_from: Option<i64>,
    /// Whether what is read at another server may raise it.
    pub raised_elsewhere: bool,
}

/// What the host says of a tool. The default is the worst case: it writes and connects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolLabels {
    pub permissions: Permissions,
    /// Dotted names; `fs.write` is also `fs`.
    pub capabilities: Vec<String>,
    /// 0 public, 1 internal, 2 confidential, 3 secret.
    pub level: i64,
    /// Whether what it changes may be lost; by default it may, if the tool writes.
    pub destructive: Option<bool>,
    pub idempotent: bool,
    /// JSON pointers of arguments that are URLs. In these, and in those below, `*` stands for each item of an
    /// array and each member of an object.
    pub urls: Vec<String>,
    /// JSON pointers of arguments that are host names or addresses.
    pub hosts: Vec<String>,
    /// JSON pointers of arguments that are paths, or URIs of files; `None` if no label says which
    /// are.
    pub paths: Option<Vec<String>>,
    /// The directory from which the server resolves relative paths; without one they lie outside of every
    /// root.
    pub base: Option<Base>,
    pub groups: Vec<String>,
    pub consent: ConsentRule,
    /// What kinds of data its answers hold, for example `pii`.
    pub labels: Vec<String>,
    /// Private data sets that its answers hold.
    pub datasets: Vec<String>,
    /// Those that its arguments select.
    pub datasets_by: Vec<DatasetsBy>,
    /// Whether others write what it answers; by default, if it connects.
    pub untrusted: Option<bool>,
    /// The arguments that name where a call sends something, with what is approved.
    pub destinations: Vec<Destination>,
}

/// What the host says of an agent, the roles of its teams included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentLabels {
    pub roles: Vec<String>,
    pub teams: Vec<String>,
    pub user: Option<String>,
    pub trust: Option<i64>,
    /// Those that are granted, the narrower ones included.
    pub capabilities: Vec<String>,
    /// Those that it may use, of several.
    pub servers: ServerSet,
    pub sampling: SamplingTerms,
    /// `agentic = false`: also where a role says otherwise.
    pub is_never_agentic: bool,
}

/// Facts with what the host says, where it says anything.
#[derive(Debug)]
pub(super) struct LabelledFacts {
    item: Option<LabelledItem>,
    agent: Option<Agent>,
    targets: Option<Targets>,
}

/// What an action is done to, with what the host says of it.
#[derive(Debug)]
pub(super) enum LabelledItem {
    Tool(Tool),
    Resource(ResourceFacts),
    Prompt(Prompt),
    Method(ExtensionMethod),
}

impl Labels {
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.agents.is_empty()
            && self.roles.is_empty()
            && self.role_servers.is_empty()
            && self.roots.is_empty()
            && self.resources.is_empty()
            && self.prompts.is_empty()
            && self.unlabelled == ToolLabels::default()
            && self.unlabelled_at.is_empty()
    }

    /// What a tool may do.
    pub fn permissions(&self, tool: &str) -> Permissions {
        self.of_tool(tool).permissions
    }

    /// The capabilities that a call of a tool needs.
    pub fn capabilities(&self, tool: &str) -> &[String] {
        &self.of_tool(tool).capabilities
    }

    /// Whether no call of a tool can be permitted any more, since a session has this level.
    pub fn closes(&self, tool: &str, level: i64) -> bool {
        let labels = self.of_tool(tool);
        self.closed_from.is_some_and(|closed| level >= closed)
            && labels.permissions.connect
            && labels.destinations.is_empty()
    }

    /// Whether anything that is read may raise the level of a session.
    pub fn raise_levels(&self) -> bool {
        let mut tools = self.all_tools();
        self.raised_elsewhere
            || !self.roots.is_empty()
            || !self.resources.is_empty()
            || tools.any(|tool| tool.level > 0)
    }

    /// The JSON pointers of a tool's arguments that are paths, as far as they are known.
    pub fn path_pointers(&self, tool: &str) -> &[String] {
        self.of_tool(tool).paths.as_deref().unwrap_or_default()
    }

    /// The JSON pointers of all arguments of a tool that the host says something of.
    pub fn argument_pointers(&self, tool: &str) -> impl Iterator<Item = &str> {
        let labels = self.of_tool(tool);
        let paths = labels.paths.iter().flatten();
        let by = labels.datasets_by.iter().map(|by| &by.pointer);
        let all = labels.urls.iter().chain(&labels.hosts).chain(paths);
        all.chain(by).map(String::as_str)
    }

    /// What is said of a tool by this name.
    pub fn of_tool(&self, name: &str) -> &ToolLabels {
        let of_server = || {
            let mut all = self.unlabelled_at.iter();
            all.find_map(|(key, labels)| key.name_in(name).map(|_| labels))
        };
        let own = self.tools.get(name).or_else(of_server);
        own.unwrap_or(&self.unlabelled)
    }

    /// What is said of any tool, and of those without labels.
    pub fn all_tools(&self) -> impl Iterator<Item = &ToolLabels> {
        let unlabelled = [&self.unlabelled].into_iter();
        let tools = self.tools.values().chain(unlabelled);
        tools.chain(self.unlabelled_at.values())
    }

    /// The tool as the host describes it.
    fn tool(&self, tool: &Tool) -> Tool {
        let labels = self.of_tool(&tool.name);
        let permissions = labels.permissions;
        Tool {
            name: tool.name.clone(),
            hints: Hints {
                read_only: !permissions.write,
                destructive: labels.destructive.unwrap_or(permissions.write),
                idempotent: labels.idempotent,
                open_world: permissions.connect,
            },
            level: labels.level,
            capabilities: labels.capabilities.clone(),
            permissions,
            groups: labels.groups.clone(),
            consent: labels.consent,
            pin: tool.pin,
            flags: tool.flags.clone(),
        }
    }

    /// `None` for what the host says nothing of.
    pub(super) fn item(&self, item: Resource<'_>) -> Option<LabelledItem> {
        match item {
            Resource::Tool(tool) => Some(LabelledItem::Tool(self.tool(tool))),
            Resource::Resource(facts) => self
                .resources
                .describe(&self.roots, facts)
                .map(LabelledItem::Resource),
            Resource::Prompt(prompt) => {
                let groups = self.prompts.get(&prompt.name)?.clone();
                Some(LabelledItem::Prompt(Prompt {
                    groups,
                    ..(*prompt).clone()
                }))
            }
            Resource::Method(method) => Some(LabelledItem::Method(ExtensionMethod {
                name: method.name.clone(),
                level: self.unlabelled.level,
                capabilities: self.unlabelled.capabilities.clone(),
                permissions: self.unlabelled.permissions,
            })),
            Resource::Server(_) | Resource::Client(_) | Resource::Host(_) => None,
        }
    }

    /// The agent as the host describes it, and as its session has proven itself; `None` if the host
    /// says nothing of it.
    pub fn agent(&self, agent: &Agent) -> Option<Agent> {
        let labels = self.agents.get(&agent.id);
        if labels.is_none() && self.roles.is_empty() && agent.capabilities.is_empty() {
            return None;
        }
        let mut agent = agent.clone();
        self.widen(&mut agent.capabilities);
        if let Some(labels) = labels {
            join(&mut agent.roles, &labels.roles);
            join(&mut agent.teams, &labels.teams);
            join(&mut agent.capabilities, &labels.capabilities);
            agent.user = agent.user.or_else(|| labels.user.clone());
            agent.trust = labels.trust.unwrap_or(agent.trust);
            agent.sampling.clone_from(&labels.sampling);
        }
        let mut roles = agent.roles.iter();
        if labels.is_none_or(|labels| !labels.is_never_agentic) {
            agent.sampling.agentic |= roles.any(|role| self.agentic_roles.contains(role));
        }
        let grants = agent.roles.iter().filter_map(|role| self.roles.get(role));
        for granted in grants {
            join(&mut agent.capabilities, granted);
        }
        Some(agent)
    }

    /// Adds the narrower capabilities that tools need: `fs` brings the `fs.write` of a tool.
    pub fn widen(&self, granted: &mut Vec<String>) {
        if granted.is_empty() {
            return;
        }
        let is_narrower = |name: &&String| {
            granted.iter().any(|wide| {
                let rest = name.strip_prefix(wide.as_str());
                rest.is_some_and(|rest| rest.starts_with('.'))
            })
        };
        let mut narrow: Vec<String> = self.needed.iter().filter(is_narrower).cloned().collect();
        granted.append(&mut narrow);
        granted.sort();
        granted.dedup();
    }

    /// When a human has to agree to a call of this tool.
    pub fn consent(&self, tool: &str) -> ConsentRule {
        self.of_tool(tool).consent
    }

    pub(super) fn on(&self, facts: &Facts<'_>) -> LabelledFacts {
        let targets = match (facts.resource, facts.action) {
            (Resource::Tool(tool), Action::CallTool { arguments, targets }) => Some(
                self.of_tool(&tool.name)
                    .targets(&self.roots, arguments, targets),
            ),
            (Resource::Method(_), Action::Extension { arguments, targets }) => {
                Some(self.unlabelled.targets(&self.roots, arguments, targets))
            }
            _ => None,
        };
        LabelledFacts {
            item: self.item(facts.resource),
            agent: if let Action::Sample { agent, .. } = facts.action {
                self.sampled(agent, facts.env.now_ms)
            } else {
                self.described(facts.principal)
            },
            targets,
        }
    }

    /// The agent whose model a server asks for. An approval that has ended is none.
    fn sampled(&self, agent: &Agent, now_ms: i64) -> Option<Agent> {
        let mut agent = self.agent(agent)?;
        let standing = agent.sampling.standing.take();
        agent.sampling.standing = standing.filter(|it| it.holds_at(now_ms));
        Some(agent)
    }

    pub(super) fn described(&self, principal: Principal<'_>) -> Option<Agent> {
        match principal {
            Principal::Agent(agent) => self.agent(agent),
            Principal::Server(_) => None,
        }
    }
}

impl LabelledFacts {
    /// The standing approval of a sample.
    pub(super) fn standing(self) -> Option<StandingConsent> {
        self.agent?.sampling.standing
    }

    pub(super) fn touched(self) -> Option<Targets> {
        self.targets
    }

    pub(super) fn targets(&self) -> Option<&Targets> {
        self.targets.as_ref()
    }

    pub(super) fn reach(&mut self, targets: Targets) {
        self.targets = Some(targets);
    }

    pub(super) fn facts<'a>(&'a self, facts: &Facts<'a>) -> Facts<'a> {
        let mut facts = facts.clone();
        if let Some(item) = &self.item {
            facts.resource = item.resource();
        }
        match (&self.agent, &mut facts.action) {
            (Some(described), Action::Sample { agent, .. }) => *agent = described,
            (Some(agent), _) => facts.principal = Principal::Agent(agent),
            (None, _) => {}
        }
        match (&self.targets, facts.action) {
            (Some(targets), Action::CallTool { arguments, .. }) => {
                facts.action = Action::CallTool { arguments, targets };
            }
            (Some(targets), Action::Extension { arguments, .. }) => {
                facts.action = Action::Extension { arguments, targets };
            }
            _ => {}
        }
        facts
    }
}

impl LabelledItem {
    pub(super) fn resource(&self) -> Resource<'_> {
        match self {
            Self::Tool(tool) => Resource::Tool(tool),
            Self::Resource(facts) => Resource::Resource(facts),
            Self::Prompt(prompt) => Resource::Prompt(prompt),
            Self::Method(method) => Resource::Method(method),
        }
    }
}

fn join(own: &mut Vec<String>, more: &[String]) {
    for name in more {
        if !own.contains(name) {
            own.push(name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_nobody_labelled_is_the_worst_case() {
        let tool = Labels::default().tool(&tool("t"));
        assert_eq!(tool, super::super::fixture::tool("t"));
        assert!(tool.hints.destructive && tool.hints.open_world && !tool.hints.read_only);
    }

    #[test]
    fn labels_say_what_a_tool_does() {
        let check = |read, write, connect, hints: [bool; 3]| {
            let labels = ToolLabels {
                permissions: Permissions {
                    read,
                    write,
                    connect,
                },
                ..ToolLabels::default()
            };
            let labels = Labels {
                tools: HashMap::from([("t".to_owned(), labels)]),
                ..Labels::default()
            };
            let Hints {
                read_only,
                destructive,
                open_world,
                ..
            } = labels.tool(&tool("t")).hints;
            assert_eq!([read_only, destructive, open_world], hints);
        };
        check(true, false, false, [true, false, false]);
        check(false, true, false, [false, true, false]);
        check(false, false, true, [true, false, true]);
        check(true, true, true, [false, true, true]);
    }

    #[test]
    fn an_agent_has_what_the_host_and_its_session_say() {
        let claude = AgentLabels {
            roles: vec!["writer".to_owned(), "reader".to_owned()],
            teams: vec!["payments".to_owned()],
            user: Some("alice".to_owned()),
            trust: Some(2),
            ..AgentLabels::default()
        };
        let labels = Labels {
            agents: HashMap::from([("claude".to_owned(), claude)]),
            ..Labels::default()
        };
        let agent = Agent {
            id: "claude".to_owned(),
            roles: vec!["reader".to_owned()],
            user: Some("bob".to_owned()),
            ..Agent::default()
        };
        let agent = labels.agent(&agent).unwrap();
        assert_eq!(agent.roles, ["reader", "writer"]);
        assert_eq!(agent.teams, ["payments"]);
        // What was proven stands.
        assert_eq!(agent.user.as_deref(), Some("bob"));
        assert_eq!(agent.trust, 2);
        assert_eq!(labels.agent(&Agent::default()), None);
    }

    fn tool(name: &str) -> Tool {
        super::super::fixture::tool(name)
    }
}
