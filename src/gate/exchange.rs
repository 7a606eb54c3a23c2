//! What the gate remembers of a request until its reply.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::PolicySnapshot;
use crate::session::{
    About, Admission, Agreed, Asker, Asks, AuditIds, Exchange, News, Origin, Reception, Task,
};
use crate::wire::{KnownMethod, Side, Stream, Value};

use super::classified::Role;
use super::context::RequestContext;
use super::filter::{Filter, Placement};
use super::query::Understood;
use super::record::Trail;
use super::settings::Terms;
use super::{Gate, identify, route, tasks};

/// Lets a request take longer of whose progress the server tells.
#[derive(Debug)]
pub(super) struct Progress {
    /// In force where a request was judged under policies without settings of their own.
    pub(super) terms: Terms,
}

impl Filter for Progress {
    fn on_sent(&self, cx: &mut RequestContext<'_>, _: Placement) {
        let identified = &cx.understood.identified;
        let tells = matches!(
            identified.role,
            Role::Notification {
                method: KnownMethod::Progress
            }
        );
        let token =
            route::told_of(identified).filter(|_| tells && identified.from == Side::Upstream);
        let Some(token) = token else { return };
        cx.session
            .state()
            .waiting
            .to_upstream
            .extend(&token, |exchange| {
                let terms = exchange.admission.snapshot.terms().unwrap_or(&self.terms);
                let Some(most) = terms.progress_extends else {
                    return Duration::ZERO;
                };
                let timeout = terms.timeout(&exchange.about.target);
                let last = exchange.received.started.saturating_add(most.max(timeout));
                cx.now.at.saturating_add(timeout).min(last)
            });
    }
}

impl Gate {
    pub(super) fn exchange_of(
        &self,
        asker: &Asker,
        method: KnownMethod,
        understood: &Understood<'_>,
        snapshot: &Arc<PolicySnapshot>,
        trail: &Trail,
    ) -> Exchange {
        let timeout = self.terms(snapshot).timeout(&understood.target);
        let message = understood.identified.message;
        let token = message.meta().and_then(|meta| meta.get("progressToken"));
        let cursor = message.params().and_then(|params| params.get("cursor"));
        let cursor = cursor.and_then(Value::as_str);
        let identified = &understood.identified;
        Exchange {
            origin: Origin::Peer(asker.clone()),
            method,
            received: Reception {
                started: trail.received.started,
                stream: identified.stream,
                peer: identified.scene.peer,
            },
            sent_on: Stream::MAIN,
            deadline: identify::deadline(method, trail.received.started, timeout),
            ids: trail.ids.clone(),
            about: About {
                target: understood.target.clone(),
                offered: trail.about.offered.clone(),
                call: trail.about.call.clone(),
                turn: trail.about.turn,
            },
            asks: Asks {
                progress_token: token.map(route::token_text),
                cursor: cursor.map(Cow::into_owned),
                news: News::default(),
                spoken: identified.scene.spoken.clone(),
                task: tasks::of_request(understood),
            },
            admission: Admission {
                agent: (identified.from == Side::Agent)
                    .then(|| Arc::clone(&identified.scene.agent)),
                snapshot: Arc::clone(snapshot),
                brings: Arc::clone(&trail.sensitivity.brings),
                agreed: trail.consent.agreed.clone(),
            },
            again: trail.retry.again.clone(),
        }
    }
}

/// The bytes of what in it others have chosen the length of, and that is held by it alone.
pub(super) fn weight(exchange: &Exchange) -> usize {
    let Exchange {
        origin,
        method: _,
        received: _,
        sent_on: _,
        deadline: _,
        ids,
        about,
        asks,
        admission,
        again,
    } = exchange;
    let AuditIds {
        reference,
        correlation,
        span: _,
    } = ids;
    let About {
        target,
        offered: _,
        call: _,
        turn: _,
    } = about;
    let Asks {
        progress_token,
        cursor,
        news: _,
        spoken,
        task,
    } = asks;
    let Admission {
        agent: _,
        snapshot: _,
        brings: _,
        agreed,
    } = admission;
    let id = match origin {
        Origin::Peer(asker) => asker.id.json().len(),
        Origin::Catalogue
        | Origin::Discovery
        | Origin::Handshake
        | Origin::Trial(_)
        | Origin::Consent(_) => 0,
    };
    let texts = [progress_token, cursor].into_iter().flatten();
    let task = match task {
        Task::None => 0,
        Task::MayBegin { params, .. } => params.len(),
        Task::Named(id) => id.len(),
    };
    let own = [
        id,
        target.name().map_or(0, str::len),
        spoken.version.len(),
        task,
        agreed.as_ref().map_or(0, Agreed::weight),
        correlation.weight(),
        reference.len(),
        again.as_ref().map_or(0, |call| call.frame.len()),
    ];
    texts.map(String::len).chain(own).sum()
}
