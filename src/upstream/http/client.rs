//! What all conversations with one server share.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

use crate::wire::Mirrors;

use super::connections::{Asking, Connections, Response};
use super::credential::Credential;
use super::events::HttpEvents;
use super::failure::Failure;
use super::reach::{Attempt, By, Reach, Reachability};
use super::sender::{Conversation, HttpSender};
use super::settings::{HttpClientError, HttpSettings};

/// A server that conversations can be had with. Clones share its connections.
#[derive(Clone)]
pub struct HttpClient {
    parts: Arc<Parts>,
}

pub(super) struct Parts {
    pub(super) settings: HttpSettings,
    credential: Credential,
    server: Connections,
    /// What the log calls it.
    origin: String,
    /// The tools are the same for all conversations, which show the same token.
    pub(super) mirrors: Mirrors,
    pub(super) reachability: Reachability,
}

impl HttpClient {
    /// Connects to nothing yet.
    pub fn new(settings: &HttpSettings) -> Result<Self, HttpClientError> {
        settings.check_url()?;
        let server = Connections::new(settings)?;
        let parts = Parts {
            settings: settings.clone(),
            credential: Credential::new(settings, &server)?,
            server,
            origin: settings.origin(),
            mirrors: Mirrors::default(),
            reachability: Reachability::default(),
        };
        Ok(Self {
            parts: Arc::new(parts),
        })
    }

    /// Begins a conversation; the first message connects. Must be called inside a tokio runtime.
    ///
    /// When both halves or the runtime are dropped all its streams are closed.
    pub fn connect(&self) -> (HttpSender, HttpEvents) {
        let conversation = Arc::new(Conversation::new(Arc::clone(&self.parts)));
        let (life, events) = conversation.begin();
        let delays = crate::upstream::Delays::new(&self.parts.settings.backoff);
        let events = HttpEvents::new(Arc::clone(&conversation), life, events, delays);
        (HttpSender::new(conversation), events)
    }

    /// What the latest attempt to reach the server came to.
    pub fn reach(&self) -> Reach {
        self.parts.reachability.last()
    }

    /// Whether it has shaken hands, with whomever, and was not lost since.
    pub fn is_shaken(&self) -> bool {
        self.parts.reachability.is_shaken()
    }

    /// How many attempts to reach it have ended.
    pub fn attempts(&self) -> u64 {
        self.parts.reachability.attempts()
    }

    /// One attempt that says nothing to the server: a GET as for a stream, which is let go as soon as
    /// it is answered, whatever the answer is. Proxies hand it on as they do a message; they answer
    /// OPTIONS themselves.
    pub async fn probe(&self) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let attempt = self.parts.reachability.begin(By::Gate);
        let asked = self.parts.ask(Method::GET, headers, None);
        let answered = tokio::time::timeout(self.parts.settings.notice_timeout, asked).await;
        let answered = answered.unwrap_or(Err(Failure::Broken));
        self.parts.note(&attempt, &answered);
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("settings", &self.parts.settings)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Parts {
    /// Sends a request and notes whether the server could be reached.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, Failure> {
        let attempt = self.reachability.begin(By::Conversation);
        let answered = self.ask(method, headers, body).await;
        self.note(&attempt, &answered);
        answered
    }

    fn note(&self, attempt: &Attempt, answered: &Result<Response, Failure>) {
        let now = self.settings.clock.elapsed();
        let answered = answered.as_ref().map(Response::status);
        self.reachability.note(attempt, answered, &self.origin, now);
    }

    /// The server has answered a message with this status, and not with a message.
    pub(super) fn refused(&self, status: StatusCode) {
        let now = self.settings.clock.elapsed();
        self.reachability.refused(status, &self.origin, now);
    }

    /// Sends a request: a second time if the server refuses the token and there is another one. What
    /// was refused with 401 was not looked at, so that nothing is done twice.
    pub(super) async fn ask(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, Failure> {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut asking = Asking {
            method,
            headers,
            body,
        };
        let Some(shown) = self.credential.present().await? else {
            return self.server.ask(asking).await;
        };
        let again = self.credential.is_renewed().then(|| asking.clone());
        asking.headers.insert(AUTHORIZATION, shown.header.clone());
        let response = self.server.ask(asking).await?;
        let Some(mut again) = again.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        else {
            return Ok(response);
        };
        match self.credential.instead_of(&shown).await {
            Some(other) => {
                again.headers.insert(AUTHORIZATION, other.header);
                self.server.ask(again).await
            }
            None => Ok(response),
        }
    }
}
