//! What the host says of agents and tools, beside the rules: who has which role, what a tool does.
//!
//! Labels are part of a revision. Facts name an agent and a tool; the snapshot adds what the host
//! says of them, so that every question is asked with the same labels, whoever asks it. What a
//! server says of its own tools is never read here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

use url::{Host, Url};

use super::action::Action;
use super::engine::ListFacts;
use super::facts::{
    Agent, Arguments, Facts, Hints, Leaf, Permissions, Principal, Resource, Tool, Touch,
};

/// What stands in `touch.hosts` for something that should name a host and does not.
///
/// It is no host name, so that no list of hosts that a policy permits contains it.
pub const UNREADABLE_HOST: &str = "?";

/// Everything that the host says.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    /// By exact name.
    pub tools: HashMap<String, ToolLabels>,
    /// Of tools that have none.
    pub unlabelled: ToolLabels,
    /// By the gate's own id of the agent.
    pub agents: HashMap<String, AgentLabels>,
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
    /// JSON pointers of arguments that are URLs.
    pub urls: Vec<String>,
    /// JSON pointers of arguments that are host names or addresses.
    pub hosts: Vec<String>,
}

/// What the host says of an agent, the roles of its teams included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentLabels {
    pub roles: Vec<String>,
    pub teams: Vec<String>,
    pub user: Option<String>,
    pub trust: Option<i64>,
}

/// Facts with what the host says, where it says anything.
#[derive(Debug)]
pub(super) struct Labelled {
    tool: Option<Tool>,
    agent: Option<Agent>,
    touch: Option<Touch>,
}

impl Labels {
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.agents.is_empty() && self.unlabelled == ToolLabels::default()
    }

    fn of_tool(&self, name: &str) -> &ToolLabels {
        self.tools.get(name).unwrap_or(&self.unlabelled)
    }

    /// The tool as the host describes it.
    pub(super) fn tool(&self, tool: &Tool) -> Tool {
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
            pin: tool.pin,
        }
    }

    /// The agent as the host describes it, and as its session has proven itself; `None` if the host
    /// says nothing of it.
    pub fn agent(&self, agent: &Agent) -> Option<Agent> {
        let labels = self.agents.get(&agent.id)?;
        let mut agent = agent.clone();
        join(&mut agent.roles, &labels.roles);
        join(&mut agent.teams, &labels.teams);
        agent.user = agent.user.or_else(|| labels.user.clone());
        agent.trust = labels.trust.unwrap_or(agent.trust);
        Some(agent)
    }

    pub(super) fn on(&self, facts: &Facts<'_>) -> Labelled {
        let tool = match facts.resource {
            Resource::Tool(tool) => Some(self.tool(tool)),
            Resource::Resource(_)
            | Resource::Prompt(_)
            | Resource::Server(_)
            | Resource::Client(_) => None,
        };
        let touch = match (&tool, facts.action) {
            (Some(tool), Action::CallTool { arguments, touch }) => {
                self.of_tool(&tool.name).touch(arguments, touch)
            }
            _ => None,
        };
        Labelled {
            tool,
            agent: self.principal(facts.principal),
            touch,
        }
    }

    /// Who looks at a list.
    pub(super) fn viewer(&self, facts: &ListFacts<'_>) -> Option<Agent> {
        self.principal(facts.principal)
    }

    fn principal(&self, principal: Principal<'_>) -> Option<Agent> {
        match principal {
            Principal::Agent(agent) => self.agent(agent),
            Principal::Server(_) => None,
        }
    }
}

impl Labelled {
    pub(super) fn facts<'a>(&'a self, facts: &Facts<'a>) -> Facts<'a> {
        let mut facts = facts.clone();
        if let Some(tool) = &self.tool {
            facts.resource = Resource::Tool(tool);
        }
        if let Some(agent) = &self.agent {
            facts.principal = Principal::Agent(agent);
        }
        if let (Some(touch), Action::CallTool { arguments, .. }) = (&self.touch, facts.action) {
            facts.action = Action::CallTool { arguments, touch };
        }
        facts
    }
}

impl ToolLabels {
    /// What the arguments reach for; `None` if no label says where to look.
    fn touch(&self, arguments: &Arguments<'_>, touch: &Touch) -> Option<Touch> {
        if self.urls.is_empty() && self.hosts.is_empty() {
            return None;
        }
        let mut touch = touch.clone();
        let mut find = |pointers: &[String], host: fn(&str) -> Option<String>| {
            for text in pointers
                .iter()
                .flat_map(|pointer| texts(arguments, pointer))
            {
                let host = text.as_deref().and_then(host);
                let host = host.unwrap_or_else(|| UNREADABLE_HOST.to_owned());
                if !touch.hosts.contains(&host) {
                    touch.hosts.push(host);
                }
            }
        };
        find(&self.urls, host_of_url);
        find(&self.hosts, host);
        touch.hosts.sort();
        Some(touch)
    }
}

/// The texts at a pointer and below it; `None` for what is there and is no text.
fn texts<'a>(arguments: &'a Arguments<'a>, pointer: &str) -> Vec<Option<Cow<'a, str>>> {
    let below = |name: &str| {
        let rest = name.strip_prefix(pointer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let leaves = arguments.0.iter().filter(|(name, _)| below(name));
    leaves
        .filter_map(|(_, leaf)| match leaf {
            Leaf::String(text) => Some(Some(Cow::Borrowed(&**text))),
            // Its items are leaves of their own.
            Leaf::Strings(_) | Leaf::Mixed | Leaf::EmptyArray | Leaf::EmptyObject => None,
            Leaf::Number(_) | Leaf::Bool(_) | Leaf::Null => Some(None),
        })
        .collect()
}

/// As the WHATWG URL standard reads it, which is how clients of HTTP do: lower case, Punycode,
/// addresses in one spelling.
///
/// `None` for what other readers of URLs (RFC 3986) find another host in: they do not take `\` for
/// `/`, and do not drop white space, as that standard does.
fn host_of_url(text: &str) -> Option<String> {
    let ambiguous = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    if text.contains(ambiguous) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    Some(spelled(&url.host()?.to_owned()))
}

fn host(text: &str) -> Option<String> {
    Some(spelled(&Host::parse(text).ok()?))
}

/// An IPv4 address in IPv6 is the IPv4 address, which filters would miss; a name without the dot of
/// the root.
fn spelled(host: &Host<String>) -> String {
    match host {
        // Of schemes that the standard does not know, names come as they are written.
        Host::Domain(name) => {
            let name = name.to_ascii_lowercase();
            name.strip_suffix('.').unwrap_or(&name).to_owned()
        }
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => IpAddr::V6(*address).to_canonical().to_string(),
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
    use super::super::fixture::World;
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

    #[test]
    fn hosts_are_found_where_labels_say_and_spelled_in_one_way() {
        let check = |argument: (&str, &str), hosts: &[&str]| {
            let world = World::new().with(&[argument]);
            let labels = ToolLabels {
                urls: vec!["/url".to_owned()],
                hosts: vec!["/host".to_owned()],
                ..ToolLabels::default()
            };
            let touch = labels.touch(&world.arguments, &world.touch).unwrap();
            assert_eq!(touch.hosts, hosts, "{argument:?}");
        };
        check(
            ("/url", "https://Docs.Example.com:8080/a?b"),
            &["docs.example.com"],
        );
        check(
            ("/url", "https://docs.example.com@evil.com/"),
            &["evil.com"],
        );
        check(("/url", "https://docs.example.com\\@evil.com/"), &["?"]);
        check(("/url", "http://127.1/"), &["127.0.0.1"]);
        check(("/url", "http://2130706433/"), &["127.0.0.1"]);
        check(("/url", "http://[::ffff:10.0.0.1]/"), &["10.0.0.1"]);
        check(("/url", "http://evil.com./"), &["evil.com"]);
        check(
            ("/url", "http://b\u{fc}cher.example/"),
            &["xn--bcher-kva.example"],
        );
        check(("/url/0", "http://a.com/"), &["a.com"]);
        check(("/url", "file:///etc/passwd"), &["?"]);
        check(("/url", "data:text/plain,x"), &["?"]);
        check(("/url", "not a url"), &["?"]);
        check(("/url", "https://docs.exa\tmple.com/"), &["?"]);
        check(("/url", " https://docs.example.com/"), &["?"]);
        check(("/url", "gopher://EVIL.com/"), &["evil.com"]);
        check(("/host", "EVIL.com."), &["evil.com"]);
        check(("/host", "[::1]"), &["::1"]);
        check(("/host", "a b"), &["?"]);
        check(("/urls", "http://a.com/"), &[]);
        check(("/other", "http://a.com/"), &[]);
    }

    fn tool(name: &str) -> Tool {
        super::super::fixture::tool(name)
    }
}
