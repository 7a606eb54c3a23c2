//! New policies in the middle of sessions.

use std::sync::Arc;

use crate::audit::{self, AuditFault, Kind, Record};
use crate::policy::{PolicySnapshot, RevisionDiff};
use crate::session::Session;
use crate::wire::KnownMethod;

use super::Gate;
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::hearers::{Hearer, Shown, shown};
use super::own::Occasion;
use super::permit::sees;
use super::settings::{Evidence, Terms};
use super::talk::Talk;

/// The step that records of new policies name.
const STAGE: &str = "reload";

/// The code of records about shadow policies that are evaluated from now on.
const SHADOW_PUBLISHED: &str = "shadow_published";

/// What they call other terms beside the same policies.
const CONFIGURATION: &str = "configuration";

/// What is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// Policies, and perhaps terms.
    Policies(RevisionDiff),
    /// Of the policies only what is asked beside them, or no longer is.
    Candidate,
    /// Terms alone.
    Terms,
    Nothing,
}

/// What is to be said with new policies.
#[derive(Debug, Clone, Default)]
pub struct Besides {
    /// Why a candidate that should be asked beside them is none.
    pub refused: Option<audit::Reason>,
    /// What of their terms is new, in words.
    pub terms: Option<String>,
}

/// New policies for a gate that are recorded, and not in force yet.
#[derive(Debug)]
pub struct RecordedPolicies {
    snapshot: PolicySnapshot,
    published: Published,
    /// What of their terms is new, in words.
    terms: Option<String>,
}

impl Published {
    fn of(old: &PolicySnapshot, new: &PolicySnapshot, terms: Option<&str>) -> Self {
        let candidate = |of: &PolicySnapshot| of.shadow().map(|it| it.revision().clone());
        if old.revision() != new.revision() {
            Self::Policies(RevisionDiff::of(old, new))
        } else if candidate(old) != candidate(new) {
            Self::Candidate
        } else if terms.is_some() {
            Self::Terms
        } else {
            Self::Nothing
        }
    }

    /// How it is recorded.
    fn reason(
        &self,
        old: &PolicySnapshot,
        new: &PolicySnapshot,
        terms: Option<&str>,
    ) -> Option<audit::Reason> {
        let with_terms = |text: String| match terms {
            Some(terms) => format!("{text}; {terms}"),
            None => text,
        };
        match self {
            Self::Policies(replaced) => {
                let text = format!("in place of {}: {replaced}", old.revision().as_str());
                Some(audit::Reason::text(with_terms(text)))
            }
            Self::Candidate => {
                let asked = match new.shadow() {
                    Some(candidate) => {
                        format!(
                            "shadow policy from now on: {}",
                            candidate.revision().as_str()
                        )
                    }
                    None if terms.is_none() => return None,
                    None => "no shadow policy any more".to_owned(),
                };
                Some(audit::Reason::code(SHADOW_PUBLISHED).with_text(with_terms(asked)))
            }
            Self::Terms => Some(audit::Reason::code(CONFIGURATION).with_text(terms?)),
            Self::Nothing => None,
        }
    }
}

impl Gate {
    /// Records new policies, with the [`Terms`] that they bring or those of the ones that they replace. Policies and
    /// terms like those in force are not recorded. They are in force after [`Self::put_in_force`].
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded: then the old ones stay.
    pub async fn record_new(
        &self,
        upstream: &str,
        snapshot: PolicySnapshot,
        besides: Besides,
    ) -> Result<RecordedPolicies, AuditFault> {
        let Besides { refused, terms } = besides;
        let old = self.policy.current();
        let snapshot = match snapshot.terms::<Terms>() {
            Some(_) => snapshot,
            None => snapshot.with_terms_of(&old),
        };
        let published = Published::of(&old, &snapshot, terms.as_deref());
        // The last record is of what comes into force: if it cannot be written, nothing does.
        if let Some(reason) = refused {
            let record = of_policies(upstream, audit::Event::Rejected)
                .decision(audit::Decision::Block, STAGE)
                .revision(snapshot.revision().as_str())
                .reason(reason);
            self.recorder.record(record).await?;
        }
        if let Some(reason) = published.reason(&old, &snapshot, terms.as_deref()) {
            let record = of_policies(upstream, audit::Event::Published)
                .decision(audit::Decision::Allow, STAGE)
                .revision(snapshot.revision().as_str())
                .reason(reason);
            self.recorder.record(record).await?;
        }
        Ok(RecordedPolicies {
            snapshot,
            published,
            terms,
        })
    }

    /// Puts policies in force, in every session, for every message that begins from now on. Each session
    /// then needs [`Self::renewed`].
    pub fn put_in_force(&self, recorded: RecordedPolicies) -> Published {
        let RecordedPolicies {
            snapshot,
            published,
            terms,
        } = recorded;
        let old = self.policy.current();
        self.stores
            .kept
            .hold(self.terms(&snapshot).guards.excerpts.as_ref());
        // What is read from now on is not kept: what was kept would look like all of it.
        if self.terms(&snapshot).evidence == Evidence::Off {
            self.stores.evidence.clear();
        }
        self.policy.publish(snapshot);
        if terms.is_some() {
            self.stores.unlisted.look_again();
        }
        // After the new ones are in force: whoever asks looks behind itself for them.
        if let (Published::Policies(_), Some(desk)) = (&published, &self.people.desk) {
            desk.retire(old.revision().as_str());
        }
        published
    }

    /// The policies in force.
    pub fn policies(&self) -> Arc<PolicySnapshot> {
        self.policy.current()
    }

    /// The policies of a session are others than those that it was last told of: tells the agent
    /// which of its lists may have changed with them, as far as the upstream has said that such
    /// things are told.
    ///
    /// # Errors
    /// [`AgentGone`] when it can no longer be told anything.
    pub async fn renewed<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        old: &PolicySnapshot,
    ) -> Result<(), AgentGone> {
        talk.session.described_by(self.policy.current().labels());
        talk.introduce();
        let (held, _) = self.stores.ratchet.held(&talk.session).await;
        let Shown { names, hearers } = shown(talk, &held);
        for hearer in hearers {
            let lists = self.changed_lists(talk, old, &names, &hearer);
            let telling = self.tell_of_lists(talk, &hearer, lists, Occasion::NewPolicies);
            telling.await?;
        }
        Ok(())
    }

    /// The server of a conversation was removed: tells the agent of each of its lists that the server told of.
    ///
    /// # Errors
    /// [`AgentGone`] when it can no longer be told anything.
    pub async fn removed<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) -> Result<(), AgentGone> {
        let (held, _) = self.stores.ratchet.held(&talk.session).await;
        for hearer in shown(talk, &held).hearers {
            let lists = hearer.lists.clone();
            let telling = self.tell_of_lists(talk, &hearer, lists, Occasion::Removed);
            telling.await?;
        }
        Ok(())
    }

    /// Whether the policies in force leave the agent of a session its server.
    pub fn leaves_server(&self, session: &Session) -> bool {
        let state = session.state();
        let (agent, key) = (&state.parties.agent, state.parties.server.key.as_ref());
        key.is_none_or(|key| self.policy.current().labels().leave_server(agent, key))
    }

    fn changed_lists<U, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        old: &PolicySnapshot,
        names: &[String],
        hearer: &Hearer,
    ) -> Vec<KnownMethod> {
        let now = self.circumstances(talk);
        let (scene, mut lists) = (&hearer.scene, hearer.lists.clone());
        // Only the names of tools are kept: of other lists it is not known what they showed.
        let new = self.policy.current();
        let seen = |name: &String, under: &PolicySnapshot| {
            let pins = self.pins(&talk.session, under);
            !under.labels().closes(name, scene.held.level)
                && sees(&pins.tool(name, under), scene, under, now)
        };
        let differs = |name: &String| seen(name, old) != seen(name, &new);
        if !names.is_empty() && !names.iter().any(differs) {
            lists.retain(|changed| *changed != KnownMethod::ToolsListChanged);
        }
        lists
    }

    /// Records that new policies were refused, and why; those in force stay.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded.
    pub async fn keep(&self, upstream: &str, reason: audit::Reason) -> Result<(), AuditFault> {
        let record = of_policies(upstream, audit::Event::Rejected)
            .decision(audit::Decision::Block, STAGE)
            .revision(&*self.revision())
            .reason(reason);
        self.recorder.record(record).await
    }
}

/// Policies are the gate's, not a session's.
fn of_policies(upstream: &str, event: audit::Event) -> Record {
    Record::new(Kind::PolicyReload)
        .upstream(upstream)
        .event(event)
}
