//! What whoever carries a permitted message must know of it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::audit::Redactor;
use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::Admitted;
use crate::wire::{
    self, ArrivalForm, KnownMethod, Message, Outcome, OutgoingTrace, Shape, Stream, Value,
};

use super::classified::Role;
use super::query::Understood;
use super::route::Ended;
use super::tasks;

/// Where a permitted message belongs, and what it is: what a transport says of it outside its text
/// is made from this, never copied from what came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// To the agent: the stream of the request that the message belongs to, or
    /// [`Stream::MAIN`] if it belongs to none. To the upstream: always the main one.
    pub stream: Stream,
    pub carried: Carried,
    /// The trace that whoever takes it goes on with, where traces are collected.
    pub trace: Option<OutgoingTrace>,
}

/// What a permitted message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    Request {
        /// The id that the gate minted, as it stands in the text.
        id: u64,
        method: KnownMethod,
        /// The tool, prompt or resource that a request for one is about.
        name: Option<Box<str>>,
        /// The revision that the message speaks if it says so itself (from `2026-07-28` on).
        revision: Option<Arc<str>>,
    },
    Notification {
        method: KnownMethod,
        /// The request that it ends, by the id that the gate minted.
        ends: Option<u64>,
        /// As for requests.
        revision: Option<Arc<str>>,
    },
    Reply {
        /// The code, if it is an error.
        error: Option<i64>,
        /// How it came; what the gate answers itself is whole.
        form: ArrivalForm,
    },
}

impl Carried {
    /// What a request is about is called otherwise from here on.
    pub(super) fn rename(&mut self, other: &str) {
        if let Some(name) = self.name() {
            *name = other.into();
        }
    }

    /// What it is about is said without secrets of the gate's own, as in the text.
    pub(super) fn conceal(&mut self, secrets: &Redactor) {
        if let Some(name) = self.name()
            && let Cow::Owned(without) = secrets.redact(name)
        {
            *name = without.into();
        }
    }

    fn name(&mut self) -> Option<&mut Box<str>> {
        match self {
            Self::Request { name, .. } => name.as_mut(),
            Self::Notification { .. } | Self::Reply { .. } => None,
        }
    }
}

impl Passage {
    /// The passage of a message of a peer's.
    pub(super) fn of(
        understood: &Understood<'_>,
        stream: Stream,
        opened: Option<Admitted>,
        ends: Option<&Ended>,
    ) -> Self {
        let spoken = &understood.identified.scene.spoken.version;
        let revision = (**spoken >= *FIRST_STATELESS).then(|| Arc::clone(spoken));
        let carried = match &understood.identified.role {
            Role::Request { method, .. } => Carried::Request {
                id: opened.map_or(0, |Admitted(minted)| minted),
                method: *method,
                name: name(*method, understood),
                revision,
            },
            Role::Notification { method } => Carried::Notification {
                method: *method,
                ends: ends.map(Ended::minted),
                revision,
            },
            Role::Reply(_) => Carried::Reply {
                error: error_code(understood.identified.message),
                form: understood.identified.form,
            },
        };
        Self {
            stream,
            carried,
            trace: None,
        }
    }
}

/// MCP 2026-07-28, basic/transports: what `Mcp-Name` repeats; of tasks their id (SEP-2663).
fn name(method: KnownMethod, understood: &Understood<'_>) -> Option<Box<str>> {
    if tasks::is_about_one(method) {
        let params = understood.identified.message.params();
        let id = params.and_then(|params| params.get("taskId"));
        return id.and_then(Value::as_str).map(Into::into);
    }
    if let KnownMethod::Extension(_) = method {
        let named = wire::name_of_extension(understood.identified.message.params());
        return named.map(Into::into);
    }
    let target = &understood.target;
    let named = matches!(
        method,
        KnownMethod::ToolsCall | KnownMethod::PromptsGet | KnownMethod::ResourcesRead
    );
    target.name().filter(|_| named).map(Into::into)
}

fn error_code(message: &Message) -> Option<i64> {
    match message.shape() {
        Shape::Reply {
            outcome: Outcome::Error,
            ..
        } => Some(
            message
                .error()
                .and_then(|error| error.get("code"))
                .and_then(Value::as_i64)
                .unwrap_or_default(),
        ),
        Shape::Reply { .. } | Shape::Request { .. } | Shape::Notification { .. } => None,
    }
}
