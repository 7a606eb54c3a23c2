//! The path of one request of an operator's.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN,
    RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode, Version};
use serde::Serialize;

use crate::agent::http::{AskHealth, Health};
use crate::identity::{Authenticate, Challenge};
use crate::inward::{self, Misframed, named_host};

use super::api::{self, ApiProblem, OperatorsApi};
use super::approvals::{self, Approvals};
use super::expose::{CONTENT_TYPE as OPENMETRICS, expose};
use super::metrics::{Gauges, Listening, Metrics, ServerLabel};
use super::settings::Settings;

/// The keys of those among several servers that are not ready, with the status of each.
pub type NotReady = Box<dyn Fn() -> BTreeMap<String, Health> + Send + Sync>;

/// Where answers come from.
pub struct Sources {
    pub health: AskHealth,
    pub not_ready: NotReady,
    /// Keys of the configuration that need a restart, for `GET /health` here.
    pub restart: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    pub metrics: Arc<Metrics>,
    /// Asked for each `GET /metrics`.
    pub figures: Box<dyn Fn() -> Gauges + Send + Sync>,
    /// Where people answer what agents wait for, if that is done here.
    pub approvals: Option<Approvals>,
    /// What operators can do over HTTP, if there are any.
    pub api: Option<OperatorsApi>,
    /// The public key by which servers check assertions, as a JWK Set.
    pub key_set: Option<Arc<str>>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

pub(super) type Response = hyper::Response<Full<Bytes>>;

/// Where servers find the key of assertions. It is public, like health.
const KEY_SET: &str = "/identity/jwks.json";

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What requests of all connections share.
pub(super) struct AdminContext {
    pub(super) settings: Settings,
    pub(super) metrics: Arc<Metrics>,
    health: AskHealth,
    not_ready: NotReady,
    restart: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    figures: Box<dyn Fn() -> Gauges + Send + Sync>,
    approvals: Option<Approvals>,
    api: Option<OperatorsApi>,
    key_set: Option<Arc<str>>,
    hosts: Vec<String>,
}

/// Why a request is refused. Text goes to the peer; it quotes nothing of the peer's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum AdminRejection {
    #[error("{0}")]
    Misframed(Misframed),
    #[error(
        "there must be exactly one `Host`: a host with a valid port or none, and no other in the target"
    )]
    HostMissing,
    #[error("`Authorization` stands twice")]
    Repeated,
    #[error("this host is not served here")]
    Host,
    #[error("nothing here is for web pages")]
    Origin,
    #[error("a request here has no body")]
    HasBody,
    #[error("there is nothing at this path")]
    Path,
    #[error("only GET and HEAD can be done here")]
    Method,
    #[error(transparent)]
    Challenge(Challenge),
    #[error("the numbers cannot be written")]
    Unwritable,
    #[error(transparent)]
    Approvals(approvals::ApprovalRejection),
}

impl AdminContext {
    pub(super) fn new(settings: Settings, sources: Sources) -> Self {
        let allowed = settings.allowed_hosts.iter();
        let mut hosts: Vec<_> = allowed.map(|host| host.to_ascii_lowercase()).collect();
        hosts.extend(LOOPBACK.map(str::to_owned));
        Self {
            settings,
            metrics: sources.metrics,
            health: sources.health,
            not_ready: sources.not_ready,
            restart: sources.restart,
            figures: sources.figures,
            approvals: sources.approvals,
            api: sources.api,
            key_set: sources.key_set,
            hosts,
        }
    }

    /// Answers one request. `here` is the address that it came to.
    pub(super) async fn answer(
        &self,
        here: IpAddr,
        peer: SocketAddr,
        request: Request<Incoming>,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let mut response = match self.api.as_ref().filter(|_| api::is_ours(path)) {
            Some(api) => self.answer_operator(api, &parts, body, (here, peer)).await,
            None => self.answer_others(&parts, body, (here, peer)).await,
        };
        if parts.version == Version::HTTP_10 {
            inward::last(&mut response);
        }
        response
    }

    async fn answer_operator(
        &self,
        api: &OperatorsApi,
        parts: &Parts,
        body: Incoming,
        (here, peer): (IpAddr, SocketAddr),
    ) -> Response {
        let answered = match self.check_host(parts, here) {
            Ok(()) => api.answer(peer.ip(), parts, body).await,
            Err(refused) => {
                let (status, code) = (refused.status(), refused.code());
                Err(ApiProblem::new(status, code, refused.to_string()))
            }
        };
        answered.unwrap_or_else(|problem| {
            let (status, code) = (problem.status(), problem.code());
            tracing::debug!(%peer, status, code, "an operator is refused");
            let all = ServerLabel(None);
            self.metrics
                .refused(Listening::Operators, all, status, code);
            api.problem(problem)
        })
    }

    async fn answer_others(
        &self,
        parts: &Parts,
        body: Incoming,
        (here, peer): (IpAddr, SocketAddr),
    ) -> Response {
        let approvals = self.approvals.as_ref();
        let approvals = approvals.filter(|_| approvals::is_ours(parts.uri.path()));
        let taken = match approvals {
            Some(approvals) => {
                let came = (here, peer.ip());
                self.take_answer(approvals, parts, body, came).await
            }
            None if body.is_end_stream() => self.take(parts, here, peer).await,
            None => Err(AdminRejection::HasBody),
        };
        taken.unwrap_or_else(|refused| self.refuse(&refused, peer))
    }

    async fn take(
        &self,
        parts: &Parts,
        here: IpAddr,
        peer: SocketAddr,
    ) -> Result<Response, AdminRejection> {
        self.check_host(parts, here)?;
        // Only browsers send it, and no page has anything to look for here.
        if parts.headers.contains_key(ORIGIN) {
            return Err(AdminRejection::Origin);
        }
        let path = parts.uri.path();
        let key_set = self.key_set.as_ref().filter(|_| path == KEY_SET);
        if !["/health", "/metrics"].contains(&path) && key_set.is_none() {
            return Err(AdminRejection::Path);
        }
        // What answers HEAD is written without its body.
        if ![Method::GET, Method::HEAD].contains(&parts.method) {
            return Err(AdminRejection::Method);
        }
        if let Some(key_set) = key_set {
            return Ok(response(
                200,
                "application/jwk-set+json",
                key_set.to_string(),
            ));
        }
        if path == "/health" {
            let health = (self.health)();
            let document = document(health, &(self.not_ready)(), &(self.restart)());
            return Ok(response(health.status(), "application/json", document));
        }
        self.check_token(&parts.headers, peer.ip()).await?;
        let text = expose(&self.metrics, &(self.figures)())
            .map_err(|fmt::Error| AdminRejection::Unwritable)?;
        Ok(response(200, OPENMETRICS, text))
    }

    async fn take_answer(
        &self,
        approvals: &Approvals,
        parts: &Parts,
        body: Incoming,
        (here, peer): (IpAddr, IpAddr),
    ) -> Result<Response, AdminRejection> {
        self.check_host(parts, here)?;
        approvals
            .answer(peer, parts, body)
            .await
            .map_err(AdminRejection::Approvals)
    }

    /// A web page can lead a browser here under a name of its own (DNS rebinding), and cannot do so
    /// under an address: so the address that the request came to is always served, whatever the
    /// machine is called. Orchestrators ask by it.
    fn check_host(&self, parts: &Parts, here: IpAddr) -> Result<(), AdminRejection> {
        let mut all = parts.headers.get_all(HOST).iter();
        let (Some(host), None) = (all.next(), all.next()) else {
            return Err(AdminRejection::HostMissing);
        };
        let host = host
            .to_str()
            .ok()
            .and_then(|host| named_host(host, &parts.uri))
            .ok_or(AdminRejection::HostMissing)?;
        let whole = host.as_str().to_ascii_lowercase();
        let name = host.host().to_ascii_lowercase();
        let literal = name.trim_start_matches('[').trim_end_matches(']');
        let is_here = literal
            .parse::<IpAddr>()
            .is_ok_and(|named| named.to_canonical() == here.to_canonical());
        if is_here || self.hosts.contains(&whole) || self.hosts.contains(&name) {
            Ok(())
        } else {
            Err(AdminRejection::Host)
        }
    }

    async fn check_token(&self, headers: &HeaderMap, peer: IpAddr) -> Result<(), AdminRejection> {
        let Some(tokens) = &self.settings.tokens else {
            return Ok(());
        };
        if headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
            return Err(AdminRejection::Repeated);
        }
        match tokens.identify(headers, peer).await {
            Ok(_) => Ok(()),
            Err(challenge) => Err(AdminRejection::Challenge(challenge)),
        }
    }

    pub(super) fn refuse(&self, refused: &AdminRejection, peer: SocketAddr) -> Response {
        let (status, code) = (refused.status(), refused.code());
        tracing::debug!(%peer, status, code, "an operator is refused: {refused}");
        let all = ServerLabel(None);
        self.metrics
            .refused(Listening::Operators, all, status, code);
        let mut response = response(status, "text/plain; charset=utf-8", format!("{refused}\n"));
        let headers = response.headers_mut();
        match refused {
            AdminRejection::Method => {
                headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            }
            AdminRejection::Approvals(approvals::ApprovalRejection::Method(method)) => {
                headers.insert(ALLOW, HeaderValue::from_static(method));
            }
            AdminRejection::Challenge(challenge)
            | AdminRejection::Approvals(approvals::ApprovalRejection::Challenge(challenge)) => {
                let asked = challenge.header(None);
                if let Some(Ok(asked)) = asked.map(|text| HeaderValue::from_str(&text)) {
                    headers.insert(WWW_AUTHENTICATE, asked);
                }
            }
            AdminRejection::Approvals(approvals::ApprovalRejection::Paused(pause)) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(pause.seconds()));
            }
            // What follows on the connection cannot be told from the rest of the request.
            AdminRejection::Misframed(_)
            | AdminRejection::HostMissing
            | AdminRejection::HasBody
            | AdminRejection::Approvals(approvals::ApprovalRejection::Body) => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            AdminRejection::Repeated
            | AdminRejection::Host
            | AdminRejection::Origin
            | AdminRejection::Path
            | AdminRejection::Unwritable
            | AdminRejection::Approvals(_) => {}
        }
        response
    }
}

impl AdminRejection {
    fn status(&self) -> u16 {
        match self {
            Self::Misframed(misframed) => misframed.status(),
            Self::HostMissing | Self::Repeated | Self::HasBody => 400,
            Self::Host | Self::Origin => 403,
            Self::Path => 404,
            Self::Method => 405,
            Self::Challenge(challenge) => challenge.status(),
            Self::Unwritable => 500,
            Self::Approvals(refused) => refused.status(),
        }
    }

    /// A stable word for metrics and tests; where agents are refused alike, the same.
    fn code(&self) -> &'static str {
        match self {
            Self::Misframed(misframed) => misframed.code(),
            Self::HostMissing => "host_missing",
            Self::Repeated => "header_repeated",
            Self::Host => "host",
            Self::Origin => "origin",
            Self::HasBody => "body",
            Self::Path => "path",
            Self::Method => "http_method",
            Self::Challenge(challenge) => challenge.code(),
            Self::Unwritable => "unwritable",
            Self::Approvals(refused) => refused.code(),
        }
    }
}

/// Health as operators see it: the public word, and the keys that need a restart.
/// The word, and what operators alone learn.
#[derive(Serialize)]
struct HealthDocument<'d> {
    status: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    not_ready: BTreeMap<&'d str, &'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    restart_needed: &'d [String],
}

fn document(health: Health, not_ready: &BTreeMap<String, Health>, restart: &[String]) -> String {
    let not_ready = not_ready.iter();
    let document = HealthDocument {
        status: health.word(),
        not_ready: not_ready
            .map(|(key, health)| (key.as_str(), health.word()))
            .collect(),
        restart_needed: restart,
    };
    // INVARIANT: strings, which serde_json always writes.
    serde_json::to_string(&document).unwrap_or_default()
}

fn response(status: u16, media_type: &'static str, text: String) -> Response {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
