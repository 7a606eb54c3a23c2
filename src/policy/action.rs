//! What can be asked for: one action for each thing that an MCP message can mean.

use super::agent::Agent;
use super::message_facts::{Arguments, Received, Targets};

/// What is asked for, with the facts that only this action has.
#[derive(Debug, Clone, Copy)]
pub enum Action<'a> {
    Initialize,
    Ping,
    SetLevel,
    Cancel,
    /// Any other notification, either way.
    Notify {
        method: &'a str,
    },
    ListTool,
    ListResource,
    ListPrompt,
    Listen,
    CallTool {
        arguments: &'a Arguments<'a>,
        targets: &'a Targets,
    },
    ReadResource,
    Subscribe,
    GetPrompt {
        arguments: &'a Arguments<'a>,
    },
    Complete {
        argument: &'a str,
    },
    /// A method of an extension that the configuration lists, either way.
    Extension {
        arguments: &'a Arguments<'a>,
        targets: &'a Targets,
    },
    /// A result on its way to the agent.
    ReceiveResult {
        received: &'a Received,
    },
    Sample {
        max_tokens: i64,
        include_context: &'a str,
        tools: bool,
        /// How many there are.
        messages: i64,
        /// Size of the whole request's JSON text.
        bytes: i64,
        /// Whether there is a system prompt.
        system: bool,
        /// The agent whose model is to work for the server, with a standing consent only if that
        /// holds now.
        agent: &'a Agent,
    },
    Elicit {
        mode: &'a str,
        fields: &'a [String],
        /// Of the page that the user is to be sent to, or [`UNREADABLE_HOST`](super::UNREADABLE_HOST);
        /// empty for forms.
        host: &'a str,
    },
    ListRoots,
    /// A connection through the egress proxy.
    ConnectHost {
        /// Whether the isolated server wants it.
        isolated: bool,
    },
}

/// The name of an action, as policies write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionName {
    Initialize,
    Ping,
    SetLevel,
    Cancel,
    Notify,
    ListTool,
    ListResource,
    ListPrompt,
    Listen,
    CallTool,
    ReadResource,
    Subscribe,
    GetPrompt,
    Complete,
    Extension,
    ReceiveResult,
    Sample,
    Elicit,
    ListRoots,
    ConnectHost,
}

/// What a message has that says nothing, for [`Action::bare`].
#[derive(Debug, Default)]
pub struct Nothing {
    pub arguments: Arguments<'static>,
    pub targets: Targets,
    pub received: Received,
    pub agent: Agent,
}

impl Action<'_> {
    pub fn name(&self) -> ActionName {
        match self {
            Self::Initialize => ActionName::Initialize,
            Self::Ping => ActionName::Ping,
            Self::SetLevel => ActionName::SetLevel,
            Self::Cancel => ActionName::Cancel,
            Self::Notify { .. } => ActionName::Notify,
            Self::ListTool => ActionName::ListTool,
            Self::ListResource => ActionName::ListResource,
            Self::ListPrompt => ActionName::ListPrompt,
            Self::Listen => ActionName::Listen,
            Self::CallTool { .. } => ActionName::CallTool,
            Self::ReadResource => ActionName::ReadResource,
            Self::Subscribe => ActionName::Subscribe,
            Self::GetPrompt { .. } => ActionName::GetPrompt,
            Self::Complete { .. } => ActionName::Complete,
            Self::Extension { .. } => ActionName::Extension,
            Self::ReceiveResult { .. } => ActionName::ReceiveResult,
            Self::Sample { .. } => ActionName::Sample,
            Self::Elicit { .. } => ActionName::Elicit,
            Self::ListRoots => ActionName::ListRoots,
            Self::ConnectHost { .. } => ActionName::ConnectHost,
        }
    }
}

impl<'a> Action<'a> {
    /// One of this name, with nothing in it that a message need not have.
    pub fn bare(name: ActionName, idle: &'a Nothing) -> Self {
        let Nothing {
            arguments,
            targets,
            received,
            agent,
        } = idle;
        match name {
            ActionName::Initialize => Self::Initialize,
            ActionName::Ping => Self::Ping,
            ActionName::SetLevel => Self::SetLevel,
            ActionName::Cancel => Self::Cancel,
            ActionName::Notify => Self::Notify { method: "" },
            ActionName::ListTool => Self::ListTool,
            ActionName::ListResource => Self::ListResource,
            ActionName::ListPrompt => Self::ListPrompt,
            ActionName::Listen => Self::Listen,
            ActionName::CallTool => Self::CallTool { arguments, targets },
            ActionName::ReadResource => Self::ReadResource,
            ActionName::Subscribe => Self::Subscribe,
            ActionName::GetPrompt => Self::GetPrompt { arguments },
            ActionName::Complete => Self::Complete { argument: "" },
            ActionName::Extension => Self::Extension { arguments, targets },
            ActionName::ReceiveResult => Self::ReceiveResult { received },
            ActionName::Sample => Self::Sample {
                max_tokens: 0,
                include_context: "none",
                tools: false,
                messages: 0,
                bytes: 0,
                system: false,
                agent,
            },
            ActionName::Elicit => Self::Elicit {
                mode: "form",
                fields: &[],
                host: "",
            },
            ActionName::ListRoots => Self::ListRoots,
            ActionName::ConnectHost => Self::ConnectHost { isolated: false },
        }
    }

    /// What it reaches for, if that is known of it.
    pub fn targets(&self) -> Option<&'a Targets> {
        match self {
            Self::CallTool { targets, .. } | Self::Extension { targets, .. } => Some(targets),
            Self::Initialize
            | Self::Ping
            | Self::SetLevel
            | Self::Cancel
            | Self::Notify { .. }
            | Self::ListTool
            | Self::ListResource
            | Self::ListPrompt
            | Self::Listen
            | Self::ReadResource
            | Self::Subscribe
            | Self::GetPrompt { .. }
            | Self::Complete { .. }
            | Self::ReceiveResult { .. }
            | Self::Sample { .. }
            | Self::Elicit { .. }
            | Self::ListRoots
            | Self::ConnectHost { .. } => None,
        }
    }

    pub fn arguments(&self) -> Option<&'a Arguments<'a>> {
        match self {
            Self::CallTool { arguments, .. }
            | Self::GetPrompt { arguments }
            | Self::Extension { arguments, .. } => Some(arguments),
            Self::Initialize
            | Self::Ping
            | Self::SetLevel
            | Self::Cancel
            | Self::Notify { .. }
            | Self::ListTool
            | Self::ListResource
            | Self::ListPrompt
            | Self::Listen
            | Self::ReadResource
            | Self::Subscribe
            | Self::Complete { .. }
            | Self::ReceiveResult { .. }
            | Self::Sample { .. }
            | Self::Elicit { .. }
            | Self::ListRoots
            | Self::ConnectHost { .. } => None,
        }
    }
}

impl ActionName {
    pub const ALL: [Self; 20] = [
        Self::Initialize,
        Self::Ping,
        Self::SetLevel,
        Self::Cancel,
        Self::Notify,
        Self::ListTool,
        Self::ListResource,
        Self::ListPrompt,
        Self::Listen,
        Self::CallTool,
        Self::ReadResource,
        Self::Subscribe,
        Self::GetPrompt,
        Self::Complete,
        Self::Extension,
        Self::ReceiveResult,
        Self::Sample,
        Self::Elicit,
        Self::ListRoots,
        Self::ConnectHost,
    ];

    /// The action's id in Cedar and in test fixtures.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::SetLevel => "set_level",
            Self::Cancel => "cancel",
            Self::Notify => "notify",
            Self::ListTool => "list_tool",
            Self::ListResource => "list_resource",
            Self::ListPrompt => "list_prompt",
            Self::Listen => "listen",
            Self::CallTool => "call_tool",
            Self::ReadResource => "read_resource",
            Self::Subscribe => "subscribe",
            Self::GetPrompt => "get_prompt",
            Self::Complete => "complete",
            Self::Extension => "extension",
            Self::ReceiveResult => "receive_result",
            Self::Sample => "sample",
            Self::Elicit => "elicit",
            Self::ListRoots => "list_roots",
            Self::ConnectHost => "connect_host",
        }
    }
}
