//! The listener of operators, on a thread of its own.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::agent::http::{AskHealth, Patient};

use super::answer::Desk;
use super::approvals::Approvals;
use super::metrics::{Figures, Metrics};
use super::settings::Settings;

/// A socket that is listened on.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    settings: Settings,
}

/// Where answers come from.
pub struct Sources {
    pub health: AskHealth,
    pub metrics: Arc<Metrics>,
    /// Asked for each `GET /metrics`.
    pub figures: Box<dyn Fn() -> Figures + Send + Sync>,
    /// Where people answer what agents wait for, if that is done here.
    pub approvals: Option<Approvals>,
}

/// Operators are served until this is dropped; then every connection is closed.
#[derive(Debug)]
pub struct Serving {
    _stop: oneshot::Sender<Infallible>,
}

/// hyper has no buffer smaller than this, in bytes.
const MIN_BUFFER: usize = 8 * 1024;

/// How long nothing is accepted after the system refused to (no descriptors left).
const RESPITE: Duration = Duration::from_millis(100);

impl Listener {
    pub fn bind(settings: Settings) -> io::Result<Self> {
        let socket = TcpListener::bind(settings.listen)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(Self {
            socket,
            address,
            settings,
        })
    }

    /// The address that was bound, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves from now on.
    pub fn start(self, sources: Sources) -> io::Result<Serving> {
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let serving = serve(self.socket, Desk::new(self.settings, sources));
        std::thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        Err(cause) = serving => {
                            tracing::error!("operators are not served any more: {cause}");
                        }
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Serving { _stop: stop })
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

async fn serve(socket: TcpListener, desk: Desk) -> io::Result<Infallible> {
    let socket = tokio::net::TcpListener::from_std(socket)?;
    let places = Arc::new(Semaphore::new(
        desk.settings.max_connections.min(Semaphore::MAX_PERMITS),
    ));
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(desk.settings.header_deadline)
        .max_headers(desk.settings.max_headers)
        .max_header_size(desk.settings.max_header_bytes)
        .max_buf_size(desk.settings.max_header_bytes.max(MIN_BUFFER));
    let desk = Arc::new(desk);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(ended) = connections.join_next() => {
                if ended.is_err() {
                    tracing::error!("a connection of an operator broke off in a panic");
                }
            }
            accepted = socket.accept() => match accepted {
                Ok((stream, peer)) => {
                    // One too many is closed: there is nothing that it would have to learn.
                    if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                        let (desk, protocol) = (Arc::clone(&desk), protocol.clone());
                        connections.spawn(async move {
                            attend(&desk, &protocol, stream, peer).await;
                            drop(place);
                        });
                    }
                }
                Err(error) => {
                    tracing::warn!("cannot accept a connection of an operator: {error}");
                    sleep(RESPITE).await;
                }
            },
        }
    }
}

async fn attend(desk: &Desk, protocol: &http1::Builder, stream: TcpStream, peer: SocketAddr) {
    let Ok(here) = stream.local_addr() else {
        return;
    };
    let service = service_fn(|request| async move {
        Ok::<_, Infallible>(desk.answer(here.ip(), peer, request).await)
    });
    let stream = Patient::new(stream, desk.settings.write_deadline);
    let connection = pin!(protocol.serve_connection(TokioIo::new(stream), service));
    if let Err(error) = connection.await {
        tracing::debug!(%peer, "a connection of an operator ended: {error}");
    }
}
