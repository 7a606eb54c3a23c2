//! Tells the requester, the audit and operators what became of a message that did not pass.

use tracing::{error, warn};

use crate::audit::Record;
use crate::session::{Lifecycle, Origin, Taken, Waits};
use crate::wire::{KnownMethod, Side, Stream};

use super::arrival::AnswerTo;
use super::asking::lending;
use super::broken::{self, Fault};
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::look::without;
use super::own::{AnswerId, OwnMessage, Stateless};
use super::permit::Permit;
use super::record::Trail;
use super::rejection::{Property, Rejection};
use super::stop::Stop;
use super::talk::Talk;
use super::{DenialForm, Gate, runs};

/// The most characters of a text that a warning shows.
const MOST_SHOWN: usize = 300;

impl Gate {
    /// A text for a peer, without credentials.
    pub(super) fn without_credentials(&self, text: String) -> String {
        let current = self.policy.current();
        without(text, self.terms(&current).guards.secrets.as_ref())
    }

    /// Warns operators about a server. The warning has no credentials and is cut.
    fn tell_of_broken(&self, fault: &Fault<'_>) {
        let reason = fault.refusal.reason();
        let Some(left_out) = self.broken.turn(reason, self.clock.elapsed()) else {
            return;
        };
        let text = self.without_credentials(fault.refusal.to_string());
        let text = self.settings.secrets.redact(&text).into_owned();
        let text: String = text.chars().take(MOST_SHOWN).collect();
        let method = fault.method.map(str::escape_debug);
        warn!(
            server = fault.server,
            method = method.map(tracing::field::display),
            reason,
            record = fault.record,
            left_out = (left_out > 0).then_some(left_out),
            "an answer of the server is refused: {}",
            text.escape_debug()
        );
    }

    /// Records a refusal and answers whoever waits.
    pub(super) async fn refuse<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        trail: &Trail,
        refusal: Rejection,
    ) -> Result<(), AgentGone> {
        let record = trail.refused(&refusal, self.clock.elapsed());
        if trail.is_an_answer() {
            self.tell_of_broken(&Fault {
                server: talk.scope().upstream.as_str(),
                method: trail.record_method(),
                record: &trail.ids.reference,
                refusal: &refusal,
            });
        }
        if let Err(fault) = self.recorder.record(record).await {
            // Nothing passes without a record; that nothing passed need not wait for one.
            error!(
                reference = &*trail.ids.reference,
                "a refusal could not be recorded: {fault}"
            );
        }
        if trail.envelope.method == Some(KnownMethod::Initialize) {
            talk.session.state().protocol.lifecycle.abandon();
        }
        let (to, id) = match &trail.envelope.answer_to {
            AnswerTo::None => return Ok(()),
            // While it was recorded the session has turned to a server that did not ask this.
            AnswerTo::Asker(Side::Upstream, _) | AnswerTo::Waiting(Side::Upstream, _)
                if runs::gone(&talk.session, trail.server.run).is_some() =>
            {
                return Ok(());
            }
            AnswerTo::Asker(side, asker) | AnswerTo::Waiting(side, asker) => {
                (*side, AnswerId::Json(asker.id.json()))
            }
            AnswerTo::Unreadable => (Side::Agent, AnswerId::Unreadable),
        };
        let mut answer = if matches!(trail.envelope.answer_to, AnswerTo::Waiting(..)) {
            refusal.answer_waiting(to, &trail.ids.reference)
        } else {
            refusal.answer(to, &trail.ids.reference)
        };
        // A refusal may quote the other side: a name, or what a schema says.
        answer.message = self.without_credentials(answer.message);
        let denial = self.terms(&self.policy.current()).denial;
        let for_models = refusal.has(Property::ReadByModels)
            || refusal.has(Property::ReadByModelsIfConfigured) && denial == DenialForm::ToolResult;
        let readable = for_models && trail.envelope.method == Some(KnownMethod::ToolsCall);
        let message = if readable {
            let stateless = match talk.session.state().protocol.lifecycle {
                Lifecycle::New => Stateless::Yes,
                Lifecycle::Initializing(_) | Lifecycle::Ready(_) => Stateless::No,
            };
            OwnMessage::tool_error(id, &answer, stateless)
        } else {
            OwnMessage::error(id, answer)
        };
        self.tell(talk, to, trail.received.stream, message).await
    }

    /// Sends a permitted message to the side that it is for.
    pub(super) async fn send<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        permit: Permit,
    ) -> Result<(), Stop> {
        match permit.to() {
            Side::Agent => talk
                .agent
                .deliver(permit)
                .await
                .map_err(|_| Stop::AgentGone),
            Side::Upstream => {
                talk.reachable(Side::Upstream)?;
                Ok(talk.upstream.send(permit).await?)
            }
        }
    }

    /// Sends what the gate says itself. An upstream that cannot be reached need not be told.
    pub(super) async fn tell<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        to: Side,
        stream: Stream,
        message: OwnMessage,
    ) -> Result<(), AgentGone> {
        // A session that is too sensitive for the open server moves with the agent's next message;
        // until then that server is not told anything.
        if to == Side::Upstream && self.due(talk).is_some() {
            return Ok(());
        }
        let permit = match self.own_permit(&talk.session, to, stream, message) {
            Ok(permit) => permit,
            Err(refusal) => {
                warn!("the gate does not tell the server: {refusal}");
                return Ok(());
            }
        };
        match self.send(talk, permit).await {
            Err(Stop::AgentGone) => Err(AgentGone),
            Ok(())
            | Err(
                Stop::Refused(_)
                | Stop::Park
                | Stop::Hold
                | Stop::Ask(_)
                | Stop::Elsewhere
                | Stop::Settled,
            ) => Ok(()),
        }
    }

    /// Records how a request ended that its asker cancelled.
    pub(super) async fn settle<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        from: Side,
        taken: Taken,
    ) {
        if from == Side::Agent {
            talk.session
                .state()
                .connection
                .forsaken
                .note(&taken.exchange);
            talk.agent.release(taken.exchange.received.stream);
        }
        lending::given_up(&taken, &mut talk.session.state(), lending::in_time(&taken));
        self.close(talk, &taken, &Rejection::cancelled()).await;
    }

    /// Records the end of a request that gets no reply.
    pub(super) async fn close<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        taken: &Taken,
        refusal: &Rejection,
    ) {
        self.close_with(talk, taken, refusal, None).await;
    }

    /// The same of one that gets an error of the gate's with this code.
    async fn close_with<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        taken: &Taken,
        refusal: &Rejection,
        code: Option<i64>,
    ) {
        // A person may be asked about its reply, which nobody waits for any more.
        if talk
            .session
            .state()
            .waiting
            .asking
            .holds_reply(taken.minted)
        {
            talk.session.bell().notify_one();
        }
        let record = self.end_of(talk, taken, refusal, code);
        if let Err(fault) = self.recorder.record(record).await {
            error!(
                reference = &*taken.exchange.ids.reference,
                "an outcome could not be recorded: {fault}"
            );
        }
    }

    /// The record of the end of a request that gets no reply.
    fn end_of<U, A>(
        &self,
        talk: &Talk<U, A>,
        taken: &Taken,
        refusal: &Rejection,
        code: Option<i64>,
    ) -> Record {
        let mut trail = Trail::outcome(talk, &taken.exchange);
        if let Waits::Elsewhere(instance) = taken.waits {
            trail.take_instance(talk, instance);
        }
        let mut record = trail.refused(refusal, self.clock.elapsed());
        record.error_code = code;
        if broken::is_broken(refusal) {
            self.tell_of_broken(&Fault {
                server: talk.scope().upstream.as_str(),
                method: Some(taken.exchange.method.name()),
                record: &trail.ids.reference,
                refusal,
            });
        }
        record
    }

    /// Ends a request that will get no reply: its asker is told so, once.
    pub(super) async fn give_up<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        asker: Side,
        taken: &Taken,
        refusal: Rejection,
    ) -> Result<(), AgentGone> {
        let Origin::Peer(waiting) = &taken.exchange.origin else {
            return Ok(());
        };
        let run = talk.session.run();
        let answer = refusal.answer(asker, &taken.exchange.ids.reference);
        self.close_with(talk, taken, &refusal, Some(answer.code))
            .await;
        // While that was recorded, the session has turned to a server that did not ask this.
        if asker == Side::Upstream && runs::gone(&talk.session, run).is_some() {
            return Ok(());
        }
        if taken.exchange.method == KnownMethod::Initialize {
            talk.session.state().protocol.lifecycle.abandon();
        }
        self.tell(
            talk,
            asker,
            taken.exchange.received.stream,
            OwnMessage::error(AnswerId::Json(waiting.id.json()), answer),
        )
        .await
    }
}
