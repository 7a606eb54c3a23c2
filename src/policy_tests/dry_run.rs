//! A dry run of one message through the gate, as a test sends it, for `explain`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use toml::Spanned;

use super::actual::{ActualOutcome, InvalidRun, RejectedPart};
use super::bench::Bench;
use super::changed_definitions::ChangedDefinition;
use super::fixture::{Expect, Plan, Sends, ServerLists, StartState, Test, TestStep};
use super::fixture_words::TestDecision;
use super::listing::{self, ServerCatalog};
use super::recorder::{RecordedQueries, Recorder};
use super::suite_context::SuiteContext;
use super::test_runner::{STACK_BYTES, timed_runtime};
use crate::gate;
use crate::policy::{Agent, Host, Observer, PolicySnapshot, PolicyStore, Server};
use crate::wire::{Extensions, Message, Side};

/// A message, and the circumstances in which it is sent.
#[derive(Debug, Clone)]
pub(crate) struct DryRun {
    pub(crate) agent: Agent,
    /// The server that it goes to, or comes from.
    pub(crate) server: Server,
    pub(crate) now: Timestamp,
    /// What its session has been through.
    pub(crate) start: StartState,
    pub(crate) sent: DryRunMessage,
}

/// What is judged.
#[derive(Debug, Clone)]
pub(crate) enum DryRunMessage {
    /// One frame, byte for byte.
    Frame { from: Side, frame: String },
    /// A connection that the server wants of the egress proxy.
    Connection(Host),
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct DryRunOutcome {
    pub(crate) decision: TestDecision,
    /// The session could not begin, so that the message had no place in it.
    pub(crate) at_handshake: bool,
    /// The policies that decided.
    pub(crate) policies: Vec<String>,
    pub(crate) code: Option<String>,
    pub(crate) advice: Option<String>,
    /// The gate's own word for the cause of a refusal.
    pub(crate) reason: Option<String>,
    /// The step of the gate that refused.
    pub(crate) stage: Option<String>,
    /// The cause of a refusal in a sentence.
    pub(crate) text: Option<String>,
    /// What the rules were asked about it.
    pub(crate) heard: RecordedQueries,
}

impl DryRun {
    /// Sends the message through a gate of its own, in a session of its own.
    ///
    /// # Errors
    /// Why there is no decision about it.
    pub(crate) fn run(
        self,
        policies: &PolicySnapshot,
        settings: &gate::Settings,
    ) -> Result<DryRunOutcome, String> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .name("gate".to_owned())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, || self.judged(policies, settings));
            let failed = || "the gate that judges has failed".to_owned();
            thread
                .map_err(|error| error.to_string())?
                .join()
                .map_err(|_| failed())?
        })
    }

    fn judged(
        self,
        policies: &PolicySnapshot,
        settings: &gate::Settings,
    ) -> Result<DryRunOutcome, String> {
        let witness = Arc::new(Recorder::default());
        let observer: Arc<dyn Observer> = Arc::clone(&witness) as _;
        let policies = policies
            .of_server(self.server.key.as_ref())
            .observed_by(&observer);
        let called = match &self.sent {
            DryRunMessage::Frame { frame, .. } => {
                let message = Message::decode(frame.as_bytes(), &settings.from_agent).ok();
                message.as_ref().and_then(listing::called_tool)
            }
            DryRunMessage::Connection(_) => None,
        };
        // Whether the server has the tool is not known here, and not what is asked.
        let offers = ServerLists {
            tools: called.into_iter().collect(),
            ..ServerLists::default()
        };
        let (agents, extensions) = (BTreeMap::new(), Extensions::default());
        let context = SuiteContext {
            catalogue: ServerCatalog::new(&offers, policies.lock()),
            policies: Arc::new(PolicyStore::new(policies)),
            settings,
            server: &self.server,
            offers: &offers,
            witness: Some(&witness),
            extensions: &extensions,
            agents: &agents,
        };
        let step = TestStep {
            line: 0,
            server: Spanned::new(0..0, None),
            endpoint: None,
            names: None,
            after: Duration::ZERO,
            consent: None,
            sends: match self.sent {
                DryRunMessage::Frame { from, frame } => Sends::Frame { from, frame },
                DryRunMessage::Connection(host) => Sends::Connect(host),
            },
            reply: None,
            expect: Expect::of(TestDecision::Deny),
            received: None,
        };
        let test = Test {
            name: String::new(),
            cell: None,
            line: 0,
            agent: self.agent,
            server: Spanned::new(0..0, None),
            now: self.now,
            start: self.start,
            changed: ChangedDefinition::default(),
            plan: Plan::Message(Box::new(step)),
        };
        let runtime = timed_runtime().map_err(|error| error.to_string())?;
        let bench = Bench {
            policies: context.policies.current(),
            servers: vec![context],
        };
        let came = runtime.block_on(bench.judge(&test)).pop();
        let got = came.map_or(Err(InvalidRun::NotRecorded), |came| came.message);
        let got: ActualOutcome = got.map_err(|broken| broken.to_string())?;
        Ok(DryRunOutcome {
            decision: got.decision,
            at_handshake: got.at == RejectedPart::Handshake,
            policies: got.policies,
            code: got.code,
            advice: got.advice,
            reason: got.reason,
            stage: got.stage,
            text: got.text,
            heard: witness.take(),
        })
    }
}
