//! Whether the server can serve a conversation, as `GET /health` says it (decision 15).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::admin::NotReady;
use crate::agent::http::{AskHealth, Health};
use crate::audit::LogState;
use crate::config::ServerNeed;
use crate::identity::Authenticate;
use crate::session::Readiness;
use crate::upstream::ChildProcess;
use crate::upstream::http::{HttpClient, Reach};

use super::conversations::Conversations;
use super::parts::Parts;
use super::server_set::ServerSet;
use super::servers::Upstreams;
use super::starts::{Start, Starts};
use super::trials::{Trials, Tried};

/// How often is looked whether anybody has attempted to reach a server over HTTP.
const LOOK: Duration = Duration::from_secs(5);

/// For how many looks it may be quiet before the gate asks whether it is there; while it is not, or may
/// not be, for one.
const QUIET: u32 = 3;

/// How long the failure of one start is held against the next where no trial is made: whoever keeps agents
/// away because of it would else never see a better one.
const HELD_AGAINST: Duration = Duration::from_secs(30);

/// What `GET /health` says.
#[derive(Clone)]
pub(super) struct Pulse {
    pub(super) servers: Arc<ServerSet>,
    pub(super) serves: Serves,
    /// How agents are known.
    pub(super) authenticate: Option<Arc<dyn Authenticate>>,
}

impl Pulse {
    /// All servers that are required have to be able to serve, and one at least: others must not keep agents away
    /// from it.
    pub(super) fn health(&self) -> AskHealth {
        let pulse = self.clone();
        Arc::new(move || {
            let current = pulse.servers.current();
            let all = current.servers.iter();
            let all = all.map(|parts| (pulse.of_server(parts), parts.for_operators.need));
            of_several(&all.collect::<Vec<_>>())
        })
    }

    /// The keys of those among several servers that cannot serve, each with the reason.
    pub(super) fn not_ready(&self) -> NotReady {
        let pulse = self.clone();
        Box::new(move || {
            let current = pulse.servers.current();
            let all = current.servers.iter();
            let asked = all.filter_map(|it| Some((it.key()?.to_string(), pulse.of_server(it))));
            asked
                .filter(|(_, health)| is_of_a_server(*health))
                .collect()
        })
    }

    /// Whether one server can serve.
    pub(super) fn of_server(&self, parts: &Parts) -> Health {
        if parts.shutdown.is_requested() {
            return Health::Stopping;
        }
        if parts.audit.figures().state == LogState::Denying {
            return Health::AuditFault;
        }
        if self.authenticate.as_ref().is_some_and(|it| !it.is_able()) {
            return Health::KeysUnavailable;
        }
        let open = &parts.open;
        let health = match (&open.upstreams, self.serves) {
            (Upstreams::Command { starts, .. }, Serves::One) => {
                of_the_one(starts.last(), &parts.conversations)
            }
            (Upstreams::Command { .. } | Upstreams::Http(_), _) => of_any(open),
        };
        // Names the first that cannot serve.
        let mut all = std::iter::once(health).chain(parts.isolated.iter().map(of_any));
        all.find(|health| *health != Health::Ready)
            .unwrap_or(Health::Ready)
    }
}

/// Whether it is about one server, and not about the whole gate.
fn is_of_a_server(health: Health) -> bool {
    match health {
        Health::Starting | Health::NoHandshake | Health::UpstreamDown => true,
        Health::Ready | Health::KeysUnavailable | Health::AuditFault | Health::Stopping => false,
    }
}

/// The first that is required and cannot serve, or else the first that can.
fn of_several(all: &[(Health, ServerNeed)]) -> Health {
    let first = |is_wanted: &dyn Fn(&(Health, ServerNeed)) -> bool| {
        let found = all.iter().find(|it| is_wanted(it));
        found.map(|(health, _)| *health)
    };
    first(&|(health, need)| *need == ServerNeed::Required && *health != Health::Ready)
        .or_else(|| first(&|(health, _)| *health == Health::Ready))
        .or_else(|| first(&|_| true))
        .unwrap_or(Health::UpstreamDown)
}

/// Of a server that conversations come to need.
fn of_any(server: &Tried) -> Health {
    match &server.upstreams {
        Upstreams::Http(client) => match client.reach() {
            Reach::Failed => Health::UpstreamDown,
            // Without handshakes of the gate the state never changes by itself.
            Reach::Unknown if server.instance.is_open() || server.trials.are_made() => {
                Health::Starting
            }
            Reach::Unknown => Health::Ready,
            Reach::Reached | Reach::Doubted => server.trials.of(client.is_shaken()),
        },
        Upstreams::Command { settings, .. } if ChildProcess::check(settings).is_err() => {
            Health::UpstreamDown
        }
        Upstreams::Command { starts, .. } => starts.of_many(&server.trials),
    }
}

impl Starts {
    /// What they say of servers that will be started.
    fn of_many(&self, trials: &Trials) -> Health {
        let last = self.last();
        let held = match last {
            // Until a trial has shown a better one.
            Start::Failed(_) if trials.are_made() => true,
            Start::Failed(at) => self.clock.elapsed().saturating_sub(at) < HELD_AGAINST,
            Start::Unknown | Start::Completed => false,
        };
        if held {
            Health::UpstreamDown
        } else {
            trials.of(last == Start::Completed)
        }
    }
}

/// How many conversations the gate has in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    /// Its server is started with the gate.
    One,
    /// Each has a server of its own, started when it begins.
    Many,
}

fn of_the_one(start: Start, conversations: &Conversations) -> Health {
    let readiness = conversations.readiness();
    match (start, readiness) {
        (Start::Failed(_), _) | (_, Some(Readiness::Down)) => Health::UpstreamDown,
        (Start::Completed, Some(Readiness::Up)) => Health::Ready,
        (Start::Unknown, _) | (_, Some(Readiness::Repeating) | None) => Health::Starting,
    }
}

/// Asks whether a server over HTTP is there while nobody else does. Nothing is asked of a command.
pub(super) async fn keep_asking(upstreams: &Upstreams) -> Infallible {
    let client: &HttpClient = match upstreams {
        Upstreams::Http(client) => client,
        Upstreams::Command { .. } => return std::future::pending().await,
    };
    let (mut seen, mut quiet) = (0, 0);
    loop {
        quiet = if client.attempts() == seen {
            quiet + 1
        } else {
            0
        };
        let asks = match client.reach() {
            Reach::Reached => quiet >= QUIET,
            // Whoever attempts something may be few: they do not settle it soon.
            Reach::Doubted => true,
            Reach::Unknown | Reach::Failed => quiet > 0,
        };
        if asks {
            client.probe().await;
            quiet = 0;
        }
        seen = client.attempts();
        sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_of_several_servers_is_ready_with_each_that_is_required_and_one_at_least() {
        use Health::{Ready, Starting, UpstreamDown};
        use ServerNeed::{Optional, Required};
        let check = |all: &[(Health, ServerNeed)], expected: Health| {
            assert_eq!(of_several(all), expected, "{all:?}");
        };
        check(&[], UpstreamDown);
        check(&[(Ready, Optional)], Ready);
        check(&[(Starting, Optional), (UpstreamDown, Optional)], Starting);
        check(&[(Starting, Optional), (Ready, Optional)], Ready);
        check(&[(Ready, Optional), (UpstreamDown, Required)], UpstreamDown);
        check(&[(UpstreamDown, Optional), (Ready, Required)], Ready);
        check(&[(Ready, Required), (Starting, Required)], Starting);
    }
}
