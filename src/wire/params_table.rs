//! What each method's `params` must and may have (schemas of revisions 2024-11-05 to 2026-07-28).
//!
//! Where revisions differ the table holds what all of them accept: an old peer's message must
//! pass, and what a new one requires is checked where the era is known.

use super::method::KnownMethod;

pub(super) struct Member {
    pub(super) key: &'static str,
    pub(super) need: Need,
    pub(super) rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

pub(super) enum Rule {
    Any,
    Bool,
    Number,
    String,
    /// A string that names something: no control characters.
    Name,
    /// A request id or progress token.
    Token,
    OneOf(&'static [&'static str]),
    Object(&'static [Member]),
    MapOf(&'static Rule),
    ArrayOf(&'static Rule),
    /// An object whose members depend on the string under `tag`.
    Tagged {
        tag: &'static str,
        default: Option<&'static str>,
        cases: &'static [Case],
    },
}

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) members: &'static [Member],
}

impl Rule {
    /// Whether an object without members passes.
    pub(super) fn can_be_empty(&self) -> bool {
        match self {
            Self::Object(members) => members.iter().all(|member| member.need == Need::Optional),
            Self::Any | Self::MapOf(_) => true,
            Self::Bool
            | Self::Number
            | Self::String
            | Self::Name
            | Self::Token
            | Self::OneOf(_)
            | Self::ArrayOf(_)
            | Self::Tagged { .. } => false,
        }
    }
}

/// What the params of one method must be, beside the members that all have in [`common`].
pub(super) fn rule(method: KnownMethod) -> &'static Rule {
    use KnownMethod as M;
    match method {
        M::Initialize => &INITIALIZE,
        M::ToolsCall => &TOOLS_CALL,
        M::ToolsList
        | M::ResourcesList
        | M::ResourceTemplatesList
        | M::PromptsList
        | M::TasksList => &LIST,
        M::ResourcesRead | M::ResourcesSubscribe | M::ResourcesUnsubscribe | M::ResourceUpdated => {
            &URI
        }
        M::PromptsGet => &PROMPTS_GET,
        M::Complete => &COMPLETE,
        M::SetLevel => &SET_LEVEL,
        M::SubscriptionsListen | M::SubscriptionsAcknowledged => &LISTEN,
        M::Cancelled => &CANCELLED,
        M::Progress => &PROGRESS,
        M::CreateMessage => &CREATE_MESSAGE,
        M::Elicit => &ELICIT,
        M::LogMessage => &LOG_MESSAGE,
        M::ElicitationComplete => &ELICITATION_COMPLETE,
        M::TasksGet
        | M::TasksResult
        | M::TasksCancel
        | M::TasksUpdate
        | M::TaskStatus
        | M::TaskNews => &TASK,
        M::Initialized
        | M::Ping
        | M::Discover
        | M::RootsListChanged
        | M::RootsList
        | M::ToolsListChanged
        | M::ResourcesListChanged
        | M::PromptsListChanged
        // What it must have is the extension's affair.
        | M::Extension(_) => &OBJECT,
    }
}

/// The members that any message of this form may have.
pub(super) fn common(method: KnownMethod) -> &'static [Member] {
    if method.is_request() {
        REQUEST
    } else {
        NOTIFICATION
    }
}

const fn required(key: &'static str, rule: Rule) -> Member {
    Member {
        key,
        need: Need::Required,
        rule,
    }
}

const fn optional(key: &'static str, rule: Rule) -> Member {
    Member {
        key,
        need: Need::Optional,
        rule,
    }
}

/// An object whose members are not ours to check.
const OBJECT: Rule = Rule::Object(&[]);

// 2026-07-28 lets any request of the agent carry the answers to an `input_required` result.
const REQUEST: &[Member] = &[
    optional("_meta", Rule::Object(META)),
    optional("inputResponses", Rule::MapOf(&OBJECT)),
    optional("requestState", Rule::String),
    optional("task", OBJECT),
];

const NOTIFICATION: &[Member] = &[optional("_meta", Rule::Object(META))];

const META: &[Member] = &[
    optional("progressToken", Rule::Token),
    optional("io.modelcontextprotocol/protocolVersion", Rule::Name),
    optional(
        "io.modelcontextprotocol/clientInfo",
        Rule::Object(IMPLEMENTATION),
    ),
    optional("io.modelcontextprotocol/clientCapabilities", OBJECT),
    optional("io.modelcontextprotocol/logLevel", LEVEL),
    optional("io.modelcontextprotocol/subscriptionId", Rule::Token),
    optional("io.modelcontextprotocol/related-task", TASK),
];

const IMPLEMENTATION: &[Member] = &[
    required("name", Rule::Name),
    required("version", Rule::Name),
    optional("title", Rule::String),
];

const INITIALIZE: Rule = Rule::Object(&[
    required("protocolVersion", Rule::Name),
    required("capabilities", OBJECT),
    required("clientInfo", Rule::Object(IMPLEMENTATION)),
]);

const TOOLS_CALL: Rule =
    Rule::Object(&[required("name", Rule::Name), optional("arguments", OBJECT)]);

const LIST: Rule = Rule::Object(&[optional("cursor", Rule::String)]);

const URI: Rule = Rule::Object(&[required("uri", Rule::Name)]);

const TASK: Rule = Rule::Object(&[required("taskId", Rule::Name)]);

const PROMPTS_GET: Rule = Rule::Object(&[
    required("name", Rule::Name),
    optional("arguments", Rule::MapOf(&Rule::String)),
]);

const COMPLETE: Rule = Rule::Object(&[
    required("ref", REFERENCE),
    required(
        "argument",
        Rule::Object(&[
            required("name", Rule::Name),
            required("value", Rule::String),
        ]),
    ),
    optional(
        "context",
        Rule::Object(&[optional("arguments", Rule::MapOf(&Rule::String))]),
    ),
]);

const REFERENCE: Rule = Rule::Tagged {
    tag: "type",
    default: None,
    cases: &[
        Case {
            name: "ref/prompt",
            members: &[required("name", Rule::Name)],
        },
        Case {
            name: "ref/resource",
            members: &[required("uri", Rule::Name)],
        },
    ],
};

const SET_LEVEL: Rule = Rule::Object(&[required("level", LEVEL)]);

const LEVEL: Rule = Rule::OneOf(&[
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
]);

const LISTEN: Rule = Rule::Object(&[required(
    "notifications",
    Rule::Object(&[
        optional("toolsListChanged", Rule::Bool),
        optional("promptsListChanged", Rule::Bool),
        optional("resourcesListChanged", Rule::Bool),
        optional("resourceSubscriptions", Rule::ArrayOf(&Rule::Name)),
        optional("taskIds", Rule::ArrayOf(&Rule::Name)),
    ]),
)]);

// 2025-11-25 made `requestId` optional; without it the notification cancels nothing.
const CANCELLED: Rule = Rule::Object(&[
    optional("requestId", Rule::Token),
    optional("reason", Rule::String),
]);

const PROGRESS: Rule = Rule::Object(&[
    required("progressToken", Rule::Token),
    required("progress", Rule::Number),
    optional("total", Rule::Number),
    optional("message", Rule::String),
]);

const CREATE_MESSAGE: Rule = Rule::Object(&[
    required("messages", Rule::ArrayOf(&SAMPLED)),
    required("maxTokens", Rule::Number),
    optional("modelPreferences", OBJECT),
    optional("systemPrompt", Rule::String),
    optional(
        "includeContext",
        Rule::OneOf(&["none", "thisServer", "allServers"]),
    ),
    optional("temperature", Rule::Number),
    optional("stopSequences", Rule::ArrayOf(&Rule::String)),
    optional("metadata", OBJECT),
    optional("tools", Rule::ArrayOf(&OBJECT)),
    optional("toolChoice", OBJECT),
]);

/// There is no other role (all revisions): a system prompt has a member of its own.
const SAMPLED: Rule = Rule::Object(&[required("role", Rule::OneOf(&["user", "assistant"]))]);

// Form mode came first and needs no name.
const ELICIT: Rule = Rule::Tagged {
    tag: "mode",
    default: Some("form"),
    cases: &[
        Case {
            name: "form",
            members: &[
                optional("mode", Rule::String),
                required("message", Rule::String),
                required("requestedSchema", OBJECT),
            ],
        },
        Case {
            name: "url",
            members: &[
                required("mode", Rule::String),
                required("message", Rule::String),
                required("url", Rule::Name),
                optional("elicitationId", Rule::Name),
            ],
        },
    ],
};

const ELICITATION_COMPLETE: Rule = Rule::Object(&[required("elicitationId", Rule::Name)]);

const LOG_MESSAGE: Rule = Rule::Object(&[
    required("level", LEVEL),
    required("data", Rule::Any),
    optional("logger", Rule::String),
]);
