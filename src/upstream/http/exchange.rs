//! One request and what answers it.

use std::sync::Arc;

use hyper::StatusCode;
use tokio::time::sleep;

use crate::gate::{Carried, UserProof};
use crate::mailbox;
use crate::wire::{ArrivalForm, Era, KnownMethod, OutgoingTrace, Stream};

use super::answer::{self, Answer, Answered, Asked, Reply, Within};
use super::connections::Response;
use super::failure::{Failure, Loss};
use super::headers::Known;
use super::http_event::HttpEvent;
use super::life::Open;
use super::reading::{self, Ended, Looking, Place};

pub(super) struct Exchange {
    open: Open,
    method: KnownMethod,
    carried: Carried,
    trace: Option<OutgoingTrace>,
    proof: Option<UserProof>,
    events: mailbox::Sender<HttpEvent>,
}

/// Sends the request and tells whatever comes of it, unless nobody waits for it any more.
pub(super) async fn run(exchange: Exchange, text: String) {
    let era = exchange.open.era();
    let life = Arc::clone(exchange.open.life());
    let slot = tokio::select! {
        biased;
        () = exchange.open.given_up() => return,
        slot = exchange.slot() => slot,
    };
    let forsaken = async {
        exchange.open.given_up().await;
        if era == Era::Legacy {
            sleep(life.parts.settings.linger).await;
        }
    };
    let failure = tokio::select! {
        biased;
        // What is dropped here closes the stream.
        () = forsaken => return,
        asked = exchange.ask(text) => match asked {
            Ok(()) => return,
            Err(failure) => failure,
        },
    };
    drop(slot);
    match failure {
        Failure::SessionGone => life.end(Loss::SessionGone),
        Failure::Unreachable(ref cause) if era == Era::Legacy => {
            life.end(Loss::Unreachable(cause.clone()));
        }
        Failure::Unreachable(_)
        | Failure::NoToken(_)
        | Failure::Broken
        | Failure::Bad(_)
        | Failure::Status(_)
        | Failure::Unread(_) => {
            exchange.failed(failure).await;
        }
    }
}

impl Exchange {
    pub(super) fn new(
        open: Open,
        method: KnownMethod,
        carried: Carried,
        (trace, proof): (Option<OutgoingTrace>, Option<UserProof>),
        events: mailbox::Sender<HttpEvent>,
    ) -> Self {
        Self {
            open,
            method,
            carried,
            trace,
            proof,
            events,
        }
    }

    /// A stream of news lives as long as its agent wants, so that it takes no turn.
    async fn slot(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        if self.method == KnownMethod::SubscriptionsListen {
            return None;
        }
        self.open.life().slots.acquire().await.ok()
    }

    async fn ask(&self, text: String) -> Result<(), Failure> {
        let life = self.open.life();
        let settings = &life.parts.settings;
        let begins = self.method == KnownMethod::Initialize;
        let in_session = !begins && self.open.era() == Era::Legacy && life.known().has_session();
        let (trace, proof) = (self.trace.as_ref(), self.proof.as_ref());
        let response = life.post(&self.carried, trace, proof, text).await?;
        let asked = Asked {
            id: self.open.id(),
            within: if in_session {
                Within::Session
            } else {
                Within::None
            },
            settings,
        };
        if begins && response.status().is_success() {
            let session = Known::session_of(response.headers())?;
            life.known().begin(session);
        }
        let status = response.status();
        let answered = answer::of_request(response, &asked).await;
        let answered = answered.inspect_err(|failure| {
            if !status.is_success() && *failure != Failure::SessionGone {
                life.parts.refused(status);
            }
        });
        match answered? {
            Answered::Error(bytes, form) => {
                self.tell(bytes, form).await;
                Ok(())
            }
            Answered::Body(Answer::Json(response)) => {
                let bytes = answer::whole(response, settings).await?;
                if bytes.trim_ascii().is_empty() {
                    return Err(Failure::bad("it is empty"));
                }
                let reply = answer::reply(&bytes, settings).await?;
                let answered = reply.is_some_and(|reply| self.answers(&reply));
                self.tell(bytes, ArrivalForm::Whole).await;
                if answered {
                    Ok(())
                } else {
                    Err(Failure::bad("it does not answer the request"))
                }
            }
            // Boxed, so that its room is not that of every request.
            Answered::Body(Answer::Events(response)) => Box::pin(self.follow(response)).await,
        }
    }

    /// Reads the stream to the reply. One that ends before it is resumed where it has told how
    /// (MCP 2025-11-25, basic/transports, resumability).
    async fn follow(&self, response: Response) -> Result<(), Failure> {
        let life = self.open.life();
        let settings = &life.parts.settings;
        let answers = |reply: &Reply| self.answers(reply);
        let looking = Looking {
            stream: self.stream(),
            settings,
            events: &self.events,
            reply: Some(&answers),
        };
        let mut place = Place::new(&settings.backoff);
        let mut response = Some(response);
        let mut unreached = 0;
        loop {
            if let Some(response) = response.take() {
                match reading::read(response, &looking, &mut place).await? {
                    Ended::Answered | Ended::Unread => return Ok(()),
                    Ended::Early => {}
                }
            }
            if self.open.era() == Era::Stateless || place.after().is_none() {
                return Err(Failure::Broken);
            }
            sleep(place.next_delay()).await;
            match life.get(place.after()).await {
                Ok(again) => {
                    unreached = 0;
                    response = Some(resumed(again)?);
                }
                Err(failure @ Failure::Unreachable(_)) => {
                    unreached += 1;
                    if unreached >= settings.backoff.tries {
                        return Err(failure);
                    }
                }
                // Nothing was asked: the server has not failed.
                Err(failure @ Failure::NoToken(_)) => return Err(failure),
                // The connection broke before there was an answer: the next one may not.
                Err(_) => {
                    unreached += 1;
                    if unreached >= settings.backoff.tries {
                        return Err(Failure::Broken);
                    }
                }
            }
        }
    }

    /// What a reply settles, whether or not the gate lets it pass.
    fn answers(&self, reply: &Reply) -> bool {
        let answers = reply.id == Some(self.open.id());
        if answers
            && self.method == KnownMethod::Initialize
            && let Some(revision) = &reply.revision
        {
            self.open.life().known().negotiated(revision);
        }
        if answers
            && self.method == KnownMethod::ToolsList
            && let Some(list) = &reply.result
        {
            self.open.life().parts.mirrors.learn(list);
        }
        answers
    }

    fn stream(&self) -> Stream {
        Stream::numbered(self.open.id())
    }

    async fn tell(&self, bytes: Vec<u8>, form: ArrivalForm) {
        let stream = self.stream();
        // Without a reader there is nobody to tell.
        let frame = HttpEvent::Frame {
            stream,
            form,
            bytes,
        };
        let _ = self.events.send(frame).await;
    }

    async fn failed(&self, failure: Failure) {
        let stream = self.stream();
        if let Failure::Unread(why) = failure {
            let _ = self.events.send(HttpEvent::Unread { stream, why }).await;
        }
        let fault = failure.fault();
        let _ = self.events.send(HttpEvent::Failed { stream, fault }).await;
    }
}

/// A 404 here need not mean the session: some servers do not know the path for GET.
fn resumed(response: Response) -> Result<Response, Failure> {
    if response.status() != StatusCode::OK {
        tracing::debug!(status = %response.status(), "a stream could not be resumed");
        return Err(Failure::Broken);
    }
    match answer::body(response)? {
        Answer::Events(response) => Ok(response),
        Answer::Json(_) => Err(Failure::Broken),
    }
}
