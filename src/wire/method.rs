//! The methods of MCP: who may send which, and since or until when.

use std::borrow::Cow;
use std::fmt;

use super::Side;
use super::json::{JsonKind, Value};
use super::listed_method::ListedMethod;

/// A method by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Method {
    Known(KnownMethod),
    Unknown(Box<str>),
}

/// The protocol before 2026-07-28, with its handshake, or from then on, without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    Legacy,
    Stateless,
}

/// The longest method name, in bytes after decoding. The protocol's longest has 35.
pub const MAX_METHOD_BYTES: usize = 256;

/// In which eras a side may send a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EraSupport {
    Never,
    Legacy,
    Stateless,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MethodForm {
    Request,
    Notification,
}

macro_rules! methods {
    ($($method:ident, $name:literal, $form:ident, $agent:ident, $upstream:ident;)+) => {
        /// The methods that the gate understands (schemas of revisions 2024-11-05 to 2026-07-28, and
        /// of the extension `io.modelcontextprotocol/tasks`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum KnownMethod {
            $($method,)+
            /// A method of another extension, which the configuration lists.
            Extension(ListedMethod),
        }

        impl KnownMethod {
            /// The protocol's own, and those of tasks.
            pub const ALL: &[Self] = &[$(Self::$method,)+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$method => $name,)+
                    Self::Extension(listed) => listed.name(),
                }
            }

            /// Of those in [`ALL`](Self::ALL). Exact: `tools/call ` and `Tools/Call` are other, unknown methods.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$method),)+ _ => None }
            }

            fn form(self) -> MethodForm {
                match self {
                    $(Self::$method => MethodForm::$form,)+
                    Self::Extension(listed) if listed.is_request() => MethodForm::Request,
                    Self::Extension(_) => MethodForm::Notification,
                }
            }

            fn eras(self, side: Side) -> EraSupport {
                match (self, side) {
                    $((Self::$method, Side::Agent) => EraSupport::$agent,
                    (Self::$method, Side::Upstream) => EraSupport::$upstream,)+
                    (Self::Extension(_), Side::Agent) => EraSupport::Both,
                    // What a server asks of an agent is a closed set: the gate could not know what its
                    // answer tells the server.
                    (Self::Extension(listed), Side::Upstream) if listed.is_request() => EraSupport::Never,
                    (Self::Extension(_), Side::Upstream) => EraSupport::Both,
                }
            }
        }
    };
}

methods! {
    // method                  name                                    form          agent      upstream
    Initialize,                "initialize",                           Request,      Legacy,    Never;
    Initialized,               "notifications/initialized",            Notification, Legacy,    Never;
    Ping,                      "ping",                                 Request,      Legacy,    Legacy;
    Discover,                  "server/discover",                      Request,      Stateless, Never;
    ToolsList,                 "tools/list",                           Request,      Both,      Never;
    ToolsCall,                 "tools/call",                           Request,      Both,      Never;
    ResourcesList,             "resources/list",                       Request,      Both,      Never;
    ResourcesRead,             "resources/read",                       Request,      Both,      Never;
    ResourceTemplatesList,     "resources/templates/list",             Request,      Both,      Never;
    ResourcesSubscribe,        "resources/subscribe",                  Request,      Legacy,    Never;
    ResourcesUnsubscribe,      "resources/unsubscribe",                Request,      Legacy,    Never;
    PromptsList,               "prompts/list",                         Request,      Both,      Never;
    PromptsGet,                "prompts/get",                          Request,      Both,      Never;
    Complete,                  "completion/complete",                  Request,      Both,      Never;
    SetLevel,                  "logging/setLevel",                     Request,      Legacy,    Never;
    SubscriptionsListen,       "subscriptions/listen",                 Request,      Stateless, Never;
    TasksGet,                  "tasks/get",                            Request,      Both,      Legacy;
    TasksResult,               "tasks/result",                         Request,      Legacy,    Legacy;
    TasksList,                 "tasks/list",                           Request,      Legacy,    Legacy;
    TasksCancel,               "tasks/cancel",                         Request,      Both,      Legacy;
    TasksUpdate,               "tasks/update",                         Request,      Stateless, Never;
    Cancelled,                 "notifications/cancelled",              Notification, Both,      Both;
    Progress,                  "notifications/progress",               Notification, Legacy,    Both;
    RootsListChanged,          "notifications/roots/list_changed",     Notification, Legacy,    Never;
    RootsList,                 "roots/list",                           Request,      Never,     Legacy;
    CreateMessage,             "sampling/createMessage",               Request,      Never,     Legacy;
    Elicit,                    "elicitation/create",                   Request,      Never,     Legacy;
    LogMessage,                "notifications/message",                Notification, Never,     Both;
    ToolsListChanged,          "notifications/tools/list_changed",     Notification, Never,     Both;
    ResourcesListChanged,      "notifications/resources/list_changed", Notification, Never,     Both;
    PromptsListChanged,        "notifications/prompts/list_changed",   Notification, Never,     Both;
    ResourceUpdated,           "notifications/resources/updated",      Notification, Never,     Both;
    ElicitationComplete,       "notifications/elicitation/complete",   Notification, Never,     Legacy;
    SubscriptionsAcknowledged, "notifications/subscriptions/acknowledged", Notification, Never, Stateless;
    TaskStatus,                "notifications/tasks/status",           Notification, Legacy,    Legacy;
    TaskNews,                  "notifications/tasks",                  Notification, Never,     Stateless;
}

impl KnownMethod {
    /// Whether the method wants a reply; a known request without an id is refused, and a known
    /// notification with one.
    pub fn is_request(self) -> bool {
        self.form() == MethodForm::Request
    }

    /// Whether this side may send the method in some era.
    pub fn sent_by(self, side: Side) -> bool {
        self.eras(side) != EraSupport::Never
    }

    /// Whether this side may send the method in this era. In the stateless era requests of the
    /// upstream travel inside results, never as messages.
    pub fn sent_by_in(self, side: Side, era: Era) -> bool {
        match (self.eras(side), era) {
            (EraSupport::Both, _)
            | (EraSupport::Legacy, Era::Legacy)
            | (EraSupport::Stateless, Era::Stateless) => true,
            (EraSupport::Never, _)
            | (EraSupport::Legacy, Era::Stateless)
            | (EraSupport::Stateless, Era::Legacy) => false,
        }
    }

    /// Whether some side may send the method in this era.
    pub fn in_era(self, era: Era) -> bool {
        self.sent_by_in(Side::Agent, era) || self.sent_by_in(Side::Upstream, era)
    }
}

impl fmt::Display for KnownMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Method {
    pub fn name(&self) -> &str {
        match self {
            Self::Known(known) => known.name(),
            Self::Unknown(name) => name,
        }
    }

    pub fn known(&self) -> Option<KnownMethod> {
        match self {
            Self::Known(known) => Some(*known),
            Self::Unknown(_) => None,
        }
    }

    pub(super) fn from_value(value: Value<'_>) -> Result<Self, MethodProblem> {
        let name = value.as_str().ok_or(MethodProblem::Kind(value.kind()))?;
        if let Some(known) = KnownMethod::from_name(&name) {
            return Ok(Self::Known(known));
        }
        if name.len() > MAX_METHOD_BYTES {
            return Err(MethodProblem::TooLong);
        }
        if name.chars().any(char::is_control) {
            return Err(MethodProblem::Control);
        }
        Ok(Self::Unknown(match name {
            Cow::Borrowed(name) => name.into(),
            Cow::Owned(name) => name.into_boxed_str(),
        }))
    }
}

/// Why a value names no method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MethodProblem {
    #[error("must be a string, not {0}")]
    Kind(JsonKind),
    #[error("must be at most {MAX_METHOD_BYTES} bytes long")]
    TooLong,
    #[error("must not have control characters")]
    Control,
}
