//! How long a server over HTTP serves a session no more.

use std::time::Duration;

use tracing::{debug, info, warn};

use crate::gate::UpstreamFault;

/// A session that its server has lost is tried again and again. That is told and counted twice: when it
/// is lost, and when the server has answered in another one.
#[derive(Debug, Default)]
pub(super) struct Absence(Option<Since>);

#[derive(Debug, Clone, Copy)]
struct Since {
    /// Time since the clock was made.
    lost: Duration,
    told: Told,
}

/// Who tells the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Here,
    /// Whoever reaches the server, once for all sessions.
    Elsewhere,
}

impl Absence {
    /// Says whether the session was not lost before.
    pub(super) fn begins(
        &mut self,
        how: &str,
        fault: &UpstreamFault,
        tried_again_in: Option<Duration>,
        now: Duration,
    ) -> bool {
        if self.0.is_some() {
            debug!(
                ?tried_again_in,
                "the server does not serve the session yet: {how}"
            );
            return false;
        }
        let told = match (fault, tried_again_in) {
            (UpstreamFault::Unreachable(_), Some(_)) => Told::Elsewhere,
            (_, Some(delay)) => {
                warn!("the server has lost the session ({how}); another is begun in {delay:.1?}");
                Told::Here
            }
            (_, None) => {
                warn!("the server has lost the session ({how}), and no other is begun");
                Told::Here
            }
        };
        self.0 = Some(Since { lost: now, told });
        true
    }

    /// The server serves the session; says whether it did not before.
    pub(super) fn ends(&mut self, now: Duration) -> bool {
        let Some(Since { lost, told }) = self.0.take() else {
            return false;
        };
        let after = now.saturating_sub(lost);
        match told {
            Told::Here => info!("the server serves the session again, after {after:.1?}"),
            Told::Elsewhere => debug!("the server serves the session again, after {after:.1?}"),
        }
        true
    }
}
