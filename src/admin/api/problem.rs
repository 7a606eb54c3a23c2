//! Why a request is not done, as RFC 9457 has it.

use bytes::Bytes;
use http_body_util::Full;
use hyper::StatusCode;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use serde::Serialize;

use crate::identity::Challenge;

pub(super) type Response = hyper::Response<Full<Bytes>>;

/// Why a request is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ApiProblem(Box<ProblemDocument>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ProblemDocument {
    status: u16,
    title: &'static str,
    /// A stable word.
    code: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// Of a configuration that is not valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<serde_json::Value>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiProblem {
    pub fn new(status: u16, code: &'static str, detail: impl Into<String>) -> Self {
        let known = StatusCode::from_u16(status).ok();
        Self(Box::new(ProblemDocument {
            status,
            title: known
                .and_then(|status| status.canonical_reason())
                .unwrap_or_default(),
            code,
            detail: detail.into(),
            help: None,
            problems: Vec::new(),
            headers: Vec::new(),
        }))
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// What is wrong with a configuration, each problem with its file and line.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<serde_json::Value>) -> Self {
        self.0.problems = problems;
        self
    }

    pub(super) fn query(detail: impl Into<String>) -> Self {
        Self::new(400, "query", detail)
    }

    pub(super) fn challenge(challenge: &Challenge) -> Self {
        let (status, code) = (challenge.status(), challenge.code());
        let problem = Self::new(status, code, challenge.to_string());
        let value = challenge.header(None);
        let value = value.and_then(|text| HeaderValue::from_str(&text).ok());
        problem.with_header(WWW_AUTHENTICATE, value).with_help(
            "send the token of an operator (`[admin] operators`): `Authorization: Bearer …`",
        )
    }

    pub(super) fn method(allowed: &str) -> Self {
        let detail = format!("this path has {allowed}");
        let value = HeaderValue::from_str(allowed).ok();
        Self::new(405, "http_method", detail).with_header(ALLOW, value)
    }

    pub(super) fn retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, Some(HeaderValue::from(seconds)))
    }

    /// What follows on the connection cannot be told from the rest of the request.
    pub(super) fn closing(self) -> Self {
        self.with_header(CONNECTION, Some(HeaderValue::from_static("close")))
    }

    fn with_header(mut self, name: HeaderName, value: Option<HeaderValue>) -> Self {
        self.0.headers.extend(value.map(|value| (name, value)));
        self
    }

    pub fn status(&self) -> u16 {
        self.0.status
    }

    pub fn code(&self) -> &'static str {
        self.0.code
    }

    pub(in crate::admin) fn response(self, redact: impl Fn(&str) -> String) -> Response {
        // INVARIANT: strings and numbers, which serde_json always writes.
        let text = serde_json::to_string(&self).unwrap_or_default();
        let mut response = respond(self.0.status, "application/problem+json", redact(&text));
        response.headers_mut().extend(self.0.headers);
        response
    }
}

pub(super) fn respond(status: u16, media_type: &'static str, text: String) -> Response {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}
