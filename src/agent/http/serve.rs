//! The listener and its connections.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::inward::{
    Checked, HandshakeFault, Limits, Misframed, Place, Places, Protocol, Targets, Tls, TlsSocket,
};

use super::alarm::Alarm;
use super::at_once::AtOnce;
use super::refusal::{Origin, Refused};
use super::server::{Outside, Server};
use super::settings::Settings;

/// A socket that is listened on.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    places: Places,
    handshakes: Places,
    settings: Settings,
}

/// How many connections there are.
#[derive(Debug, Clone)]
pub struct Connections(Places);

/// How long nothing is accepted after the system refused to (no descriptors left).
const RESPITE: Duration = Duration::from_millis(100);

impl Listener {
    pub async fn bind(settings: Settings) -> io::Result<Self> {
        let socket = TcpListener::bind(settings.listen).await?;
        let address = socket.local_addr()?;
        Ok(Self {
            socket,
            address,
            places: Places::new(settings.max_connections),
            handshakes: Places::new(settings.max_handshakes),
            settings,
        })
    }

    pub fn connections(&self) -> Connections {
        Connections(self.places.clone())
    }

    /// The address that was bound, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The scheme of its URLs.
    pub fn scheme(&self) -> &'static str {
        match self.settings.tls {
            Some(_) => "https",
            None => "http",
        }
    }

    /// Serves until `stop` resolves and every request that was taken by then is answered. Then all
    /// conversations end. Dropped before, it closes every connection at once.
    pub async fn serve(self, outside: Outside, stop: impl Future<Output = ()>) {
        let places = self.places;
        let server = Arc::new(Server::new(self.settings, self.address.port(), outside));
        let mut connections = JoinSet::new();
        let mut rounds = interval(server.conversations.round());
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = pin!(stop);
        // None once the gate is to stop: whoever comes then is refused by the system.
        let mut socket = Some(self.socket);
        while !(socket.is_none() && connections.is_empty()) {
            tokio::select! {
                () = &mut stop, if socket.is_some() => {
                    socket = None;
                    server.stop();
                }
                _ = rounds.tick() => server.conversations.sweep(),
                Some(ended) = connections.join_next() => {
                    if ended.is_err() {
                        tracing::error!("a connection broke off in a panic");
                    }
                }
                accepted = accept(socket.as_ref()) => match accepted {
                    Ok((stream, peer)) => match places.take(peer.ip()).await {
                        Some(place) => {
                            let connection = Connection {
                                server: Arc::clone(&server),
                                peer,
                            };
                            let handshakes = self.handshakes.clone();
                            connections.spawn(connection.begin(stream, place, handshakes));
                        }
                        None => turn_away(&server, stream, peer).await,
                    },
                    Err(error) => {
                        tracing::warn!("cannot accept a connection: {error}");
                        sleep(RESPITE).await;
                    }
                },
            }
        }
        server.conversations.end_all();
    }
}

impl Connections {
    /// At this moment.
    pub fn open(&self) -> usize {
        self.0.taken()
    }
}

/// One connection.
struct Connection {
    server: Arc<Server>,
    peer: SocketAddr,
}

impl Connection {
    async fn begin(self, stream: TcpStream, place: Place, handshakes: Places) {
        // A message is written as a whole; waiting for more costs 40 ms.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let protocol = protocol(&self.server.settings);
        let stream = match self.server.settings.tls.clone() {
            None => Checked::new(stream, place, protocol),
            Some(tls) => match self.handshake(&tls, stream, &place, &handshakes).await {
                Some(stream) => Checked::over_tls(stream, place, protocol),
                None => return,
            },
        };
        self.run(stream, protocol).await;
    }

    /// A TLS handshake. Until it is through, the connection waits for its peer: it makes room for others.
    async fn handshake(
        &self,
        tls: &Tls,
        stream: TcpStream,
        place: &Place,
        handshakes: &Places,
    ) -> Option<TlsSocket> {
        let (server, peer) = (&self.server, self.peer.ip());
        let settings = &server.settings;
        let (deadline, write_deadline) = (settings.handshake_deadline, settings.write_deadline);
        let handshake = handshakes.take(peer).await?;
        let accepted = tokio::select! {
            accepted = tls.accept(stream, deadline, write_deadline) => accepted,
            () = place.displaced() => return None,
            () = handshake.displaced() => return None,
            () = server.stopping() => return None,
        };
        let (fault, plain) = match accepted {
            Ok(stream) => return Some(stream),
            Err(failed) => failed,
        };
        if fault == HandshakeFault::Silent {
            return None;
        }
        let refused = Refused::Handshake(fault);
        server.record(peer, &refused, Origin::default());
        if let Some(stream) = plain {
            answer_in_clear(stream, &refused).await;
        }
        None
    }

    async fn run(self, stream: Checked, protocol: Protocol) {
        let (server, peer) = (self.server, self.peer.ip());
        let progress = stream.progress();
        let alarm = Alarm::default();
        let service = service_fn(|request| {
            let (server, alarm, (answering, misframed)) = (&server, &alarm, progress.take());
            async move {
                let response = match misframed {
                    None => server.answer(peer, request, alarm).await,
                    Some(misframed) => server.refuse(peer, misframed),
                };
                Ok::<_, Infallible>(response.map(|body| answering.lasts(body)))
            }
        });
        let serving = protocol
            .hyper()
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(serving);
        let at_once = AtOnce::new();
        let ended = tokio::select! {
            ended = poll_fn(|cx| at_once.poll(cx, connection.as_mut())) => ended,
            () = progress.displaced() => {
                tracing::debug!(%peer, "a connection made room for another");
                return;
            }
            () = server.stopping() => {
                if progress.is_half_sent() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            if error.is_parse() {
                server.record(
                    peer,
                    &Refused::Misframed(Misframed::Malformed("the target")),
                    Origin::default(),
                );
            }
            tracing::debug!(%peer, "a connection ended: {error}");
        }
    }
}

async fn accept(socket: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match socket {
        Some(socket) => socket.accept().await,
        None => std::future::pending().await,
    }
}

fn protocol(settings: &Settings) -> Protocol {
    Protocol {
        header_deadline: settings.header_deadline,
        write_deadline: settings.write_deadline,
        limits: Limits {
            bytes: settings.max_header_bytes,
            fields: settings.max_headers,
        },
        targets: Targets::OfServer,
    }
}

/// One connection too many is told so, if its buffer takes a line without waiting.
async fn turn_away(server: &Server, mut stream: TcpStream, peer: SocketAddr) {
    server.record(peer.ip(), &Refused::TooManyConnections, Origin::default());
    let answer =
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    // It is gone before it was told, or it is told: nothing else can be done for it.
    let _ = stream.write_all(answer).await;
}

/// Tells a peer that speaks HTTP without TLS, if its buffer takes a few lines without waiting.
async fn answer_in_clear(mut stream: TcpStream, refused: &Refused) {
    let text = refused.to_string();
    let answer = format!(
        "HTTP/1.1 {} Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        refused.status(),
        text.len(),
    );
    // As above.
    let _ = stream.try_write(answer.as_bytes());
    let mut unread = [0; 4096];
    // A socket that is closed over unread bytes takes the answer with it.
    let _ = stream.try_read(&mut unread);
    let _ = stream.shutdown().await;
}
