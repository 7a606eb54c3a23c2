//! What messages say of tasks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::mcp::meta;
use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::{Extension, Origin, Taken, Task};
use crate::wire::{KnownMethod, Message, Side, Value};

use crate::gate::asking::required::is_required;
use crate::gate::classified::{Identified, Role};
use crate::gate::faults::UpstreamFault;
use crate::gate::query::Understood;
use crate::gate::rejection::Rejection;

/// The longest id. It becomes a header.
const MAX_ID: usize = 1024;

/// What a request has to do with tasks.
pub(in crate::gate) fn of_request(understood: &Understood<'_>) -> Task {
    let identified = &understood.identified;
    let Role::Request { method, .. } = identified.role else {
        return Task::None;
    };
    let Some(params) = identified.message.params() else {
        return Task::None;
    };
    if is_about_one(method) {
        let id = params.get("taskId").and_then(Value::as_str);
        return Task::Named(Arc::from(&*id.unwrap_or_default()));
    }
    let spoken = &identified.scene.spoken;
    let may_begin = match (identified.from, method) {
        (Side::Agent, KnownMethod::ToolsCall) if *spoken.version >= *FIRST_STATELESS => {
            spoken.tasks == Extension::Declared
        }
        (Side::Agent, KnownMethod::ToolsCall)
        | (Side::Upstream, KnownMethod::CreateMessage | KnownMethod::Elicit) => {
            params.get("task").is_some()
        }
        (Side::Agent | Side::Upstream, _) => false,
    };
    if !may_begin || params.text().len() > MAX_PARAMS {
        return Task::None;
    }
    Task::MayBegin {
        params: params.text().into(),
        calls: identified.scene.calls,
    }
}

/// Whether a reply is one that its request could have, as far as tasks go.
///
/// # Errors
/// [`UpstreamFault::BadReply`] when it begins a task that was not asked for or cannot be named, or
/// speaks of another one than was asked about.
pub(in crate::gate) fn check(taken: &Taken, identified: &Identified<'_>) -> Result<(), Rejection> {
    let Some(result) = identified.message.result() else {
        return Ok(());
    };
    let problem = match &taken.exchange.asks.task {
        _ if is_kind_task(result) && begins(identified).is_none() => {
            "it is a task that was not asked for, or has no name"
        }
        Task::MayBegin { .. }
            if result.get("task").is_some_and(Value::is_object) && begins(identified).is_none() =>
        {
            "its task has no name"
        }
        Task::Named(id) if is_other(result, id) => "it speaks of another task",
        Task::Named(_) if asks_within(result) => "the result of its task is not finished",
        Task::None | Task::MayBegin { .. } | Task::Named(_) => return Ok(()),
    };
    Err(UpstreamFault::BadReply(problem.to_owned()).into())
}

/// Whether a result ended in an error, within what tells of its task.
pub(in crate::gate) fn has_failed(told: Value<'_>) -> bool {
    let flagged = told.at(&["result", "isError"]).and_then(Value::as_bool);
    flagged == Some(true) || told.get("error").is_some_and(Value::is_object)
}

/// Whether a method is about one task, by its id.
pub(in crate::gate) fn is_about_one(method: KnownMethod) -> bool {
    matches!(
        method,
        KnownMethod::TasksGet
            | KnownMethod::TasksResult
            | KnownMethod::TasksCancel
            | KnownMethod::TasksUpdate
    )
}

/// The tasks that a request or a notification names, each once.
pub(super) fn named(identified: &Identified<'_>) -> Vec<String> {
    let params = identified.message.params();
    let method = match &identified.role {
        Role::Request { method, .. } | Role::Notification { method } => *method,
        Role::Reply(_) => return Vec::new(),
    };
    let tells = matches!(method, KnownMethod::TaskStatus | KnownMethod::TaskNews);
    let ids = if method == KnownMethod::SubscriptionsListen {
        let ids = params.and_then(|params| params.at(&["notifications", "taskIds"]));
        ids.into_iter().flat_map(Value::items).collect()
    } else if tells || is_about_one(method) {
        Vec::from_iter(params.and_then(|params| params.get("taskId")))
    } else {
        Vec::new()
    };
    let ids = ids.into_iter().filter_map(Value::as_str);
    let ids: BTreeSet<String> = ids.map(std::borrow::Cow::into_owned).collect();
    ids.into_iter().collect()
}

pub(super) fn related(message: &Message) -> Option<String> {
    let related = message
        .meta()
        .and_then(|meta| meta.get(meta::RELATED_TASK))?;
    // What has no id is related to none that could be known.
    let id = related.get("taskId").and_then(Value::as_str);
    Some(id.unwrap_or_default().into_owned())
}

/// The id of the task that a reply begins.
pub(in crate::gate) fn begins(identified: &Identified<'_>) -> Option<String> {
    let Role::Reply(taken) = &identified.role else {
        return None;
    };
    let is_peers = matches!(taken.exchange.origin, Origin::Peer(_));
    let may = matches!(taken.exchange.asks.task, Task::MayBegin { .. });
    let result = identified.message.result().filter(|_| is_peers && may)?;
    let task = if *taken.exchange.asks.spoken.version >= *FIRST_STATELESS {
        Some(result).filter(|_| is_kind_task(result))
    } else {
        result.get("task")
    };
    let id = task?.get("taskId").and_then(Value::as_str)?;
    let is_fine = !id.is_empty() && id.len() <= MAX_ID && !id.chars().any(char::is_control);
    is_fine.then(|| id.into_owned())
}

fn is_kind_task(result: Value<'_>) -> bool {
    let kind = result.get("resultType").and_then(Value::as_str);
    kind.as_deref() == Some("task")
}

fn is_other(result: Value<'_>, id: &str) -> bool {
    let named = result.get("taskId");
    named.is_some_and(|named| named.as_str().as_deref() != Some(id))
}

/// Whether the result of a task asks for something, instead of being one.
pub(in crate::gate) fn asks_within(told: Value<'_>) -> bool {
    let within = told.get("result");
    let asks = |key| within.and_then(|within| within.get(key)).is_some();
    let kind = within.and_then(|within| within.get("resultType"));
    let is_complete = kind.is_none_or(|kind| kind.as_str().as_deref() == Some("complete"));
    let opens_pages = told.get("error").is_some_and(is_required);
    asks("inputRequests") || asks("requestState") || !is_complete || opens_pages
}

/// How long the server says that it keeps a task; without a word as long as anything is kept.
pub(in crate::gate) fn lifetime(message: &Message) -> Duration {
    let result = message.result();
    let paths: [&[&str]; 2] = [&["ttlMs"], &["task", "ttl"]];
    let told = paths
        .iter()
        .find_map(|path| result.and_then(|result| result.at(path))?.as_i64());
    let told = told.and_then(|ms| u64::try_from(ms).ok());
    told.map_or(KEPT_FOR, |ms| Duration::from_millis(ms).min(KEPT_FOR))
}

/// How long a task is remembered at most, whatever the server says of it.
pub(in crate::gate) const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// The longest request that can become a task: it is kept to be judged again.
pub(in crate::gate) const MAX_PARAMS: usize = 192 << 10;
