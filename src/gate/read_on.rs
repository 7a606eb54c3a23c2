//! Answers an agent that reads on in a result that the gate keeps.

use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::Target;
use crate::wire::{KnownMethod, Side};

use super::Gate;
use super::context::RequestContext;
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::kept::not_kept;
use super::local::Piece;
use super::look::Look;
use super::own::{AnswerId, OwnMessage, Stateless};
use super::rejection::Rejection;
use super::stop::Stop;
use super::talk::Talk;

impl Gate {
    /// Answers an agent that reads on.
    pub(super) async fn read_on<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cx: &mut RequestContext<'_>,
        asked: &Piece,
    ) -> Result<(), Stop> {
        let identified = &cx.understood.identified;
        let (message, stream) = (identified.message, identified.stream);
        KnownMethod::ResourcesRead
            .check_params(message.params())
            .map_err(Rejection::from)?;
        let stateless = if *identified.scene.spoken.version >= *FIRST_STATELESS {
            Stateless::Yes
        } else {
            Stateless::No
        };
        let (snapshot, now) = (cx.snapshot, cx.now.at);
        let agent = &identified.scene.agent.id;
        let whole = self.stores.kept.get(agent, &asked.name, now);
        let target = Target::Resource(asked.uri.clone());
        let Some(whole) = whole else {
            cx.trail
                .asks(&target, message, self.content_recorder(snapshot));
            return Err(not_kept().into());
        };
        let look = Look::under(snapshot, cx.terms);
        cx.understood.questions = whole.questions(look, snapshot.looks_for());
        cx.understood.target = target;
        cx.trail
            .understood(&cx.understood, cx.session, snapshot, &self.settings);
        // The agent may read on in another session than that of the call.
        cx.brings = whole.brings(snapshot);
        Box::pin(self.chains.local.authorize(cx)).await?;
        self.stores.pace.pay(cx).await?;
        let trail = &mut *cx.trail;
        let record = trail.kept(now);
        self.recorder.record(record).await?;
        // Where nothing is shortened any more, neither is this.
        let excerpts = self.terms(snapshot).guards.excerpts.as_ref();
        let most = excerpts.map_or(usize::MAX, |it| it.over);
        let text = whole.piece(asked, most);
        let id = message
            .id()
            .map_or(AnswerId::Unreadable, |id| AnswerId::Json(id.json()));
        let answer = OwnMessage::contents(id, &asked.uri, &text, stateless);
        // The agent may be slow to take it.
        trail.holds.room = None;
        self.keep_evidence(cx, &text);
        let told = self.tell(talk, Side::Agent, stream, answer).await;
        told.map_err(|AgentGone| Stop::AgentGone)
    }
}
