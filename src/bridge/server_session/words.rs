//! The texts of the session. Values keep their very text.

use std::borrow::Cow;
use std::sync::Arc;

use crate::mcp::meta;
use crate::mcp::revisions::{FIRST_STATELESS, LAST_WITH_SESSIONS};
use crate::wire::{ClientName, Fragment, Id, JsonKind, KnownMethod, Message, Value};

use super::super::lists::{LISTS, List, Listener};

/// What a server says of itself at `initialize`, as the agent's revision says it.
#[derive(Debug)]
pub(super) struct Greeting {
    /// The result of `server/discover`.
    pub(super) discovered: Fragment,
    /// `_meta` of each result.
    pub(super) meta: Option<Fragment>,
    /// The lists of which it tells when they change.
    pub(super) lists: Vec<&'static List>,
}

pub(super) const AGENTS_REVISION: &str = FIRST_STATELESS;

/// The levels of log messages, the least first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Members of `_meta` that no session has.
const OF_REQUESTS: [&str; 4] = [
    meta::VERSION,
    meta::CLIENT,
    meta::CAPABILITIES,
    meta::LOG_LEVEL,
];

/// Members of a result that mean something without a session only.
const OF_RESULTS: [&str; 2] = ["inputRequests", "requestState"];

/// Codes that mean something without a session only.
const MISSING_CAPABILITY: i64 = -32_021;
const UNSUPPORTED_VERSION: i64 = -32_022;

/// The code for a resource that does not exist: in sessions, and from 2026-07-28 on.
const NOT_FOUND_IN_SESSIONS: i64 = -32_002;
const INVALID_PARAMS: i64 = -32_602;
const INTERNAL: i64 = -32_603;

/// Begins the session, for an agent that declares nothing: it answers no question of the server's.
pub(super) fn initialize(id: &Id, client: Option<Fragment>) -> String {
    let own = || {
        Fragment::object([
            ("name", Fragment::string(env!("CARGO_PKG_NAME"))),
            ("version", Fragment::string(env!("CARGO_PKG_VERSION"))),
        ])
    };
    let params = Fragment::object([
        ("protocolVersion", Fragment::string(LAST_WITH_SESSIONS)),
        ("capabilities", Fragment::object([])),
        ("clientInfo", client.unwrap_or_else(own)),
    ]);
    let method = Fragment::string(KnownMethod::Initialize.name());
    line([
        ("id", id.to_fragment()),
        ("method", method),
        ("params", params),
    ])
}

pub(super) fn initialized() -> String {
    line([("method", Fragment::string(KnownMethod::Initialized.name()))])
}

/// The answer to a question of the server's, which the agent cannot be asked.
pub(super) fn answer(id: u64, method: KnownMethod) -> String {
    let id = Fragment::unsigned(id);
    if method == KnownMethod::Ping {
        return line([("id", id), ("result", Fragment::object([]))]);
    }
    let text = format!("the agent has no session, and cannot be asked for `{method}`");
    let error = Fragment::object([
        ("code", Fragment::integer(-32_601)),
        ("message", Fragment::string(&text)),
    ]);
    line([("id", id), ("error", error)])
}

fn line<'k>(members: impl IntoIterator<Item = (&'k str, Fragment)>) -> String {
    let head = [("jsonrpc", Fragment::string("2.0"))];
    Fragment::object(head.into_iter().chain(members)).into_string()
}

/// The name of the client that sends a message, if `initialize` can repeat it.
pub(super) fn client_info(message: &Message) -> Option<Fragment> {
    let client = message.meta()?.get(meta::CLIENT)?;
    let is_text = |key| {
        client
            .get(key)
            .is_some_and(|it| it.kind() == JsonKind::String)
    };
    (is_text("name") && is_text("version")).then(|| Fragment::copy_of(client))
}

pub(super) fn client_name(message: &Message) -> Option<ClientName> {
    let client = message.meta()?.get(meta::CLIENT)?;
    let text = |key| client.get(key).and_then(Value::as_str).map(Arc::from);
    Some(ClientName {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
    })
}

/// Whether the agent that sends a message declares that a server can ask it something.
pub(in super::super) fn can_be_asked(message: &Message) -> bool {
    let Some(declared) = message.meta().and_then(|meta| meta.get(meta::CAPABILITIES)) else {
        return false;
    };
    ["elicitation", "sampling", "roots"]
        .into_iter()
        .any(|key| declared.get(key).is_some())
}

/// The least level of the log messages that a request asks for.
pub(super) fn level(message: &Message) -> Option<usize> {
    level_of(message.meta()?.get(meta::LOG_LEVEL)?)
}

/// The level of a log message.
pub(super) fn level_of_log(message: &Message) -> Option<usize> {
    level_of(message.params()?.get("level")?)
}

fn level_of(value: Value<'_>) -> Option<usize> {
    let level = value.as_str()?;
    LEVELS.iter().position(|known| *known == level)
}

/// A message without what only the agent's revision has.
pub(super) fn in_session(message: &Message) -> String {
    let mut edits = message.edits();
    let params = message.params();
    // A task of a session is no task of the agent's.
    if let Some(task) = params.and_then(|params| params.get("task")) {
        edits.remove(task);
    }
    if let Some(meta) = message.meta() {
        let gone: Vec<_> = OF_REQUESTS.iter().filter_map(|key| meta.get(key)).collect();
        match params.filter(|params| params.len() == 1) {
            Some(params) if gone.len() == meta.len() => edits.remove(params),
            _ if gone.len() == meta.len() => edits.remove(meta),
            _ => gone.into_iter().for_each(|value| edits.remove(value)),
        }
    }
    edits.finish()
}

/// What a server says of itself at `initialize`.
pub(super) fn greeting(initialized: Value<'_>) -> Greeting {
    let offered = initialized.get("capabilities");
    let offered = offered.into_iter().flat_map(Value::entries);
    let offered: Vec<(Cow<'_, str>, Fragment)> = offered
        .filter(|(name, _)| !["tasks", "extensions"].contains(&&**name))
        .map(|(name, value)| {
            let value = if name == "resources" {
                without_subscriptions(value)
            } else {
                Fragment::copy_of(value)
            };
            (name, value)
        })
        .collect();
    let offered = offered.iter().map(|(name, value)| (&**name, value.clone()));
    let server = initialized.get("serverInfo").filter(|it| it.is_object());
    let server = server.map(Fragment::copy_of);
    let meta = server.map(|server| Fragment::object([(meta::SERVER, server)]));
    let instructions = initialized.get("instructions");
    let instructions = instructions.filter(|it| it.kind() == JsonKind::String);
    let members = [
        ("resultType", Some(Fragment::string("complete"))),
        (
            "supportedVersions",
            Some(Fragment::array([Fragment::string(AGENTS_REVISION)])),
        ),
        ("capabilities", Some(Fragment::object(offered))),
        ("instructions", instructions.map(Fragment::copy_of)),
        ("ttlMs", Some(Fragment::integer(0))),
        ("cacheScope", Some(Fragment::string("private"))),
        ("_meta", meta.clone()),
    ];
    let members = members
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    let told = |list: &&List| initialized.at(&["capabilities", list.capability, "listChanged"]);
    let lists = LISTS.iter();
    let lists = lists.filter(|list| told(list).and_then(Value::as_bool) == Some(true));
    Greeting {
        discovered: Fragment::object(members),
        meta,
        lists: lists.collect(),
    }
}

/// The agent hears of changed lists, and not of changed resources.
fn without_subscriptions(resources: Value<'_>) -> Fragment {
    let kept: Vec<_> = resources
        .entries()
        .filter(|(name, _)| name != "subscribe")
        .map(|(name, value)| (name, Fragment::copy_of(value)))
        .collect();
    Fragment::object(kept.iter().map(|(name, value)| (&**name, value.clone())))
}

/// A result in the agent's revision.
pub(super) fn complete(
    reply: &Message,
    method: KnownMethod,
    greeting: Option<&Greeting>,
) -> String {
    let mut edits = reply.edits();
    let Some(result) = reply.result() else {
        return edits.finish();
    };
    for foreign in OF_RESULTS.into_iter().filter_map(|key| result.get(key)) {
        edits.remove(foreign);
    }
    edits.insert(result, "resultType", Fragment::string("complete"));
    if is_cached(method) {
        edits.insert(result, "ttlMs", Fragment::integer(0));
        edits.insert(result, "cacheScope", Fragment::string("private"));
    }
    if method == KnownMethod::ToolsList {
        let tools = result.get("tools").into_iter().flat_map(Value::items);
        for execution in tools.filter_map(|tool| tool.get("execution")) {
            edits.remove(execution);
        }
    }
    let meta = greeting.and_then(|it| it.meta.clone());
    if let (Some(meta), None) = (meta, result.get("_meta")) {
        edits.insert(result, "_meta", meta);
    }
    edits.finish()
}

/// Whether results of a method say how long they may be kept.
fn is_cached(method: KnownMethod) -> bool {
    matches!(
        method,
        KnownMethod::ToolsList
            | KnownMethod::PromptsList
            | KnownMethod::ResourcesList
            | KnownMethod::ResourceTemplatesList
            | KnownMethod::ResourcesRead
    )
}

/// An error in the agent's revision, and its code, if it is another one there.
pub(super) fn failed(reply: &Message, method: KnownMethod, told: i64) -> Option<(String, i64)> {
    let code = reply.error()?.get("code")?;
    let instead = match told {
        NOT_FOUND_IN_SESSIONS if method == KnownMethod::ResourcesRead => INVALID_PARAMS,
        // The server cannot mean what these say: it does not know them.
        UNSUPPORTED_VERSION => INTERNAL,
        MISSING_CAPABILITY
            if reply
                .error()?
                .at(&["data", "requiredCapabilities"])
                .is_none() =>
        {
            INTERNAL
        }
        _ => return None,
    };
    let mut edits = reply.edits();
    edits.replace(code, Fragment::integer(instead));
    Some((edits.finish(), instead))
}

/// The lists that an agent asks to hear of, as far as the server tells of them.
pub(super) fn asked<'l>(message: &Message, lists: &[&'l List]) -> Vec<&'l List> {
    let asked = message
        .params()
        .and_then(|params| params.get("notifications"));
    let wants = |list: &&List| asked?.get(list.flag)?.as_bool();
    let lists = lists.iter().copied();
    lists.filter(|list| wants(list) == Some(true)).collect()
}

/// The same for its acknowledgement.
pub(super) fn granted(lists: &[&List]) -> Fragment {
    Fragment::object(lists.iter().map(|list| (list.flag, Fragment::truth())))
}

/// A notification on a stream that was opened for it.
pub(super) fn tagged(message: &Message, listener: &Listener) -> String {
    let mut edits = message.edits();
    let id = listener.id.to_fragment();
    match (message.params(), message.meta()) {
        (_, Some(meta)) => edits.insert(meta, meta::SUBSCRIPTION, id),
        (Some(params), None) => {
            edits.insert(
                params,
                "_meta",
                Fragment::object([(meta::SUBSCRIPTION, id)]),
            );
        }
        (None, None) => {
            let meta = Fragment::object([(meta::SUBSCRIPTION, id)]);
            let params = Fragment::object([("_meta", meta)]);
            edits.insert(message.document().root(), "params", params);
        }
    }
    edits.finish()
}
