//! Where messages have names that a server gave: of tools, prompts, resources, tasks, loggers, and what progress is of.
//!
//! Free text and `structuredContent` have none: what they say is the tool's own.

use KnownMethod as M;

use crate::mcp::meta;
use crate::wire::{KnownMethod, Message, Value};

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    Tool,
    Prompt,
    /// A URI, or a template of URIs.
    Uri,
    /// A task, a logger, or a question that is asked on a web page.
    OpaqueId,
    /// A progress token of the server's, which may be a number.
    ProgressToken,
    /// Whose context a server asks for.
    Context,
}

/// A name in a message.
pub(super) type NameRef<'d> = (NameKind, Value<'d>);

/// What stands at the end of a path.
#[derive(Clone, Copy)]
enum PathTarget {
    Name(NameKind),
    /// A block of content, or several.
    Content,
    /// A task, with its result where it says that itself (SEP-2663).
    Task,
    /// What a result asks for before there is another (MCP 2026-07-28, basic/patterns/mrtr).
    InputRequests,
}

/// Members one below the other; [`EACH`] is all items of an array.
type Path = &'static [&'static str];

const EACH: &str = "*";

const TOOL: PathTarget = PathTarget::Name(NameKind::Tool);
const PROMPT: PathTarget = PathTarget::Name(NameKind::Prompt);
const RESOURCE: PathTarget = PathTarget::Name(NameKind::Uri);
const OTHER: PathTarget = PathTarget::Name(NameKind::OpaqueId);
const TOKEN: PathTarget = PathTarget::Name(NameKind::ProgressToken);

/// In `params` of the agent's.
const AGENT_PARAMS: &[(M, Path, PathTarget)] = &[
    (M::ToolsCall, &["name"], TOOL),
    (M::PromptsGet, &["name"], PROMPT),
    (M::ResourcesRead, &["uri"], RESOURCE),
    (M::ResourcesSubscribe, &["uri"], RESOURCE),
    (M::ResourcesUnsubscribe, &["uri"], RESOURCE),
    (M::Complete, &["ref", "name"], PROMPT),
    (M::Complete, &["ref", "uri"], RESOURCE),
    (M::TasksGet, &["taskId"], OTHER),
    (M::TasksResult, &["taskId"], OTHER),
    (M::TasksCancel, &["taskId"], OTHER),
    (M::TasksUpdate, &["taskId"], OTHER),
    (M::Progress, &["progressToken"], TOKEN),
];

/// In `params` of a server's.
const SERVER_PARAMS: &[(M, Path, PathTarget)] = &[
    (
        M::CreateMessage,
        &["includeContext"],
        PathTarget::Name(NameKind::Context),
    ),
    (
        M::CreateMessage,
        &["messages", EACH, "content"],
        PathTarget::Content,
    ),
    (M::Elicit, &["elicitationId"], OTHER),
    (M::ElicitationComplete, &["elicitationId"], OTHER),
    (M::ResourceUpdated, &["uri"], RESOURCE),
    (M::LogMessage, &["logger"], OTHER),
    (M::TaskStatus, &[], PathTarget::Task),
    (M::TaskNews, &[], PathTarget::Task),
];

/// In results of a server's, by the method that they answer.
const SERVER_RESULTS: &[(M, Path, PathTarget)] = &[
    (M::ToolsList, &["tools", EACH, "name"], TOOL),
    (
        M::ToolsList,
        &["tools", EACH, "_meta", "ui", "resourceUri"],
        RESOURCE,
    ),
    (
        M::ToolsList,
        &["tools", EACH, "_meta", "ui/resourceUri"],
        RESOURCE,
    ),
    (M::PromptsList, &["prompts", EACH, "name"], PROMPT),
    (M::ResourcesList, &["resources", EACH, "uri"], RESOURCE),
    (
        M::ResourceTemplatesList,
        &["resourceTemplates", EACH, "uriTemplate"],
        RESOURCE,
    ),
    (M::ResourcesRead, &["contents", EACH, "uri"], RESOURCE),
    (
        M::PromptsGet,
        &["messages", EACH, "content"],
        PathTarget::Content,
    ),
    (M::ToolsCall, &["content"], PathTarget::Content),
    (M::ToolsCall, &["_meta", "ui", "resourceUri"], RESOURCE),
    (M::ToolsCall, &["_meta", "ui/resourceUri"], RESOURCE),
    (M::ToolsCall, &["taskId"], OTHER),
    (M::ToolsCall, &["task"], PathTarget::Task),
    (M::TasksResult, &["content"], PathTarget::Content),
    (M::TasksGet, &[], PathTarget::Task),
    (M::TasksCancel, &[], PathTarget::Task),
    (M::TasksList, &["tasks", EACH], PathTarget::Task),
];

/// In errors of a server's, by the method that they answer.
const SERVER_ERRORS: &[(M, Path, PathTarget)] = &[
    (M::ResourcesRead, &["data", "uri"], RESOURCE),
    (M::ResourcesSubscribe, &["data", "uri"], RESOURCE),
    (M::ResourcesUnsubscribe, &["data", "uri"], RESOURCE),
];

/// In every result.
const INPUT_REQUESTS: Path = &["inputRequests"];

/// In every message: the task that it belongs to (2025-11-25).
const RELATED: Path = &["_meta", meta::RELATED_TASK, "taskId"];

/// In errors (MCP 2025-11-25, client/elicitation).
const WEB_PAGES: Path = &["data", "elicitations", EACH, "elicitationId"];

/// That which a request or notification of the agent's is about.
pub(super) fn subject(message: &Message, method: KnownMethod) -> Option<NameRef<'_>> {
    let mut places = NameRefs::default();
    if let Some(params) = message.params() {
        places.by(AGENT_PARAMS, method, params);
    }
    places.0.into_iter().next()
}

/// Those in a request or notification of the agent's.
pub(super) fn in_agent_message(message: &Message, method: KnownMethod) -> Vec<NameRef<'_>> {
    let mut places = NameRefs::default();
    if let Some(params) = message.params() {
        places.by(AGENT_PARAMS, method, params);
        places.at(params, RELATED, OTHER);
    }
    places.0
}

/// Those in a reply of the agent's.
pub(super) fn in_agent_reply(message: &Message) -> Vec<NameRef<'_>> {
    let mut places = NameRefs::default();
    if let Some(result) = message.result() {
        places.at(result, RELATED, OTHER);
    }
    places.0
}

/// Those in a message of a server's, by its own method or by that of the request that it answers.
pub(super) fn in_server_message(message: &Message, method: KnownMethod) -> Vec<NameRef<'_>> {
    let mut places = NameRefs::default();
    if let Some(params) = message.params() {
        places.told(params, method);
    }
    if let Some(result) = message.result() {
        places.by(SERVER_RESULTS, method, result);
        places.at(result, RELATED, OTHER);
        places.at(result, INPUT_REQUESTS, PathTarget::InputRequests);
    }
    if let Some(error) = message.error() {
        places.at(error, WEB_PAGES, OTHER);
        places.by(SERVER_ERRORS, method, error);
    }
    places.0
}

#[derive(Default)]
struct NameRefs<'d>(Vec<NameRef<'d>>);

impl<'d> NameRefs<'d> {
    fn told(&mut self, params: Value<'d>, method: KnownMethod) {
        self.by(SERVER_PARAMS, method, params);
        if method.is_request() {
            self.at(params, &["_meta", "progressToken"], TOKEN);
        }
        self.at(params, RELATED, OTHER);
    }

    fn by(&mut self, table: &[(M, Path, PathTarget)], method: KnownMethod, part: Value<'d>) {
        for (_, path, holds) in table.iter().filter(|(of, ..)| *of == method) {
            self.at(part, path, *holds);
        }
    }

    fn at(&mut self, value: Value<'d>, path: &[&str], holds: PathTarget) {
        match path.split_first() {
            None => self.add(value, holds),
            Some((&EACH, rest)) => {
                for item in value.items() {
                    self.at(item, rest, holds);
                }
            }
            Some((key, rest)) => {
                if let Some(member) = value.get(key) {
                    self.at(member, rest, holds);
                }
            }
        }
    }

    fn add(&mut self, value: Value<'d>, holds: PathTarget) {
        match holds {
            PathTarget::Name(named) => {
                if named == NameKind::ProgressToken || value.as_str().is_some() {
                    self.0.push((named, value));
                }
            }
            PathTarget::Content => self.content(value),
            PathTarget::Task => {
                self.at(value, &["taskId"], OTHER);
                self.at(value, &["result", "content"], PathTarget::Content);
                self.at(value, INPUT_REQUESTS, PathTarget::InputRequests);
            }
            PathTarget::InputRequests => {
                for (_, question) in value.entries() {
                    let name = question.get("method").and_then(Value::as_str);
                    let method = name.and_then(|name| KnownMethod::from_name(&name));
                    if let (Some(method), Some(params)) = (method, question.get("params")) {
                        self.told(params, method);
                    }
                }
            }
        }
    }

    /// Blocks, some of which have others.
    fn content(&mut self, content: Value<'d>) {
        let mut open = vec![content];
        while let Some(value) = open.pop() {
            if value.is_array() {
                open.extend(value.items());
                continue;
            }
            match value.get("type").and_then(Value::as_str).as_deref() {
                Some("resource_link") => self.at(value, &["uri"], RESOURCE),
                Some("resource") => self.at(value, &["resource", "uri"], RESOURCE),
                Some("tool_result") => open.extend(value.get("content")),
                Some(_) | None => {}
            }
        }
    }
}
