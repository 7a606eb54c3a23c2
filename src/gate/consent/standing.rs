//! What a person has agreed to for the rest of a session.

use crate::consent::Holds;
use crate::policy::{
    ConsentRule, Decision, FLOW_FILE, PolicySnapshot, RATCHET_FILE, Reason, SessionSensitivity,
    UNREADABLE_DESTINATION,
};
use crate::session::{Agreed, Session, Target};
use crate::wire::KnownMethod;

use crate::gate::query::{Circumstances, Understood};
use crate::gate::record::Trail;
use crate::gate::settings::QuestionsAgain;

use super::bound::{asks, binding};

/// The gate's own policy for `consent` in `tools.toml`.
const OF_THE_LABEL: (&str, &str) = ("<consent.cedar>", "consent");

/// The gate's own policies on what flows where, which a person may lift for a destination.
const OF_FLOW: [(&str, &str); 2] = [
    (FLOW_FILE, "builtin.flow_in"),
    (RATCHET_FILE, "builtin.ask_egress"),
];

/// What a person's yes to a call holds for beyond it, by what forbids the call.
#[derive(Debug, Default)]
pub(super) struct StandingConsents {
    holds: Holds,
    /// Digests of what it holds for.
    kept: Vec<[u8; 32]>,
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
        // A path may be asked about twice, as it is written and where it leads.
        let reasons = reasons(understood, snapshot, now);
        if reasons.is_empty() {
            return Self::default();
        }
        let is_of_label = snapshot.labels().consent(name) == ConsentRule::OncePerSession;
        if is_of_label && reasons.iter().all(is_of_the_label) {
            return Self {
                holds: Holds::Session,
                kept: vec![binding.whatever_the_arguments().of_all()],
            };
        }
        let destinations = match again {
            QuestionsAgain::OncePerDestination if reasons.iter().all(is_of_flow) => {
                destinations(understood, snapshot, now)
            }
            QuestionsAgain::Always | QuestionsAgain::OncePerDestination => Vec::new(),
        };
        if destinations.is_empty() {
            return Self::default();
        }
        // The person does not approve sending what the session reads later.
        let read = format!("{:?}", read_after(understood, snapshot, now));
        let kept = destinations.iter();
        Self {
            holds: Holds::Destinations,
            kept: kept
                .map(|destination| binding.for_destination(&read, destination).of_all())
                .collect(),
        }
    }

    /// For the question.
    pub(super) fn holds(&self) -> Holds {
        self.holds
    }

    /// What a person has agreed to before that lifts all that forbids the call.
    pub(super) fn lifting(&self, session: &Session) -> Option<Agreed> {
        let state = session.state();
        let standing = &state.waiting.asking.standing;
        let agreed = self.kept.iter().map(|of_all| standing.get(of_all));
        agreed.collect::<Option<Vec<_>>>()?.pop().cloned()
    }

    /// A person is asked about a call: a yes holds for no more than the question says.
    pub(super) fn offer(self, binding: [u8; 32], session: &Session) {
        if !self.kept.is_empty() {
            session.state().waiting.asking.offer(binding, self.kept);
        }
    }
}

/// A yes to one call holds for the session from the moment on at which the call passes.
pub(super) fn keep_for_the_session(session: &Session, trail: &Trail) {
    if let Some(agreed) = &trail.consent.agreed {
        session.state().waiting.asking.keep_offered(agreed);
    }
}

/// Everything that forbids what is asked.
fn reasons(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> Vec<Reason> {
    let scene = &understood.identified.scene;
    let judged = understood.questions.iter();
    let judged = judged.map(|question| snapshot.judge(&question.facts(scene, now)));
    let denied = judged.filter_map(|decision| match decision {
        Decision::Allow(_) => None,
        Decision::Deny(denial) => Some(denial.reasons),
    });
    denied.flatten().collect()
}

/// What the session will have read once the call has passed.
fn read_after(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> SessionSensitivity {
    let scene = &understood.identified.scene;
    let questions = understood.questions.iter();
    let brought = questions.map(|question| snapshot.labels().brings(&question.facts(scene, now)));
    brought.fold(SessionSensitivity::clone(&scene.held), |all, one| {
        all.join(&one)
    })
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
