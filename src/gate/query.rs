//! The authorization requests of a message, in the terms of the policy model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::policy::{
    Action, Arguments, Consent, Environment, ExtensionMethod, Facts, Principal, Prompt, Received,
    Resource, ResourceFacts, SessionSensitivity, SessionState, Targets, Tool,
};
use crate::session::Target;
use crate::wire::KnownMethod;

use super::arrival::Lends;
use super::classified::{Identified, Role, Scene};

/// A message together with what policy is asked about it.
#[derive(Debug)]
pub(super) struct Understood<'m> {
    pub(super) identified: Identified<'m>,
    pub(super) questions: Vec<Question<'m>>,
    pub(super) target: Target,
    /// The sensitivity that its receiver's session gains from what it says of tasks.
    pub(super) tells: SessionSensitivity,
    /// Where its paths lead, once somebody has looked.
    pub(super) followed: Followed,
}

impl<'m> Understood<'m> {
    /// A message before its contents are read.
    pub(super) fn unread(identified: Identified<'m>) -> Self {
        Self {
            identified,
            questions: Vec::new(),
            target: Target::Server,
            tells: SessionSensitivity::default(),
            followed: Followed::default(),
        }
    }
}

impl Understood<'_> {
    /// The tool that a request calls.
    pub(super) fn called_tool(&self) -> Option<&str> {
        let calls = matches!(
            self.identified.role,
            Role::Request {
                method: KnownMethod::ToolsCall,
                ..
            }
        );
        self.asked_tool().filter(|_| calls)
    }

    /// The tool that a request is about: one that is called, or was called when a task began.
    pub(super) fn asked_tool(&self) -> Option<&str> {
        match (&self.identified.role, &self.target) {
            (Role::Request { .. }, Target::Tool(name)) => Some(name),
            _ => None,
        }
    }
}

/// One thing that policy is asked.
#[derive(Debug)]
pub(super) struct Question<'m> {
    pub(super) asks: Asks,
    pub(super) about: About,
    pub(super) doing: Doing<'m>,
}

/// The principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    Agent,
    Server,
}

/// The resource.
#[derive(Debug)]
pub(super) enum About {
    Tool(Tool),
    Resource(ResourceFacts),
    Prompt(Prompt),
    Method(ExtensionMethod),
    Server,
    Client,
}

impl About {
    /// What answers.
    pub(super) fn of(target: &Target) -> Self {
        match target {
            Target::Tool(name) => Self::Tool(Tool::named(name.clone())),
            Target::Resource(uri) => Self::Resource(resource_facts(uri)),
            Target::Prompt(name) => Self::Prompt(Prompt::named(name.clone())),
            Target::Method(method) => Self::Method(ExtensionMethod::named(method.name())),
            Target::Server => Self::Server,
        }
    }
}

/// The action, with what belongs to it.
#[derive(Debug)]
pub(super) enum Doing<'m> {
    Initialize,
    Ping,
    SetLevel,
    Cancel,
    Notify(KnownMethod),
    List(KnownMethod),
    Listen,
    CallTool(Arguments<'m>, Targets),
    ReadResource,
    Subscribe,
    GetPrompt(Arguments<'m>),
    Complete(Cow<'m, str>),
    Extend(Arguments<'m>, Targets),
    ReceiveResult(Received),
    Sample {
        max_tokens: i64,
        include_context: Cow<'m, str>,
        tools: bool,
        messages: i64,
        bytes: i64,
        system: bool,
    },
    Elicit(Elicitation<'m>),
    ListRoots,
}

/// Where and when: what the gate adds to every question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) transport: &'static str,
    pub(super) now_ms: i64,
    /// Time since the clock was made.
    pub(super) at: Duration,
    /// Whether the agent's model may be at work for the server.
    pub(super) lends: Lends,
}

/// What is written otherwise in a message than it came, by its pointer in it.
pub(super) type Respelled = BTreeMap<String, String>;

/// What was found of the paths that a message names.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// What stands for them in one spelling, by pointer; only of those that lead elsewhere than they say.
    pub(super) elsewhere: Respelled,
    /// Every other place to which one may lead, with its pointer.
    pub(super) told: Vec<(String, String)>,
    /// The pointer of a path that the gate cannot follow.
    pub(super) astray: Option<String>,
}

/// What a question of a server's asks for that it must not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unaskable {
    /// By the name of the field.
    #[error(
        "the form asks for a secret in `{0}`: a server may ask for one on a page of its own only"
    )]
    Secret(String),
    #[error("the form is none that the protocol has: {0}")]
    Form(&'static str),
    #[error("the user may not be sent to a page of `{0}`")]
    Page(String),
}

/// What a server wants of the agent's user.
#[derive(Debug)]
pub(super) struct Elicitation<'m> {
    pub(super) mode: Cow<'m, str>,
    pub(super) fields: Vec<String>,
    /// Of the page that the user is to be sent to; empty for forms.
    pub(super) host: String,
    /// Under which the server will tell that the user is done there.
    pub(super) id: Option<Cow<'m, str>>,
    pub(super) problem: Option<Unaskable>,
}

impl Circumstances {
    /// The environment of what the agent asks for.
    pub(super) fn environment<'a>(&self, scene: &'a Scene) -> Environment<'a> {
        Environment {
            server: &scene.server,
            transport: self.transport,
            protocol: &scene.spoken.version,
            now_ms: self.now_ms,
            peer: scene.peer,
            session: SessionState::of(&scene.held, scene.calls, scene.started_ms),
            consent: scene.established.consent.clone(),
        }
    }
}

impl Question<'_> {
    /// The question as policy reads it.
    pub(super) fn facts<'a>(&'a self, scene: &'a Scene, now: Circumstances) -> Facts<'a> {
        Facts {
            principal: match self.asks {
                Asks::Agent => Principal::Agent(&scene.agent),
                Asks::Server => Principal::Server(&scene.server),
            },
            action: self.action(scene),
            resource: match &self.about {
                About::Tool(tool) => Resource::Tool(tool),
                About::Resource(resource) => Resource::Resource(resource),
                About::Prompt(prompt) => Resource::Prompt(prompt),
                About::Method(method) => Resource::Method(method),
                About::Server => Resource::Server(&scene.server),
                About::Client => Resource::Client(&scene.agent.client),
            },
            env: Environment {
                consent: self.consent(scene),
                ..now.environment(scene)
            },
        }
    }

    /// What a person has agreed to of what is asked.
    fn consent(&self, scene: &Scene) -> Consent {
        match (self.asks, method_of(self), &scene.within) {
            // To all that the result asks, each by its method.
            (Asks::Server, Some(method), Some(consent)) => Consent {
                scope: method.name().to_owned(),
                ..(**consent).clone()
            },
            (Asks::Server, _, _) => scene.of_server.consent.clone(),
            (Asks::Agent, _, _) => scene.established.consent.clone(),
        }
    }

    fn action<'a>(&'a self, scene: &'a Scene) -> Action<'a> {
        match &self.doing {
            Doing::Initialize => Action::Initialize,
            Doing::Ping => Action::Ping,
            Doing::SetLevel => Action::SetLevel,
            Doing::Cancel => Action::Cancel,
            Doing::Notify(method) | Doing::List(method) => Action::Notify {
                method: method.name(),
            },
            Doing::Listen => Action::Listen,
            Doing::CallTool(arguments, targets) => Action::CallTool { arguments, targets },
            Doing::ReadResource => Action::ReadResource,
            Doing::Subscribe => Action::Subscribe,
            Doing::GetPrompt(arguments) => Action::GetPrompt { arguments },
            Doing::Complete(argument) => Action::Complete { argument },
            Doing::Extend(arguments, targets) => Action::Extension { arguments, targets },
            Doing::ReceiveResult(received) => Action::ReceiveResult { received },
            Doing::Sample {
                max_tokens,
                include_context,
                tools,
                messages,
                bytes,
                system,
            } => Action::Sample {
                max_tokens: *max_tokens,
                include_context,
                tools: *tools,
                messages: *messages,
                bytes: *bytes,
                system: *system,
                agent: &scene.agent,
            },
            Doing::Elicit(Elicitation {
                mode, fields, host, ..
            }) => Action::Elicit { mode, fields, host },
            Doing::ListRoots => Action::ListRoots,
        }
    }
}

/// The method by which a server asks something for which people are asked.
pub(super) fn method_of(question: &Question<'_>) -> Option<KnownMethod> {
    match (question.asks, &question.doing) {
        (Asks::Server, Doing::Sample { .. }) => Some(KnownMethod::CreateMessage),
        (Asks::Server, Doing::Elicit(_)) => Some(KnownMethod::Elicit),
        (Asks::Server, Doing::ListRoots) => Some(KnownMethod::RootsList),
        (
            Asks::Server,
            Doing::Initialize
            | Doing::Ping
            | Doing::SetLevel
            | Doing::Cancel
            | Doing::Notify(_)
            | Doing::List(_)
            | Doing::Listen
            | Doing::CallTool(..)
            | Doing::ReadResource
            | Doing::Subscribe
            | Doing::GetPrompt(_)
            | Doing::Complete(_)
            | Doing::Extend(..)
            | Doing::ReceiveResult(_),
        )
        | (Asks::Agent, _) => None,
    }
}

/// A resource as its URI alone shows it. RFC 3986 §3.1: the scheme is what stands before the first
/// colon, in any case.
pub(super) fn resource_facts(uri: &str) -> ResourceFacts {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    ResourceFacts {
        uri: uri.to_owned(),
        scheme: scheme.to_ascii_lowercase(),
        ..ResourceFacts::default()
    }
}
