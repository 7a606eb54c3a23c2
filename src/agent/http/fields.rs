//! Header fields, each read once and strictly.

use std::sync::Arc;

use hyper::HeaderMap;

use crate::wire::{TraceContext, TraceState, WorkIds};

pub(super) use super::field_names::{LAST_EVENT_ID, METHOD, NAME, SESSION, VERSION};

use super::refusal::Refused;
use super::settings::Settings;
use crate::identity::Identity;

/// The one whose name is configured.
const OF_SESSIONS: &str = "ratchet.session_header";
/// Those by which an agent's systems name a piece of work.
const JOB_ID: &str = "mcp-protector-job-id";
const TRACE_ID: &str = "mcp-protector-trace-id";
const WORKFLOW_RUN_ID: &str = "mcp-protector-workflow-run-id";
const TASK_ID: &str = "mcp-protector-task-id";
const SESSION_ID: &str = "mcp-protector-session-id";
const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Fields that stand once, since one reader could take the first of two and another the last. A field
/// whose value is a list may be repeated (RFC 9110 §5.3), and is read as a whole: `Accept`,
/// `Accept-Encoding`. Only `Content-Encoding`, a list as well, may not: of codings none is taken.
/// `Content-Length` stands here for whoever reads the list; its second is refused with the head.
const SINGLE: [&str; 11] = [
    "Host",
    "Origin",
    "Authorization",
    "Content-Type",
    "Content-Length",
    "Content-Encoding",
    SESSION,
    VERSION,
    METHOD,
    NAME,
    LAST_EVENT_ID,
];

/// No field of [`SINGLE`] may stand twice.
pub(super) fn refuse_repeated(headers: &HeaderMap) -> Result<(), Refused> {
    // As many fields as names: nearly every request.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    let twice = |name: &&&str| headers.get_all(**name).iter().nth(1).is_some();
    match SINGLE.iter().find(twice) {
        Some(name) => Err(Refused::Repeated(name)),
        None => Ok(()),
    }
}

/// The value of a field, if it is there: visible ASCII and spaces.
pub(super) fn text<'h>(
    headers: &'h HeaderMap,
    name: &'static str,
) -> Result<Option<&'h str>, Refused> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Refused::Unreadable(name)),
    }
}

/// Whoever sends a request, in the session that it names by the header that was configured for it. A
/// token that names one is believed instead.
pub(super) fn in_session(
    mut identity: Identity,
    headers: &HeaderMap,
    settings: &Settings,
) -> Result<Identity, Refused> {
    let Some(name) = settings
        .session_header
        .as_ref()
        .filter(|_| identity.session.is_none())
    else {
        return Ok(identity);
    };
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(hyper::header::HeaderValue::to_str);
    if values.next().is_some() {
        return Err(Refused::Repeated(OF_SESSIONS));
    }
    let value = value
        .transpose()
        .map_err(|_| Refused::Unreadable(OF_SESSIONS))?;
    // Nobody's name is no name.
    identity.session = value
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(str::to_owned);
    Ok(identity)
}

/// What a request says of a trace (W3C Trace Context). One that says it twice, or wrongly, says
/// nothing: that is no reason to refuse it.
pub(super) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let value = values.next()?.to_str().ok()?;
    match values.next() {
        None => TraceContext::parse(value),
        Some(_) => None,
    }
}

/// What it says of the work that it belongs to. A field that stands twice, is empty or cannot be read says
/// nothing.
pub(super) fn work(headers: &HeaderMap) -> Option<Arc<WorkIds>> {
    let get = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?.trim();
        let is_one = values.next().is_none() && !value.is_empty();
        is_one.then(|| Arc::from(value))
    };
    let ids = WorkIds {
        job_id: get(JOB_ID),
        trace_id: get(TRACE_ID),
        workflow_run_id: get(WORKFLOW_RUN_ID),
        task_id: get(TASK_ID),
        session_id: get(SESSION_ID),
        traceparent: None,
    };
    (!ids.is_empty()).then(|| Arc::new(ids))
}

/// What it says of the state of that trace. What is wrong anywhere counts nowhere.
pub(super) fn trace_state(headers: &HeaderMap) -> Option<TraceState> {
    let said = headers.get_all(TRACESTATE).iter();
    let said: Vec<&str> = said.map(|it| it.to_str().ok()).collect::<Option<_>>()?;
    TraceState::parse(said)
}

/// Whether the media ranges of `Accept` take a type (RFC 9110 §12.5.1), a weight of zero aside.
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let family = wanted.split('/').next().unwrap_or_default();
    headers
        .get_all(hyper::header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .map(str::trim)
        .any(|range| {
            range.eq_ignore_ascii_case(wanted)
                || range == "*/*"
                || range
                    .strip_suffix("/*")
                    .is_some_and(|range| range.eq_ignore_ascii_case(family))
        })
}

/// What the body of a POST must be called.
pub(super) fn check_content(headers: &HeaderMap) -> Result<(), Refused> {
    let kind = text(headers, "Content-Type")?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Refused::ContentType);
    }
    match text(headers, "Content-Encoding")? {
        Some(coding) if !coding.eq_ignore_ascii_case("identity") => Err(Refused::ContentEncoding),
        Some(_) | None => Ok(()),
    }
}
