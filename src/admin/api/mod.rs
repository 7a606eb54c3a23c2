//! The admin API: what operators can do over HTTP, each with a token of their own.
//!
//! It never serves an agent. Tokens stand in `Authorization` alone, so that no web page can use one. Each request with
//! the token of an operator has a record; a change has it before it is made.
//!
//! Where to start reading: [`OperatorsApi::answer`].

mod operation;
mod problem;
mod routes;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::{Body as _, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MATCH, ORIGIN};
use hyper::http::request::Parts;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tracing::warn;

use crate::audit::{Audit, Decision, Kind, Reason, Record};
use crate::clock::Clock;
use crate::identity::{Authenticate as _, Challenge, StaticTokens};
use crate::wire::{Document, Limits};

use super::attempts::FailedAttempts;

use problem::{Response, respond};
use routes::{NoRoute, RequestBody, Route};

pub use operation::{
    ApiAnswer, ApiRequest, CommandRight, Operation, Operations, RecordChange, ServerCondition,
    ServerConditions,
};
pub use problem::ApiProblem;
pub(super) use routes::is_ours;

/// `GET /api/v1/openapi.json`.
const DESCRIPTION: &str = include_str!("../../../docs/schema/admin-api.json");

/// The longest body that is read, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// How long one may take to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Requests that are done at once. One more is refused.
const AT_ONCE: usize = 4;

/// The same of those that may ask a server, apart: however slow servers are, they can be disabled.
const ASKING_AT_ONCE: usize = 2;

/// Cedar evaluates recursively: how deep an expression may be must not depend on which thread happens to ask.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// The step that records of this API name.
const STAGE: &str = "admin_api";

/// Who may use the API.
#[derive(Debug)]
pub struct Operators {
    pub tokens: StaticTokens,
    /// Those who may have this machine run commands.
    pub with_commands: BTreeSet<String>,
}

/// Removes secrets from a text.
pub type Redact = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Answers operators.
#[derive(Debug)]
pub struct OperatorsApi {
    operators: Operators,
    clock: Arc<dyn Clock>,
    attempts: FailedAttempts,
    room: Arc<Semaphore>,
    room_to_ask: Arc<Semaphore>,
    shared: Arc<Shared>,
}

/// What the thread of a request needs.
struct Shared {
    operations: Arc<dyn Operations>,
    audit: Audit,
    redact: Redact,
}

/// A request of a known operator, and who that is.
#[derive(Debug)]
struct Call {
    operator: String,
    request: ApiRequest,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl OperatorsApi {
    pub fn new(
        operators: Operators,
        operations: Arc<dyn Operations>,
        audit: Audit,
        clock: Arc<dyn Clock>,
        redact: Redact,
    ) -> Self {
        Self {
            operators,
            clock,
            attempts: FailedAttempts::default(),
            room: Arc::new(Semaphore::new(AT_ONCE)),
            room_to_ask: Arc::new(Semaphore::new(ASKING_AT_ONCE)),
            shared: Arc::new(Shared {
                operations,
                audit,
                redact,
            }),
        }
    }

    /// Answers a request of this address for a path of ours. `Host` has been checked.
    pub(super) async fn answer(
        &self,
        peer: IpAddr,
        parts: &Parts,
        body: Incoming,
    ) -> Result<Response, ApiProblem> {
        // Only browsers send it, and no page has anything to look for here.
        if parts.headers.contains_key(ORIGIN) {
            return Err(ApiProblem::new(
                403,
                "origin",
                "nothing here is for web pages",
            ));
        }
        let operator = self.identify(peer, &parts.headers).await?;
        let found = routes::find(parts.method.as_str(), parts.uri.path());
        let (route, subject) = match found {
            Ok(found) => found,
            Err(why) => {
                let problem = match why {
                    NoRoute::Path => ApiProblem::new(404, "path", "there is nothing at this path")
                        .with_help("`GET /api/v1/openapi.json` describes every path"),
                    NoRoute::Method(allowed) => ApiProblem::method(&allowed),
                };
                let record = record_of(Some(&operator), None, Some(&problem));
                self.shared.note(record).await;
                return Err(problem);
            }
        };
        match self
            .read(route, subject.clone(), &operator, parts, body)
            .await
        {
            Ok((request, permit)) => self.perform(Call { operator, request }, permit).await,
            Err(problem) => {
                let what = (route.operation.name(), subject.as_deref());
                let record = record_of(Some(&operator), Some(what), Some(&problem));
                self.shared.note(record).await;
                Err(problem)
            }
        }
    }

    pub(super) fn problem(&self, problem: ApiProblem) -> Response {
        problem.response(&self.shared.redact)
    }

    /// The name of the operator whose token this is.
    async fn identify(&self, peer: IpAddr, headers: &HeaderMap) -> Result<String, ApiProblem> {
        let now = self.clock.elapsed();
        if let Err(pause) = self.attempts.check(peer, now) {
            let seconds = pause.seconds();
            let detail = "too many wrong tokens came from this address";
            return Err(ApiProblem::new(429, "too_many_wrong_tokens", detail).retry_after(seconds));
        }
        if headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
            let detail = "`Authorization` stands twice";
            return Err(ApiProblem::new(400, "header_repeated", detail));
        }
        match self.operators.tokens.identify(headers, peer).await {
            Ok(known) => {
                self.attempts.succeeded(peer, now);
                Ok(known.identity.subject)
            }
            Err(challenge) => {
                let problem = ApiProblem::challenge(&challenge);
                // A request without a token is no try, and could fill the log.
                if challenge != Challenge::Missing {
                    self.attempts.failed(peer, now);
                    self.shared
                        .note(record_of(None, None, Some(&problem)))
                        .await;
                }
                Err(problem)
            }
        }
    }

    /// The whole request, and room to do it.
    async fn read(
        &self,
        route: Route,
        subject: Option<String>,
        operator: &str,
        parts: &Parts,
        body: Incoming,
    ) -> Result<(ApiRequest, OwnedSemaphorePermit), ApiProblem> {
        let query = parts.uri.query().unwrap_or_default();
        let query = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        let query: Vec<(String, String)> = query.collect();
        if let Some((name, _)) = query
            .iter()
            .find(|(name, _)| !route.query.contains(&&**name))
        {
            let known = route.query.join("`, `");
            let problem =
                ApiProblem::query(format!("there is no parameter `{}`", name.escape_debug()));
            return Err(match route.query {
                [] => problem,
                [_, ..] => problem.with_help(format!("the parameters are `{known}`")),
            });
        }
        let body = match route.body {
            RequestBody::Empty if body.is_end_stream() => None,
            RequestBody::Empty => {
                let detail = "this request has no body";
                return Err(ApiProblem::new(400, "body", detail).closing());
            }
            RequestBody::Json => {
                let media_type = only(&parts.headers, &CONTENT_TYPE)?.unwrap_or_default();
                let media_type = media_type.split(';').next().unwrap_or_default().trim();
                if !media_type.eq_ignore_ascii_case("application/json") {
                    let problem = ApiProblem::new(415, "media_type", "the body is no JSON");
                    let problem = problem.with_help("send `Content-Type: application/json`");
                    return Err(problem.closing());
                }
                Some(document(body).await?)
            }
        };
        let if_match = only(&parts.headers, &IF_MATCH)?.map(str::to_owned);
        let permit = self.room_for(route.operation)?;
        let commands = if self.operators.with_commands.contains(operator) {
            CommandRight::Granted
        } else {
            CommandRight::Withheld
        };
        let request = ApiRequest {
            operation: route.operation,
            subject,
            query,
            body,
            if_match,
            commands,
        };
        Ok((request, permit))
    }

    fn room_for(&self, operation: Operation) -> Result<OwnedSemaphorePermit, ApiProblem> {
        let (room, most) = if operation.asks_servers() {
            (&self.room_to_ask, ASKING_AT_ONCE)
        } else {
            (&self.room, AT_ONCE)
        };
        Arc::clone(room).try_acquire_owned().map_err(|_full| {
            let detail = format!("{most} requests of this kind are being done");
            ApiProblem::new(503, "busy", detail).retry_after(1)
        })
    }

    /// On a thread of its own, which goes on if the peer leaves: what was begun has its record.
    async fn perform(
        &self,
        call: Call,
        permit: OwnedSemaphorePermit,
    ) -> Result<Response, ApiProblem> {
        let (operator, name) = (call.operator.clone(), call.request.name());
        let subject = call.request.subject.clone();
        let (done, answer) = oneshot::channel();
        let (shared, records) = (Arc::clone(&self.shared), Handle::current());
        let thread = std::thread::Builder::new()
            .name("admin-api".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let answer = shared.perform(&call, &records);
                drop(permit);
                // The peer may have left.
                let _ = done.send(answer);
            });
        thread.map_err(|cause| {
            warn!("cannot start a thread for an operator: {cause}");
            ApiProblem::new(503, "busy", "there is no thread for this request").retry_after(1)
        })?;
        let Ok(answer) = answer.await else {
            let problem = ApiProblem::new(500, "broke_off", "the request broke off");
            let what = (name, subject.as_deref());
            let record = record_of(Some(&operator), Some(what), Some(&problem));
            self.shared.note(record).await;
            return Err(problem);
        };
        let answer = answer?;
        let text = (self.shared.redact)(&answer.document);
        let mut response = respond(answer.status, "application/json", text);
        let etag = answer.etag.map(|etag| HeaderValue::from_str(&etag));
        if let Some(Ok(etag)) = etag {
            response.headers_mut().insert(ETAG, etag);
        }
        Ok(response)
    }
}

impl Shared {
    fn perform(&self, call: &Call, records: &Handle) -> Result<ApiAnswer, ApiProblem> {
        let request = &call.request;
        let what = (request.name(), request.subject.as_deref());
        let record = |problem: Option<&ApiProblem>| -> Result<(), ApiProblem> {
            let record = record_of(Some(&call.operator), Some(what), problem);
            records
                .block_on(self.audit.record(record))
                .map_err(|fault| {
                    warn!("the request of an operator could not be recorded: {fault}");
                    ApiProblem::new(503, "not_recorded", "the request cannot be recorded")
                        .with_help("nothing is done without a record: see `GET /health`")
                })
        };
        let is_recorded = Cell::new(false);
        let record_change = || {
            record(None)?;
            is_recorded.set(true);
            Ok(())
        };
        let answer = if request.operation == Operation::GetDescription {
            Ok(ApiAnswer {
                status: 200,
                etag: None,
                document: DESCRIPTION.to_owned(),
            })
        } else {
            self.operations.perform(request, &record_change)
        };
        match &answer {
            Ok(_) if is_recorded.get() => {}
            Ok(_) => record(None)?,
            Err(problem) if problem.code() == "not_recorded" => {}
            Err(problem) => record(Some(problem))?,
        }
        answer
    }

    /// Records a refusal, which stays one if it cannot be recorded.
    async fn note(&self, record: Record) {
        if let Err(fault) = self.audit.record(record).await {
            warn!("a refusal of an operator could not be recorded: {fault}");
        }
    }
}

fn record_of(
    operator: Option<&str>,
    what: Option<(&str, Option<&str>)>,
    problem: Option<&ApiProblem>,
) -> Record {
    let mut record = Record::new(Kind::AdminRequest);
    if let Some(operator) = operator {
        record = record.operator(operator);
    }
    if let Some((name, subject)) = what {
        record = record.method(name);
        if let Some(subject) = subject {
            record = record.target(subject);
        }
    }
    let decision = match problem {
        None => Decision::Allow,
        Some(problem) if problem.status() >= 500 => Decision::Error,
        Some(_) => Decision::Block,
    };
    let record = record.decision(decision, STAGE);
    match problem {
        Some(problem) => record.reason(Reason::code(problem.code())),
        None => record,
    }
}

/// The value of a header that stands at most once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ApiProblem> {
    let mut all = headers.get_all(name).iter();
    let wrong = || {
        let detail = format!("`{name}` stands twice or is no text");
        ApiProblem::new(400, "header_repeated", detail).closing()
    };
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| wrong()),
        (Some(_), Some(_)) => Err(wrong()),
    }
}

async fn document(body: Incoming) -> Result<Document, ApiProblem> {
    let bytes = whole(body).await?;
    let document = Document::decode(&bytes, &Limits::default()).map_err(|error| {
        ApiProblem::new(
            400,
            "json",
            format!("the body is no JSON that can be read: {error}"),
        )
    })?;
    if document.root().is_object() {
        Ok(document)
    } else {
        Err(ApiProblem::new(400, "json", "the body is no JSON object"))
    }
}

async fn whole(body: Incoming) -> Result<Bytes, ApiProblem> {
    let limited = Limited::new(body, MAX_BODY).collect();
    let late = |_| ApiProblem::new(408, "late", "the body came too slowly").closing();
    let whole = timeout(BODY_DEADLINE, limited).await.map_err(late)?;
    whole.map(Collected::to_bytes).map_err(|cause| {
        if cause.is::<LengthLimitError>() {
            let detail = format!("the body has more than {MAX_BODY} bytes");
            ApiProblem::new(413, "too_large", detail).closing()
        } else {
            ApiProblem::new(400, "body", "the body could not be read").closing()
        }
    })
}
