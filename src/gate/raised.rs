//! What a session has read changes what it may use: its agent is told which lists are others now.

use std::sync::Arc;

use crate::policy::{ActionName, ListDependency, PolicySnapshot, SessionSensitivity};
use crate::wire::KnownMethod;

use super::Gate;
use super::classified::Scene;
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::hearers::{Hearer, Shown, shown};
use super::own::Occasion;
use super::permit::sees;
use super::record::Trail;
use super::talk::Talk;

impl Gate {
    /// A message is through. If its session has read more since its agent was told what it may use,
    /// be it by another session that counts together with this one, the agent is told.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub(super) async fn after<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        trail: &mut Trail,
    ) -> Result<(), AgentGone> {
        self.let_go_on(talk);
        let Some(held) = trail.sensitivity.held.take() else {
            return Ok(());
        };
        let before = {
            let mut state = talk.session.state();
            if state.lists.shown_by.as_ref() == Some(&held) {
                return Ok(());
            }
            state.lists.shown_by.replace(Arc::clone(&held))
        };
        match before {
            Some(before) => Box::pin(self.tell_of_raise(talk, &before, held, |_| true)).await,
            // Nothing was shown yet.
            None => Ok(()),
        }
    }

    /// The session is about to leave the open server, and with it the names of its tools. Of other lists
    /// its agent is told in any case.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub(super) async fn before_leaving<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), AgentGone> {
        let (held, _) = self.stores.ratchet.held(&talk.session).await;
        let before = talk
            .session
            .state()
            .lists
            .shown_by
            .replace(Arc::clone(&held));
        let Some(before) = before.filter(|before| *before != held) else {
            return Ok(());
        };
        self.tell_of_raise(talk, &before, held, |list| {
            list == KnownMethod::ToolsListChanged
        })
        .await
    }

    async fn tell_of_raise<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        before: &Arc<SessionSensitivity>,
        after: Arc<SessionSensitivity>,
        of: fn(KnownMethod) -> bool,
    ) -> Result<(), AgentGone> {
        let Shown { names, hearers } = shown(talk, &after);
        for hearer in hearers {
            let mut lists = self.others_now(talk, before, &names, &hearer);
            lists.retain(|list| of(*list));
            let telling = self.tell_of_lists(talk, &hearer, lists, Occasion::Raised);
            telling.await?;
        }
        Ok(())
    }

    /// Lists that show something else, as far as that can be told.
    fn others_now<U, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        before: &Arc<SessionSensitivity>,
        names: &[String],
        hearer: &Hearer,
    ) -> Vec<KnownMethod> {
        let (after, mut lists) = (&hearer.scene, hearer.lists.clone());
        let snapshot: &PolicySnapshot = &self.policies_of(&talk.session);
        let tools = KnownMethod::ToolsListChanged;
        let looks = |list| snapshot.list_by(list) != ListDependency::Names;
        // Whatever policies say, tools are closed.
        lists.retain(|changed| *changed == tools || shown_by(*changed).is_some_and(looks));
        let looks = looks(ActionName::ListTool);
        let mut earlier = after.clone();
        earlier.held = Arc::clone(before);
        let now = self.circumstances(talk);
        let pins = self.pins(&talk.session, snapshot);
        let differs = |name: &String| {
            let closes = |level| snapshot.labels().closes(name, level);
            let is_shown = |scene: &Scene| {
                !closes(scene.held.level)
                    && (!looks || sees(&pins.tool(name, snapshot), scene, snapshot, now))
            };
            is_shown(&earlier) != is_shown(after)
        };
        if lists.contains(&tools) && !names.is_empty() && !names.iter().any(differs) {
            lists.retain(|changed| *changed != tools);
        }
        lists
    }
}

/// By which action policies show the items of a list, by the notification that tells that it has changed.
fn shown_by(changed: KnownMethod) -> Option<ActionName> {
    let mut pairs = [
        (KnownMethod::ToolsListChanged, ActionName::ListTool),
        (KnownMethod::PromptsListChanged, ActionName::ListPrompt),
        (KnownMethod::ResourcesListChanged, ActionName::ListResource),
    ]
    .into_iter();
    pairs.find_map(|(of, list)| (of == changed).then_some(list))
}
