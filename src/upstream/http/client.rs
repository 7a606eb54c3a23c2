//! What all conversations with one server share.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};

use super::events::HttpEvents;
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
    http: reqwest::Client,
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
            .default_headers(always(settings.bearer.as_ref())?)
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
        let settings = settings.clone();
        Ok(Self {
            parts: Arc::new(Parts { settings, http }),
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
    pub(super) fn request(&self, method: Method, headers: HeaderMap) -> RequestBuilder {
        let url = self.settings.url.clone();
        self.http.request(method, url).headers(headers)
    }
}

/// What every request says.
fn always(bearer: Option<&SecretString>) -> Result<HeaderMap, HttpClientError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(bearer) = bearer {
        // The one place where the token is exposed.
        let token = bearer.expose_secret();
        let well_formed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if token.is_empty() || !token.bytes().all(well_formed) {
            return Err(HttpClientError::Token);
        }
        let mut value =
            HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| HttpClientError::Token)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
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
