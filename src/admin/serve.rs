//! The listener of operators, on a thread of its own.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::inward::{Checked, Limits, Misframed, Place, Places, Protocol, Targets};

use super::answer::{AdminContext, AdminRejection, Sources};
use super::settings::Settings;

/// A socket that is listened on.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    settings: Settings,
}

/// Operators are served until this is dropped; then every connection is closed.
#[derive(Debug)]
pub struct Serving {
    _stop: oneshot::Sender<Infallible>,
}

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
        let serving = serve(self.socket, AdminContext::new(self.settings, sources));
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

async fn serve(socket: TcpListener, desk: AdminContext) -> io::Result<Infallible> {
    let socket = tokio::net::TcpListener::from_std(socket)?;
    let places = Places::new(desk.settings.max_connections);
    let protocol = Protocol {
        header_deadline: desk.settings.header_deadline,
        write_deadline: desk.settings.write_deadline,
        limits: Limits {
            bytes: desk.settings.max_header_bytes,
            fields: desk.settings.max_headers,
        },
        targets: Targets::OfServer,
    };
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
                    if let Some(place) = places.take(peer.ip()).await {
                        let desk = Arc::clone(&desk);
                        connections.spawn(async move {
                            attend(&desk, protocol, stream, peer, place).await;
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

async fn attend(
    desk: &AdminContext,
    protocol: Protocol,
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
) {
    let Ok(here) = stream.local_addr() else {
        return;
    };
    let stream = Checked::new(stream, place, protocol);
    let progress = stream.progress();
    let service = service_fn(|request| {
        let (answering, misframed) = progress.take();
        async move {
            let response = match misframed {
                None => desk.answer(here.ip(), peer, request).await,
                Some(misframed) => desk.refuse(&AdminRejection::Misframed(misframed), peer),
            };
            Ok::<_, Infallible>(response.map(|body| answering.lasts(body)))
        }
    });
    let serving = protocol
        .hyper()
        .serve_connection(TokioIo::new(stream), service);
    let connection = pin!(serving);
    let ended = tokio::select! {
        ended = connection => ended,
        () = progress.displaced() => return,
    };
    if let Err(error) = ended {
        if error.is_parse() {
            let misframed = Misframed::Malformed("the target");
            desk.refuse(&AdminRejection::Misframed(misframed), peer);
        }
        tracing::debug!(%peer, "a connection of an operator ended: {error}");
    }
}
