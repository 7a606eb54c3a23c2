//! What each method's `params` must and may have (schemas of revisions 2024-11-05 to 2026-07-28).
//!
//! Where revisions differ the table holds what all of them accept: an old peer's message must
//! pass, and what a new one requires is checked by whoever knows the era.

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
        cases: &'static [(&'static str, &'static [Member])],
    },
}

/// The members of one method's own.
pub(super) fn members(method: KnownMethod) -> &'static [Member] {
    use KnownMethod as M;
    match method {
        M::Initialize => INITIALIZE,
        M::ToolsCall => TOOLS_CALL,
        M::ToolsList | M::ResourcesList | M::ResourceTemplatesList | M::PromptsList => LIST,
        M::ResourcesRead | M::ResourcesSubscribe | M::ResourcesUnsubscribe | M::ResourceUpdated => {
            URI
        }
        M::PromptsGet => PROMPTS_GET,
        M::Complete => COMPLETE,
        M::SetLevel => SET_LEVEL,
        M::SubscriptionsListen => LISTEN,
        M::SubscriptionsAcknowledged => ACKNOWLEDGED,
        M::Cancelled => CANCELLED,
        M::Progress => PROGRESS,
        M::CreateMessage => CREATE_MESSAGE,
        M::Elicit => ELICIT,
        M::LogMessage => LOG_MESSAGE,
        M::ElicitationComplete => ELICITATION_COMPLETE,
        M::Initialized
        | M::Ping
        | M::Discover
        | M::RootsListChanged
        | M::RootsList
        | M::ToolsListChanged
        | M::ResourcesListChanged
        | M::PromptsListChanged => &[],
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
];

const IMPLEMENTATION: &[Member] = &[
    required("name", Rule::Name),
    required("version", Rule::Name),
    optional("title", Rule::String),
];

const INITIALIZE: &[Member] = &[
    required("protocolVersion", Rule::Name),
    required("capabilities", OBJECT),
    required("clientInfo", Rule::Object(IMPLEMENTATION)),
];

const TOOLS_CALL: &[Member] = &[required("name", Rule::Name), optional("arguments", OBJECT)];

const LIST: &[Member] = &[optional("cursor", Rule::String)];

const URI: &[Member] = &[required("uri", Rule::Name)];

const PROMPTS_GET: &[Member] = &[
    required("name", Rule::Name),
    optional("arguments", Rule::MapOf(&Rule::String)),
];

const COMPLETE: &[Member] = &[
    required(
        "ref",
        Rule::Tagged {
            tag: "type",
            default: None,
            cases: &[
                ("ref/prompt", &[required("name", Rule::Name)]),
                ("ref/resource", &[required("uri", Rule::Name)]),
            ],
        },
    ),
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
];

const SET_LEVEL: &[Member] = &[required("level", LEVEL)];

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

const LISTEN: &[Member] = &[required("notifications", Rule::Object(FILTER))];

const ACKNOWLEDGED: &[Member] = LISTEN;

const FILTER: &[Member] = &[
    optional("toolsListChanged", Rule::Bool),
    optional("promptsListChanged", Rule::Bool),
    optional("resourcesListChanged", Rule::Bool),
    optional("resourceSubscriptions", Rule::ArrayOf(&Rule::Name)),
];

// 2025-11-25 made `requestId` optional; without it the notification cancels nothing.
const CANCELLED: &[Member] = &[
    optional("requestId", Rule::Token),
    optional("reason", Rule::String),
];

const PROGRESS: &[Member] = &[
    required("progressToken", Rule::Token),
    required("progress", Rule::Number),
    optional("total", Rule::Number),
    optional("message", Rule::String),
];

const CREATE_MESSAGE: &[Member] = &[
    required("messages", Rule::ArrayOf(&OBJECT)),
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
];

// Form mode came first and had no name.
const ELICIT: &[Member] = &[
    required("message", Rule::String),
    optional("mode", Rule::OneOf(&["form", "url"])),
    optional("requestedSchema", OBJECT),
    optional("url", Rule::Name),
    optional("elicitationId", Rule::Name),
];

const ELICITATION_COMPLETE: &[Member] = &[required("elicitationId", Rule::Name)];

const LOG_MESSAGE: &[Member] = &[
    required("level", LEVEL),
    required("data", Rule::Any),
    optional("logger", Rule::String),
];
