//! Where messages have names that a server gave: of tools, prompts, resources, tasks, loggers, and what progress is of.
//!
//! Free text and `structuredContent` have none: what they say is the tool's own.

use KnownMethod as M;

use crate::mcp::meta;
use crate::wire::{KnownMethod, Message, Value};

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Tool,
    Prompt,
    /// A URI, or a template of URIs.
    Resource,
    /// A task, a logger, or a question that is asked on a web page.
    Other,
    /// A progress token of the server's, which may be a number.
    Token,
    /// Whose context a server asks for.
    Context,
}

/// A name in a message.
pub(super) type NamePlace<'d> = (Named, Value<'d>);

/// What stands at the end of a path.
#[derive(Clone, Copy)]
enum Holds {
    Name(Named),
    /// A block of content, or several.
    Content,
    /// A task, with its result where it says that itself (SEP-2663).
    Task,
    /// What a result asks for before there is another (MCP 2026-07-28, basic/patterns/mrtr).
    Questions,
}

/// Members one below the other; [`EACH`] is all items of an array.
type Path = &'static [&'static str];

const EACH: &str = "*";

const TOOL: Holds = Holds::Name(Named::Tool);
const PROMPT: Holds = Holds::Name(Named::Prompt);
const RESOURCE: Holds = Holds::Name(Named::Resource);
const OTHER: Holds = Holds::Name(Named::Other);
const TOKEN: Holds = Holds::Name(Named::Token);

/// In `params` of the agent's.
const SENT: &[(M, Path, Holds)] = &[
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
const TOLD: &[(M, Path, Holds)] = &[
    (
        M::CreateMessage,
        &["includeContext"],
        Holds::Name(Named::Context),
    ),
    (
        M::CreateMessage,
        &["messages", EACH, "content"],
        Holds::Content,
    ),
    (M::Elicit, &["elicitationId"], OTHER),
    (M::ElicitationComplete, &["elicitationId"], OTHER),
    (M::ResourceUpdated, &["uri"], RESOURCE),
    (M::LogMessage, &["logger"], OTHER),
    (M::TaskStatus, &[], Holds::Task),
    (M::TaskNews, &[], Holds::Task),
];

/// In results of a server's, by the method that they answer.
const RESULTS: &[(M, Path, Holds)] = &[
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
        Holds::Content,
    ),
    (M::ToolsCall, &["content"], Holds::Content),
    (M::ToolsCall, &["_meta", "ui", "resourceUri"], RESOURCE),
    (M::ToolsCall, &["_meta", "ui/resourceUri"], RESOURCE),
    (M::ToolsCall, &["taskId"], OTHER),
    (M::ToolsCall, &["task"], Holds::Task),
    (M::TasksResult, &["content"], Holds::Content),
    (M::TasksGet, &[], Holds::Task),
    (M::TasksCancel, &[], Holds::Task),
    (M::TasksList, &["tasks", EACH], Holds::Task),
];

/// In errors of a server's, by the method that they answer.
const ERRORS: &[(M, Path, Holds)] = &[
    (M::ResourcesRead, &["data", "uri"], RESOURCE),
    (M::ResourcesSubscribe, &["data", "uri"], RESOURCE),
    (M::ResourcesUnsubscribe, &["data", "uri"], RESOURCE),
];

/// In every result.
const QUESTIONS: Path = &["inputRequests"];

/// In every message: the task that it belongs to (2025-11-25).
const RELATED: Path = &["_meta", meta::RELATED_TASK, "taskId"];

/// In errors (MCP 2025-11-25, client/elicitation).
const WEB_PAGES: Path = &["data", "elicitations", EACH, "elicitationId"];

/// That which a request or notification of the agent's is about.
pub(super) fn subject(message: &Message, method: KnownMethod) -> Option<NamePlace<'_>> {
    let mut places = Places::default();
    if let Some(params) = message.params() {
        places.by(SENT, method, params);
    }
    places.0.into_iter().next()
}

/// Those in a request or notification of the agent's.
pub(super) fn sent(message: &Message, method: KnownMethod) -> Vec<NamePlace<'_>> {
    let mut places = Places::default();
    if let Some(params) = message.params() {
        places.by(SENT, method, params);
        places.at(params, RELATED, OTHER);
    }
    places.0
}

/// Those in a reply of the agent's.
pub(super) fn answered(message: &Message) -> Vec<NamePlace<'_>> {
    let mut places = Places::default();
    if let Some(result) = message.result() {
        places.at(result, RELATED, OTHER);
    }
    places.0
}

/// Those in a message of a server's, by its own method or by that of the request that it answers.
pub(super) fn of_server(message: &Message, method: KnownMethod) -> Vec<NamePlace<'_>> {
    let mut places = Places::default();
    if let Some(params) = message.params() {
        places.told(params, method);
    }
    if let Some(result) = message.result() {
        places.by(RESULTS, method, result);
        places.at(result, RELATED, OTHER);
        places.at(result, QUESTIONS, Holds::Questions);
    }
    if let Some(error) = message.error() {
        places.at(error, WEB_PAGES, OTHER);
        places.by(ERRORS, method, error);
    }
    places.0
}

#[derive(Default)]
struct Places<'d>(Vec<NamePlace<'d>>);

impl<'d> Places<'d> {
    fn told(&mut self, params: Value<'d>, method: KnownMethod) {
        self.by(TOLD, method, params);
        if method.is_request() {
            self.at(params, &["_meta", "progressToken"], TOKEN);
        }
        self.at(params, RELATED, OTHER);
    }

    fn by(&mut self, table: &[(M, Path, Holds)], method: KnownMethod, part: Value<'d>) {
        for (_, path, holds) in table.iter().filter(|(of, ..)| *of == method) {
            self.at(part, path, *holds);
        }
    }

    fn at(&mut self, value: Value<'d>, path: &[&str], holds: Holds) {
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

    fn add(&mut self, value: Value<'d>, holds: Holds) {
        match holds {
            Holds::Name(named) => {
                if named == Named::Token || value.as_str().is_some() {
                    self.0.push((named, value));
                }
            }
            Holds::Content => self.content(value),
            Holds::Task => {
                self.at(value, &["taskId"], OTHER);
                self.at(value, &["result", "content"], Holds::Content);
                self.at(value, QUESTIONS, Holds::Questions);
            }
            Holds::Questions => {
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
