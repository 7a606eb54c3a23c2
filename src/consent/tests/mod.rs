mod answers;
mod laws;
mod seals;
mod texts;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

use super::*;
use crate::clock::Clock;
use crate::wire::KnownMethod;

const TIMEOUT: Duration = Duration::from_mins(1);

/// A clock that is moved by hand.
#[derive(Debug, Default)]
struct HandClock(AtomicU64);

impl HandClock {
    fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap();
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        let ms = i64::try_from(self.0.load(Ordering::Relaxed)).unwrap();
        Timestamp::from_millisecond(1_000_000 + ms).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn settings() -> Settings {
    Settings {
        channels: Way::ALL.to_vec(),
        timeout: TIMEOUT,
        per_principal: 2,
        in_all: 3,
        ..Settings::default()
    }
}

fn desk() -> (Desk, Arc<HandClock>) {
    desk_with(settings())
}

fn desk_with(settings: Settings) -> (Desk, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let desk = Desk::new(settings, clock.clone(), [7; 32]);
    (desk, clock)
}

fn binding(principal: &str) -> Binding {
    Binding {
        principal: principal.into(),
        rights: [0; 32],
        session: Some("s".into()),
        server: "files".into(),
        method: KnownMethod::ToolsCall,
        name: "write".into(),
        definition: Some([1; 32]),
        arguments: Binding::digest("{}"),
        round: None,
        revision: "one".into(),
    }
}

fn question() -> Question {
    Question {
        server: "files".to_owned(),
        method: "tools/call".to_owned(),
        name: "write".to_owned(),
        arguments: "{}".to_owned(),
        principal: "ann".to_owned(),
        client: "tester".to_owned(),
        session: "s".to_owned(),
        advice: None,
        holds: Holds::Once,
        policies: vec!["consent".to_owned()],
        found: Found::default(),
    }
}

fn ask(desk: &Desk, principal: &str) -> Result<TicketId, NotAsked> {
    desk.ask(Request {
        binding: binding(principal),
        question: question(),
        bell: Arc::new(Notify::new()),
        judged: Judged::ByThoseInForce,
    })
}
