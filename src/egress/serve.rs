//! The listener in a server's network.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::proxy::Proxy;
use super::refusal::EgressRefusal;
use crate::inward::{Checked, Limits, Misframed, Place, Places, Protocol, Targets};

/// Connections of one process; of a further one the longest idle makes room.
const MAX_CONNECTIONS: usize = 64;

const PROTOCOL: Protocol = Protocol {
    header_deadline: Duration::from_mins(1),
    write_deadline: Duration::from_mins(1),
    limits: Limits {
        bytes: 32 * 1024,
        fields: 100,
    },
    targets: Targets::OfProxy,
};

/// How long nothing is accepted after the system refused to (no descriptors left).
const RESPITE: Duration = Duration::from_millis(100);

impl Proxy {
    /// Serves one process. All its connections end when this is dropped.
    ///
    /// # Errors
    /// The listener is of no use.
    pub async fn serve(self, listener: std::net::TcpListener) -> io::Result<Infallible> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let places = Places::new(MAX_CONNECTIONS);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(ended) = connections.join_next() => {
                    if ended.is_err() {
                        tracing::error!("a connection of the egress proxy broke off in a panic");
                    }
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        if let Some(place) = places.take(peer.ip()).await {
                            let proxy = self.clone();
                            connections.spawn(async move { attend(&proxy, stream, place).await });
                        } else {
                            tracing::warn!("the server has {MAX_CONNECTIONS} connections; one more is closed");
                        }
                    }
                    Err(error) => {
                        tracing::warn!("the egress proxy cannot accept a connection: {error}");
                        sleep(RESPITE).await;
                    }
                },
            }
        }
    }
}

async fn attend(proxy: &Proxy, stream: TcpStream, place: Place) {
    let stream = Checked::new(stream, place, PROTOCOL);
    let progress = stream.progress();
    let tunnel = Mutex::new(None);
    let service = service_fn(|request| {
        let (answering, misframed) = progress.take();
        let tunnel = &tunnel;
        async move {
            let response = match misframed {
                None => {
                    let (response, begun) = proxy.answer(request).await;
                    *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = begun;
                    response
                }
                Some(misframed) => proxy.refuse(EgressRefusal::Head(misframed)).await,
            };
            Ok::<_, Infallible>(response.map(|body| answering.lasts(body)))
        }
    });
    let serving = PROTOCOL
        .hyper()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let ended = {
        let connection = pin!(serving);
        tokio::select! {
            ended = connection => ended,
            () = progress.displaced() => return,
        }
    };
    if let Err(error) = ended {
        if error.is_parse() {
            let misframed = Misframed::Malformed("the target");
            proxy.refuse(EgressRefusal::Head(misframed)).await;
        }
        tracing::debug!("a connection of the egress proxy ended: {error}");
        return;
    }
    let begun = tunnel.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(tunnel) = begun {
        tunnel.carry().await;
    }
}
