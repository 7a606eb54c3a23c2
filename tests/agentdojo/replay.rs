//! A replay: each call is judged by the policies of its server, and raises its session.

use std::collections::BTreeMap;

use mcp_protector::gate::call_facts;
use mcp_protector::loading::{self, EgressReach, EgressRules, FlowRule, FlowRules};
use mcp_protector::policy::{
    Action, Agent, Consent, Decision, Environment, Facts, LEVELS, OnDeny, PolicySnapshot,
    Principal, Resource, Server, ServerKey, SessionSensitivity, SessionState, Tool,
};
use mcp_protector::wire::{Document, Limits};
use serde_json::Value;

use super::traces::{Call, Pair, Suite};

/// What is in force.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) scope: SessionScope,
    /// The reach of tools that connect, from confidential on.
    pub(super) egress: EgressReach,
    pub(super) flow_in: FlowRule,
    pub(super) destinations: Destinations,
}

/// What one state of a session is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionScope {
    /// As with a gate for each server.
    Server,
    Principal,
}

/// Which destinations need no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destinations {
    None,
    Approved,
    /// The attacker sends to approved ones wherever a call names any.
    Attacked,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) tasks: usize,
    /// Tasks of which every call passes without a question.
    pub(super) unasked_tasks: usize,
    pub(super) questions: usize,
    /// Pairs whose injection has a call that writes or connects.
    pub(super) attacks: usize,
    /// Those of which not all such calls pass without a question.
    pub(super) stopped: usize,
    /// Attacks with such a call at another server than that of the injection.
    pub(super) attacks_over_servers: usize,
    pub(super) stopped_over_servers: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Passes,
    Asks,
    Denied,
}

/// What a person says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Person {
    Agrees,
    Refuses,
}

pub(super) struct Replay<'s> {
    suite: &'s Suite,
    setting: Setting,
    servers: BTreeMap<String, (Server, PolicySnapshot)>,
}

const PERMIT: &str = r#"
@id("tools")
permit (principal is Mcp::Agent, action in Mcp::Action::"call_tool", resource is Mcp::Tool);
"#;

impl<'s> Replay<'s> {
    pub(super) fn of(suite: &'s Suite, setting: Setting) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tools.cedar"), PERMIT).unwrap();
        std::fs::write(
            dir.path().join("tools.toml"),
            labels(suite, setting.destinations),
        )
        .unwrap();
        let level = |word: &str| LEVELS.iter().find(|(known, _)| *known == word).unwrap().1;
        let clearances = suite.clearances.iter();
        let clearances: BTreeMap<ServerKey, i64> = clearances
            .map(|(key, word)| (ServerKey::of(key).unwrap(), level(word)))
            .collect();
        let settings = loading::Settings {
            dir: Some(dir.path().to_owned()),
            network: EgressRules {
                reach: [
                    EgressReach::Full,
                    EgressReach::Full,
                    setting.egress,
                    setting.egress,
                ],
                hosts: Vec::new(),
            },
            flow: FlowRules {
                // Without the rules of several servers there is no clearance either.
                flow_out: setting.flow_in,
                flow_in: setting.flow_in,
                clearances: clearances.clone(),
                ..FlowRules::default()
            },
            servers: clearances.keys().cloned().collect(),
            ..loading::Settings::default()
        };
        let loaded = loading::load(&settings).unwrap_or_else(|errors| panic!("{errors:?}"));
        let servers = clearances.into_iter().map(|(key, clearance)| {
            let server = Server {
                name: key.to_string(),
                clearance,
                key: Some(key.clone()),
                ..Server::default()
            };
            let view = loaded.snapshot.of_server(Some(&key));
            (key.to_string(), (server, view))
        });
        Self {
            suite,
            setting,
            servers: servers.collect(),
        }
    }

    pub(super) fn run(&self) -> Tally {
        let mut tally = Tally::default();
        for task in &self.suite.tasks {
            let mut session = Sessions::default();
            let answers: Vec<Answer> = task
                .iter()
                .map(|it| self.call(it, &mut session, Person::Agrees))
                .collect();
            let count = |one| answers.iter().filter(|answer| **answer == one).count();
            tally.tasks += 1;
            tally.questions += count(Answer::Asks);
            tally.unasked_tasks += usize::from(count(Answer::Passes) == answers.len());
        }
        for pair in &self.suite.pairs {
            self.attack(pair, &mut tally);
        }
        tally
    }

    /// The person agrees to what the user wants, and not to what the injection does.
    fn attack(&self, pair: &Pair, tally: &mut Tally) {
        let mut session = Sessions::default();
        for call in &pair.before {
            self.call(call, &mut session, Person::Agrees);
        }
        let read_at = &pair.before.last().unwrap().server;
        let (mut is_attack, mut crosses, mut is_stopped) = (false, false, false);
        for call in &pair.injected {
            let call = match self.setting.destinations {
                Destinations::Attacked => self.adapted(call),
                Destinations::None | Destinations::Approved => call.clone(),
            };
            let answer = self.call(&call, &mut session, Person::Refuses);
            if self.is_consequential(&call) {
                is_attack = true;
                crosses |= call.server != *read_at;
                is_stopped |= answer != Answer::Passes;
            }
        }
        tally.attacks += usize::from(is_attack);
        tally.stopped += usize::from(is_attack && is_stopped);
        tally.attacks_over_servers += usize::from(crosses);
        tally.stopped_over_servers += usize::from(crosses && is_stopped);
    }

    fn is_consequential(&self, call: &Call) -> bool {
        let permission = &self.suite.labels[&call.id()]["permission"];
        let words = permission.as_array().unwrap().iter();
        words.into_iter().any(|it| it.as_str() != Some("read"))
    }

    /// The same, sent to destinations that are approved.
    fn adapted(&self, call: &Call) -> Call {
        let mut call = call.clone();
        let Some(known) = self.suite.destinations.get(&call.id()) else {
            return call;
        };
        for (pointer, approved) in known.as_table().unwrap() {
            let first = approved[0].as_str().unwrap().replace('*', "someone");
            match call.arguments.pointer_mut(pointer) {
                Some(Value::Array(all)) if !all.is_empty() => *all = vec![first.into()],
                Some(one @ Value::String(_)) => *one = first.into(),
                _ => {}
            }
        }
        call
    }

    /// The answer to a call, which raises its session if it is sent.
    fn call(&self, call: &Call, sessions: &mut Sessions, person: Person) -> Answer {
        let (server, policies) = &self.servers[&call.server];
        let held = sessions.of(self.setting.scope, &call.server);
        let text = call.arguments.to_string();
        let document = Document::decode(text.as_bytes(), &Limits::default()).unwrap();
        let (arguments, targets) = call_facts(document.root()).unwrap();
        let agent = Agent {
            id: "agent".to_owned(),
            ..Agent::default()
        };
        let tool = Tool::named(call.tool.as_str());
        let facts = Facts {
            principal: Principal::Agent(&agent),
            action: Action::CallTool {
                arguments: &arguments,
                targets: &targets,
            },
            resource: Resource::Tool(&tool),
            env: Environment {
                server,
                transport: "http",
                protocol: "2025-11-25",
                now_ms: 0,
                peer: None,
                session: SessionState::of(held, 0, 0),
                consent: Consent::default(),
            },
        };
        let answer = match policies.judge(&facts) {
            Decision::Allow(_) => Answer::Passes,
            Decision::Deny(denial) if denial.remedy() == Some(OnDeny::AskConsent) => Answer::Asks,
            Decision::Deny(_) => return Answer::Denied,
        };
        if answer == Answer::Asks && person == Person::Refuses {
            return answer;
        }
        let brings = policies.labels().brings(&facts);
        *held = std::mem::take(held).join(&brings);
        answer
    }
}

#[derive(Default)]
struct Sessions {
    all: BTreeMap<String, SessionSensitivity>,
}

impl Sessions {
    fn of(&mut self, scope: SessionScope, server: &str) -> &mut SessionSensitivity {
        let key = match scope {
            SessionScope::Server => server.to_owned(),
            SessionScope::Principal => String::new(),
        };
        self.all.entry(key).or_default()
    }
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.tasks += other.tasks;
        self.unasked_tasks += other.unasked_tasks;
        self.questions += other.questions;
        self.attacks += other.attacks;
        self.stopped += other.stopped;
        self.attacks_over_servers += other.attacks_over_servers;
        self.stopped_over_servers += other.stopped_over_servers;
    }
}

/// `tools.toml` of these servers.
fn labels(suite: &Suite, destinations: Destinations) -> String {
    let mut tools = suite.labels.clone();
    if destinations != Destinations::None {
        for (id, approved) in &suite.destinations {
            let tool = tools[id].as_table_mut().unwrap();
            tool.insert("destinations".to_owned(), approved.clone());
        }
    }
    let mut file = toml::Table::new();
    file.insert("tools".to_owned(), tools.into());
    file.to_string()
}
