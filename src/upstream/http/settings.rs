//! Where the server is, and how it is reached.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use url::{Host, Url};

use crate::clock::{Clock, SystemClock};
use crate::memory::Memory;
use crate::upstream::Backoff;
use crate::wire::Limits;

use super::conceal::{Conceal, Nobody};
use super::oauth::{ClientCredentials, TokenExchange};
use super::secret_file::SecretFault;

/// What to connect to, and how.
#[derive(Clone)]
pub struct HttpSettings {
    /// The server's name, as a label in logs.
    pub name: String,
    /// The endpoint: `https`, or `http` as far as `plain_http` lets it.
    pub url: Url,
    /// What is sent as `Authorization: Bearer …` with every request, and nowhere else.
    pub auth: Option<Auth>,
    /// Sent with every request to the server, with those of the gate, which win.
    pub headers: BTreeMap<String, SecretString>,
    /// Learns each secret that is read or fetched before it is sent.
    pub conceal: Arc<dyn Conceal>,
    pub clock: Arc<dyn Clock>,
    /// PEM certificates of authorities that may vouch for the server besides those of the system.
    pub ca_file: Option<PathBuf>,
    pub plain_http: PlainHttp,
    /// For name, connection and TLS together.
    pub connect_timeout: Duration,
    /// How long the server may take to accept a notification or a reply, and the end of the session.
    pub notice_timeout: Duration,
    /// In a session closing a stream cancels nothing, so that a request which was cancelled by a
    /// notification keeps its stream for this long.
    pub linger: Duration,
    /// Limits of a message from the server. One that is longer, as an event or as a body, is
    /// [`super::HttpEvent::Unread`].
    pub from_upstream: Limits,
    /// How many requests of one conversation may be open; further ones wait. Each can hold a
    /// message in memory.
    pub max_concurrent: usize,
    /// Before lost sessions are begun anew, and before broken streams are resumed unless the server
    /// says how long to wait.
    pub backoff: Backoff,
    /// What answers are kept in until they are complete.
    pub memory: Memory,
}

/// Where the token comes from that the gate shows to the server.
#[derive(Debug, Clone)]
pub enum Auth {
    /// It is always the same.
    Token(SecretString),
    /// A file that holds nothing else. It is read again before a request, at most once a second, and
    /// at once when the server refuses the token.
    TokenFile(PathBuf),
    /// An authorization server gives it, and another one before it expires, or when the server refuses
    /// it.
    Client(Box<ClientCredentials>),
    /// An authorization server gives one for each agent, in exchange for the agent's own.
    Exchange(Box<TokenExchange>),
}

/// Where `http` without TLS is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// For an IP address of the loopback network, and for `localhost`, which is then not looked up.
    LoopbackOnly,
    Allowed,
}

/// Why no server can be reached by these settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpClientError {
    #[error("`upstream.url`: the scheme is `{scheme}`, not `https`")]
    Scheme { scheme: String },
    #[error(
        "`upstream.url`: `http` to `{host}` is not encrypted; only a loopback address may do without"
    )]
    PlainHttp { host: String },
    #[error("`upstream.url`: a user or password in a URL ends up in logs; set a bearer token")]
    Credentials,
    #[error("`upstream.url`: a fragment (`#…`) is never sent to a server")]
    Fragment,
    #[error("the bearer token has characters that no token has (RFC 6750, section 2.1)")]
    Token,
    #[error("`upstream.headers`: no header can hold a value")]
    Header,
    #[error("`{key}`: `{}`: {cause}", .path.display())]
    SecretFile {
        key: &'static str,
        path: PathBuf,
        cause: SecretFault,
    },
    #[error("`{}`: {cause}", .path.display())]
    Authorities { path: PathBuf, cause: String },
    #[error("the system has no certificate authorities{cause}")]
    NoAuthorities { cause: String },
    #[error("the client cannot be set up: {cause}")]
    Setup { cause: String },
}

impl HttpSettings {
    /// Defaults for everything but the name and the place.
    pub fn new(name: impl Into<String>, url: Url) -> Self {
        Self {
            name: name.into(),
            url,
            auth: None,
            headers: BTreeMap::new(),
            conceal: Arc::new(Nobody),
            clock: Arc::new(SystemClock::new()),
            ca_file: None,
            plain_http: PlainHttp::LoopbackOnly,
            connect_timeout: Duration::from_secs(10),
            notice_timeout: Duration::from_secs(10),
            linger: Duration::from_secs(10),
            from_upstream: Limits::default(),
            max_concurrent: 64,
            // A session costs a server less than a process costs this machine, and a server that is
            // there again is there for all conversations: none should wait long to find out.
            backoff: Backoff {
                max: Duration::from_secs(5),
                stable_after: Duration::from_secs(5),
                ..Backoff::default()
            },
            memory: Memory::default(),
        }
    }

    /// Scheme, host and port, and nothing of what may hold a key.
    pub(super) fn origin(&self) -> String {
        let (scheme, host) = (self.url.scheme(), self.url.host_str().unwrap_or_default());
        let port = self.url.port_or_known_default().unwrap_or_default();
        format!("{scheme}://{host}:{port}")
    }

    /// Checked after parsing, so that all spellings of an address are one.
    pub(super) fn check_url(&self) -> Result<(), HttpClientError> {
        let url = &self.url;
        match url.scheme() {
            "https" => {}
            "http" if self.plain_http == PlainHttp::Allowed || is_loopback(url) => {}
            "http" => {
                let host = url.host_str().unwrap_or_default().to_owned();
                return Err(HttpClientError::PlainHttp { host });
            }
            scheme => {
                let scheme = scheme.to_owned();
                return Err(HttpClientError::Scheme { scheme });
            }
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HttpClientError::Credentials);
        }
        if url.fragment().is_some() {
            return Err(HttpClientError::Fragment);
        }
        Ok(())
    }
}

/// Where the URL leads is told without its path and query, which may hold a key.
impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("name", &self.name)
            .field("url", &self.url.origin().ascii_serialization())
            .field("auth", &self.auth)
            .field("headers", &self.headers)
            .field("ca_file", &self.ca_file)
            .field("plain_http", &self.plain_http)
            .finish_non_exhaustive()
    }
}

/// By the address itself: whom a name leads to is for others to say, except `localhost`, which
/// [`super::client`] leads to the loopback addresses itself.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == LOCALHOST,
        None => false,
    }
}

pub(super) const LOCALHOST: &str = "localhost";
