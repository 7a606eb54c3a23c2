//! A server that conversations can be had with.

use std::fmt;
use std::sync::Arc;

use hyper::header::{ACCEPT, HeaderMap, HeaderValue};

use crate::wire::Mirrors;

use super::connections::Connections;
use super::credential::Credential;
use super::events::HttpEvents;
use super::failure::Failure;
use super::headers;
use super::parts::Parts;
use super::reach::{Reach, Reachability};
use super::sender::{Conversation, HttpSender};
use super::settings::{HttpClientError, HttpSettings};

/// A server that conversations can be had with. Clones share its connections.
#[derive(Clone)]
pub struct HttpClient {
    parts: Arc<Parts>,
}

impl HttpClient {
    /// Connects to nothing yet.
    pub fn new(settings: &HttpSettings) -> Result<Self, HttpClientError> {
        settings.check_url()?;
        let server = Connections::new(settings)?;
        let parts = Parts {
            settings: settings.clone(),
            credential: Credential::new(settings, &server)?,
            headers: headers::configured(&settings.headers).ok_or(HttpClientError::Header)?,
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
        let attempt = self.parts.reachability.begin(self.parts.prober());
        let asked = self.parts.probe(headers);
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
