//! The parts of what changes in a session, one for each thing that it remembers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::assertion::Voucher;
use crate::policy::{Agent, Consent, DefinitionFingerprint, Server, SessionSensitivity};
use crate::wire::{AgentToken, KnownMethod};

use super::announced::Announced;
use super::asked::Asking;
use super::catalogue::Catalogue;
use super::company::Company;
use super::cursors::Cursors;
use super::drifts::Drifts;
use super::followed::Followed;
use super::forsaken::Forsaken;
use super::lending::Lending;
use super::lifecycle::{Lifecycle, Probe};
use super::pages::Pages;
use super::parked::Parked;
use super::pending::PendingTable;
use super::place::{PerInstance, Place, Travelling};
use super::trial::Trial;
use super::visibility::Visibilities;

/// The agent and the server of a session.
#[derive(Debug)]
pub struct Parties {
    /// Who speaks, as policies see it.
    pub agent: Arc<Agent>,
    /// The agent's roles with those that the host gives it, for the audit. Policies learn the
    /// host's from the labels of their own revision.
    pub roles: Vec<String>,
    /// The capabilities that they grant, likewise.
    pub capabilities: Arc<[Arc<str>]>,
    /// The protected server, as policies see it.
    pub server: Arc<Server>,
    /// What the server says of its own version.
    pub server_version: Option<Arc<str>>,
}

/// How far the protocol has come on both sides.
#[derive(Debug, Default)]
pub struct Protocol {
    /// How far the protocol has come.
    pub lifecycle: Lifecycle,
    /// Whether the upstream is asked what it speaks.
    pub probe: Probe,
    /// What has come of the handshake that the gate asks for itself, if that is what the session is for.
    pub trial: Option<Trial>,
    /// The revision that the agent speaks, if a bridge stands before it and the server speaks
    /// another.
    pub bridged: Option<Arc<str>>,
}

/// Requests of both sides that have no answer yet.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Requests that went to the upstream and have no reply yet.
    pub to_upstream: PendingTable,
    /// Requests that the upstream sent to the agent and have no reply yet.
    pub to_agent: PendingTable,
    /// Requests that wait for something else than a reply or a person, in the order in which they came.
    pub parked: VecDeque<Parked>,
    /// Requests that wait for a person, and what people have agreed to.
    pub asking: Asking,
    /// Messages of the agent that wait until the session has moved to the isolated server.
    pub travelling: Vec<Travelling>,
    /// The deadline of the running timer.
    pub(in crate::session) armed: Option<Duration>,
}

/// What the server offers, and what the agent was shown of it.
#[derive(Debug, Default)]
pub struct Lists {
    /// What the upstream offers, as far as its lists have told.
    pub tools: Catalogue,
    /// The prompts that the agent was shown, as far as its lists have told.
    pub prompts: Catalogue,
    /// Cursors that the agent was given.
    pub cursors: Cursors,
    /// What the agent knows of tools whose definition has changed.
    pub drifts: Drifts,
    /// The pages of lists that were read lately.
    pub pages: Pages,
    /// Which items of lists the agent may see, as far as that is known.
    pub visibilities: Visibilities,
    /// Lists whose changes the upstream has promised to tell at the handshake, by the notification
    /// that tells.
    pub promised: Vec<KnownMethod>,
    /// Lists that the agent has got, by the same.
    pub listed: Vec<KnownMethod>,
    /// What was read when the agent was told last what it may use, if it was told anything.
    pub shown_by: Option<Arc<SessionSensitivity>>,
    /// The tools that the agent had got from the open server, until they were compared with those of
    /// the isolated one.
    pub tools_left: Option<HashMap<String, DefinitionFingerprint>>,
}

/// What the agent follows, and what it does for the server.
#[derive(Debug, Default)]
pub struct AgentSide {
    /// The resources that the agent follows (revisions before `2026-07-28`).
    pub followed: Followed,
    /// Who has spoken, where the agents know nothing of each other.
    pub company: Company,
    /// Pages that the agent's user was sent to.
    pub announced: Announced,
    /// What the agent's model may still work at for the server.
    pub lending: Lending,
    /// By what the server knows it.
    pub vouched: Vouched,
}

/// By what the server knows the agent.
#[derive(Debug, Default)]
pub struct Vouched {
    /// Makes the assertions about it.
    pub voucher: Option<Arc<Voucher>>,
    /// The token of its latest message, if the server may have it.
    pub token: Option<AgentToken>,
}

/// What the session has read and done, as far as policies are asked about it.
#[derive(Debug, Default)]
pub struct SecurityContext {
    /// What was read, where that is this session's alone.
    pub held: Arc<SessionSensitivity>,
    /// Calls forwarded so far.
    pub calls: i64,
    /// The tool that has failed for good, if that ends the session.
    pub failed: Option<Arc<str>>,
    pub established: Arc<Established>,
    /// The highest level at which the session was ever found, where that chooses the instance.
    pub found_at: i64,
}

/// The server that is spoken to, and what became of those before it.
#[derive(Debug, Default)]
pub struct Connection {
    /// Whether the upstream can be spoken to.
    pub upstream: Readiness,
    /// Which instance of it is spoken to.
    pub place: Place,
    /// How often a server has ended that was spoken to.
    pub ended: u64,
    /// The instances after this one that have agreed to the session's handshake, and wait for it.
    pub greeted: PerInstance<Option<Greeted>>,
    /// The handshake was sent to the servers that are to be kept warm.
    pub has_sent_handshakes: bool,
    /// Requests were given up that the upstream may still speak of.
    pub forsaken: Forsaken,
    /// Frames from the upstream that answered nothing: unknown, late, doubled or type-confused.
    pub stray_replies: u64,
}

/// A server that has agreed to a handshake and has not been told so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeted {
    /// What it says of its own version.
    pub server_version: Option<Arc<str>>,
}

/// What policies may ask of a session beyond its protocol and what it has read. Of the session itself the
/// gate establishes none of it, so it stays what it is by default, except where a test of policies begins
/// elsewhere; a request that a person has agreed to brings its own consent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Established {
    /// A human's answer for the calls that come.
    pub consent: Consent,
}

/// Whether the upstream can be spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Readiness {
    /// It runs, and has been told what the session agreed on.
    #[default]
    Up,
    /// It was restarted, or is the isolated one; the gate repeats the handshake before anything else may go out.
    Repeating,
    /// It does not run.
    Down,
}
