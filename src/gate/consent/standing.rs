//! What a person has agreed to for the rest of a session.

use crate::consent::Holds;
use crate::policy::{ConsentRule, Denial, PolicySnapshot, Reason, UNREADABLE_DESTINATION};
use crate::session::{Agreed, Session, Target};
use crate::wire::KnownMethod;

use crate::gate::context::RequestContext;
use crate::gate::query::{Circumstances, Understood};
use crate::gate::settings::QuestionsAgain;

use super::bound::{asks, binding};

/// The gate's own policy for `consent` in `tools.toml`.
const OF_THE_LABEL: (&str, &str) = ("<consent.cedar>", "consent");

/// The gate's own policies on what flows where, which a person may lift for a destination.
const OF_FLOW: [(&str, &str); 2] = [
    ("<flow.cedar>", "builtin.flow_in"),
    ("<ratchet.cedar>", "builtin.ask_egress"),
];

/// What a yes to one call is good for beyond it.
#[derive(Debug, Default)]
pub(super) struct StandingConsents {
    /// By the tool, where its label says so.
    of_tool: Option<[u8; 32]>,
    /// By each destination of the call.
    of_destinations: Vec<[u8; 32]>,
}

impl StandingConsents {
    /// Of a call of a tool, where one agent alone has the session.
    pub(super) fn of(
        understood: &Understood<'_>,
        snapshot: &PolicySnapshot,
        session: &Session,
        (again, now): (QuestionsAgain, Circumstances),
    ) -> Self {
        let Target::Tool(name) = &understood.target else {
            return Self::default();
        };
        if asks(understood) != Some(KnownMethod::ToolsCall) || session.is_shared() {
            return Self::default();
        }
        let Some(binding) = binding(understood, snapshot, session) else {
            return Self::default();
        };
        let holds = snapshot.labels().consent(name) == ConsentRule::OncePerSession;
        let level = understood.identified.scene.held.level;
        let of_destinations = match again {
            QuestionsAgain::Always => Vec::new(),
            QuestionsAgain::OncePerDestination => destinations(understood, snapshot, now)
                .iter()
                // What the session reads later, nobody has agreed to send there.
                .map(|destination| binding.for_destination(level, destination).of_all())
                .collect(),
        };
        Self {
            of_tool: holds.then(|| binding.whatever_the_arguments().of_all()),
            of_destinations,
        }
    }

    /// How far a yes reaches, for the question.
    pub(super) fn holds(&self, denial: &Denial) -> Holds {
        if self.of_tool.is_some() {
            Holds::Session
        } else if !self.of_destinations.is_empty() && denial.reasons.iter().all(is_of_flow) {
            Holds::Destinations
        } else {
            Holds::Once
        }
    }

    /// What lifts all that denies a call. A yes lifts only what it was kept for: another policy that asks may
    /// want an answer to each call.
    pub(super) fn lifting(&self, denial: &Denial, session: &Session) -> Option<Agreed> {
        let state = session.state();
        let standing = &state.waiting.asking.standing;
        let mut agreed = None;
        for reason in &denial.reasons {
            let needed = if is_of_the_label(reason) {
                self.of_tool.as_slice()
            } else if is_of_flow(reason) {
                &self.of_destinations
            } else {
                return None;
            };
            for of_all in needed {
                agreed = Some(standing.get(of_all)?);
            }
            if needed.is_empty() {
                return None;
            }
        }
        agreed.cloned()
    }
}

/// A yes to one call holds for the session from the moment on at which the call passes.
pub(super) fn keep_for_the_session(cx: &RequestContext<'_>) {
    let Some(agreed) = &cx.trail.consent.agreed else {
        return;
    };
    let asked_again = (cx.terms.asked_again, cx.now);
    let kept = StandingConsents::of(&cx.understood, cx.snapshot, cx.session, asked_again);
    let mut state = cx.session.state();
    let standing = &mut state.waiting.asking.standing;
    for of_all in kept.of_tool.into_iter().chain(kept.of_destinations) {
        standing.entry(of_all).or_insert_with(|| agreed.clone());
    }
}

/// Where the call sends something, if all of it can be read.
fn destinations(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> Vec<String> {
    let scene = &understood.identified.scene;
    let questions = understood.questions.iter();
    let mut all: Vec<String> = questions
        .filter_map(|question| snapshot.touched(&question.facts(scene, now)))
        .flat_map(|targets| targets.destinations)
        .collect();
    all.sort_unstable();
    all.dedup();
    if all.iter().any(|it| it == UNREADABLE_DESTINATION) {
        all.clear();
    }
    all
}

fn is_of_the_label(reason: &Reason) -> bool {
    is_among(reason, &[OF_THE_LABEL])
}

fn is_of_flow(reason: &Reason) -> bool {
    is_among(reason, &OF_FLOW)
}

fn is_among(reason: &Reason, policies: &[(&str, &str)]) -> bool {
    policies
        .iter()
        .any(|(file, id)| &*reason.origin.file == *file && reason.policy.as_str() == *id)
}
