//! What the session of a test is at all servers: what it has read, its time, and people who answer.

use std::sync::Arc;

use crate::consent::{self, Desk, Way};
use crate::policy::SessionSensitivity;
use crate::session::{Calls, EvidenceStore, InMemory, Kept, SessionKey, SessionStore as _};

use super::clock::MovedClock;
use super::fixture::{ConsentSource, Test};

/// Who says yes or no in tests.
pub(super) const TESTER: &str = "tester";

/// What the agent of a test calls its session.
const SESSION: &str = "test";

/// What the session of a test is at all servers.
pub(super) struct SharedSession {
    pub(super) store: Arc<InMemory>,
    pub(super) evidence: Arc<EvidenceStore>,
    pub(super) key: SessionKey,
    pub(super) clock: Arc<MovedClock>,
    /// The channel of questions, if the test has answers.
    pub(super) desk: Option<Arc<Desk>>,
}

impl SharedSession {
    /// As it is when the test begins: a named session, which may be at several servers.
    pub(super) fn of(test: &Test) -> Arc<Self> {
        let clock = Arc::new(MovedClock::new(test.now));
        let desk = asks(test).then(|| {
            let settings = consent::Settings {
                channels: vec![Way::Page],
                approvers: vec![TESTER.to_owned()],
                ..consent::Settings::default()
            };
            // Guessing is no threat here.
            let desk = Desk::new(settings, Arc::<MovedClock>::clone(&clock), [0; 32]);
            Arc::new(desk)
        });
        let start = &test.start;
        let begun = Kept {
            calls: Calls::made(start.calls),
            ..Kept::having_read(Arc::new(SessionSensitivity {
                level: start.level,
                labels: start.labels.iter().cloned().collect(),
                datasets: start.datasets.iter().cloned().collect(),
                untrusted: start.untrusted,
                sources: start.sources.iter().cloned().collect(),
                untrusted_from: start.untrusted_from.iter().cloned().collect(),
            }))
        };
        let key = SessionKey::of(&test.agent.id, Some(SESSION));
        let store = InMemory::default();
        if !begun.is_nothing() {
            store.join(&key, &begun);
        }
        Arc::new(Self {
            store: Arc::new(store),
            evidence: Arc::default(),
            key,
            clock,
            desk,
        })
    }

    /// What it has read by now.
    pub(super) async fn held(&self) -> Arc<SessionSensitivity> {
        let kept = self.store.kept(&self.key).get().await;
        kept.map(|kept| kept.held).unwrap_or_default()
    }
}

/// Whether a test says what people say when they are asked.
fn asks(test: &Test) -> bool {
    let of_steps = test.steps().iter().map(|step| &step.consent);
    let mut all = of_steps.chain([&test.start.consent]);
    all.any(|consent| matches!(consent, Some(ConsentSource::Asked(_))))
}
