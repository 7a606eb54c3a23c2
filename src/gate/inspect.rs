//! Judges what comes back: results, and what a server asks for inside or beside them.

use std::borrow::Cow;

use crate::guard::text::{TextRules, sanitize};
use crate::mcp::revisions::{self, FIRST_STATELESS};
use crate::policy::Received;
use crate::session::Target;
use crate::wire::{KnownMethod, Message, Side, Value};

use super::asking::declared::{elicit, negotiated};
use super::asking::required::{self, MAX_INPUT_REQUESTS};
use super::classified::{Identified, Role};
use super::look::Look;
use super::query::{About, Asks, Doing, Question};
use super::rejection::Rejection;
use super::{rounds, tasks, uris};

/// Turns a reply into questions: whether it may be received, and whether what it asks for in return
/// may be asked.
pub(super) fn understand_reply<'m>(
    identified: &Identified<'m>,
    look: Look<'_>,
) -> Result<(Target, Vec<Question<'m>>), Rejection> {
    let target = match &identified.role {
        Role::Reply(taken) => taken.exchange.about.target.clone(),
        Role::Request { .. } | Role::Notification { .. } => Target::Server,
    };
    speaks_a_known_version(identified)?;
    if let (Role::Reply(taken), Some(result), Side::Upstream) = (
        &identified.role,
        identified.message.result(),
        identified.from,
    ) {
        rounds::check(taken, result)?;
    }
    if let Role::Reply(taken) = &identified.role {
        tasks::check(taken, identified)?;
    }
    let mut questions = Vec::new();
    // What the agent answers to a request of the server's was settled when the request was let
    // through to it.
    if identified.from == Side::Upstream {
        let (result, error) = (identified.message.result(), identified.message.error());
        let content = error.map(Content::Error).or(result.map(Content::Result));
        let mut question = content.map(|content| received(&content, &target, look));
        let mut again = Vec::new();
        if let (Some(question), Role::Reply(taken)) = (&mut question, &identified.role) {
            if let Doing::ReceiveResult(received) = &mut question.doing {
                let brings = &taken.exchange.admission.brings;
                received.level = brings.level;
                received.labels = brings.labels.iter().cloned().collect();
                received.datasets = brings.datasets.iter().cloned().collect();
            }
            again = uris::received_otherwise(question, taken.exchange.method);
        }
        questions.extend(question.into_iter().chain(again));
    }
    questions.extend(input_requests(identified)?);
    if identified.from == Side::Upstream {
        let spoken = &identified.scene.spoken;
        questions.extend(required::questions(identified.message, spoken)?);
    }
    Ok((target, questions))
}

/// An upstream may offer another revision than the agent asked for, but not one that nobody here
/// speaks.
fn speaks_a_known_version(identified: &Identified<'_>) -> Result<(), Rejection> {
    let Role::Reply(taken) = &identified.role else {
        return Ok(());
    };
    if taken.exchange.method != KnownMethod::Initialize || identified.message.result().is_none() {
        return Ok(());
    }
    revision_of_session(identified.message).map(drop)
}

/// The revision that an upstream agrees to begin a session in.
pub(super) fn revision_of_session(initialized: &Message) -> Result<Cow<'_, str>, Rejection> {
    let version = initialized.agreed_revision().unwrap_or_default();
    // MCP 2026-07-28 has no handshake: a session in it would be of neither era.
    if revisions::is_known(&version) && *version < *FIRST_STATELESS {
        return Ok(version);
    }
    if version.is_empty() {
        return Err(Rejection::bad_reply(
            "it answers `initialize` without a version",
        ));
    }
    let named: String = version.chars().take(64).collect();
    Err(Rejection::bad_reply(&format!(
        "it answers `initialize` with the version `{}`, which the gate does not speak",
        named.escape_debug()
    )))
}

/// What comes of a request, sooner or later.
pub(super) enum Content<'m> {
    /// A result, or what is told of a task.
    Result(Value<'m>),
    Error(Value<'m>),
}

/// Whether what comes back may be received, and from what.
pub(super) fn received<'m>(content: &Content<'_>, target: &Target, look: Look<'_>) -> Question<'m> {
    let (value, is_error, fatal) = match content {
        Content::Error(error) => (*error, true, false),
        Content::Result(result) => {
            let flagged = result.get("isError").and_then(Value::as_bool);
            let is_error = flagged == Some(true) || tasks::has_failed(*result);
            let within = result.get("result").unwrap_or(*result);
            let fatal = flagged == Some(true) && is_fatal(*result)
                || tasks::has_failed(*result) && is_fatal(within);
            (*result, is_error, fatal)
        }
    };
    Question {
        asks: Asks::Agent,
        about: About::of(target),
        doing: Doing::ReceiveResult(Received {
            bytes: i64::try_from(value.text().len()).unwrap_or(i64::MAX),
            is_error,
            fatal,
            secrets: look.secrets(Some(value)),
            flags: look.flags(value),
            ..Received::default()
        }),
    }
}

/// What a result asks of the agent before it can be complete: the `2026-07-28` form of requests
/// from the server. Each is judged as the request that it replaces.
fn input_requests<'m>(identified: &Identified<'m>) -> Result<Vec<Question<'m>>, Rejection> {
    let Some(result) = identified.message.result() else {
        return Ok(Vec::new());
    };
    let kind = result
        .get("resultType")
        .map(|kind| kind.as_str().unwrap_or_default());
    // Whether it may be a task is asked in `tasks.rs`.
    let known = matches!(
        kind.as_deref(),
        None | Some("complete" | "input_required" | "task")
    );
    if !known && !identified.of_listed_type {
        // An unknown kind is not a result (MCP 2026-07-28).
        return Err(Rejection::bad_reply(
            "its `resultType` is not one that the gate knows",
        ));
    }
    // Judged wherever they stand: a peer might answer them whatever the kind says.
    let Some(requests) = result.get("inputRequests") else {
        return Ok(Vec::new());
    };
    if !requests.is_object() || requests.len() > MAX_INPUT_REQUESTS {
        return Err(Rejection::bad_reply(
            "its `inputRequests` are not an object of at most 32 members",
        ));
    }
    requests
        .entries()
        .map(|(_, request)| input_request(request, identified))
        .collect()
}

fn input_request<'m>(
    request: Value<'m>,
    identified: &Identified<'_>,
) -> Result<Question<'m>, Rejection> {
    let params = request.get("params");
    let name = request
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (method, doing) = match &*name {
        "sampling/createMessage" => (KnownMethod::CreateMessage, sample(params)),
        "elicitation/create" => (KnownMethod::Elicit, elicit(params)),
        "roots/list" => (KnownMethod::RootsList, Doing::ListRoots),
        _ => {
            return Err(Rejection::bad_reply(
                "it asks the agent for a method that cannot be asked",
            ));
        }
    };
    method.check_params(params)?;
    negotiated(method, &identified.scene.spoken, params)?;
    Ok(Question {
        asks: Asks::Server,
        about: About::Client,
        doing,
    })
}

/// What a server wants of the agent's model.
pub(super) fn sample(params: Option<Value<'_>>) -> Doing<'_> {
    let get = |key| params.and_then(|params| params.get(key));
    Doing::Sample {
        // A limit that is no number of tokens is as good as none.
        max_tokens: get("maxTokens").and_then(Value::as_i64).unwrap_or(i64::MAX),
        include_context: get("includeContext")
            .and_then(Value::as_str)
            .unwrap_or(Cow::Borrowed("none")),
        tools: get("tools").is_some() || get("toolChoice").is_some(),
        messages: count(get("messages").map_or(0, contents)),
        bytes: count(params.map_or(0, |params| params.text().len())),
        system: get("systemPrompt").is_some(),
    }
}

/// How many contents messages have: since 2025-11-25 one message may have several.
fn contents(messages: Value<'_>) -> usize {
    let contents = messages.items().map(|message| {
        let content = message.get("content").filter(|content| content.is_array());
        content.map_or(1, |content| content.len().max(1))
    });
    contents.sum()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How the first text of an error begins after which nothing is to be tried again.
pub(super) const FATAL: &str = "[FATAL] ";

/// Whether the result of a tool, which says that it is an error, says that it is a fatal one: as the
/// server wrote it, or as its reader sees it, without invisible characters.
pub(super) fn is_fatal(result: Value<'_>) -> bool {
    let blocks = result.get("content").into_iter().flat_map(Value::items);
    let mut texts = blocks.filter(|block| {
        let kind = block.get("type").and_then(Value::as_str);
        kind.as_deref() == Some("text")
    });
    let first = texts.next().and_then(|block| block.get("text")?.as_str());
    first.is_some_and(|text| {
        text.starts_with(FATAL) || sanitize(&text, TextRules::CONTENT).text.starts_with(FATAL)
    })
}
