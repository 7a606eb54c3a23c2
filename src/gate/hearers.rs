//! Who is told when policies, or what was read, change what a list shows: the agent of a session, and of
//! agents without one each that listens.

use std::sync::Arc;

use tracing::warn;

use crate::mcp::revisions::FIRST_STATELESS;
use crate::policy::SessionSensitivity;
use crate::session::{Asker, Kept, Lifecycle, Origin, Spoken, State};
use crate::wire::{Id, KnownMethod, Side, Stream};

use super::Gate;
use super::classified::Scene;
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::own::{Occasion, OwnMessage};
use super::talk::Talk;

/// What the agents of a conversation have got of what there is.
pub(super) struct Shown {
    /// Of tools.
    pub(super) names: Vec<String>,
    pub(super) hearers: Vec<Hearer>,
}

/// One who is told.
pub(super) struct Hearer {
    pub(super) scene: Scene,
    /// Lists of which it is told when they change.
    pub(super) lists: Vec<KnownMethod>,
    stream: Stream,
    /// Its `subscriptions/listen`, if it has no session.
    listens: Option<Asker>,
}

/// Who has got what of this conversation, by what was read in it.
pub(super) fn shown<U, A>(talk: &Talk<U, A>, held: &Arc<SessionSensitivity>) -> Shown {
    let state = talk.session.state();
    let names: Vec<String> = state.lists.tools.names().map(str::to_owned).collect();
    let hearers = match (&state.protocol.lifecycle, &state.protocol.bridged) {
        (Lifecycle::Ready(handshake), _) => vec![in_session(&state, &handshake.spoken, held)],
        (_, Some(_)) => {
            let spoken = Spoken {
                version: FIRST_STATELESS.into(),
                ..Spoken::default()
            };
            vec![in_session(&state, &spoken, held)]
        }
        (Lifecycle::New | Lifecycle::Initializing(_), None) => listening(&state, held),
    };
    Shown { names, hearers }
}

/// It hears of the lists that it has got, as far as the server tells of them.
fn in_session(state: &State, spoken: &Spoken, held: &Arc<SessionSensitivity>) -> Hearer {
    let mut lists = state.lists.promised.clone();
    lists.retain(|changed| state.lists.listed.contains(changed));
    Hearer {
        scene: Scene::of(state, spoken.clone(), Kept::having_read(Arc::clone(held))),
        lists,
        stream: Stream::MAIN,
        listens: None,
    }
}

/// Those who hear of what the server has granted them, in the order in which they came. Which lists they
/// have got is not known: a cache may have brought them.
fn listening(state: &State, held: &Arc<SessionSensitivity>) -> Vec<Hearer> {
    let mut listening: Vec<_> = state
        .waiting
        .to_upstream
        .in_flight()
        .filter(|(_, exchange)| !exchange.asks.news.granted.is_empty())
        .collect();
    listening.sort_unstable_by_key(|(minted, _)| *minted);
    let hearers = listening.into_iter().filter_map(|(_, exchange)| {
        let Origin::Peer(asker) = &exchange.origin else {
            return None;
        };
        let mut scene = Scene::of(
            state,
            exchange.asks.spoken.clone(),
            Kept::having_read(Arc::clone(held)),
        );
        scene.peer = exchange.received.peer;
        if let Some(agent) = &exchange.admission.agent {
            scene.agent = Arc::clone(agent);
        }
        let mut lists = exchange.asks.news.granted.clone();
        lists.retain(|kind| *kind != KnownMethod::ResourceUpdated);
        Some(Hearer {
            scene,
            lists,
            stream: exchange.received.stream,
            listens: Some(asker.clone()),
        })
    });
    hearers.collect()
}

impl Hearer {
    fn still_hears<U, A>(&self, talk: &Talk<U, A>) -> bool {
        let listens = self.listens.as_ref();
        listens.is_none_or(|asker| talk.session.state().waiting.to_upstream.is_in_flight(asker))
    }

    fn subscription(&self) -> Option<&Id> {
        self.listens.as_ref().map(|asker| &asker.id)
    }
}

impl Gate {
    /// Tells one of them that these lists show something else now.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub(super) async fn tell_of_lists<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        hearer: &Hearer,
        lists: Vec<KnownMethod>,
        occasion: fn(KnownMethod) -> Occasion<'static>,
    ) -> Result<(), AgentGone> {
        for changed in lists {
            if let Err(fault) = self.record_own(talk, occasion(changed), Side::Agent).await {
                warn!("a notification could not be recorded, and is not sent: {fault}");
                continue;
            }
            // While it was recorded, the stream may have ended.
            if !hearer.still_hears(talk) {
                return Ok(());
            }
            let changed = match hearer.subscription() {
                Some(id) => OwnMessage::list_changed_for(changed, id),
                None => OwnMessage::list_changed(changed),
            };
            self.tell(talk, Side::Agent, hearer.stream, changed).await?;
        }
        Ok(())
    }
}
