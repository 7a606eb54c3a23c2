//! What a list shows, and whether an engine failed over it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::policy::{
    Agent, Environment, ListFacts, Lock, PolicySnapshot, Principal, Prompt, Resource,
    ResourceFacts, Server, SessionSensitivity, SessionState, Tool, UseTime,
};
use crate::session::Established;
use crate::wire::{Fragment, KnownMethod, Limits, Message, Value};

use super::changed_definitions::ChangedDefinition;
use super::fixture::ServerLists;
use super::fixture_words::ListKind;
use super::lines::{PROTOCOL, TRANSPORT};

/// What the gate sees when it decides what a list shows.
pub(super) struct ListingFacts {
    pub(super) agent: Arc<Agent>,
    pub(super) now_ms: i64,
    pub(super) calls: i64,
    pub(super) started_ms: i64,
    pub(super) held: Arc<SessionSensitivity>,
    pub(super) established: Arc<Established>,
}

/// The lists of the upstream as it sends them; made once, since every test may need them.
pub(super) struct ServerCatalog {
    /// Their definitions by name.
    called: HashMap<String, Fragment>,
    prompted: Vec<(String, Fragment)>,
    /// In their order.
    names: Vec<String>,
    tools: Fragment,
    prompts: Fragment,
    resources: Fragment,
}

impl ServerCatalog {
    /// Tools and prompts are defined as the lock says, where it says anything.
    pub(super) fn new(offers: &ServerLists, lock: &Lock) -> Self {
        let list = |list| Fragment::array(offers.of(list).iter().map(|name| item(list, name)));
        let tool = |name: &String| {
            let locked = lock.tool(name);
            let locked = locked.and_then(|tool| Fragment::decode(&tool.definition).ok());
            let described = || described(name, offers.descriptions.get(name));
            (name.clone(), locked.unwrap_or_else(described))
        };
        let prompt = |name: &String| {
            let locked = lock.words().and_then(|words| words.prompts.get(name));
            let locked = locked.and_then(|prompt| Fragment::decode(&prompt.definition).ok());
            let item = || item(ListKind::Prompts, name);
            (name.clone(), locked.unwrap_or_else(item))
        };
        let called: Vec<(String, Fragment)> = offers.tools.iter().map(tool).collect();
        let prompted: Vec<(String, Fragment)> = offers.prompts.iter().map(prompt).collect();
        let all = |defined: &[(String, Fragment)]| {
            Fragment::array(defined.iter().map(|(_, definition)| definition.clone()))
        };
        Self {
            tools: all(&called),
            names: offers.tools.clone(),
            called: called.into_iter().collect(),
            prompts: all(&prompted),
            prompted,
            resources: list(ListKind::Resources),
        }
    }

    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.called.contains_key(name)
    }

    /// A list, where these definitions have changed.
    pub(super) fn of(&self, list: ListKind, changed: &ChangedDefinition) -> Fragment {
        match list {
            ListKind::Tools if !changed.is_empty() => {
                Fragment::array(self.names.iter().map(|name| self.tool(name, changed)))
            }
            ListKind::Prompts if !changed.is_empty() => {
                let prompts = self.prompted.iter().map(|(name, defined)| {
                    let other = changed.definition(list, name, defined);
                    other.unwrap_or_else(|| defined.clone())
                });
                Fragment::array(prompts)
            }
            ListKind::Tools => self.tools.clone(),
            ListKind::Prompts => self.prompts.clone(),
            ListKind::Resources => self.resources.clone(),
        }
    }

    /// A list of these tools, each once. What no message of a test can tell is left out: with
    /// thousands of names in a suite, the others would cost more than all that is tested.
    pub(super) fn of_calls<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        changed: &ChangedDefinition,
    ) -> Fragment {
        let names: BTreeSet<&String> = names.collect();
        Fragment::array(names.into_iter().map(|name| self.tool(name, changed)))
    }

    fn tool(&self, name: &str, changed: &ChangedDefinition) -> Fragment {
        let known = self.called.get(name).cloned();
        let known = known.unwrap_or_else(|| item(ListKind::Tools, name));
        let other = changed.definition(ListKind::Tools, name, &known);
        other.unwrap_or(known)
    }
}

/// The tool that a message calls.
pub(super) fn called_tool(message: &Message) -> Option<String> {
    if message.method()?.known()? != KnownMethod::ToolsCall {
        return None;
    }
    let name = message.params()?.get("name").and_then(Value::as_str)?;
    Some(name.into_owned())
}

/// A tool that says this of itself.
fn described(name: &str, description: Option<&String>) -> Fragment {
    let schema = Fragment::object([("type", Fragment::string("object"))]);
    let mut members = vec![("name", Fragment::string(name))];
    members.extend(description.map(|text| ("description", Fragment::string(text))));
    members.push(("inputSchema", schema));
    Fragment::object(members)
}

/// The least that an item must have.
fn item(list: ListKind, name: &str) -> Fragment {
    let name = Fragment::string(name);
    let schema = || Fragment::object([("type", Fragment::string("object"))]);
    Fragment::object(match list {
        ListKind::Tools => vec![("name", name), ("inputSchema", schema())],
        ListKind::Prompts => vec![("name", name)],
        ListKind::Resources => vec![("uri", name.clone()), ("name", name)],
    })
}

/// The items of a list that was delivered; nothing when it is no list.
pub(super) fn names(line: &str, list: ListKind) -> Option<Vec<String>> {
    let message = Message::decode(line.as_bytes(), &Limits::default()).ok()?;
    let items = message.result()?.get(list.member())?;
    let name = |item: Value<'_>| Some(item.get(list.key())?.as_str()?.into_owned());
    items.items().map(name).collect()
}

/// The engine's fault, if one hid an item. The gate hides the item and does not say so in its
/// record, so the question is asked once more, of the same policies and with the same facts.
pub(super) fn fault(
    server: &Server,
    offers: &ServerLists,
    snapshot: &PolicySnapshot,
    sight: &ListingFacts,
    list: ListKind,
    changed: &ChangedDefinition,
) -> Option<String> {
    let established = &sight.established;
    let env = Environment {
        server,
        transport: TRANSPORT,
        protocol: PROTOCOL,
        now_ms: sight.now_ms,
        peer: None,
        session: SessionState::of(&sight.held, sight.calls, sight.started_ms),
        consent: established.consent.clone(),
    };
    let facts = ListFacts {
        principal: Principal::Agent(&sight.agent),
        env,
        uses: UseTime::Now,
    };
    let names = offers.of(list).iter().cloned();
    let ask = |items: &[Resource<'_>]| {
        let faults = snapshot.listing(&facts, items).faults;
        faults.into_iter().min().map(|fault| fault.to_string())
    };
    match list {
        ListKind::Tools => {
            let lock = snapshot.lock();
            let tool = |name: String| Tool {
                pin: changed.pin(list, &name, lock.unchanged(&name)),
                name,
                ..Tool::default()
            };
            let tools: Vec<Tool> = names.map(tool).collect();
            ask(&tools.iter().map(Resource::Tool).collect::<Vec<_>>())
        }
        ListKind::Prompts => {
            let lock = snapshot.lock();
            let prompt = |name: String| Prompt {
                pin: changed.pin(list, &name, lock.prompt_pin(&name, None)),
                ..Prompt::named(name)
            };
            let prompts: Vec<Prompt> = names.map(prompt).collect();
            ask(&prompts.iter().map(Resource::Prompt).collect::<Vec<_>>())
        }
        ListKind::Resources => {
            let resources: Vec<ResourceFacts> = names.map(resource).collect();
            ask(&resources.iter().map(Resource::Resource).collect::<Vec<_>>())
        }
    }
}

/// RFC 3986 §3.1: the scheme is what stands before the first colon, in any case.
pub(super) fn resource(uri: String) -> ResourceFacts {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    ResourceFacts {
        scheme: scheme.to_ascii_lowercase(),
        uri,
        ..ResourceFacts::default()
    }
}
