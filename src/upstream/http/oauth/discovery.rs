//! Where tokens come from: as written, by an issuer's metadata (RFC 8414), or by that of the issuer that
//! the protected server names (RFC 9728).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hyper::header::{ACCEPT, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};
use tokio::time::timeout;
use url::Url;

use crate::outward::{
    HttpClient, HttpError, HttpResponse, PrivateAddresses, UrlRejection, UrlTrust,
};

use super::super::connections::{Asking, Connections};
use super::super::settings::{HttpClientError, HttpSettings};
use super::super::tls::client_tls;
use super::fault::{Of, TokenFault};
use super::places::{appended, pointer, resource_of, well_known};
use super::read;
use super::read::json;
use super::settings::{ClientAuth, ClientCredentials, TokenServer};

/// Bytes of a metadata document.
const MAX_BYTES: usize = 256 * 1024;

/// How long the server may take to say that it wants a token.
const PATIENCE: Duration = Duration::from_secs(10);

const JSON: &str = "application/json";

pub(super) struct Discovery {
    server: TokenServer,
    upstream: Url,
    /// For the upstream's own URL, as messages are sent to it.
    messages: Connections,
    ca_file: Option<PathBuf>,
    private: PrivateAddresses,
    configured: HttpClient,
    /// Made when the first such URL turns up: it needs the system's authorities.
    found: OnceLock<HttpClient>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    endpoint: Option<Arc<Endpoint>>,
    /// The issuer that the server named first. A secret is for one issuer.
    issuer: Option<String>,
}

/// Where tokens come from, and how they are asked for there.
pub(super) struct Endpoint {
    pub(super) url: Url,
    pub(super) asker: HttpClient,
    pub(super) client_auth: ClientAuth,
    /// What the server is called, unless the configuration says something else.
    pub(super) resource: String,
}

impl Discovery {
    pub(super) fn new(
        credentials: &ClientCredentials,
        settings: &HttpSettings,
        messages: Connections,
    ) -> Result<Self, HttpClientError> {
        let server = credentials.server.clone();
        let refused = |key: &'static str, refused: UrlRejection| HttpClientError::Setup {
            cause: format!("`upstream.auth.{key}`: {refused}"),
        };
        let written = match &server {
            TokenServer::At(url) => {
                let checked = UrlTrust::Configured.check(url);
                checked.map_err(|cause| refused("token_url", cause))?;
                Some(url.clone())
            }
            TokenServer::Of(issuer) => {
                let url = Url::parse(issuer).map_err(|_| refused("issuer", UrlRejection::Odd))?;
                let checked = UrlTrust::Configured.check(&url);
                checked.map_err(|cause| refused("issuer", cause))?;
                Some(url)
            }
            TokenServer::Named => None,
        };
        let tls = client_tls(
            written.as_ref().unwrap_or(&settings.url),
            settings.ca_file.as_deref(),
        )?;
        Ok(Self {
            server,
            upstream: settings.url.clone(),
            messages,
            ca_file: settings.ca_file.clone(),
            private: credentials.private,
            configured: HttpClient::new(tls, UrlTrust::Configured),
            found: OnceLock::new(),
            known: Mutex::default(),
        })
    }

    pub(super) async fn endpoint(&self) -> Result<Arc<Endpoint>, TokenFault> {
        let known = self.lock().endpoint.clone();
        if let Some(endpoint) = known {
            return Ok(endpoint);
        }
        let endpoint = Arc::new(self.find().await?);
        self.lock().endpoint = Some(Arc::clone(&endpoint));
        Ok(endpoint)
    }

    /// The next one is looked for anew, but for the issuer.
    pub(super) fn forget(&self) {
        self.lock().endpoint = None;
    }

    async fn find(&self) -> Result<Endpoint, TokenFault> {
        let own = resource_of(&self.upstream);
        match &self.server {
            TokenServer::At(url) => Ok(Endpoint {
                url: url.clone(),
                asker: self.configured.clone(),
                client_auth: ClientAuth::Basic,
                resource: own,
            }),
            TokenServer::Of(issuer) => self.of_issuer(issuer, own).await,
            TokenServer::Named => {
                let (issuer, resource) = self.named().await?;
                {
                    let mut known = self.lock();
                    let first = known.issuer.get_or_insert_with(|| issuer.clone());
                    if *first != issuer {
                        return Err(TokenFault::Changed);
                    }
                }
                self.of_issuer(&issuer, resource).await
            }
        }
    }

    /// The issuer that the server names, and what the server calls itself.
    async fn named(&self) -> Result<(String, String), TokenFault> {
        let of = Of::Server;
        let mut places: Vec<Url> = self.pointed_to().await?.into_iter().collect();
        places.extend(well_known(&self.upstream, "oauth-protected-resource"));
        for place in places {
            let answer = self.get(&place, of).await?;
            if (400..500).contains(&answer.status) {
                continue;
            }
            let read = document(&answer, of)?;
            let (resource, issuer) = read::of_server(read.root(), &self.upstream)
                .map_err(|what| TokenFault::Unfit { of, what })?;
            return Ok((issuer.ok_or(TokenFault::Unnamed)?, resource));
        }
        Err(TokenFault::Unnamed)
    }

    /// Where the server says that its metadata is, when it is asked without a token.
    async fn pointed_to(&self) -> Result<Option<Url>, TokenFault> {
        let of = Of::Server;
        let anything = HeaderValue::from_static("*/*");
        let asking = Asking {
            method: Method::GET,
            headers: HeaderMap::from_iter([(ACCEPT, anything)]),
            body: None,
        };
        let unasked = |cause: &str| TokenFault::Unasked {
            of,
            cause: HttpError::Unreachable(cause.to_owned()),
        };
        let asked = timeout(PATIENCE, self.messages.ask(asking)).await;
        let asked = asked.map_err(|_| unasked("it took too long"))?;
        let response = asked.map_err(|_| unasked("no answer came"))?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        let challenges = response.headers().get_all(WWW_AUTHENTICATE);
        let mut challenges = challenges.iter().filter_map(|it| it.to_str().ok());
        Ok(challenges.find_map(pointer))
    }

    async fn of_issuer(&self, issuer: &str, resource: String) -> Result<Endpoint, TokenFault> {
        let of = Of::Authority;
        let unfit = |what| TokenFault::Unfit { of, what };
        let url = Url::parse(issuer).map_err(|_| unfit("has an issuer that is no URL"))?;
        let mut places = well_known(&url, "oauth-authorization-server");
        places.extend(well_known(&url, "openid-configuration"));
        places.extend(appended(&url));
        for place in places {
            let answer = self.get(&place, of).await?;
            if (400..500).contains(&answer.status) {
                continue;
            }
            let read = document(&answer, of)?;
            let (endpoint, client_auth) = read::of_issuer(read.root(), issuer).map_err(unfit)?;
            return Ok(Endpoint {
                asker: self.asker(&endpoint)?.clone(),
                url: endpoint,
                client_auth,
                resource,
            });
        }
        Err(TokenFault::NoMetadata)
    }

    async fn get(&self, url: &Url, of: Of) -> Result<HttpResponse, TokenFault> {
        let asked = self.asker(url)?.get(url, JSON, MAX_BYTES);
        asked
            .await
            .map_err(|cause| TokenFault::Unasked { of, cause })
    }

    /// Whoever wrote one URL of an origin has written its host; all others were chosen by somebody else.
    fn asker(&self, url: &Url) -> Result<&HttpClient, TokenFault> {
        let written = match &self.server {
            TokenServer::At(url) => Some(url.origin()),
            TokenServer::Of(issuer) => Url::parse(issuer).ok().map(|url| url.origin()),
            TokenServer::Named => None,
        };
        if written.is_some_and(|it| it == url.origin()) || self.upstream.origin() == url.origin() {
            return Ok(&self.configured);
        }
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let tls = client_tls(url, self.ca_file.as_deref());
        let tls = tls.map_err(|cause| TokenFault::Setup(cause.to_string()))?;
        let found = HttpClient::new(tls, UrlTrust::Found(self.private));
        Ok(self.found.get_or_init(|| found))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn document(answer: &HttpResponse, of: Of) -> Result<crate::wire::Document, TokenFault> {
    let status = answer.status;
    if status != 200 {
        return Err(TokenFault::Status { of, status });
    }
    let what = "is no JSON";
    json(answer).ok_or(TokenFault::Unfit { of, what })
}
