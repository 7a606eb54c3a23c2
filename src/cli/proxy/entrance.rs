//! Where agents come from.

use std::fmt::Display;
use std::sync::Arc;

use tracing::{error, info};

use crate::agent::http::{Connections, Listener};
use crate::config::{Config, Listen};
use crate::gate::{Gate, holder};
use crate::identity::Authenticate;
use crate::memory::Memory;
use crate::session::Session;

use super::super::exit::Exit;
use super::isolated::{self, Placed, PlacedEvents};
use super::parts::{server, session};
use super::pulse::Serves;
use super::servers::Upstreams;
use super::start_failures::{broken, invalid};
use super::{network, reading};

/// Where agents come from, opened.
pub(super) enum Entrance {
    Stdio(Box<(Session, Placed, PlacedEvents)>),
    Http {
        listener: Box<Listener>,
        /// One for each server, in their order.
        paths: Vec<String>,
        authenticate: Arc<dyn Authenticate>,
    },
}

impl Entrance {
    /// For how many it is, who tells them apart, and the connections that they have.
    pub(super) fn serves(&self) -> (Serves, Option<Arc<dyn Authenticate>>, Option<Connections>) {
        match self {
            Self::Stdio(_) => (Serves::One, None, None),
            Self::Http {
                listener,
                authenticate,
                ..
            } => (
                Serves::Many,
                Some(Arc::clone(authenticate)),
                Some(listener.connections()),
            ),
        }
    }
}

/// Opens the way by which agents come.
pub(super) async fn enter(
    config: &Config,
    gate: &Gate,
    upstreams: &Upstreams,
    isolated: &[Upstreams],
    memory: &Memory,
) -> Result<Entrance, Exit> {
    match &config.listen {
        Listen::Stdio => {
            let session = session(&server(config), "stdio", gate).ok_or(Exit::Unrecoverable)?;
            let session = reading::of_process(session, &config.ratchet);
            session.described_by(gate.policies().labels());
            let unusable = |cause: &dyn Display| {
                error!("{cause}");
                Exit::Unrecoverable
            };
            let made = gate.make_own_roots(&session).await;
            made.map_err(|cause| unusable(&cause))?;
            let holder = holder(&session);
            let isolated = isolated.iter().map(|it| it.of_holder(&holder));
            let isolated: Vec<_> = isolated
                .collect::<Result<_, _>>()
                .map_err(|cause| unusable(&cause))?;
            let open = upstreams.of_holder(&holder);
            let open = open.map_err(|cause| unusable(&cause))?;
            let (server, events) =
                isolated::connect(&open, &isolated, memory).map_err(|cause| unusable(&cause))?;
            Ok(Entrance::Stdio(Box::new((session, server, events))))
        }
        Listen::Http(listen) => {
            let authenticate =
                network::authenticate(config, listen).map_err(|cause| invalid(&cause))?;
            tell_disabled(config);
            let settings = network::listener(config, listen, memory);
            let paths = settings.paths.clone();
            let what = format!("cannot listen at {} (`[listen]`)", settings.listen);
            let listener = Listener::bind(settings).await;
            let listener = listener.map_err(|cause| broken(&what, &cause))?;
            Ok(Entrance::Http {
                listener: Box::new(listener),
                paths,
                authenticate,
            })
        }
    }
}

/// The servers that nobody reaches.
fn tell_disabled(config: &Config) {
    for key in config.disabled() {
        info!(
            "the server `{key}` is disabled: it is not started and has no endpoint (`servers.{key}.enabled`)"
        );
    }
}
