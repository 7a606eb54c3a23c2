//! Where people answer what agents wait for: a page for browsers, and the same as JSON for
//! `mcp-protector approvals`.
//!
//! Every answer needs an approver's token, also on this machine: the agent may run here too. A
//! browser shows its token once, then a cookie, and with each answer a key that only the page knows; a
//! program shows the token each time.
//!
//! Where to start reading: [`Approvals::answer`].

mod api;
mod page;
mod rejection;
mod responses;
mod sign_in;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue, ORIGIN, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use tokio::time::timeout;

use crate::clock::Clock;
use crate::consent::{Answer, AnswerError, By, Desk, TicketId};
use crate::identity::{Authenticate as _, Challenge, StaticTokens};

use super::attempts::FailedAttempts;

use page::{Notice, PageViewer};
use responses::{Response, html, json, set_cookie, to};
use sign_in::{PLACES, SignIn, SignIns};

pub(super) use rejection::ApprovalRejection;

/// Where people show their token.
const ENTRANCE: &str = "/approvals";

/// The longest form or document that is read, in bytes.
const MAX_BODY: usize = 32 * 1024;

/// How long one may take to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// What people answer, and who may.
#[derive(Debug)]
pub struct Approvals {
    desk: Arc<Desk>,
    approvers: StaticTokens,
    clock: Arc<dyn Clock>,
    sign_ins: SignIns,
    attempts: FailedAttempts,
}

/// What a path of ours asks for.
enum ApprovalRoute<'p> {
    Entrance,
    SignIn,
    /// Of a signed-in approver, each with the place of the sign-in.
    Page(&'p str),
    Seen(&'p str),
    SignOut(&'p str),
    Answer(&'p str, &'p str),
    List,
    AnswerAsProgram(&'p str),
}

impl Approvals {
    pub fn new(desk: Arc<Desk>, approvers: StaticTokens, clock: Arc<dyn Clock>) -> Self {
        Self {
            desk,
            approvers,
            clock,
            sign_ins: SignIns::default(),
            attempts: FailedAttempts::default(),
        }
    }

    /// Answers a request of this address for a path of ours. `Host` has been checked.
    pub(super) async fn answer(
        &self,
        peer: IpAddr,
        parts: &Parts,
        body: Incoming,
    ) -> Result<Response, ApprovalRejection> {
        match wanted(parts)? {
            ApprovalRoute::Entrance => Ok(html(StatusCode::OK, page::sign_in(None))),
            ApprovalRoute::Page(place) => Ok(self.page(parts, place)),
            ApprovalRoute::Seen(place) => self.seen(&parts.headers, place),
            ApprovalRoute::SignIn => {
                from_here(&parts.headers)?;
                let form = form(body).await?;
                self.sign_in(peer, value(&form, "token").unwrap_or_default())
                    .await
            }
            ApprovalRoute::SignOut(place) => {
                from_here(&parts.headers)?;
                let form = form(body).await?;
                if self.signed_in_with(&parts.headers, place, &form).is_none() {
                    return Ok(to(place, Some(Notice::Stale)));
                }
                let mut response = to(ENTRANCE, None);
                set_cookie(&mut response, &self.sign_ins.dismiss(&parts.headers, place));
                Ok(response)
            }
            ApprovalRoute::Answer(place, id) => {
                from_here(&parts.headers)?;
                let form = form(body).await?;
                let Some(sign_in) = self.signed_in_with(&parts.headers, place, &form) else {
                    return Ok(to(place, Some(Notice::Stale)));
                };
                let given = value(&form, "answer")
                    .and_then(api::answer_named)
                    .ok_or(ApprovalRejection::Body)?;
                let notice = match (self.give(id, given, By::page(sign_in.name)), given) {
                    (Ok(()), Answer::Approve) => Notice::Approved,
                    (Ok(()), Answer::Deny) => Notice::Denied,
                    (Err(ApprovalRejection::Answered), _) => Notice::Answered,
                    (Err(ApprovalRejection::Withdrawn), _) => Notice::Withdrawn,
                    (Err(_), _) => Notice::Gone,
                };
                Ok(to(place, Some(notice)))
            }
            ApprovalRoute::List => {
                self.program(peer, &parts.headers).await?;
                Ok(json(&api::PendingList::of(self.desk.pending())))
            }
            ApprovalRoute::AnswerAsProgram(id) => {
                let name = self.program(peer, &parts.headers).await?;
                let given = api::read_answer(&read(body).await?).ok_or(ApprovalRejection::Body)?;
                self.give(id, given, By::command_line(name))?;
                Ok(json(&api::AnswerReceipt::of(id, given)))
            }
        }
    }

    fn give(&self, id: &str, answer: Answer, by: By) -> Result<(), ApprovalRejection> {
        let id = TicketId::parse(id).ok_or(ApprovalRejection::Gone)?;
        self.desk.answer(&id, answer, by).map_err(|why| match why {
            AnswerError::AlreadyAnswered => ApprovalRejection::Answered,
            AnswerError::Withdrawn => ApprovalRejection::Withdrawn,
            AnswerError::Unknown | AnswerError::Expired | AnswerError::NotThisWay => {
                ApprovalRejection::Gone
            }
        })
    }

    fn page(&self, parts: &Parts, place: &str) -> Response {
        let now = self.clock.elapsed();
        let Some(sign_in) = self.sign_ins.of(&parts.headers, place, now) else {
            return to(ENTRANCE, None);
        };
        let query = parts.uri.query().unwrap_or_default();
        let done = query.strip_prefix("done=");
        let notice = Notice::ALL
            .into_iter()
            .find(|notice| Some(notice.word()) == done);
        let reader = PageViewer {
            name: &sign_in.name,
            form_key: &sign_in.form_key,
            place,
        };
        let pending = self.desk.pending();
        html(
            StatusCode::OK,
            page::waiting(&reader, &pending, notice, self.clock.now()),
        )
    }

    /// Whether what waits is still what a page shows.
    fn seen(&self, headers: &HeaderMap, place: &str) -> Result<Response, ApprovalRejection> {
        let now = self.clock.elapsed();
        if self.sign_ins.of(headers, place, now).is_none() {
            return Err(ApprovalRejection::Challenge(Challenge::Missing));
        }
        let pending = self.desk.pending();
        Ok(json(&api::PendingDigest {
            seen: page::seen(&pending),
            waiting: pending.len(),
        }))
    }

    async fn sign_in(&self, peer: IpAddr, token: &str) -> Result<Response, ApprovalRejection> {
        let name = match self.named(peer, token).await {
            Ok(name) => name,
            Err(ApprovalRejection::Challenge(challenge)) => {
                let problem = "This token is not known here.";
                let status =
                    StatusCode::from_u16(challenge.status()).unwrap_or(StatusCode::UNAUTHORIZED);
                return Ok(html(status, page::sign_in(Some(problem))));
            }
            Err(ApprovalRejection::Paused(pause)) => {
                let seconds = pause.seconds();
                let problem = format!(
                    "Too many wrong tokens came from this address. Try again in {seconds} s."
                );
                let page = page::sign_in(Some(&problem));
                let mut response = html(StatusCode::TOO_MANY_REQUESTS, page);
                let headers = response.headers_mut();
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
                return Ok(response);
            }
            Err(other) => return Err(other),
        };
        let cookie = self.sign_ins.admit(&name, self.clock.elapsed());
        let admitted = cookie.map_err(|sign_in::NoRandomness| ApprovalRejection::NoRandomness);
        let (place, cookie) = admitted?;
        let mut response = to(&place, None);
        set_cookie(&mut response, &cookie);
        Ok(response)
    }

    /// The name of the approver whose token this is.
    async fn named(&self, peer: IpAddr, token: &str) -> Result<String, ApprovalRejection> {
        let malformed = Challenge::Malformed("it is no bearer token");
        let mut headers = HeaderMap::new();
        match HeaderValue::from_str(&format!("Bearer {}", token.trim())) {
            Ok(value) => headers.insert(AUTHORIZATION, value),
            Err(_) => return Err(ApprovalRejection::Challenge(malformed)),
        };
        self.identify(peer, &headers).await
    }

    /// The program's user. Browsers are not let in here: they could be led.
    async fn program(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<String, ApprovalRejection> {
        if headers.contains_key(ORIGIN) {
            return Err(ApprovalRejection::Origin);
        }
        self.identify(peer, headers).await
    }

    async fn identify(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<String, ApprovalRejection> {
        let now = self.clock.elapsed();
        self.attempts
            .check(peer, now)
            .map_err(ApprovalRejection::Paused)?;
        match self.approvers.identify(headers, peer).await {
            Ok(known) => {
                self.attempts.succeeded(peer, now);
                Ok(known.identity.subject)
            }
            Err(challenge) => {
                // A request without a token is no try.
                if challenge != Challenge::Missing {
                    self.attempts.failed(peer, now);
                }
                Err(ApprovalRejection::Challenge(challenge))
            }
        }
    }

    fn signed_in_with(
        &self,
        headers: &HeaderMap,
        place: &str,
        form: &[(String, String)],
    ) -> Option<SignIn> {
        let sign_in = self.sign_ins.of(headers, place, self.clock.elapsed())?;
        let key = value(form, "key")?;
        sign_in.gave(key).then_some(sign_in)
    }
}

/// Whether a path is one of ours.
pub(super) fn is_ours(path: &str) -> bool {
    path == "/approvals"
        || path.starts_with("/approvals/")
        || path == "/api/approvals"
        || path.starts_with("/api/approvals/")
}

fn wanted(parts: &Parts) -> Result<ApprovalRoute<'_>, ApprovalRejection> {
    let path = parts.uri.path();
    let (wanted, method) = match path {
        ENTRANCE => (ApprovalRoute::Entrance, "GET"),
        "/approvals/sign-in" => (ApprovalRoute::SignIn, "POST"),
        "/api/approvals" => (ApprovalRoute::List, "GET"),
        other => match other.strip_prefix("/api/approvals/") {
            Some(id) if !id.is_empty() => (ApprovalRoute::AnswerAsProgram(id), "POST"),
            Some(_) => return Err(ApprovalRejection::Path),
            None => at_a_place(other).ok_or(ApprovalRejection::Path)?,
        },
    };
    if parts.method == method {
        Ok(wanted)
    } else {
        Err(ApprovalRejection::Method(method))
    }
}

/// What is asked of a sign-in, and by what method.
fn at_a_place(path: &str) -> Option<(ApprovalRoute<'_>, &'static str)> {
    let name = path.strip_prefix(PLACES)?;
    let Some((name, rest)) = name.split_once('/') else {
        return Some((ApprovalRoute::Page(path), "GET"));
    };
    let place = path.get(..PLACES.len().saturating_add(name.len()))?;
    match rest {
        "seen" => Some((ApprovalRoute::Seen(place), "GET")),
        "sign-out" => Some((ApprovalRoute::SignOut(place), "POST")),
        other => {
            let id = other.strip_prefix("answer/")?;
            Some((ApprovalRoute::Answer(place, id), "POST"))
        }
    }
}

/// Browsers say where a form stood. A page of ours stands where the request goes; which scheme leads
/// there is known to the proxy that ends TLS.
fn from_here(headers: &HeaderMap) -> Result<(), ApprovalRejection> {
    let mut all = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (all.next(), all.next()) else {
        return Err(ApprovalRejection::Origin);
    };
    let host = headers
        .get(hyper::header::HOST)
        .and_then(|host| host.to_str().ok());
    let origin = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    match (origin, host) {
        (Some(("http" | "https", from)), Some(host)) if from.eq_ignore_ascii_case(host) => Ok(()),
        (Some(_) | None, Some(_) | None) => Err(ApprovalRejection::Origin),
    }
}

async fn read(body: Incoming) -> Result<Bytes, ApprovalRejection> {
    let whole = timeout(BODY_DEADLINE, Limited::new(body, MAX_BODY).collect()).await;
    let whole = whole.map_err(|_late| ApprovalRejection::Body)?;
    whole.map(Collected::to_bytes).map_err(|cause| {
        let is_long = cause.is::<LengthLimitError>();
        tracing::debug!(is_long, "a body for approvals could not be read");
        ApprovalRejection::Body
    })
}

async fn form(body: Incoming) -> Result<Vec<(String, String)>, ApprovalRejection> {
    let bytes = read(body).await?;
    Ok(url::form_urlencoded::parse(&bytes).into_owned().collect())
}

/// A field that stands once.
fn value<'f>(form: &'f [(String, String)], name: &str) -> Option<&'f str> {
    let mut all = form.iter().filter(|(known, _)| known == name);
    match (all.next(), all.next()) {
        (Some((_, value)), None) => Some(value),
        (Some(_), Some(_)) | (None, _) => None,
    }
}
