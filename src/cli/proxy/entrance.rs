//! Where agents come from.

use std::fmt::Display;
use std::sync::Arc;
#[cfg(unix)]
use std::time::Duration;

use tracing::{error, info};

use crate::agent::http::{self, Connections, Endpoints};
#[cfg(unix)]
use crate::agent::local::{Listener, Place, PlaceLock};
#[cfg(unix)]
use crate::config::ConfigFile;
use crate::config::Ratchet;
use crate::config::{Config, Listen};
use crate::gate::{Gate, holder};
use crate::identity::Authenticate;
use crate::memory::Memory;
use crate::session::Session;

use super::super::exit::Exit;
use super::certificates::ListenerCertificates;
use super::isolated::{self, Placed, PlacedEvents};
use super::parts::{server, session};
use super::pulse::Serves;
use super::servers::Upstreams;
use super::start_failures::{broken, invalid};
use super::{network, reading};

/// How long a gate that ends may take until another serves its agents.
#[cfg(unix)]
const PREDECESSOR: Duration = Duration::from_secs(15);

/// What one gate of a user and a configuration has alone, until its process ends.
#[cfg(unix)]
pub(super) struct Reserved {
    place: Place,
    lock: PlaceLock,
}

#[cfg(not(unix))]
pub(super) enum Reserved {}

/// Where agents come from, opened.
pub(super) enum Entrance {
    Stdio(Box<(Session, Placed, PlacedEvents)>),
    /// Before several servers.
    UnifiedStdio(Ratchet),
    Http {
        listener: Box<http::Listener>,
        endpoints: Endpoints,
        authenticate: Arc<dyn Authenticate>,
        certificates: Option<ListenerCertificates>,
    },
    #[cfg(unix)]
    Local(Listener, Ratchet),
}

impl Entrance {
    /// The paths of agents over HTTP.
    pub(super) fn endpoints(&self) -> Option<Endpoints> {
        match self {
            Self::Http { endpoints, .. } => Some(endpoints.clone()),
            Self::Stdio(_) | Self::UnifiedStdio(_) => None,
            #[cfg(unix)]
            Self::Local(..) => None,
        }
    }

    /// For how many it is, who tells them apart, and the connections that they have.
    pub(super) fn serves(&self) -> (Serves, Option<Arc<dyn Authenticate>>, Option<Connections>) {
        match self {
            Self::Stdio(_) => (Serves::One, None, None),
            // Each server is started for the agent.
            Self::UnifiedStdio(_) => (Serves::Many, None, None),
            Self::Http {
                listener,
                authenticate,
                ..
            } => (
                Serves::Many,
                Some(Arc::clone(authenticate)),
                Some(listener.connections()),
            ),
            #[cfg(unix)]
            Self::Local(..) => (Serves::Many, None, None),
        }
    }
}

/// The lock of the gate that agents of this user share; `None` where there is none.
pub(super) async fn reserve(config: &Config) -> Result<Option<Reserved>, Exit> {
    match config.listen {
        Listen::Stdio | Listen::Http(_) => Ok(None),
        #[cfg(unix)]
        Listen::Local => {
            let file = config.file.as_ref().map(ConfigFile::path);
            let file = file.ok_or_else(|| invalid(&"no file says which servers there are"))?;
            let place = Place::of(file).map_err(|cause| broken("cannot be attached to", &cause))?;
            let lock = place.gate_lock(PREDECESSOR).await;
            let lock = lock.map_err(|cause| broken("cannot be attached to", &cause))?;
            let lock = lock.ok_or_else(|| {
                error!("another gate serves this configuration: agents attach to that one");
                Exit::Unrecoverable
            })?;
            Ok(Some(Reserved { place, lock }))
        }
        #[cfg(not(unix))]
        Listen::Local => Err(invalid(
            &"`listen.transport` is \"local\", and this system has no Unix sockets: write \"http\"",
        )),
    }
}

/// Opens the way by which agents come.
pub(super) async fn enter(
    config: &Config,
    gate: &Gate,
    upstreams: &Upstreams,
    isolated: &[Upstreams],
    memory: &Memory,
    reserved: Option<&Reserved>,
) -> Result<Entrance, Exit> {
    match &config.listen {
        Listen::Stdio if !config.servers.is_empty() => {
            tell_disabled(config);
            Ok(Entrance::UnifiedStdio(config.ratchet.clone()))
        }
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
            let certificates = ListenerCertificates::of(config).transpose();
            let certificates = certificates.map_err(|cause| invalid(&cause))?;
            let tls = certificates.as_ref().map(ListenerCertificates::tls);
            let settings = network::listener(config, listen, tls, memory);
            let endpoints = settings.endpoints.clone();
            let what = format!("cannot listen at {} (`[listen]`)", settings.listen);
            let listener = http::Listener::bind(settings).await;
            let listener = listener.map_err(|cause| broken(&what, &cause))?;
            Ok(Entrance::Http {
                listener: Box::new(listener),
                endpoints,
                authenticate,
                certificates,
            })
        }
        Listen::Local => {
            tell_disabled(config);
            let reserved = reserved.ok_or(Exit::Unrecoverable)?;
            reserved.enter(config)
        }
    }
}

#[cfg(unix)]
impl Reserved {
    fn enter(&self, config: &Config) -> Result<Entrance, Exit> {
        let listener = Listener::bind(&self.place, &self.lock)
            .map_err(|cause| broken("cannot listen for agents of this user", &cause))?;
        Ok(Entrance::Local(listener, config.ratchet.clone()))
    }
}

#[cfg(not(unix))]
impl Reserved {
    fn enter(&self, _: &Config) -> Result<Entrance, Exit> {
        match *self {}
    }
}

/// The disabled servers.
fn tell_disabled(config: &Config) {
    for key in config.disabled() {
        info!(
            "the server `{key}` is disabled: it is not started and has no endpoint (`servers.{key}.enabled`)"
        );
    }
}
