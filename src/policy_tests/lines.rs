//! The lines that the two ends of a test say by themselves.

use super::fixture::ScriptedReply;
use super::fixture_words::ListKind;
use crate::mcp::meta;
use crate::policy::Client;
use crate::wire::{Fragment, KnownMethod, Limits, Message, Method};

/// How the agent is connected.
pub(super) const TRANSPORT: &str = "stdio";

/// The revision that the handshake agrees on.
pub(super) const PROTOCOL: &str = "2025-11-25";

pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The agent can do everything that a server may ask for: what is refused is refused by policy.
pub(super) fn initialize(client: &Client) -> String {
    let nothing = || Fragment::object([]);
    let modes = Fragment::object(["form", "url"].map(|mode| (mode, nothing())));
    let sampling = Fragment::object(["tools", "context"].map(|name| (name, nothing())));
    let tasks = Fragment::object([
        ("sampling", Fragment::object([("createMessage", nothing())])),
        ("elicitation", Fragment::object([("create", nothing())])),
    ]);
    let capabilities = [
        ("roots", nothing()),
        ("sampling", sampling),
        ("elicitation", modes),
        ("tasks", Fragment::object([("requests", tasks)])),
    ];
    let params = Fragment::object([
        ("protocolVersion", Fragment::string(PROTOCOL)),
        ("capabilities", Fragment::object(capabilities)),
        ("clientInfo", named(&client.name, &client.version)),
    ]);
    let message = Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", Fragment::string("handshake")),
        ("method", Fragment::string("initialize")),
        ("params", params),
    ]);
    message.into_string()
}

/// What the upstream answers to `initialize`.
pub(super) fn greeting(server: &str) -> Fragment {
    let nothing = || Fragment::object([]);
    let capabilities = ["tools", "prompts", "resources", "logging", "completions"];
    Fragment::object([
        ("protocolVersion", Fragment::string(PROTOCOL)),
        (
            "capabilities",
            Fragment::object(capabilities.map(|name| (name, nothing()))),
        ),
        ("serverInfo", named(server, "1")),
    ])
}

pub(super) fn request(method: &str) -> String {
    let message = Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", Fragment::string("test")),
        ("method", Fragment::string(method)),
    ]);
    message.into_string()
}

pub(super) fn reply(id: &Fragment, reply: &ScriptedReply) -> String {
    let (member, content) = match reply {
        ScriptedReply::Result(content) => ("result", content),
        ScriptedReply::Error(content) => ("error", content),
        ScriptedReply::Raw(frame) => return frame.replace("$id", id.as_str()),
    };
    let message = Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", id.clone()),
        (member, content.clone()),
    ]);
    message.into_string()
}

/// The upstream's answer to a list.
pub(super) fn offer(id: &Fragment, list: ListKind, items: Fragment) -> String {
    let result = Fragment::object([(list.member(), items)]);
    reply(id, &ScriptedReply::Result(result))
}

/// The least that may be answered to a request.
pub(super) fn least_result(method: Option<KnownMethod>) -> Fragment {
    let empty = |member| Fragment::object([(member, Fragment::array([]))]);
    match method {
        Some(KnownMethod::ToolsCall) => empty("content"),
        Some(KnownMethod::ResourcesRead) => empty("contents"),
        Some(KnownMethod::ResourceTemplatesList) => empty("resourceTemplates"),
        Some(KnownMethod::PromptsGet) => empty("messages"),
        Some(KnownMethod::RootsList) => empty("roots"),
        Some(KnownMethod::Complete) => {
            let values = Fragment::object([("values", Fragment::array([]))]);
            Fragment::object([("completion", values)])
        }
        _ => Fragment::object([]),
    }
}

/// Whether a message comes before any handshake: it is one, or says itself what it speaks.
pub(super) fn begins_by_itself(message: &Message) -> bool {
    let initialize = message.method().and_then(Method::known);
    let version = message.meta().and_then(|meta| meta.get(meta::VERSION));
    initialize == Some(KnownMethod::Initialize) || version.is_some()
}

/// The id under which the gate asks for the tools, if that is what it asks.
pub(super) fn tools_list(line: &str) -> Option<Fragment> {
    let message = Message::decode(line.as_bytes(), &Limits::default()).ok()?;
    let method = message.method()?.known()?;
    (method == KnownMethod::ToolsList).then(|| message.id_value().map(Fragment::copy_of))?
}

/// The id of a request. Of a notification there is none, and of a reply none that is answered.
pub(super) fn asked_id(line: &str) -> Option<Fragment> {
    let message = Message::decode(line.as_bytes(), &Limits::default()).ok()?;
    message.method()?;
    message.id_value().map(Fragment::copy_of)
}

/// Whether what arrived is the answer that was sent, and not what the gate says in its place.
pub(super) fn carries(arrived: &str, sent: &str) -> bool {
    let decode = |line: &str| Message::decode(line.as_bytes(), &Limits::default()).ok();
    let (Some(arrived), Some(sent)) = (decode(arrived), decode(sent)) else {
        return false;
    };
    let code = |message: &Message| {
        let code = message.error().and_then(|error| error.get("code"));
        code.map(|code| code.text().to_owned())
    };
    arrived.result().is_some() == sent.result().is_some() && code(&arrived) == code(&sent)
}

fn named(name: &str, version: &str) -> Fragment {
    Fragment::object([
        ("name", Fragment::string(name)),
        ("version", Fragment::string(version)),
    ])
}
