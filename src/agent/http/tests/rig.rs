//! A listener, and the far side of it.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::agent::http::channel::Piece;
use crate::agent::http::{
    Arrival, Brought, ConversationKind, Health, HttpRefusal, Inbound, Listener, Outside, Settings,
    Streams,
};
use crate::identity::{
    Anonymous, AnonymousReach, Authenticate, Identity, StaticToken, StaticTokens,
};
use crate::mailbox;
use crate::wire::{ArrivalForm, Id, Message, Shape, Stream};

use super::agent::{Agent, Request};

/// Nothing that a test does not ask for happens by time.
pub(super) fn patient() -> Settings {
    let long = Duration::from_mins(10);
    Settings {
        listen: "127.0.0.1:0".parse().unwrap(),
        header_deadline: long,
        body_deadline: long,
        body_pause: long,
        write_deadline: long,
        keep_alive: long,
        stream_after: long,
        slow_reader: long,
        session_idle_timeout: long,
        ..Settings::default()
    }
}

pub(super) struct Rig {
    pub(super) address: SocketAddr,
    pub(super) arrivals: mpsc::Receiver<Arrival>,
    pub(super) health: watch::Sender<Health>,
    pub(super) serving: JoinHandle<()>,
    refusals: Arc<Mutex<Vec<HttpRefusal>>>,
    stop: Option<oneshot::Sender<()>>,
}

/// One conversation, played by hand.
pub(super) struct Played {
    pub(super) kind: ConversationKind,
    pub(super) identity: Identity,
    pub(super) inbox: mailbox::Receiver<Box<Inbound>>,
    pub(super) streams: Streams,
}

impl Rig {
    pub(super) async fn new() -> Self {
        Self::with(patient()).await
    }

    pub(super) async fn with(settings: Settings) -> Self {
        Self::knowing(settings, Arc::new(Anonymous(AnonymousReach::ThisMachine))).await
    }

    /// Two agents: `alpha` and `beta`, whose tokens are [`token`].
    pub(super) async fn of_two() -> Self {
        Self::of_two_with(patient()).await
    }

    pub(super) async fn of_two_with(settings: Settings) -> Self {
        let known = ["alpha", "beta"].map(|name| StaticToken {
            token: token(name).into(),
            identity: Identity::named(name),
        });
        let tokens = StaticTokens::new(known.into()).unwrap();
        Self::knowing(settings, Arc::new(tokens)).await
    }

    pub(super) async fn knowing(settings: Settings, who: Arc<dyn Authenticate>) -> Self {
        let listener = Listener::bind(settings).await.unwrap();
        let address = listener.address();
        let (arriving, arrivals) = mpsc::channel(64);
        let (health, healthy) = watch::channel(Health::Ready);
        let refusals = Arc::new(Mutex::new(Vec::new()));
        let refused = Arc::clone(&refusals);
        let outside = Outside {
            authenticate: who,
            refusals: Box::new(move |refusal| refused.lock().unwrap().push(refusal)),
            arrivals: arriving,
            health: Arc::new(move || *healthy.borrow()),
            lets_in: Box::new(|_, _| true),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            listener
                .serve(outside, async {
                    let _ = stopped.await;
                })
                .await;
        });
        Self {
            address,
            arrivals,
            health,
            serving,
            refusals,
            stop: Some(stop),
        }
    }

    pub(super) async fn agent(&self) -> Agent {
        Agent::connect(self.address).await
    }

    pub(super) async fn arrival(&mut self) -> Played {
        let arrival = self.arrivals.recv().await.unwrap();
        Played {
            kind: arrival.kind,
            identity: arrival.identity,
            inbox: arrival.inbox,
            streams: arrival.streams,
        }
    }

    /// Begins a session; its id, and the gate's side of it.
    pub(super) async fn session(&mut self) -> (String, Played) {
        self.session_of(None).await
    }

    /// A session whose agent has asked something: its name, its agent, and who is to answer on which
    /// stream.
    pub(super) async fn asked(&mut self, frame: &str) -> (String, Agent, Played, Stream) {
        let (id, mut gate) = self.session().await;
        let mut agent = self.agent().await;
        agent.send(&Request::post(frame).session(&id)).await;
        let (stream, _) = gate.frame().await;
        (id, agent, gate, stream)
    }

    pub(super) async fn session_of(&mut self, name: Option<&str>) -> (String, Played) {
        let mut agent = self.agent().await;
        let mut request = Request::post(INITIALIZE);
        if let Some(name) = name {
            request = request.header("Authorization", &format!("Bearer {}", token(name)));
        }
        agent.send(&request).await;
        let mut played = self.arrival().await;
        played.answer("{\"protocolVersion\":\"2025-11-25\"}").await;
        let answer = agent.answer().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        (answer.header("mcp-session-id").unwrap().to_owned(), played)
    }

    /// The codes of what was refused so far.
    pub(super) fn refused(&self) -> Vec<&'static str> {
        let refusals = self.refusals.lock().unwrap();
        refusals.iter().map(|refusal| refusal.code).collect()
    }

    /// What was wrong with what was refused so far, in words.
    pub(super) fn why(&self) -> Vec<String> {
        let refusals = self.refusals.lock().unwrap();
        refusals.iter().map(|refusal| refusal.why.clone()).collect()
    }

    pub(super) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Plays a gate that answers every request with its own text, until the listener has ended.
    pub(super) fn echo(mut self) -> SocketAddr {
        let address = self.address;
        tokio::spawn(async move {
            while let Some(arrival) = self.arrivals.recv().await {
                tokio::spawn(echo(arrival));
            }
            drop(self);
        });
        address
    }
}

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#;

/// The token of an agent of [`Rig::of_two`].
pub(super) fn token(name: &str) -> String {
    format!("{name}-0123456789abcdef0123456789")
}

pub(super) fn reply(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub(super) const RESULT: Piece = Piece::Reply {
    error: None,
    form: ArrivalForm::Whole,
};

pub(super) fn refusal(code: i64) -> Piece {
    Piece::Reply {
        error: Some(code),
        form: ArrivalForm::Whole,
    }
}

impl Played {
    /// Whether no frame waits.
    pub(super) async fn hears_nothing(&mut self) -> bool {
        let mut next = pin!(self.inbox.recv());
        let asked = poll_fn(|context| Poll::Ready(next.as_mut().poll(context)));
        matches!(asked.await, Poll::Pending | Poll::Ready(None))
    }

    /// The next frame, with the number of its POST.
    pub(super) async fn frame(&mut self) -> (Stream, String) {
        match *self.inbox.recv().await.unwrap() {
            Inbound::Frame { stream, bytes, .. } => {
                (stream, String::from_utf8(bytes.to_vec()).unwrap())
            }
            other @ (Inbound::HungUp { .. } | Inbound::Unheard { .. }) => panic!("{other:?}"),
        }
    }

    /// What comes with the next frame.
    pub(super) async fn brought(&mut self) -> Brought {
        match *self.inbox.recv().await.unwrap() {
            Inbound::Frame { brought, .. } => brought,
            other @ (Inbound::HungUp { .. } | Inbound::Unheard { .. }) => panic!("{other:?}"),
        }
    }

    pub(super) async fn hung_up(&mut self) -> Stream {
        match *self.inbox.recv().await.unwrap() {
            Inbound::HungUp { stream } => stream,
            other @ (Inbound::Frame { .. } | Inbound::Unheard { .. }) => panic!("{other:?}"),
        }
    }

    /// Takes the next request and answers it with a result.
    pub(super) async fn answer(&mut self, result: &str) {
        let (stream, text) = self.frame().await;
        let id = id(&text);
        self.reply(stream, RESULT, &reply(id.json(), result)).await;
    }

    pub(super) async fn reply(&self, stream: Stream, piece: Piece, line: &str) {
        let carried = self.streams.carry(stream, piece, line.to_owned()).await;
        carried.unwrap();
    }

    /// A notification with this number, on a stream.
    pub(super) async fn note(&self, stream: Stream, number: u32) {
        self.reply(stream, Piece::Other, &note(number)).await;
    }
}

pub(super) fn note(number: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{number}}}}}"#
    )
}

fn id(text: &str) -> Id {
    let message = Message::decode(text.as_bytes(), &crate::wire::Limits::default()).unwrap();
    message.id().unwrap().clone()
}

async fn echo(mut arrival: Arrival) {
    while let Some(inbound) = arrival.inbox.recv().await {
        let Inbound::Frame { stream, bytes, .. } = *inbound else {
            continue;
        };
        let limits = crate::wire::Limits::default();
        let Ok(message) = Message::decode(&bytes, &limits) else {
            continue;
        };
        if let Shape::Request { id, .. } = message.shape() {
            let result = format!(r#"{{"echo":{}}}"#, message.text());
            let line = reply(id.json(), &result);
            let _ = arrival.streams.carry(stream, RESULT, line).await;
        }
    }
}
