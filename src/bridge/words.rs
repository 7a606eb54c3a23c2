//! The texts of a bridge, but for those of a session that it holds. Values keep their very text.

use crate::gate::{Unbridged, said};
use crate::mcp::{
    meta,
    revisions::{FIRST_STATELESS, LAST_WITH_SESSIONS, WITH_SESSIONS},
};
use crate::wire::{Document, Fragment, Id, JsonKind, KnownMethod, Limits, Message, Value};

use super::call::Round;
use super::opening::{Asked, Opening, Urls};

/// Members of results that no revision with sessions has.
const CACHING: [&str; 2] = ["ttlMs", "cacheScope"];

/// The code for a resource that does not exist: in sessions, and from 2026-07-28 on.
const NOT_FOUND_IN_SESSIONS: i64 = -32_002;
const INVALID_PARAMS: i64 = -32_602;

/// The lists of which a server has said that it tells when they change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lists(pub(super) Vec<&'static str>);

/// What an agent says at `initialize`; none if it cannot be repeated.
pub(super) fn opening(params: Value<'_>) -> Option<Opening> {
    let version = params.get("protocolVersion")?.as_str()?;
    let declared = params.get("capabilities")?;
    let document = Document::decode(declared.text().as_bytes(), &Limits::default()).ok()?;
    let mut edits = document.edits();
    // Tasks are another thing in each era, extensions are agreed on per request, and nobody is told
    // of changed roots any more.
    let gone = [&["tasks"][..], &["extensions"], &["roots", "listChanged"]];
    for value in gone.into_iter().filter_map(|path| document.root().at(path)) {
        edits.remove(value);
    }
    let urls = match declared.at(&["elicitation", "url"]) {
        Some(_) => Urls::Opened,
        None => Urls::Refused,
    };
    Some(Opening {
        spoken: said(&version, Some(declared)),
        client: Fragment::copy_of(params.get("clientInfo")?),
        capabilities: Fragment::decode(&edits.finish()).ok()?,
        urls,
    })
}

/// Asks a server what it speaks, under the id of the handshake.
pub(super) fn discover(asked: &Asked) -> String {
    let params = [("_meta", Fragment::object(meta(&asked.opening, None)))];
    request(
        asked.id.to_fragment(),
        KnownMethod::Discover,
        Some(Fragment::object(params)),
    )
}

/// Whether a server says that it speaks the revision without sessions.
pub(super) fn is_stateless(discovered: Value<'_>) -> bool {
    let supported = discovered.get("supportedVersions");
    let mut supported = supported.into_iter().flat_map(Value::items);
    discovered.get("capabilities").is_some_and(Value::is_object)
        && supported.any(|version| version.as_str().as_deref() == Some(FIRST_STATELESS))
}

/// The revision of a session with an agent that asked for this one.
pub(super) fn agreed(wanted: &str) -> &'static str {
    let known = WITH_SESSIONS.into_iter().find(|known| *known == wanted);
    known.unwrap_or(LAST_WITH_SESSIONS)
}

/// The answer to `initialize`, made of what the server said to `server/discover`.
pub(super) fn welcome(asked: &Asked, discovered: Value<'_>, server: &str) -> String {
    let offered = discovered
        .get("capabilities")
        .into_iter()
        .flat_map(Value::entries);
    let offered: Vec<_> = offered
        .filter(|(name, _)| !["tasks", "extensions"].contains(&&**name))
        .map(|(name, value)| (name, Fragment::copy_of(value)))
        .collect();
    let offered = offered.iter().map(|(name, value)| (&**name, value.clone()));
    let named = |info: &Value<'_>| {
        ["name", "version"].into_iter().all(|key| {
            info.get(key)
                .is_some_and(|it| it.kind() == JsonKind::String)
        })
    };
    let server = discovered
        .at(&["_meta", meta::SERVER])
        .filter(named)
        .map_or_else(
            || {
                Fragment::object([
                    ("name", Fragment::string(server)),
                    ("version", Fragment::string("unknown")),
                ])
            },
            Fragment::copy_of,
        );
    let instructions = discovered.get("instructions");
    let instructions = instructions.filter(|it| it.kind() == JsonKind::String);
    let members = [
        (
            "protocolVersion",
            Some(Fragment::string(&asked.opening.spoken.version)),
        ),
        ("capabilities", Some(Fragment::object(offered))),
        ("serverInfo", Some(server)),
        ("instructions", instructions.map(Fragment::copy_of)),
    ];
    let members = members
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", asked.id.to_fragment()),
        ("result", Fragment::object(members)),
    ])
    .into_string()
}

/// The lists of which a server has said that it tells when they change, as it is asked for them.
pub(super) fn promised(discovered: Value<'_>) -> Lists {
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    let told = |list| discovered.at(&["capabilities", list, "listChanged"]);
    let told = lists
        .into_iter()
        .filter(|(list, _)| told(*list).and_then(Value::as_bool) == Some(true));
    Lists(told.map(|(_, asked_as)| asked_as).collect())
}

/// A request of the agent's with what each request must say of its sender.
pub(super) fn stamped(message: &Message, opening: &Opening, level: Option<&Fragment>) -> String {
    let mut edits = message.edits();
    let said = meta(opening, level);
    let Some(params) = message.params() else {
        let params = Fragment::object([("_meta", Fragment::object(said))]);
        edits.insert(message.document().root(), "params", params);
        return edits.finish();
    };
    // A server that has no tasks does without (MCP 2025-11-25, basic/utilities/tasks).
    if let Some(task) = params.get("task") {
        edits.remove(task);
    }
    let Some(own) = params.get("_meta") else {
        edits.insert(params, "_meta", Fragment::object(said));
        return edits.finish();
    };
    // The level is set by a message that policy judges.
    if let (Some(level), None) = (own.get(meta::LOG_LEVEL), level) {
        edits.remove(level);
    }
    for (key, value) in said {
        edits.insert(own, key, value);
    }
    edits.finish()
}

/// The same request with the answers that the server asked for.
pub(super) fn again(first: &Message, round: Round) -> String {
    let mut edits = first.edits();
    let answers: Vec<_> = round
        .asks
        .into_iter()
        .filter_map(|ask| Some((ask.key, ask.answer?)))
        .collect();
    // INVARIANT: a request that was stamped has params.
    if let Some(params) = first.params() {
        if !answers.is_empty() {
            let answers = answers
                .iter()
                .map(|(key, answer)| (key.as_str(), answer.clone()));
            edits.insert(params, "inputResponses", Fragment::object(answers));
        }
        if let Some(note) = round.note {
            edits.insert(params, "requestState", note);
        }
    }
    edits.finish()
}

/// A question of the server's as a request of its own.
pub(super) fn question(number: u64, method: KnownMethod, params: Option<Value<'_>>) -> String {
    let id = Fragment::unsigned(number);
    let opens_page = |params: &Value<'_>| {
        let mode = params.get("mode").and_then(Value::as_str);
        mode.as_deref() == Some("url") && params.get("elicitationId").is_none()
    };
    let params = match params {
        // MCP 2025-11-25, `ElicitRequestURLParams`: required there, and unknown later.
        Some(params) if method == KnownMethod::Elicit && opens_page(&params) => {
            let members: Vec<_> = params
                .entries()
                .map(|(key, value)| (key, Fragment::copy_of(value)))
                .collect();
            let members = members.iter().map(|(key, value)| (&**key, value.clone()));
            let named = Fragment::string(&format!("question-{number}"));
            Some(Fragment::object(members.chain([("elicitationId", named)])))
        }
        Some(params) => Some(Fragment::copy_of(params)),
        None => None,
    };
    request(id, method, params)
}

/// A result without the members that no session has.
///
/// # Errors
/// When what would be left says nothing.
pub(super) fn complete(reply: &Message, method: Option<KnownMethod>) -> Result<String, Unbridged> {
    let mut edits = reply.edits();
    let Some(result) = reply.result() else {
        return Ok(edits.finish());
    };
    if let Some(kind) = result.get("resultType") {
        edits.remove(kind);
    }
    let is_cached =
        method != Some(KnownMethod::ToolsCall) && method != Some(KnownMethod::PromptsGet);
    for hint in CACHING.into_iter().filter_map(|key| result.get(key)) {
        if is_cached {
            edits.remove(hint);
        }
    }
    if method == Some(KnownMethod::ToolsCall)
        && let Some(structured) = result.get("structuredContent")
        && !structured.is_object()
    {
        // Only objects before 2026-07-28. A server says the same as text beside it.
        if result.get("content").is_none_or(Value::is_empty) {
            return Err(Unbridged::Answer(
                "its `structuredContent` is no object, and there is no other content",
            ));
        }
        edits.remove(structured);
    }
    if method == Some(KnownMethod::ToolsList) {
        let tools = result.get("tools").into_iter().flat_map(Value::items);
        for schema in tools.filter_map(|tool| tool.get("outputSchema")) {
            let kind = schema.get("type").and_then(Value::as_str);
            if kind.as_deref() != Some("object") {
                edits.remove(schema);
            }
        }
    }
    Ok(edits.finish())
}

/// The error for a resource that does not exist, and its code, if this is it.
pub(super) fn not_found(reply: &Message, method: KnownMethod) -> Option<(String, i64)> {
    if method != KnownMethod::ResourcesRead {
        return None;
    }
    let error = reply.error()?;
    let code = error.get("code")?;
    error.at(&["data", "uri"])?;
    if code.as_i64()? != INVALID_PARAMS {
        return None;
    }
    let mut edits = reply.edits();
    edits.replace(code, Fragment::integer(NOT_FOUND_IN_SESSIONS));
    Some((edits.finish(), NOT_FOUND_IN_SESSIONS))
}

/// The stream of news that a notification came on.
pub(super) fn stream_of_news(message: &Message) -> Option<Id> {
    Id::read(message.meta()?.get(meta::SUBSCRIPTION)?)
}

/// The same notification, where there is one stream of news only.
pub(super) fn untagged(message: &Message) -> String {
    let mut edits = message.edits();
    if let Some(meta) = message.meta()
        && let Some(tag) = meta.get(meta::SUBSCRIPTION)
    {
        edits.remove(if meta.len() == 1 { meta } else { tag });
    }
    edits.finish()
}

/// Opens the `number`th stream of news.
pub(super) fn listen(number: u64, opening: &Opening, lists: &Lists, uris: &[&str]) -> (Id, String) {
    let mut wanted: Vec<_> = lists
        .0
        .iter()
        .map(|list| (*list, Fragment::truth()))
        .collect();
    if !uris.is_empty() {
        let uris = uris.iter().map(|uri| Fragment::string(uri));
        wanted.push(("resourceSubscriptions", Fragment::array(uris)));
    }
    let params = Fragment::object([
        ("notifications", Fragment::object(wanted)),
        ("_meta", Fragment::object(meta(opening, None))),
    ]);
    let id = Id::text(&format!("mcp-protector/news/{number}"));
    let frame = request(
        id.to_fragment(),
        KnownMethod::SubscriptionsListen,
        Some(params),
    );
    (id, frame)
}

/// Ends a stream of news.
pub(super) fn cancel(id: &Id) -> String {
    let params = Fragment::object([("requestId", id.to_fragment())]);
    Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("method", Fragment::string(KnownMethod::Cancelled.name())),
        ("params", params),
    ])
    .into_string()
}

/// Whether the server will tell of changes of a resource.
pub(super) fn honours(acknowledged: &Message, uri: &str) -> bool {
    let params = acknowledged.params();
    let honoured = params.and_then(|params| params.at(&["notifications", "resourceSubscriptions"]));
    let mut honoured = honoured.into_iter().flat_map(Value::items);
    honoured.any(|it| it.as_str().as_deref() == Some(uri))
}

/// The same reply to another request.
pub(super) fn readdressed(reply: &Message, to: &Id) -> String {
    let mut edits = reply.edits();
    if let Some(id) = reply.id_value() {
        edits.replace(id, to.to_fragment());
    }
    edits.finish()
}

fn meta(opening: &Opening, level: Option<&Fragment>) -> Vec<(&'static str, Fragment)> {
    let mut members = vec![
        (meta::VERSION, Fragment::string(FIRST_STATELESS)),
        (meta::CLIENT, opening.client.clone()),
        (meta::CAPABILITIES, opening.capabilities.clone()),
    ];
    members.extend(level.map(|level| (meta::LOG_LEVEL, level.clone())));
    members
}

fn request(id: Fragment, method: KnownMethod, params: Option<Fragment>) -> String {
    let members = [
        ("jsonrpc", Some(Fragment::string("2.0"))),
        ("id", Some(id)),
        ("method", Some(Fragment::string(method.name()))),
        ("params", params),
    ];
    let members = members
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    Fragment::object(members).into_string()
}
