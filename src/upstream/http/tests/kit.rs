//! A server that answers when and how a test says, and a conversation with it.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use url::Url;

use crate::clock::Clock;
use crate::gate::{Carried, Passage};
use crate::upstream::Backoff;
use crate::upstream::http::{HttpClient, HttpEvent, HttpEvents, HttpSender, HttpSettings};
use crate::wire::{ArrivalForm, KnownMethod, Stream};

/// A test that waits longer than this waits for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// For what a test waits for in vain; long enough for a connection on a busy machine.
pub(super) const SHORT: Duration = Duration::from_secs(2);

pub(super) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A clock that a test moves.
#[derive(Debug, Default)]
pub(super) struct HandClock(AtomicU64);

impl HandClock {
    pub(super) fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap();
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Hands each request to the test, which answers it.
pub(super) struct Server {
    pub(super) url: Url,
    asked: mpsc::Receiver<Asked>,
    _tasks: JoinSet<()>,
}

/// A request, and the way to answer it.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: String,
    io: Box<dyn Io>,
    done: oneshot::Sender<Box<dyn Io>>,
}

/// An answer that is a stream of events.
pub(super) struct Events {
    io: Box<dyn Io>,
    done: oneshot::Sender<Box<dyn Io>>,
}

impl Server {
    pub(super) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// With TLS if there is an acceptor.
    pub(super) async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://localhost:{port}/mcp")).unwrap();
        let (tell, asked) = mpsc::channel(256);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (io, _) = listener.accept().await.unwrap();
                let (tls, tell) = (tls.clone(), tell.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(Box::new(io), tell).await,
                        Some(tls) => {
                            if let Ok(io) = tls.accept(io).await {
                                serve(Box::new(io), tell).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            url,
            asked,
            _tasks: tasks,
        }
    }

    pub(super) async fn next(&mut self) -> Asked {
        let asked = timeout(PATIENCE, self.asked.recv()).await;
        asked.expect("no request comes").unwrap()
    }

    /// That it is asked nothing that the test has not seen. What comes later than this waits is
    /// not noticed, so that the check never fails by chance.
    pub(super) async fn stays_idle(&mut self) -> bool {
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.asked.try_recv().is_err()
    }

    pub(super) fn settings(&self) -> HttpSettings {
        let mut settings = HttpSettings::new("test", self.url.clone());
        settings.backoff = Backoff {
            first: Duration::from_millis(2),
            max: Duration::from_millis(10),
            tries: 3,
            seed: Some(1),
            ..Backoff::default()
        };
        settings
    }

    pub(super) fn talk(&self) -> Talk {
        Talk::with(&self.settings())
    }
}

async fn serve(mut io: Box<dyn Io>, tell: mpsc::Sender<Asked>) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match io.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap().split(' ').map(str::to_owned);
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, value)| value.parse().unwrap());
        let mut body = vec![0; length];
        io.read_exact(&mut body).await.unwrap();
        let (done, given_back) = oneshot::channel();
        let asked = Asked {
            method: first.next().unwrap(),
            path: first.next().unwrap(),
            headers,
            body: String::from_utf8(body).unwrap(),
            io,
            done,
        };
        if tell.send(asked).await.is_err() {
            return;
        }
        match given_back.await {
            Ok(again) => io = again,
            Err(_) => return,
        }
    }
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(own, _)| own == name);
        let found = all.next();
        assert!(all.next().is_none(), "`{name}` twice");
        found.map(|(_, value)| value.as_str())
    }

    pub(super) async fn json(self, body: &str) {
        self.json_with("", body).await;
    }

    /// With further header lines, each with its line end.
    pub(super) async fn json_with(self, headers: &str, body: &str) {
        let head = format!("Content-Type: application/json\r\n{headers}");
        self.answer("200 OK", &head, body).await;
    }

    pub(super) async fn status(self, status: &str) {
        self.answer(status, "", "").await;
    }

    pub(super) async fn answer(self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        let Self { mut io, done, .. } = self;
        if io.write_all(text.as_bytes()).await.is_ok() {
            let _ = done.send(io);
        }
    }

    /// Whatever bytes, and then the end of the connection.
    pub(super) async fn raw(mut self, bytes: &[u8]) {
        let _ = self.io.write_all(bytes).await;
        let _ = self.io.shutdown().await;
    }

    pub(super) async fn events(self) -> Events {
        self.events_with("").await
    }

    pub(super) async fn events_with(self, headers: &str) -> Events {
        let Self { mut io, done, .. } = self;
        let mut head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n".to_owned();
        write!(head, "{headers}Transfer-Encoding: chunked\r\n\r\n").unwrap();
        io.write_all(head.as_bytes()).await.unwrap();
        Events { io, done }
    }

    /// Resolves when the client has closed the connection without an answer.
    pub(super) async fn closed(self) {
        closed(self.io).await;
    }
}

impl Events {
    pub(super) async fn send(&mut self, text: &str) {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        let _ = self.io.write_all(chunk.as_bytes()).await;
        let _ = self.io.flush().await;
    }

    pub(super) async fn message(&mut self, data: &str) {
        self.send(&format!("data: {data}\n\n")).await;
    }

    /// Ends the stream as HTTP wants it.
    pub(super) async fn end(self) {
        let Self { mut io, done } = self;
        if io.write_all(b"0\r\n\r\n").await.is_ok() {
            let _ = done.send(io);
        }
    }

    pub(super) async fn closed(self) {
        closed(self.io).await;
    }
}

async fn closed(mut io: Box<dyn Io>) {
    let mut rest = Vec::new();
    let end = timeout(PATIENCE, io.read_to_end(&mut rest)).await;
    let _ = end.expect("the connection stays open");
}

/// A conversation.
pub(super) struct Talk {
    pub(super) sender: HttpSender,
    pub(super) events: HttpEvents,
}

impl Talk {
    pub(super) fn with(settings: &HttpSettings) -> Self {
        let (sender, events) = HttpClient::new(settings).unwrap().connect();
        Self { sender, events }
    }

    pub(super) async fn send(&self, carried: Carried, line: &str) {
        let stream = Stream::MAIN;
        let passage = Passage {
            proof: None,
            stream,
            carried,
            trace: None,
        };
        self.sender.carry(passage, line.to_owned()).await.unwrap();
    }

    /// A request of a session, without params.
    pub(super) async fn ask(&self, id: u64, method: KnownMethod) {
        self.send(request(id, method, None), &line(id, method))
            .await;
    }

    /// A request that belongs to no session.
    pub(super) async fn ask_stateless(&self, id: u64, method: KnownMethod) {
        let carried = request(id, method, Some("2026-07-28"));
        self.send(carried, &line(id, method)).await;
    }

    pub(super) async fn notify(&self, method: KnownMethod) {
        let carried = Carried::Notification {
            method,
            ends: None,
            revision: None,
        };
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        self.send(carried, &text).await;
    }

    pub(super) async fn next(&mut self) -> HttpEvent {
        let event = timeout(PATIENCE, self.events.next()).await;
        event.expect("no event comes")
    }

    /// In whatever form.
    pub(super) async fn expect(&mut self, event: HttpEvent) {
        let mut told = self.next().await;
        if let HttpEvent::Frame { form, .. } = &mut told {
            *form = ArrivalForm::Whole;
        }
        assert_eq!(told, event);
    }

    /// The handshake, after which there is a session `s1`; the main stream is refused.
    pub(super) async fn handshake(&mut self, server: &mut Server) {
        self.handshake_as(server, "Mcp-Session-Id: s1\r\n").await;
        server.next().await.status("405 Method Not Allowed").await;
    }

    /// The handshake, up to the GET for the main stream.
    pub(super) async fn handshake_as(&mut self, server: &mut Server, headers: &str) {
        self.ask(1, KnownMethod::Initialize).await;
        let asked = server.next().await;
        assert_eq!(asked.header("mcp-session-id"), None);
        asked.json_with(headers, INITIALIZED).await;
        self.expect(frame(1, INITIALIZED)).await;
        self.notify(KnownMethod::Initialized).await;
        server.next().await.status("202 Accepted").await;
    }
}

pub(super) const INITIALIZED: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;

pub(super) fn request(id: u64, method: KnownMethod, revision: Option<&str>) -> Carried {
    Carried::Request {
        id,
        method,
        name: None,
        revision: revision.map(Into::into),
    }
}

pub(super) fn line(id: u64, method: KnownMethod) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

pub(super) fn result(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

pub(super) fn news(count: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":{count}}}}}"#)
}

/// A frame on the stream of a request, or on the main one.
pub(super) fn frame(stream: u64, text: &str) -> HttpEvent {
    HttpEvent::Frame {
        stream: Stream::numbered(stream),
        form: ArrivalForm::Whole,
        bytes: text.into(),
    }
}
