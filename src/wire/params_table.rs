//! What each method's `params` must and may have (schemas of revisions 2024-11-05 to 2026-07-28).
//!
//! Where revisions differ the table holds what all of them accept: an old peer's message must
//! pass, and what a new one requires is checked where the era is known.

use super::method::KnownMethod;

pub(super) struct ParamMember {
    pub(super) key: &'static str,
    pub(super) need: ParamNeed,
    pub(super) rule: ParamRule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParamNeed {
    Required,
    Optional,
}

pub(super) enum ParamRule {
    Any,
    Bool,
    Number,
    String,
    /// A string that names something: no control characters.
    Name,
    /// A request id or progress token.
    Token,
    OneOf(&'static [&'static str]),
    Object(&'static [ParamMember]),
    MapOf(&'static ParamRule),
    ArrayOf(&'static ParamRule),
    /// An object whose members depend on the string under `tag`.
    Tagged {
        tag: &'static str,
        default: Option<&'static str>,
        cases: &'static [ParamCase],
    },
}

pub(super) struct ParamCase {
    pub(super) name: &'static str,
    pub(super) members: &'static [ParamMember],
}

impl ParamRule {
    /// Whether an object without members passes.
    pub(super) fn can_be_empty(&self) -> bool {
        match self {
            Self::Object(members) => members
                .iter()
                .all(|member| member.need == ParamNeed::Optional),
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
pub(super) fn rule(method: KnownMethod) -> &'static ParamRule {
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
pub(super) fn common(method: KnownMethod) -> &'static [ParamMember] {
    if method.is_request() {
        REQUEST
    } else {
        NOTIFICATION
    }
}

const fn required(key: &'static str, rule: ParamRule) -> ParamMember {
    ParamMember {
        key,
        need: ParamNeed::Required,
        rule,
    }
}

const fn optional(key: &'static str, rule: ParamRule) -> ParamMember {
    ParamMember {
        key,
        need: ParamNeed::Optional,
        rule,
    }
}

/// An object whose members are not ours to check.
const OBJECT: ParamRule = ParamRule::Object(&[]);

// 2026-07-28 lets any request of the agent carry the answers to an `input_required` result.
const REQUEST: &[ParamMember] = &[
    optional("_meta", ParamRule::Object(META)),
    optional("inputResponses", ParamRule::MapOf(&OBJECT)),
    optional("requestState", ParamRule::String),
    optional("task", OBJECT),
];

const NOTIFICATION: &[ParamMember] = &[optional("_meta", ParamRule::Object(META))];

const META: &[ParamMember] = &[
    optional("progressToken", ParamRule::Token),
    optional("io.modelcontextprotocol/protocolVersion", ParamRule::Name),
    optional(
        "io.modelcontextprotocol/clientInfo",
        ParamRule::Object(IMPLEMENTATION),
    ),
    optional("io.modelcontextprotocol/clientCapabilities", OBJECT),
    optional("io.modelcontextprotocol/logLevel", LEVEL),
    optional("io.modelcontextprotocol/subscriptionId", ParamRule::Token),
    optional("io.modelcontextprotocol/related-task", TASK),
];

const IMPLEMENTATION: &[ParamMember] = &[
    required("name", ParamRule::Name),
    required("version", ParamRule::Name),
    optional("title", ParamRule::String),
];

const INITIALIZE: ParamRule = ParamRule::Object(&[
    required("protocolVersion", ParamRule::Name),
    required("capabilities", OBJECT),
    required("clientInfo", ParamRule::Object(IMPLEMENTATION)),
]);

const TOOLS_CALL: ParamRule = ParamRule::Object(&[
    required("name", ParamRule::Name),
    optional("arguments", OBJECT),
]);

const LIST: ParamRule = ParamRule::Object(&[optional("cursor", ParamRule::String)]);

const URI: ParamRule = ParamRule::Object(&[required("uri", ParamRule::Name)]);

const TASK: ParamRule = ParamRule::Object(&[required("taskId", ParamRule::Name)]);

const PROMPTS_GET: ParamRule = ParamRule::Object(&[
    required("name", ParamRule::Name),
    optional("arguments", ParamRule::MapOf(&ParamRule::String)),
]);

const COMPLETE: ParamRule = ParamRule::Object(&[
    required("ref", REFERENCE),
    required(
        "argument",
        ParamRule::Object(&[
            required("name", ParamRule::Name),
            required("value", ParamRule::String),
        ]),
    ),
    optional(
        "context",
        ParamRule::Object(&[optional("arguments", ParamRule::MapOf(&ParamRule::String))]),
    ),
]);

const REFERENCE: ParamRule = ParamRule::Tagged {
    tag: "type",
    default: None,
    cases: &[
        ParamCase {
            name: "ref/prompt",
            members: &[required("name", ParamRule::Name)],
        },
        ParamCase {
            name: "ref/resource",
            members: &[required("uri", ParamRule::Name)],
        },
    ],
};

const SET_LEVEL: ParamRule = ParamRule::Object(&[required("level", LEVEL)]);

const LEVEL: ParamRule = ParamRule::OneOf(&[
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
]);

const LISTEN: ParamRule = ParamRule::Object(&[required(
    "notifications",
    ParamRule::Object(&[
        optional("toolsListChanged", ParamRule::Bool),
        optional("promptsListChanged", ParamRule::Bool),
        optional("resourcesListChanged", ParamRule::Bool),
        optional(
            "resourceSubscriptions",
            ParamRule::ArrayOf(&ParamRule::Name),
        ),
        optional("taskIds", ParamRule::ArrayOf(&ParamRule::Name)),
    ]),
)]);

// 2025-11-25 made `requestId` optional; without it the notification cancels nothing.
const CANCELLED: ParamRule = ParamRule::Object(&[
    optional("requestId", ParamRule::Token),
    optional("reason", ParamRule::String),
]);

const PROGRESS: ParamRule = ParamRule::Object(&[
    required("progressToken", ParamRule::Token),
    required("progress", ParamRule::Number),
    optional("total", ParamRule::Number),
    optional("message", ParamRule::String),
]);

const CREATE_MESSAGE: ParamRule = ParamRule::Object(&[
    required("messages", ParamRule::ArrayOf(&SAMPLED)),
    required("maxTokens", ParamRule::Number),
    optional("modelPreferences", OBJECT),
    optional("systemPrompt", ParamRule::String),
    optional(
        "includeContext",
        ParamRule::OneOf(&["none", "thisServer", "allServers"]),
    ),
    optional("temperature", ParamRule::Number),
    optional("stopSequences", ParamRule::ArrayOf(&ParamRule::String)),
    optional("metadata", OBJECT),
    optional("tools", ParamRule::ArrayOf(&OBJECT)),
    optional("toolChoice", OBJECT),
]);

/// There is no other role (all revisions): a system prompt has a member of its own.
const SAMPLED: ParamRule =
    ParamRule::Object(&[required("role", ParamRule::OneOf(&["user", "assistant"]))]);

// Form mode came first and needs no name.
const ELICIT: ParamRule = ParamRule::Tagged {
    tag: "mode",
    default: Some("form"),
    cases: &[
        ParamCase {
            name: "form",
            members: &[
                optional("mode", ParamRule::String),
                required("message", ParamRule::String),
                required("requestedSchema", OBJECT),
            ],
        },
        ParamCase {
            name: "url",
            members: &[
                required("mode", ParamRule::String),
                required("message", ParamRule::String),
                required("url", ParamRule::Name),
                optional("elicitationId", ParamRule::Name),
            ],
        },
    ],
};

const ELICITATION_COMPLETE: ParamRule =
    ParamRule::Object(&[required("elicitationId", ParamRule::Name)]);

const LOG_MESSAGE: ParamRule = ParamRule::Object(&[
    required("level", LEVEL),
    required("data", ParamRule::Any),
    optional("logger", ParamRule::String),
]);
