//! The data that a transport needs to deliver a message of a peer.

use std::sync::Arc;

use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::Admitted;
use crate::wire::{self, KnownMethod, Message, Outcome, Shape, Stream, Value};

use super::classified::Role;
use super::passage::{Carried, Passage};
use super::query::Understood;
use super::route::Ended;
use super::tasks;

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
            proof: None,
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
