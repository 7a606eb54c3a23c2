//! Tools whose definition is not the approved one: each change is told once.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use tracing::warn;

use crate::audit::{self, AuditFault, Kind, Record};
use crate::policy::{Fingerprint, LOCK_DRIFT, Pin, PolicySnapshot};
use crate::session::PageItem;
use crate::wire::{KnownMethod, Side, Stream, Value};

use super::Gate;
use super::decide::Stop;
use super::forward::{Agent, AgentGone, Upstream};
use super::own::{Occasion, OwnMessage};
use super::pin::Pins;
use super::seen::News;
use super::talk::Talk;

/// A tool as a list defines it, and not as it was approved.
#[derive(Debug)]
pub(super) struct Drift<'m> {
    name: String,
    print: Fingerprint,
    pin: Pin,
    definition: Value<'m>,
}

/// Those among items of a list of tools.
pub(super) fn drifts<'m, 'i>(
    list: Value<'m>,
    items: impl Iterator<Item = &'i PageItem>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
) -> Vec<Drift<'m>> {
    if !snapshot.lock().pins() {
        return Vec::new();
    }
    let changed = items.filter_map(|item| {
        let pin = pins.of_item(item, snapshot);
        let changed = pin.known && !(pin.schema_ok && pin.description_ok);
        Some((item, item.definition.as_ref()?.print, pin)).filter(|_| changed)
    });
    let changed: Vec<_> = changed.collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let all: Vec<Value<'m>> = list.items().collect();
    let drift = |(item, print, pin): (&PageItem, Fingerprint, Pin)| {
        Some(Drift {
            name: item.name.clone(),
            print,
            pin,
            definition: *all.get(item.index)?,
        })
    };
    changed.into_iter().filter_map(drift).collect()
}

impl Gate {
    /// Records and logs each change that has not been told yet, whichever session it was seen in.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded: then it is told the next time.
    pub(super) async fn tell_of<U, A>(
        &self,
        talk: &Talk<U, A>,
        snapshot: &PolicySnapshot,
        drifts: &[Drift<'_>],
    ) -> Result<(), AuditFault> {
        for drift in drifts {
            let news = self.seen.tell(&drift.name, drift.print);
            if news == News::Old {
                continue;
            }
            let why = drift.why(snapshot);
            warn!(
                "the definition of `{}` is not the approved one: {why}",
                drift.name.escape_debug()
            );
            if news == News::Last {
                warn!("so many definitions have changed that no more of them are told");
            }
            let told = self
                .audit
                .record(self.concealed(drift.record(talk, snapshot, why)));
            if let Err(fault) = told.await {
                self.seen.forget(&drift.name, drift.print);
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Tells an agent that has listed tools that its list has changed, where it could not know. What
    /// cannot be recorded is not said.
    ///
    /// # Errors
    /// [`Stop::AgentGone`] when it can no longer be told anything.
    pub(super) async fn tell_agent_of<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        drifts: &[Drift<'_>],
    ) -> Result<(), Stop> {
        const CHANGED: KnownMethod = KnownMethod::ToolsListChanged;
        let is_news = {
            let mut state = talk.session.state();
            let hears = state.listed.contains(&CHANGED) && state.promised.contains(&CHANGED);
            hears && state.drifts.found(drifts.iter().map(Drift::named))
        };
        if !is_news {
            return Ok(());
        }
        if let Err(fault) = self.record_own(talk, Occasion::Drift, Side::Agent).await {
            warn!("a notification could not be recorded, and is not sent: {fault}");
            return Ok(());
        }
        let changed = OwnMessage::list_changed(CHANGED);
        self.tell(talk, Side::Agent, Stream::MAIN, changed)
            .await
            .map_err(|AgentGone| Stop::AgentGone)
    }
}

impl Drift<'_> {
    /// What changes are told apart by.
    pub(super) fn named(&self) -> (&str, Fingerprint) {
        (&self.name, self.print)
    }

    fn record<U, A>(&self, talk: &Talk<U, A>, snapshot: &PolicySnapshot, why: String) -> Record {
        let reason = audit::Reason::code("tool-changed").with_text(why);
        Record::new(Kind::UpstreamEvent)
            .within(&talk.scope())
            .event(audit::Event::Changed)
            .revision(snapshot.revision().as_str())
            .target(self.name.as_str())
            .policies([LOCK_DRIFT])
            .reason(reason)
    }

    fn why(&self, snapshot: &PolicySnapshot) -> String {
        let what = match (self.pin.schema_ok, self.pin.description_ok) {
            (false, false) => "its schemas and what else it says differ",
            (false, true) => "its schemas differ",
            (true, _) => "what it says beside its schemas differs",
        };
        let now = digest(&self.definition.canonical());
        match snapshot.lock().tool(&self.name) {
            Some(locked) => {
                let approved = digest(&locked.definition);
                format!("{what}; SHA-256 {now}, approved {approved}")
            }
            None => format!("{what} from what was seen first; SHA-256 {now}"),
        }
    }
}

/// As `tools.lock` says it.
fn digest(definition: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(definition) {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
