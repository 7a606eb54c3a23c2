//! The lines of a transcript, read: who said what, which request a reply answers, and what became of
//! each.

use std::collections::HashMap;

use crate::gate::DENIED;
use crate::wire::{Document, Limits, Message, Method, Shape, Side, Value};

/// One message of a transcript, and its place in it.
#[derive(Debug, Clone)]
pub(in super::super) struct TranscriptMessage {
    /// From 1.
    pub(super) line: usize,
    pub(super) role: MessageRole,
    pub(super) text: String,
}

#[derive(Debug, Clone)]
pub(super) enum MessageRole {
    /// With what became of it, as far as its answer tells.
    Request(Side, RecordedOutcome),
    Notification(Side),
    /// To the request at this place.
    Reply(Side, usize),
    /// It cannot be played.
    Unclear(&'static str),
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordedOutcome {
    Allowed,
    Denied,
    /// As if the tool did not exist, or it did not.
    Absent,
    /// No answer tells.
    Untold,
}

/// One line before it is known what it answers.
pub(super) struct TranscriptLine {
    number: usize,
    from: Option<Side>,
    text: String,
    message: Option<Message>,
}

/// Whether a line is one of a transcript: a JSON-RPC message, or one with its sender beside it.
pub(super) fn is_said(root: Value<'_>) -> bool {
    root.get("jsonrpc").is_some() || root.get("message").is_some_and(Value::is_object)
}

impl TranscriptLine {
    /// `{"jsonrpc":…}`, or `{"from":"agent"|"server","message":{…}}`.
    pub(super) fn read(text: &str, number: usize) -> Self {
        let document = Document::decode(text.as_bytes(), &Limits::default()).ok();
        let root = document.as_ref().map(Document::root);
        let inner = root.and_then(|root| root.get("message"));
        let from = root.and_then(|root| root.get("from")?.as_str());
        let from = match from.as_deref() {
            Some("agent") if inner.is_some() => Some(Side::Agent),
            Some("server") if inner.is_some() => Some(Side::Upstream),
            _ => None,
        };
        let text = inner.map_or(text, Value::text).to_owned();
        Self {
            number,
            from,
            message: Message::decode(text.as_bytes(), &Limits::default()).ok(),
            text,
        }
    }

    /// Who said it, where the line itself does not tell: only one side sends most methods.
    fn sender(&self, method: &Method) -> Option<Side> {
        let known = method.known()?;
        let sides = (known.sent_by(Side::Agent), known.sent_by(Side::Upstream));
        self.from.or(match sides {
            (true, false) => Some(Side::Agent),
            (false, true) => Some(Side::Upstream),
            (true, true) | (false, false) => None,
        })
    }
}

/// The lines in their roles: each reply with its request, each request with what became of it.
pub(super) fn in_order(lines: impl Iterator<Item = TranscriptLine>) -> Vec<TranscriptMessage> {
    let mut said: Vec<TranscriptMessage> = Vec::new();
    let mut open: HashMap<(Side, String), usize> = HashMap::new();
    for line in lines {
        let place = said.len();
        let role = match line.message.as_ref().map(Message::shape) {
            None => MessageRole::Unclear("it is no JSON-RPC message that the gate would read"),
            Some(Shape::Request { id, method }) => match line.sender(method) {
                Some(side) => {
                    open.insert((side, id.json().to_owned()), place);
                    MessageRole::Request(side, RecordedOutcome::Untold)
                }
                None => MessageRole::Unclear(WHO),
            },
            Some(Shape::Notification { method }) => line
                .sender(method)
                .map_or(MessageRole::Unclear(WHO), MessageRole::Notification),
            Some(Shape::Reply { id, .. }) => {
                let id = id.as_ref().map(|id| id.json().to_owned());
                let id = id.unwrap_or_default();
                let asked_by = match line.from {
                    Some(Side::Agent) => [Side::Upstream].as_slice(),
                    Some(Side::Upstream) => &[Side::Agent],
                    None => &[Side::Agent, Side::Upstream],
                };
                let asked = asked_by
                    .iter()
                    .filter(|side| open.contains_key(&(**side, id.clone())))
                    .copied();
                match asked.collect::<Vec<_>>().as_slice() {
                    [side] => match open.remove(&(*side, id)) {
                        Some(request) => {
                            let was = line.message.as_ref().map_or(RecordedOutcome::Untold, was);
                            tell(&mut said, request, was);
                            MessageRole::Reply(other(*side), request)
                        }
                        None => MessageRole::Unclear("it answers nothing that was asked"),
                    },
                    [] => MessageRole::Unclear("it answers nothing that was asked"),
                    _ => MessageRole::Unclear("both sides have asked under its id"),
                }
            }
        };
        said.push(TranscriptMessage {
            line: line.number,
            role,
            text: line.text,
        });
    }
    said
}

const WHO: &str = "either side may have sent it: write `{\"from\": …, \"message\": …}`";

fn tell(said: &mut [TranscriptMessage], request: usize, is: RecordedOutcome) {
    if let Some(TranscriptMessage {
        role: MessageRole::Request(_, was),
        ..
    }) = said.get_mut(request)
    {
        *was = is;
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Agent => Side::Upstream,
        Side::Upstream => Side::Agent,
    }
}

/// What an answer tells of its request.
fn was(reply: &Message) -> RecordedOutcome {
    if let Some(error) = reply.error() {
        let code = error.get("code").and_then(Value::as_i64);
        let message = error.get("message").and_then(Value::as_str);
        let message = message.unwrap_or_default();
        return match code {
            Some(DENIED) => RecordedOutcome::Denied,
            // The gate says so of a tool that is hidden, and a server of one that is not there; and
            // so of a method that is denied to a server, or that an agent does not have.
            Some(-32_602) if message.starts_with("Unknown tool") => RecordedOutcome::Absent,
            Some(-32_601) => RecordedOutcome::Absent,
            _ => RecordedOutcome::Allowed,
        };
    }
    // A gate with `deny_response = "tool_result"` says it in a result.
    let flagged = reply.result().and_then(|result| result.get("isError"));
    let content = reply.result().and_then(|result| result.get("content"));
    let text = content.and_then(|content| content.items().next()?.get("text")?.as_str());
    let denied = text.is_some_and(|text| text.starts_with("denied by policy"));
    if denied && flagged.and_then(Value::as_bool) == Some(true) {
        RecordedOutcome::Denied
    } else {
        RecordedOutcome::Allowed
    }
}
