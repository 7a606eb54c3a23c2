//! A handshake of the gate's own, in a conversation with nobody: whether the server can serve is to be
//! known before an agent comes (decision 15).
//!
//! All that the gate says here is its own, and what the server says meanwhile takes the path of
//! everything that it says. Whoever drives the conversation finds what has come of it in
//! [`Protocol::trial`](crate::session::State).

use std::sync::Arc;

use tracing::warn;

use crate::mcp::revisions::{FIRST_STATELESS, LAST_WITH_SESSIONS};
use crate::session::{Handshake, Lifecycle, Opening, Origin, Trial};
use crate::wire::{Id, KnownMethod, Message, Side, Stream};

use super::Gate;
use super::eras::{self, Says};
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::identify::said;
use super::inspect::revision_of_session;
use super::own::{AnswerId, Occasion, OwnMessage};
use super::record::Trail;
use super::rejection::Rejection;
use super::stop::Stop;
use super::talk::Talk;

/// What is sent.
pub(super) fn method_of(opening: Opening) -> KnownMethod {
    match opening {
        Opening::Discover => KnownMethod::Discover,
        Opening::Initialize => KnownMethod::Initialize,
    }
}

impl Gate {
    /// Asks the server for a handshake that is nobody's.
    pub async fn try_out<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>, opening: Opening) {
        talk.session.state().protocol.trial = Some(Trial::Open);
        let origin = Origin::Trial(opening);
        match opening {
            Opening::Discover => {
                let message = |minted| OwnMessage::discover(minted, FIRST_STATELESS);
                self.ask_when_up(talk, origin, message).await;
            }
            Opening::Initialize => {
                let params = OwnMessage::introduction(LAST_WITH_SESSIONS);
                talk.session.state().protocol.lifecycle = Lifecycle::Initializing(Handshake {
                    params: params.as_str().into(),
                    spoken: said(LAST_WITH_SESSIONS, None),
                });
                let message = |minted| OwnMessage::initialize(minted, params);
                self.ask_when_up(talk, origin, message).await;
            }
        }
    }

    /// Takes in what the server says to it.
    pub(super) async fn absorb_trial<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
        opening: Opening,
        trail: &Trail,
    ) -> Result<(), Stop> {
        let agreed = agreed(message, opening)?;
        let taken_in = trail.taken_in(self.clock.elapsed());
        self.recorder.record(taken_in).await?;
        let version = match agreed {
            Agreed::To(version) => version,
            Agreed::Not(how) => {
                let mut state = talk.session.state();
                state.protocol.lifecycle.abandon();
                state.protocol.trial = Some(Trial::Otherwise(how));
                return Ok(());
            }
        };
        if let Some(version) = version {
            talk.session.state().protocol.lifecycle.complete(&version);
            let occasion = Occasion::Trial(KnownMethod::Initialized);
            self.record_own(talk, occasion, Side::Upstream).await?;
            let initialized = OwnMessage::initialized();
            let told = self.tell(talk, Side::Upstream, Stream::MAIN, initialized);
            told.await.map_err(|AgentGone| Stop::AgentGone)?;
        }
        talk.upstream.handshake_completed();
        talk.session.state().protocol.trial = Some(Trial::Passed);
        Ok(())
    }

    /// Answers a `ping` of a trial that was permitted, by the id that the gate minted for it: a trial
    /// has no agent that could answer.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn answer_ping<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        minted: u64,
    ) -> Result<(), AgentGone> {
        let occasion = Occasion::Trial(KnownMethod::Ping);
        self.answer_for_the_agent(talk, minted, occasion).await
    }

    /// The same for one that no stream of the agent's could bring to it: the server would take it for
    /// dead.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn answer_unheard<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        minted: u64,
    ) -> Result<(), AgentGone> {
        self.answer_for_the_agent(talk, minted, Occasion::Unheard)
            .await
    }

    async fn answer_for_the_agent<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        minted: u64,
        occasion: Occasion<'_>,
    ) -> Result<(), AgentGone> {
        let taken = talk
            .session
            .state()
            .waiting
            .to_agent
            .take(&Id::integer(minted));
        let Some(Origin::Peer(asker)) = taken.map(|taken| taken.exchange.origin) else {
            return Ok(());
        };
        if let Err(fault) = self.record_own(talk, occasion, Side::Upstream).await {
            warn!("an answer could not be recorded, and is not sent: {fault}");
            return Ok(());
        }
        let answer = OwnMessage::done(AnswerId::Json(asker.id.json()));
        self.tell(talk, Side::Upstream, Stream::MAIN, answer).await
    }
}

/// What comes of an answer that is one.
enum Agreed {
    /// The revision of the session, if there is one now.
    To(Option<Arc<str>>),
    /// It does not speak this way.
    Not(Arc<str>),
}

/// # Errors
/// [`Stop::Refused`] for what says neither.
fn agreed(message: &Message, opening: Opening) -> Result<Agreed, Stop> {
    let is_result = message.result().is_some();
    match opening {
        Opening::Discover => match eras::said(message) {
            Says::Lacks(lack) => Ok(Agreed::Not(lack.to_string().into())),
            Says::Takes if is_result => Ok(Agreed::To(None)),
            Says::Takes => Err(Rejection::useless_reply("it is an error").into()),
        },
        Opening::Initialize if is_result => {
            let version = revision_of_session(message)?;
            Ok(Agreed::To(Some((&*version).into())))
        }
        Opening::Initialize => {
            let code = message
                .error()
                .and_then(|error| error.get("code")?.as_i64());
            let code = code.unwrap_or_default();
            let how = format!("it answers `initialize` with the error {code}");
            Ok(Agreed::Not(how.into()))
        }
    }
}
