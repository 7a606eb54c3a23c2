//! What all conversations with one server share.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Method, Response, StatusCode};

use crate::wire::Mirrors;

use super::credential::Credential;
use super::events::HttpEvents;
use super::failure::Failure;
use super::reach::{self, By, Reach, Reachability};
use super::sender::{Conversation, HttpSender};
use super::settings::{HttpClientError, HttpSettings, LOCALHOST};
use super::tls;

/// A server that conversations can be had with. Clones share its connections.
#[derive(Clone)]
pub struct HttpClient {
    parts: Arc<Parts>,
}

pub(super) struct Parts {
    pub(super) settings: HttpSettings,
    credential: Credential,
    http: reqwest::Client,
    /// The tools are the same for all conversations, which show the same token.
    pub(super) mirrors: Mirrors,
    pub(super) reachability: Reachability,
}

/// Dead peers are found by the operating system where nothing is sent for hours.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

impl HttpClient {
    /// Connects to nothing yet.
    pub fn new(settings: &HttpSettings) -> Result<Self, HttpClientError> {
        settings.check_url()?;
        // No proxy, cookie, `Referer` or compression: nothing that the configuration did not name
        // decides where a message goes or how large it gets.
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(settings)?)
            .https_only(settings.url.scheme() == "https")
            .no_proxy()
            .referer(false)
            .redirect(Policy::custom(redirected))
            .user_agent(concat!("mcp-protector/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.connect_timeout)
            .tcp_keepalive(KEEP_ALIVE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE)
            // The port is that of the URL.
            .resolve_to_addrs(
                LOCALHOST,
                &[
                    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
                    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
                ],
            );
        let http = builder.build().map_err(|error| HttpClientError::Setup {
            cause: error.to_string(),
        })?;
        let parts = Parts {
            settings: settings.clone(),
            credential: Credential::new(settings, &http)?,
            http,
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
        self.parts
            .note(&attempt, &answered.unwrap_or(Err(Failure::Broken)));
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

    fn note(&self, attempt: &reach::Attempt, answered: &Result<Response, Failure>) {
        let now = self.settings.clock.elapsed();
        self.reachability.note(attempt, answered, now);
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
        let url = self.settings.url.clone();
        let mut request = self.http.request(method, url).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let Some(shown) = self.credential.present().await? else {
            return request.send().await.map_err(Failure::of);
        };
        // The body is shared, not copied.
        let again = if self.credential.is_renewed() {
            request.try_clone()
        } else {
            None
        };
        let request = request.header(AUTHORIZATION, shown.header.clone());
        let response = request.send().await.map_err(Failure::of)?;
        let Some(again) = again.filter(|_| response.status() == StatusCode::UNAUTHORIZED) else {
            return Ok(response);
        };
        match self.credential.instead_of(&shown).await {
            Some(other) => {
                let request = again.header(AUTHORIZATION, other.header);
                request.send().await.map_err(Failure::of)
            }
            None => Ok(response),
        }
    }
}

/// Once, to the same scheme, host and port, with the same method and body (RFC 9110, 15.4.8 and
/// 15.4.9): what servers do that want a `/` at the end. Nothing else is followed, so that message
/// and token go to nobody whom the configuration does not name.
fn redirected(attempt: Attempt<'_>) -> Action {
    let kept = [
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ]
    .contains(&attempt.status());
    let near = match attempt.previous() {
        [asked] => asked.origin() == attempt.url().origin() && attempt.url().username().is_empty(),
        _ => false,
    };
    if kept && near {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
