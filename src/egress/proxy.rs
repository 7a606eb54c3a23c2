//! The proxy: each connection is listed, decided, recorded, looked up, and only then made.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::TokioIo;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::attempt::{Asks, Attempt, Attempts, Verdict};
use super::connect::{Lookups, connect};
use super::destination::{Destination, Destinations};
use super::forward::{Carried, forward};
use super::idle_limited::IdleLimited;
use super::refusal::EgressRefusal;
use super::settings::Settings;
use super::target;
use crate::inward;

/// What serves the processes of one server. Clones ask the same.
#[derive(Clone)]
pub struct Proxy {
    listed: Arc<Destinations>,
    lookups: Lookups,
    attempts: mpsc::Sender<Attempt>,
}

/// What is answered: an answer that comes from outside, or a refusal.
pub(super) type ProxyBody = Either<Carried, Full<Bytes>>;

/// Bytes that go both ways once the answer to CONNECT is written.
#[derive(Debug)]
pub(super) struct Tunnel {
    inside: OnUpgrade,
    outside: IdleLimited,
}

/// Attempts that wait to be decided; others wait for room.
const WAITING: usize = 16;

/// How long a decision and its record may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Begins the text of a refusal, which a model may read.
const REFUSED: &str = "mcp-protector: ";

impl Proxy {
    /// The proxy refuses destinations that are not listed. The receiver of the attempts decides on the others.
    pub fn new(settings: &Settings) -> (Self, Attempts) {
        let (attempts, taken) = mpsc::channel(WAITING);
        let proxy = Self {
            listed: Arc::clone(&settings.listed),
            lookups: Lookups::new(Arc::clone(&settings.lookup)),
            attempts,
        };
        (proxy, Attempts::new(taken))
    }

    /// Answers a request. The tunnel is to be carried when the answer is written.
    pub(super) async fn answer(
        &self,
        mut request: Request<Incoming>,
    ) -> (Response<ProxyBody>, Option<Tunnel>) {
        let (method, version) = (request.method().clone(), request.version());
        let refused = |refusal: &EgressRefusal| (refused(refusal, &method, version), None);
        let to = match self.listed(&request) {
            Ok(to) => to,
            Err(refusal) => {
                self.record(target::told(&request), &refusal, None).await;
                return refused(&refusal);
            }
        };
        let reference = match self.decided(&to).await {
            Ok(reference) => reference,
            Err(refusal) => return refused(&refusal),
        };
        let made = async {
            let outside = connect(&self.listed, &self.lookups, &to).await?;
            if method == Method::CONNECT {
                let inside = hyper::upgrade::on(&mut request);
                let empty = Response::new(Either::Right(Full::default()));
                return Ok((empty, Some(Tunnel { inside, outside })));
            }
            let mut response = forward(request, &to, outside).await?.map(Either::Left);
            *response.version_mut() = version;
            if version == Version::HTTP_10 {
                inward::last(&mut response);
            }
            Ok((response, None))
        };
        match made.await {
            Ok(made) => made,
            Err(refusal) => {
                self.record(to.to_string(), &refusal, Some(reference)).await;
                refused(&refusal)
            }
        }
    }

    /// Answers what is no request.
    pub(super) async fn refuse(&self, refusal: EgressRefusal) -> Response<ProxyBody> {
        self.record(String::new(), &refusal, None).await;
        refused(&refusal, &Method::CONNECT, Version::HTTP_11)
    }

    fn listed(&self, request: &Request<Incoming>) -> Result<Destination, EgressRefusal> {
        let to = target::read(request)?;
        if self.listed.list(&to) {
            Ok(to)
        } else {
            Err(EgressRefusal::NotListed)
        }
    }

    /// The name of the record of the decision that permits it.
    async fn decided(&self, to: &Destination) -> Result<Arc<str>, EgressRefusal> {
        match self.ask(Asks::Decision(to.clone())).await {
            Verdict::Permitted(reference) => Ok(reference),
            Verdict::Denied => Err(EgressRefusal::Denied),
            Verdict::NotJudged => Err(EgressRefusal::NotJudged),
        }
    }

    async fn record(&self, target: String, refusal: &EgressRefusal, reference: Option<Arc<str>>) {
        let asks = Asks::Record {
            target,
            refusal: refusal.clone(),
            reference,
        };
        // It is refused, recorded or not.
        let _ = self.ask(asks).await;
    }

    async fn ask(&self, asks: Asks) -> Verdict {
        let (attempt, answered): (_, oneshot::Receiver<Verdict>) = Attempt::new(asks);
        let asked = async {
            self.attempts.send(attempt).await.ok()?;
            answered.await.ok()
        };
        let verdict = timeout(PATIENCE, asked).await.ok().flatten();
        verdict.unwrap_or(Verdict::NotJudged)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxy").field(&self.listed).finish()
    }
}

impl Tunnel {
    /// Until both sides have ended, or nothing moves any more.
    pub(super) async fn carry(mut self) {
        let idle = self.outside.idle();
        let ended = async {
            let inside = self.inside.await.map_err(std::io::Error::other)?;
            tokio::io::copy_bidirectional(&mut TokioIo::new(inside), &mut self.outside).await
        };
        tokio::select! {
            () = idle => tracing::debug!("a tunnel of the egress proxy was idle"),
            ended = ended => if let Err(cause) = ended {
                tracing::debug!("a tunnel of the egress proxy ended: {cause}");
            },
        }
    }
}

fn refused(refusal: &EgressRefusal, method: &Method, version: Version) -> Response<ProxyBody> {
    let text = format!("{REFUSED}{refusal}\n");
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = refusal.status();
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, plain);
    // What follows CONNECT is for the other end, and never another request.
    if *method == Method::CONNECT {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if version == Version::HTTP_10 {
        inward::last(&mut response);
    }
    response
}
