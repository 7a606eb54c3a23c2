//! What the gate says itself: a closed set of messages.

use std::sync::Arc;

use crate::mcp::meta;
use crate::wire::{ArrivalForm, Fragment, Id, KnownMethod, Limits, Message, WorkIds};

use super::passage::Carried;
use super::rejection::ErrorAnswer;

/// A message of the gate's own making.
#[derive(Debug)]
pub(super) struct OwnMessage {
    text: Fragment,
    carried: Carried,
}

/// Why the gate says something of its own accord, for the audit. Answers have no occasion: they
/// are what became of a message, and its record says so.
#[derive(Debug, Clone, Copy)]
pub(super) enum Occasion<'o> {
    /// A call waits until it is known which tools there are.
    Catalogue,
    /// A request waits until it is known what the server speaks.
    Discovery,
    /// The server was restarted.
    Handshake,
    /// The restarted server has agreed.
    Initialized,
    /// No agent has shaken hands with the server yet.
    Trial(KnownMethod),
    /// A `ping` for an agent that has no stream open.
    Unheard,
    /// The request with this reference, which belongs to this work, was given up.
    GivenUp(&'o str, &'o Arc<WorkIds>),
    /// New policies may show another list; what tells the agent.
    NewPolicies(KnownMethod),
    /// What the session has read changes what a list shows; what tells the agent.
    Raised(KnownMethod),
    /// A tool of a list that the agent has got is not what was approved any more; what tells it.
    Drift,
    /// The session goes on with the isolated server, whose list is another one; what tells the agent.
    Isolated(KnownMethod),
    /// The server was removed; what tells the agent.
    Removed(KnownMethod),
    /// A question that the bridge put to the agent for the server needs no answer any more.
    Withdrawn,
    /// A form for a person needs no answer any more, about a request of this work.
    Answered(&'o Arc<WorkIds>),
    /// The request with this reference, of this work, still waits for a person; what tells who waits.
    Waiting(&'o str, &'o Arc<WorkIds>, &'o OwnMessage),
}

impl Occasion<'_> {
    pub(super) fn method(&self) -> KnownMethod {
        match self {
            Self::Catalogue => KnownMethod::ToolsList,
            Self::Discovery => KnownMethod::Discover,
            Self::Handshake => KnownMethod::Initialize,
            Self::Initialized => KnownMethod::Initialized,
            Self::Trial(method) => *method,
            Self::Unheard => KnownMethod::Ping,
            Self::GivenUp(..) | Self::Withdrawn | Self::Answered(_) => KnownMethod::Cancelled,
            Self::Waiting(..) => KnownMethod::Progress,
            Self::NewPolicies(changed)
            | Self::Raised(changed)
            | Self::Isolated(changed)
            | Self::Removed(changed) => *changed,
            Self::Drift => KnownMethod::ToolsListChanged,
        }
    }

    /// The message, where its record tells what it says.
    pub(super) fn message(&self) -> Option<Message> {
        let Self::Waiting(_, _, message) = self else {
            return None;
        };
        Message::decode(message.text.as_str().as_bytes(), &Limits::default()).ok()
    }

    /// The work that it belongs to.
    pub(super) fn work(&self) -> Option<&Arc<WorkIds>> {
        match self {
            Self::GivenUp(_, work) | Self::Waiting(_, work, _) | Self::Answered(work) => Some(work),
            Self::Catalogue
            | Self::Discovery
            | Self::Handshake
            | Self::Initialized
            | Self::Trial(_)
            | Self::Unheard
            | Self::NewPolicies(_)
            | Self::Raised(_)
            | Self::Drift
            | Self::Isolated(_)
            | Self::Removed(_)
            | Self::Withdrawn => None,
        }
    }

    /// The reason in words, where the method does not say it.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::GivenUp(reference, _) => {
                Some(format!("the gate no longer waits for {reference}"))
            }
            Self::Waiting(reference, ..) => Some(format!("{reference} waits for a person")),
            Self::Unheard => Some("no stream of the agent's is open".to_owned()),
            Self::Withdrawn => Some("the call that the server asked for is over".to_owned()),
            Self::Answered(_) => Some("the question to a person is settled".to_owned()),
            Self::Isolated(_) => Some("what the isolated server offers is its own".to_owned()),
            Self::Removed(_) => Some("the server was removed".to_owned()),
            Self::Raised(_) => Some("what was read changes what may be used".to_owned()),
            Self::Drift => Some("the definition of a tool has changed".to_owned()),
            Self::Catalogue
            | Self::Discovery
            | Self::Handshake
            | Self::Initialized
            | Self::Trial(_)
            | Self::NewPolicies(_) => None,
        }
    }
}

/// The id of an answer to something whose id could not be read (JSON-RPC 2.0 §5).
#[derive(Debug, Clone, Copy)]
pub(super) enum AnswerId<'i> {
    Json(&'i str),
    Unreadable,
}

/// Whether the asker expects the members that results have from `2026-07-28` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stateless {
    Yes,
    No,
}

impl OwnMessage {
    pub(super) fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The same with more in it.
    pub(super) fn with_text(self, text: Fragment) -> Self {
        Self { text, ..self }
    }

    pub(super) fn into_parts(self) -> (String, Carried) {
        (self.text.into_string(), self.carried)
    }

    /// A JSON-RPC error.
    pub(super) fn error(id: AnswerId<'_>, answer: ErrorAnswer) -> Self {
        let members = [
            ("code", Some(Fragment::integer(answer.code))),
            ("message", Some(Fragment::string(&answer.message))),
            ("data", answer.data),
        ];
        let members = members
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        Self::reply(id, "error", Fragment::object(members), Some(answer.code))
    }

    /// A denial as a tool's result, which models can read and recover from.
    pub(super) fn tool_error(id: AnswerId<'_>, answer: &ErrorAnswer, stateless: Stateless) -> Self {
        let text = Fragment::object([
            ("type", Fragment::string("text")),
            ("text", Fragment::string(&answer.message)),
        ]);
        let mut members = vec![
            ("content", Fragment::array([text])),
            ("isError", Fragment::truth()),
        ];
        if stateless == Stateless::Yes {
            members.push(("resultType", Fragment::string("complete")));
        }
        Self::reply(id, "result", Fragment::object(members), None)
    }

    /// Asks the person before the agent's client.
    pub(super) fn elicit(minted: u64, form: Fragment) -> Self {
        Self::request(minted, KnownMethod::Elicit, form, None)
    }

    /// Asks the same of an agent without a session: it repeats its request with the answer and the
    /// state (MCP 2026-07-28, basic/patterns/mrtr).
    pub(super) fn input_required(id: AnswerId<'_>, key: &str, form: Fragment, state: &str) -> Self {
        let request = Fragment::object([
            ("method", Fragment::string(KnownMethod::Elicit.name())),
            ("params", form),
        ]);
        let members = [
            ("resultType", Fragment::string("input_required")),
            ("inputRequests", Fragment::object([(key, request)])),
            ("requestState", Fragment::string(state)),
        ];
        Self::reply(id, "result", Fragment::object(members), None)
    }

    /// What was asked for is done, and there is nothing to say of it.
    pub(super) fn done(id: AnswerId<'_>) -> Self {
        Self::reply(id, "result", Fragment::object([]), None)
    }

    /// The result of a request that the gate answers.
    pub(super) fn result(id: AnswerId<'_>, result: Fragment) -> Self {
        Self::reply(id, "result", result, None)
    }

    /// Tells an agent without a session of which lists it hears on the stream of this request.
    pub(super) fn subscribed(listens: &Id, lists: Fragment) -> Self {
        let meta = Fragment::object([(meta::SUBSCRIPTION, listens.to_fragment())]);
        let params = Fragment::object([("notifications", lists), ("_meta", meta)]);
        Self::notification(KnownMethod::SubscriptionsAcknowledged, Some(params), None)
    }

    /// A part of what is kept, as the contents of a resource.
    pub(super) fn contents(id: AnswerId<'_>, uri: &str, text: &str, stateless: Stateless) -> Self {
        let contents = Fragment::object([
            ("uri", Fragment::string(uri)),
            ("mimeType", Fragment::string("text/plain")),
            ("text", Fragment::string(text)),
        ]);
        let mut members = vec![("contents", Fragment::array([contents]))];
        if stateless == Stateless::Yes {
            members.push(("resultType", Fragment::string("complete")));
            members.push(("ttlMs", Fragment::integer(0)));
            members.push(("cacheScope", Fragment::string("private")));
        }
        Self::reply(id, "result", Fragment::object(members), None)
    }

    /// Tells a peer that nobody waits for its reply any more.
    pub(super) fn cancel(minted: u64, reason: &str) -> Self {
        let params = Fragment::object([
            ("requestId", Fragment::unsigned(minted)),
            ("reason", Fragment::string(reason)),
        ]);
        Self::notification(KnownMethod::Cancelled, Some(params), Some(minted))
    }

    /// Asks what tools there are, in the revision of the call that waits for the answer. Nothing
    /// else of that call is repeated: it has not been permitted.
    pub(super) fn list_tools(minted: u64, cursor: Option<&str>, version: Option<&str>) -> Self {
        let meta = version.map(of_the_gate);
        let members = [("cursor", cursor.map(Fragment::string)), ("_meta", meta)];
        let members = members
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        let revision = version.map(Arc::from);
        Self::request(
            minted,
            KnownMethod::ToolsList,
            Fragment::object(members),
            revision,
        )
    }

    /// Asks what the upstream speaks, in the revision of the request that waits for the answer.
    pub(super) fn discover(minted: u64, version: &str) -> Self {
        let params = Fragment::object([("_meta", of_the_gate(version))]);
        let revision = Some(Arc::from(version));
        Self::request(minted, KnownMethod::Discover, params, revision)
    }

    /// What the gate says of itself at `initialize` where it speaks for no agent.
    pub(super) fn introduction(version: &str) -> Fragment {
        Fragment::object([
            ("protocolVersion", Fragment::string(version)),
            ("capabilities", Fragment::object([])),
            ("clientInfo", gate_itself()),
        ])
    }

    /// Begins a session: repeats the agent's `initialize` to an upstream that was restarted, or says
    /// [`Self::introduction`].
    pub(super) fn initialize(minted: u64, params: Fragment) -> Self {
        Self::request(minted, KnownMethod::Initialize, params, None)
    }

    pub(super) fn initialized() -> Self {
        Self::notification(KnownMethod::Initialized, None, None)
    }

    /// Tells whoever waits that a person is still asked. `token` is JSON text.
    pub(super) fn progress(token: &str, told: u32) -> Self {
        // The server's own progress begins when the request goes on, and must not seem to go back.
        let progress = format!("{}.{:03}", told / 1000, told % 1000);
        let json = |text: &str| Fragment::decode(text).unwrap_or_else(|_| Fragment::null());
        let params = Fragment::object([
            ("progressToken", json(token)),
            ("progress", json(&progress)),
            ("message", Fragment::string("waiting for a person to agree")),
        ]);
        Self::notification(KnownMethod::Progress, Some(params), None)
    }

    /// Tells the agent that a list may have changed.
    pub(super) fn list_changed(changed: KnownMethod) -> Self {
        Self::notification(changed, None, None)
    }

    /// The same for an agent without a session, on the stream that it listens on under this id.
    pub(super) fn list_changed_for(changed: KnownMethod, listens: &Id) -> Self {
        let meta = Fragment::object([(meta::SUBSCRIPTION, listens.to_fragment())]);
        let params = Fragment::object([("_meta", meta)]);
        Self::notification(changed, Some(params), None)
    }

    fn reply(id: AnswerId<'_>, key: &str, value: Fragment, error: Option<i64>) -> Self {
        let id = match id {
            AnswerId::Json(json) => Fragment::decode(json).unwrap_or_else(|_| Fragment::null()),
            AnswerId::Unreadable => Fragment::null(),
        };
        let members = [
            ("jsonrpc", Fragment::string("2.0")),
            ("id", id),
            (key, value),
        ];
        Self {
            text: Fragment::object(members),
            carried: Carried::Reply {
                error,
                form: ArrivalForm::Whole,
            },
        }
    }

    fn request(
        minted: u64,
        method: KnownMethod,
        params: Fragment,
        revision: Option<Arc<str>>,
    ) -> Self {
        let members = [
            ("jsonrpc", Fragment::string("2.0")),
            ("id", Fragment::unsigned(minted)),
            ("method", Fragment::string(method.name())),
            ("params", params),
        ];
        Self {
            text: Fragment::object(members),
            carried: Carried::Request {
                id: minted,
                method,
                name: None,
                revision,
            },
        }
    }

    fn notification(method: KnownMethod, params: Option<Fragment>, ends: Option<u64>) -> Self {
        let members = [
            ("jsonrpc", Some(Fragment::string("2.0"))),
            ("method", Some(Fragment::string(method.name()))),
            ("params", params),
        ];
        let members = members
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        Self {
            text: Fragment::object(members),
            carried: Carried::Notification {
                method,
                ends,
                revision: None,
            },
        }
    }
}

/// What the gate says of itself with a request of its own, from `2026-07-28` on.
fn of_the_gate(version: &str) -> Fragment {
    Fragment::object([
        (meta::VERSION, Fragment::string(version)),
        (meta::CLIENT, gate_itself()),
        (meta::CAPABILITIES, Fragment::object([])),
    ])
}

fn gate_itself() -> Fragment {
    Fragment::object([
        ("name", Fragment::string("mcp-protector")),
        ("version", Fragment::string(env!("CARGO_PKG_VERSION"))),
    ])
}
