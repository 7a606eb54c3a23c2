//! The path of one message: the only place where the steps meet. Start reading at [`Gate::handle`].

mod again;
mod answer;
pub mod apart;
mod arguments;
mod arrival;
mod asking;
mod assemble;
mod authorize;
mod bridged;
mod broken;
mod caching;
mod canonical;
mod catalogue;
mod changes;
mod charges;
mod classified;
mod consent;
mod context;
mod copied;
mod cursors;
mod digest;
mod discovery;
mod drift;
mod dues;
mod edit_counts;
mod edits;
mod egress;
mod eras;
mod evidence;
mod excerpts;
mod exchange;
mod extensions;
mod failures;
mod faults;
mod filter;
mod forward;
mod granted;
mod guises;
mod handles;
mod hearers;
mod identify;
mod inspect;
mod instructions;
mod isolate;
mod kept;
mod lack;
mod leaks;
mod links;
mod listening;
mod listing;
mod local;
mod logs;
mod look;
mod named_datasets;
mod names;
mod noted;
mod oblige;
mod obliged;
mod onward;
mod outside;
mod own;
mod own_roots;
mod owner;
mod page;
mod panics;
mod parked;
mod passage;
mod path;
mod permit;
mod pin;
mod pinning;
mod query;
mod questions;
mod raised;
mod ratchet;
mod rates;
mod read_on;
mod record;
mod recorder;
mod rejection;
mod reload;
mod remember;
mod renaming;
mod repeated;
mod resources;
mod room;
mod rounds;
mod route;
mod runs;
mod sampling;
mod saver;
mod saving;
mod schemas;
mod seen;
mod sensitivity;
mod sent;
mod session_records;
mod settings;
mod shadow;
mod shortening;
mod stage;
mod stop;
mod subscribed;
mod takeover;
mod talk;
mod tasks;
mod terms;
mod text;
mod tracing;
mod trial;
mod unbridged;
mod understand;
mod unknown_arguments;
mod unlisted;
mod upkeep;
mod uris;
mod user_identity;
mod versions;
mod vouching;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::audit::Audit;
use crate::clock::Clock;
use crate::consent::Desk;
use crate::memory::Memory;
use crate::policy::PolicyStore;
use crate::session::{Awaits, EvidenceStore};
use crate::wire::{ArrivalForm, Side, Stream};

use arrival::Arrival;
use broken::Broken;
use eras::Known;
use filter::Chain;
use kept::Kept;
use ratchet::Ratchet;
use rates::Pace;
use record::Trail;
use recorder::Recorder;
use rounds::Rounds;
use runs::has_left_since;
use schemas::KnownSchemas;
use seen::Seen;
use stop::Stop;
use tasks::Tasks;
use unlisted::Unlisted;

pub use arguments::call_facts;
pub use arrival::{Lends, Source};
pub use bridged::{AnswerHere, Settled};
pub use consent::Along;
pub use egress::{ConnectionFailure, ConnectionRefused};
pub use faults::{AgentGone, UpstreamFault};
pub use forward::{Abandoned, Agent, TakenOver, Unsent, Upstream};
pub use identify::said;
pub use look::compile_rules;
pub use own_roots::{NoOwnRoot, holder};
pub use passage::{Carried, Passage};
pub use permit::Permit;
pub use rates::{Limit, Rate};
pub use rejection::{DENIED, HIDDEN, OUTSIDE, RATE_LIMITED, Rejection, UNCONSENTED, UNKNOWN_TOOL};
pub use reload::{Besides, Published, RecordedPolicies};
pub use sampling::{Others, Share, Tracing};
pub use settings::{
    Asking, Cleaning, DenialForm, Disk, Eras, Evidence, Excerpts, Guards, Level, OnFatal,
    OwnDirectories, Pages, QuestionsAgain, Rates, RecordedArguments, RecordedResults, Save,
    Secrets, ServerDatasets, Settings, Symlinks, Terms, Texts, ToolNames, Treatment, Unconfined,
};
pub use stage::Stage;
pub use talk::Talk;
pub use unbridged::Unbridged;
pub use user_identity::{Audience, UserIdentities, UserIdentity, UserProof};

/// The gate: what every message of every session passes.
#[derive(Debug)]
pub struct Gate {
    policy: Arc<PolicyStore>,
    recorder: Recorder,
    clock: Arc<dyn Clock>,
    settings: Settings,
    chains: Chains,
    stores: Stores,
    people: People,
    broken: Broken,
    memory: Memory,
}

/// The filters, in the order in which they meet a message.
#[derive(Debug, Default)]
struct Chains {
    all: Chain,
    /// Those that meet a request for what the gate keeps itself.
    local: Chain,
}

/// What filters remember over all sessions.
#[derive(Debug)]
struct Stores {
    rounds: Arc<Rounds>,
    tasks: Arc<Tasks>,
    schemas: Arc<KnownSchemas>,
    seen: Arc<Seen>,
    unlisted: Arc<Unlisted>,
    kept: Arc<Kept>,
    pace: Arc<Pace>,
    ratchet: Arc<Ratchet>,
    evidence: Arc<EvidenceStore>,
    eras: Arc<Known>,
}

/// How people are asked.
#[derive(Debug, Default)]
struct People {
    /// Where they are asked, if anybody is.
    desk: Option<Arc<Desk>>,
    /// Questions that agents have taken along.
    along: Arc<Along>,
}

impl Gate {
    pub fn new(
        policy: Arc<PolicyStore>,
        audit: Audit,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        let kept = Arc::new(Kept::holding(
            settings.terms.guards.excerpts.as_ref(),
            settings.own_directories,
        ));
        let pace = Arc::new(Pace::new(&clock));
        let recorder = Recorder::new(audit, Arc::clone(&policy), &settings.terms);
        let eras = Arc::new(Known::new(settings.eras, Arc::clone(&clock)));
        let mut gate = Self {
            chains: Chains::default(),
            policy,
            recorder,
            clock,
            settings,
            stores: Stores {
                rounds: Arc::default(),
                tasks: Arc::default(),
                schemas: Arc::default(),
                seen: Arc::default(),
                unlisted: Arc::default(),
                kept,
                pace,
                ratchet: Arc::default(),
                evidence: Arc::default(),
                eras,
            },
            people: People::default(),
            broken: Broken::default(),
            memory: Memory::default(),
        };
        gate.assemble();
        gate
    }

    /// The same, which judges what there is memory for.
    #[must_use]
    pub fn within(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Takes one frame from either side through the gate, and which of that side's streams it came
    /// on. Whatever happens to it is recorded, and
    /// whoever waits for an answer gets exactly one.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn handle<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        from: Side,
        stream: Stream,
        frame: &[u8],
    ) -> Result<(), AgentGone> {
        let at = self.clock.elapsed();
        let arrival = Arrival::with(&Source::on(stream), from, at);
        self.handle_since(talk, arrival, frame).await
    }

    /// The same for a frame of the upstream's that came in this form: what answers the agent goes on
    /// in the same one, where the agent's transport knows the difference.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn handle_upstreams<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        stream: Stream,
        form: ArrivalForm,
        frame: &[u8],
    ) -> Result<(), AgentGone> {
        let arrival = Arrival::of_the_server(stream, form, self.clock.elapsed());
        self.handle_since(talk, arrival, frame).await
    }

    /// The same for a frame of the agent's that came over a network.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn handle_from<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        source: Source,
        frame: &[u8],
    ) -> Result<(), AgentGone> {
        let arrival = Arrival::with(&source, Side::Agent, self.clock.elapsed());
        let mut trail = Trail::begin(talk, arrival).carried_by(source.carrier);
        self.handle_on(talk, arrival, frame, &mut trail).await
    }

    /// The same for a frame that came earlier.
    async fn handle_since<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
    ) -> Result<(), AgentGone> {
        let mut trail = Trail::begin(talk, arrival);
        self.handle_on(talk, arrival, frame, &mut trail).await
    }

    /// The same for one of which something is known already.
    async fn handle_on<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        self.take(talk, arrival, frame, trail).await?;
        self.after(talk, trail).await
    }

    async fn take<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), AgentGone> {
        let may_move = !self.settings.thresholds.is_empty();
        if may_move && arrival.from == Side::Agent {
            Box::pin(self.take_to_its_place(talk, arrival, frame, trail)).await
        } else {
            self.take_through(talk, arrival, frame, trail).await
        }
    }

    /// The same, wherever the session is.
    async fn take_through<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), AgentGone> {
        let passed = Box::pin(self.pass_in_room(talk, arrival, frame, trail)).await;
        // Gives the room back: the receiver may be slow.
        trail.holds.room = None;
        let passed = match passed {
            Err(Stop::Refused(refusal)) => {
                match self.give_over(talk, frame, trail, &refusal).await {
                    TakenOver::Yes => {
                        self.keep_consent(&Stop::Refused(refusal), trail);
                        return Ok(());
                    }
                    TakenOver::No => Err(Stop::Refused(refusal)),
                }
            }
            passed => passed,
        };
        // What a person is asked about is paid for like what they said no to; its call comes later.
        if !matches!(passed, Err(Stop::Park | Stop::Hold | Stop::Elsewhere)) {
            self.settle_rates(trail).await;
        }
        let Err(stopped) = passed else {
            Self::end_if_failed(talk, trail);
            return Ok(());
        };
        self.keep_consent(&stopped, trail);
        match stopped {
            Stop::Refused(refusal) => {
                let why = refusal.why_unanswered();
                self.refuse(talk, trail, refusal).await?;
                // What the server is asked that the session speaks to is not given up with it.
                if let Some(own) = &trail.envelope.asked_by_gate
                    && trail.server.other_speaker.is_none()
                    && !has_left_since(talk, trail.server.run)
                {
                    Self::give_up_own(talk, own, why);
                }
                Self::end_if_failed(talk, trail);
                Ok(())
            }
            Stop::Park => Box::pin(self.park(talk, frame, trail, Awaits::Upstream)).await,
            Stop::Hold => Box::pin(self.park(talk, frame, trail, Awaits::Model)).await,
            Stop::Ask(asking) => {
                let mut asking = Box::pin(self.ask_people(talk, frame, trail, *asking));
                apart::steps(frame.len(), asking.as_mut()).await
            }
            Stop::Elsewhere => Box::pin(self.judge_there(talk, arrival, frame, trail)).await,
            Stop::Settled => Ok(()),
            Stop::AgentGone => Err(AgentGone),
        }
    }
}
