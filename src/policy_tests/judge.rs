//! One message through the gate itself: decoded, identified, understood, decided and obliged by the
//! code that runs in production, between two ends in this process.

use std::sync::Arc;

use crate::audit::{Audit, Direction, Kept, Record};
use crate::clock::FixedClock;
use crate::gate::{self, Gate, Talk};
use crate::policy::{PolicyStore, Server};
use crate::session::{Session, SessionId};
use crate::wire::{Fragment, KnownMethod, Limits, Message, Method, Side};

use super::ends::End;
use super::fixture::{Listed, Offers, Sends, Test};
use super::got::{At, Broken, Got};
use super::listing::{self, Catalogue};
use super::witness::Witness;

/// The revision that the handshake agrees on.
pub(super) const PROTOCOL: &str = "2025-11-25";

/// How the agent is connected.
pub(super) const TRANSPORT: &str = "stdio";

/// The `_meta` key of messages that need no handshake (MCP 2026-07-28, basic/lifecycle).
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What the tests of one suite have in common.
pub(super) struct Bench<'s> {
    pub(super) policies: Arc<PolicyStore>,
    pub(super) settings: &'s gate::Settings,
    pub(super) server: &'s Server,
    pub(super) offers: &'s Offers,
    pub(super) catalogue: Catalogue,
    /// Hears what the rules are asked about the message itself.
    pub(super) witness: Option<&'s Witness>,
}

/// One agent and one upstream, for one test.
struct Conversation<'s> {
    bench: &'s Bench<'s>,
    gate: Gate,
    talk: Talk<End, End>,
    kept: Kept,
}

impl Bench<'_> {
    /// What becomes of a test's message in a session of its own.
    pub(super) async fn judge(&self, test: &Test) -> Result<Got, Broken> {
        let conversation = Conversation::begin(self, test);
        match &test.sends {
            Sends::Frame { from, frame } => conversation.frame(*from, frame, test).await,
            Sends::List(list) => conversation.list(*list, test).await,
        }
    }
}

impl<'s> Conversation<'s> {
    fn begin(bench: &'s Bench<'s>, test: &Test) -> Self {
        let (audit, kept) = Audit::keeping();
        let clock = Arc::new(FixedClock(test.now));
        let policies = Arc::clone(&bench.policies);
        let gate = Gate::new(policies, audit, clock, bench.settings.clone());
        let started = test.now.as_millisecond();
        let id = SessionId::from_random(0);
        let session = Session::new(id, TRANSPORT, bench.server.clone(), started);
        session.state().agent = Arc::new(test.agent.clone());
        let talk = Talk::new(session, End::default(), End::default());
        Self {
            bench,
            gate,
            talk,
            kept,
        }
    }

    async fn frame(&self, from: Side, frame: &str, test: &Test) -> Result<Got, Broken> {
        let message = Message::decode(frame.as_bytes(), self.gate.limits(from)).ok();
        let opens = from == Side::Agent && message.as_ref().is_some_and(begins_by_itself);
        if !opens && let Some(refused) = self.shake_hands(test).await {
            return Got::of(&refused, At::Handshake, false);
        }
        self.forget_the_handshake();
        self.hear(from, frame).await;
        let method = message.as_ref().and_then(|it| it.method()?.known());
        let other = match from {
            Side::Agent => &self.talk.upstream,
            Side::Upstream => &self.talk.agent,
        };
        let mut arrived = other.take();
        // The gate asks what there is before it lets a first call through.
        if from == Side::Agent && method != Some(KnownMethod::ToolsList) {
            let called = message.as_ref().and_then(listing::called_tool);
            while let Some(id) = arrived.iter().find_map(|line| tools_list(line)) {
                let tools = self.bench.catalogue.of_call(called.as_deref());
                let answer = offer(&id, Listed::Tools, tools);
                self.hear(Side::Upstream, &answer).await;
                arrived = other.take();
            }
        }
        let record = self.record(from)?;
        Got::of(&record, At::Message, !arrived.is_empty())
    }

    async fn list(&self, list: Listed, test: &Test) -> Result<Got, Broken> {
        if let Some(refused) = self.shake_hands(test).await {
            return Got::of(&refused, At::Handshake, false);
        }
        self.forget_the_handshake();
        self.hear(Side::Agent, &request(list.method())).await;
        let asked = self.talk.upstream.take();
        let record = self.record(Side::Agent)?;
        let mut got = Got::of(&record, At::Message, !asked.is_empty())?;
        let Some(id) = asked.first().and_then(|line| id_of(line)) else {
            return Ok(got);
        };
        let items = self.bench.catalogue.of(list).clone();
        self.hear(Side::Upstream, &offer(&id, list, items)).await;
        let delivered = self.talk.agent.take();
        let shown = delivered
            .first()
            .and_then(|line| listing::names(line, list));
        if shown.is_none() {
            // Policies say what is in a list, not whether it is answered.
            let why = self.record(Side::Upstream)?.reason.text;
            let why = why.map_or_else(String::new, |why| why.as_str().to_owned());
            return Err(Broken::NotJudged(why));
        }
        got.shown = shown;
        got.fault = listing::fault(self.bench, test, list);
        Ok(got)
    }

    /// Begins the session. Answers with the record of the refusal if it may not begin.
    async fn shake_hands(&self, test: &Test) -> Option<Record> {
        self.hear(Side::Agent, &initialize(test)).await;
        let asked = self.talk.upstream.take();
        let Some(id) = asked.first().and_then(|line| id_of(line)) else {
            return self.kept.take().into_iter().next();
        };
        self.hear(Side::Upstream, &self.greet(&id)).await;
        self.hear(Side::Agent, INITIALIZED).await;
        self.talk.upstream.take();
        self.talk.agent.take();
        self.kept.take();
        None
    }

    fn forget_the_handshake(&self) {
        if let Some(witness) = self.bench.witness {
            witness.take();
        }
    }

    async fn hear(&self, from: Side, frame: &str) {
        // What cuts frames throws away those that are too long, and only says so.
        let heard = if frame.len() > self.gate.limits(from).max_bytes {
            self.gate.handle_too_long(&self.talk, from).await
        } else {
            self.gate.handle(&self.talk, from, frame.as_bytes()).await
        };
        // A call may have waited for what this frame brought.
        let heard = match from {
            Side::Upstream => heard.and(self.gate.resume(&self.talk).await),
            Side::Agent => heard,
        };
        // `End` takes everything, so that the agent never is gone.
        debug_assert!(heard.is_ok(), "an end in this process does not go away");
    }

    /// The record of what that side has just sent; what follows from it is recorded after it.
    fn record(&self, from: Side) -> Result<Record, Broken> {
        let sent = match from {
            Side::Agent => Direction::AgentToUpstream,
            Side::Upstream => Direction::UpstreamToAgent,
        };
        let (mut of_message, others): (Vec<_>, Vec<_>) = self
            .kept
            .take()
            .into_iter()
            .partition(|record| record.direction == Some(sent));
        if !of_message.is_empty() {
            return Ok(of_message.swap_remove(0));
        }
        // The message still waits for the list of tools, which the gate did not accept.
        let refused = others.into_iter().find_map(|record| record.reason.text);
        Err(refused.map_or(Broken::NotRecorded, |why| {
            Broken::NotJudged(why.as_str().to_owned())
        }))
    }

    /// The upstream's answer to the handshake.
    fn greet(&self, id: &Fragment) -> String {
        let nothing = || Fragment::object([]);
        let capabilities = ["tools", "prompts", "resources", "logging", "completions"];
        let result = Fragment::object([
            ("protocolVersion", Fragment::string(PROTOCOL)),
            (
                "capabilities",
                Fragment::object(capabilities.map(|name| (name, nothing()))),
            ),
            ("serverInfo", named(&self.bench.server.name, "1")),
        ]);
        reply(id, result)
    }
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The agent can do everything that a server may ask for: what is refused is refused by policy.
fn initialize(test: &Test) -> String {
    let capabilities = ["roots", "sampling", "elicitation"];
    let client = &test.agent.client;
    let params = Fragment::object([
        ("protocolVersion", Fragment::string(PROTOCOL)),
        (
            "capabilities",
            Fragment::object(capabilities.map(|name| (name, Fragment::object([])))),
        ),
        ("clientInfo", named(&client.name, &client.version)),
    ]);
    let message = Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", Fragment::string("handshake")),
        ("method", Fragment::string("initialize")),
        ("params", params),
    ]);
    message.into_string()
}

fn request(method: &str) -> String {
    let message = Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", Fragment::string("test")),
        ("method", Fragment::string(method)),
    ]);
    message.into_string()
}

fn reply(id: &Fragment, result: Fragment) -> String {
    let message = Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", id.clone()),
        ("result", result),
    ]);
    message.into_string()
}

/// The upstream's answer to a list.
fn offer(id: &Fragment, list: Listed, items: Fragment) -> String {
    reply(id, Fragment::object([(list.member(), items)]))
}

fn named(name: &str, version: &str) -> Fragment {
    Fragment::object([
        ("name", Fragment::string(name)),
        ("version", Fragment::string(version)),
    ])
}

/// Whether a message comes before any handshake: it is one, or says itself what it speaks.
fn begins_by_itself(message: &Message) -> bool {
    let initialize = message.method().and_then(Method::known);
    let version = message.meta().and_then(|meta| meta.get(META_VERSION));
    initialize == Some(KnownMethod::Initialize) || version.is_some()
}

/// The id under which the gate asks for the tools, if that is what it asks.
fn tools_list(line: &str) -> Option<Fragment> {
    let message = Message::decode(line.as_bytes(), &Limits::default()).ok()?;
    let method = message.method()?.known()?;
    (method == KnownMethod::ToolsList).then(|| message.id_value().map(Fragment::copy_of))?
}

fn id_of(line: &str) -> Option<Fragment> {
    let message = Message::decode(line.as_bytes(), &Limits::default()).ok()?;
    message.id_value().map(Fragment::copy_of)
}
