//! What a fixture says, once everything in it has been checked that can be without the policies.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use toml::Spanned;

use super::changed_definitions::ChangedDefinition;
use super::errors::FixtureSource;
use super::fixture_words::{ListKind, ServerInstance, TestDecision};
use super::replay::Recording;
use crate::policy::{Agent, Host, ServerKey};
use crate::unified::EndpointNames;
use crate::wire::{Extensions, Fragment, Side};

/// One file: a suite of tests under the same policies and before the same upstream.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) source: FixtureSource,
    /// The suite's name; the file's where it has none of its own.
    pub(super) suite: String,
    /// The configuration of the gate that judges, by its path, where the fixture names one.
    pub(super) gate: Option<Spanned<String>>,
    /// The server that tests are about where they name no other.
    pub(super) server: Option<Spanned<String>>,
    /// The keys of several servers, where the fixture says that there are.
    pub(super) servers: Option<Vec<Spanned<ServerKey>>>,
    /// Exact tool names that are permitted beside what the policies say.
    pub(super) allow: Option<Spanned<Vec<String>>>,
    /// Methods of extensions that the gate knows, beside those of its configuration.
    pub(super) extensions: Extensions,
    pub(super) declared: DeclaredOffers,
    /// By the names that tests use for them.
    pub(super) agents: BTreeMap<String, Agent>,
    pub(super) tests: Vec<Test>,
}

/// The name of a server in policies, where the test, its step or the file has one; else the place of what
/// has none.
pub(super) type NamedServer = Spanned<Option<String>>;

/// An endpoint for several servers, where agents have names of their own for what servers have.
#[derive(Debug, Clone)]
pub(super) enum EndpointName {
    /// Of all servers.
    Unified,
    View(String),
}

/// Where a message goes, or comes from.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) server: NamedServer,
    /// In place of a server.
    pub(super) endpoint: Option<Spanned<EndpointName>>,
}

/// What the file says that servers list.
#[derive(Debug, Default)]
pub(super) struct DeclaredOffers {
    pub(super) lists: Vec<(ListKind, Vec<Spanned<String>>)>,
    /// What tools say of themselves, by name.
    pub(super) descriptions: Vec<(Spanned<String>, String)>,
}

/// What a server lists.
#[derive(Debug, Default)]
pub(super) struct ServerLists {
    pub(super) tools: Vec<String>,
    pub(super) prompts: Vec<String>,
    pub(super) resources: Vec<String>,
    /// What tools say of themselves, by name.
    pub(super) descriptions: HashMap<String, String>,
}

/// One session of one agent, and what must become of what is sent in it. A `[[test]]` with a matrix
/// makes one of these for each cell.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) name: String,
    /// The cell of its matrix, where it has one.
    pub(super) cell: Option<String>,
    /// From 1.
    pub(super) line: usize,
    pub(super) agent: Agent,
    pub(super) server: NamedServer,
    pub(super) now: Timestamp,
    pub(super) start: StartState,
    pub(super) changed: ChangedDefinition,
    pub(super) plan: Plan,
}

/// What the session has been through before the test.
#[derive(Debug, Clone, Default)]
pub struct StartState {
    pub(super) level: i64,
    pub(super) labels: Vec<String>,
    pub(super) datasets: Vec<String>,
    pub(super) untrusted: bool,
    pub(super) sources: Vec<String>,
    pub(super) untrusted_from: Vec<String>,
    pub(super) calls: i64,
    /// How long ago the session began.
    pub(super) age: Duration,
    /// A human's answer for all that the test sends.
    pub(super) consent: Option<ConsentSource>,
    /// The symbolic links of the server's disk. Without them it is for the gate's settings to say.
    pub(super) links: Option<Arc<BTreeMap<String, String>>>,
}

impl StartState {
    /// A session of this level, of which nothing else is known.
    pub fn at(level: i64) -> Self {
        Self {
            level,
            ..Self::default()
        }
    }

    /// The same with what it has read.
    #[must_use]
    pub fn having_read(self, datasets: Vec<String>) -> Self {
        Self { datasets, ..self }
    }

    /// The same with the servers that it has read from.
    #[must_use]
    pub fn having_read_from(self, sources: Vec<String>, untrusted_from: Vec<String>) -> Self {
        Self {
            untrusted: self.untrusted || !untrusted_from.is_empty(),
            sources,
            untrusted_from,
            ..self
        }
    }

    pub fn level(&self) -> i64 {
        self.level
    }

    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    pub fn untrusted_from(&self) -> &[String] {
        &self.untrusted_from
    }

    pub fn datasets(&self) -> &[String] {
        &self.datasets
    }
}

/// Where consent comes from.
#[derive(Debug, Clone)]
pub(super) enum ConsentSource {
    /// It is a fact.
    Fact(ConsentAnswer),
    /// The gate asks, and a person answers this.
    Asked(PersonReply),
}

/// What a human says when asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PersonReply {
    Yes,
    No,
    /// Nothing, until it is too late.
    Nothing,
}

/// What a human has answered.
#[derive(Debug, Clone)]
pub(super) struct ConsentAnswer {
    pub(super) granted: bool,
    pub(super) scope: String,
    pub(super) by: Option<String>,
    /// How long before it is used; negative where a clock has been put back since.
    pub(super) age: SignedDuration,
}

/// What happens in a test.
#[derive(Debug, Clone)]
pub(super) enum Plan {
    Message(Box<TestStep>),
    /// Several messages, one after the other; at least one.
    Conversation(Vec<TestStep>),
    /// What was decided before is judged again.
    Replay(Replay),
}

/// One message, and what must become of it.
#[derive(Debug, Clone)]
pub(super) struct TestStep {
    /// From 1.
    pub(super) line: usize,
    /// The server that it goes to, or comes from.
    pub(super) server: NamedServer,
    /// The endpoint to which the agent sends it, where that is not the server's own.
    pub(super) endpoint: Option<Spanned<EndpointName>>,
    /// The names at that endpoint, of a list of all its servers.
    pub(super) names: Option<Arc<EndpointNames>>,
    /// How far the clock moves before it.
    pub(super) after: Duration,
    /// A human's answer for this message.
    pub(super) consent: Option<ConsentSource>,
    pub(super) sends: Sends,
    /// What the other side answers, where the fixture says so.
    pub(super) reply: Option<ScriptedReply>,
    pub(super) expect: Expect,
    /// What must become of the answer.
    pub(super) received: Option<Expect>,
}

/// A scripted answer: the member of the reply that holds it.
#[derive(Debug, Clone)]
pub(super) enum ScriptedReply {
    Result(Fragment),
    Error(Fragment),
    /// A whole frame, in which `$id` stands for the id that is answered.
    Raw(String),
}

/// Recorded decisions to be compared with today's.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    /// As the fixture names it.
    pub(super) file: Spanned<String>,
    pub(super) unknown: OnUnknown,
    /// What it holds; filled in when fixtures are loaded.
    pub(super) recording: Option<Recording>,
}

/// What a decision that cannot be compared does to the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum OnUnknown {
    /// It is counted.
    #[default]
    Count,
    /// It fails the test.
    Fail,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(super) enum Sends {
    /// One frame, byte for byte.
    Frame { from: Side, frame: String },
    /// A request for a list, which the upstream answers.
    List(ListKind),
    /// What the endpoint gives to no server, and why.
    Unrouted {
        frame: String,
        reason: &'static str,
        text: String,
    },
    /// No message: a connection that the server wants of the egress proxy.
    Connect(Host),
}

/// What must become of a message.
#[derive(Debug, Clone)]
pub(super) struct Expect {
    pub(super) decision: TestDecision,
    /// Policies that must be among the deciding ones.
    pub(super) policies: Vec<Spanned<String>>,
    /// Exactly the policies that must have decided.
    pub(super) policies_exact: Option<Vec<Spanned<String>>>,
    /// Exactly what the decision must ask of the gate.
    pub(super) obligations: Option<Vec<String>>,
    /// Exactly what the gate must have changed in the message.
    pub(super) edits: Option<Vec<String>>,
    /// Which of two servers it must reach.
    pub(super) upstream_receives: Option<ServerInstance>,
    /// The `@code` of a deciding policy.
    pub(super) code: Option<String>,
    /// The `@advice` of a deciding policy.
    pub(super) advice: Option<String>,
    /// The gate's own word for the cause, such as `not_permitted`.
    pub(super) reason: Option<String>,
    /// Texts that the engine's fault must hold; without it, no fault is forgiven.
    pub(super) errors: Option<Vec<String>>,
    /// Exactly what a list shows.
    pub(super) listed: Option<Vec<Spanned<String>>>,
    /// What a list must not show.
    pub(super) hidden: Vec<Spanned<String>>,
}

impl Test {
    pub(super) fn steps_mut(&mut self) -> &mut [TestStep] {
        match &mut self.plan {
            Plan::Message(step) => std::slice::from_mut(step),
            Plan::Conversation(steps) => steps,
            Plan::Replay(_) => &mut [],
        }
    }

    /// Everything that it sends by itself, in order.
    pub(super) fn steps(&self) -> &[TestStep] {
        match &self.plan {
            Plan::Message(step) => std::slice::from_ref(step),
            Plan::Conversation(steps) => steps,
            Plan::Replay(_) => &[],
        }
    }
}

impl Expect {
    pub(super) fn of(decision: TestDecision) -> Self {
        Self {
            decision,
            policies: Vec::new(),
            policies_exact: None,
            obligations: None,
            edits: None,
            upstream_receives: None,
            code: None,
            advice: None,
            reason: None,
            errors: None,
            listed: None,
            hidden: Vec::new(),
        }
    }
}

impl ServerLists {
    pub(super) fn of(&self, list: ListKind) -> &[String] {
        match list {
            ListKind::Tools => &self.tools,
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
        }
    }

    pub(super) fn of_mut(&mut self, list: ListKind) -> &mut Vec<String> {
        match list {
            ListKind::Tools => &mut self.tools,
            ListKind::Prompts => &mut self.prompts,
            ListKind::Resources => &mut self.resources,
        }
    }
}
