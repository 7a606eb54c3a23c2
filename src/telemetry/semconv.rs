//! What a span says: the words of the OpenTelemetry semantic conventions for MCP (development,
//! 2026) where they have one, and `mcp_protector.…` for what is the gate's own.
//!
//! What peers chose freely is left out: arguments, results, messages of errors, ids of requests,
//! URIs, and the names of tools that do not exist. The audit has them, and
//! `mcp_protector.reference` leads there.

use crate::audit::{AuditTrace, Decision, Redactor, TargetStatus, Text};
use crate::unseen::misleads;
use crate::wire::{KnownMethod, Sampled, TraceContext};

use super::otlp::{
    AnyValue, ArrayValue, ExportTraceRequest, InstrumentationScope, KeyValue, Link, Resource,
    ResourceSpans, ScopeSpans, Span, SpanKind, Status, StatusCode, Value,
};
use super::queue::{FinishedSpan, OpenSpan};
use super::settings::Transport;

/// Writes spans of one gate.
#[derive(Debug)]
pub(super) struct SpanEncoder {
    pub(super) service: String,
    pub(super) transport: Transport,
    pub(super) redactor: Redactor,
}

/// Bytes of one text; policies that a span lists.
const LONGEST: usize = 256;
const MOST_POLICIES: usize = 16;

/// What the conventions say for what has no well-known name.
const OTHER: &str = "_OTHER";

/// OTLP `SpanFlags`: whether it is known that the parent is elsewhere, and that it is.
const HAS_REMOTE: u32 = 0x100;
const REMOTE: u32 = 0x200;

impl SpanEncoder {
    pub(super) fn request(&self, finished: &[FinishedSpan]) -> ExportTraceRequest {
        let scope = scope();
        let spans = ScopeSpans {
            scope: Some(scope),
            spans: finished.iter().flat_map(|one| self.spans(one)).collect(),
        };
        let of_us = ResourceSpans {
            resource: Some(resource(&self.service, &self.redactor)),
            scope_spans: vec![spans],
        };
        ExportTraceRequest {
            resource_spans: vec![of_us],
        }
    }

    /// The message itself, and its way to the other side and back, if it went there.
    fn spans(&self, finished: &FinishedSpan) -> impl Iterator<Item = Span> {
        let round_trip = finished.outcome.as_ref();
        let round_trip = round_trip.map(|outcome| self.round_trip(&finished.asked, outcome));
        [Some(self.message(finished)), round_trip]
            .into_iter()
            .flatten()
    }

    fn message(&self, finished: &FinishedSpan) -> Span {
        let FinishedSpan { asked, outcome } = finished;
        let span = &asked.story.traced.span;
        let last = outcome.as_ref().unwrap_or(asked);
        let mut attributes = self.common(asked);
        let transport = match self.transport {
            Transport::Stdio => "pipe",
            Transport::Http => "tcp",
        };
        attributes.text("network.transport", transport);
        // Of what the gate says too: who asked was answered so.
        let code = last.story.error_code.map(|code| code.to_string());
        attributes.some("rpc.response.status_code", code.as_deref());
        attributes.some("error.type", code.as_deref());
        if let Some(direction) = asked.sighting.direction {
            attributes.text("mcp_protector.direction", direction.as_str());
        }
        attributes.some_text("mcp_protector.reference", asked.story.reference.as_ref());
        attributes.some_text("mcp_protector.revision", asked.story.revision.as_ref());
        attributes.judged("mcp_protector", asked);
        if let Some(took) = asked.sighting.duration_us {
            let took = i64::try_from(took).unwrap_or(i64::MAX);
            attributes.add("mcp_protector.duration_us", Value::Integer(took));
        }
        if let Some(outcome) = outcome {
            attributes.judged("mcp_protector.reply", outcome);
        }
        let beside = span.beside.map(|beside| Link {
            trace_id: beside.trace.bytes().to_vec(),
            span_id: beside.span.bytes().to_vec(),
            flags: flags(&beside) | HAS_REMOTE | REMOTE,
        });
        let parent = span.parent.map(|parent| parent.bytes().to_vec());
        let remote = parent.as_ref().map_or(0, |_| HAS_REMOTE | REMOTE);
        Span {
            parent_span_id: parent.unwrap_or_default(),
            kind: SpanKind::Server.into(),
            start_time_unix_nano: asked.came,
            end_time_unix_nano: last.recorded.max(asked.came),
            links: beside.into_iter().collect(),
            status: code.map(|_| self.failed(last)),
            ..self.span(asked, &span.own, remote, attributes)
        }
    }

    fn round_trip(&self, asked: &OpenSpan, outcome: &OpenSpan) -> Span {
        let span = &asked.story.traced.span;
        let mut attributes = self.common(asked);
        // The other side's own failures: what the gate refused of its answer is none.
        let failure = match outcome.sighting.decision {
            Some(Decision::Allow) => outcome.story.error_code.map(|code| code.to_string()),
            Some(Decision::Error) => outcome.sighting.code.as_ref().map(|code| self.shown(code)),
            Some(Decision::Block) | None => None,
        };
        if outcome.sighting.decision == Some(Decision::Allow) {
            attributes.some("rpc.response.status_code", failure.as_deref());
        }
        attributes.some("error.type", failure.as_deref());
        Span {
            parent_span_id: span.own.span.bytes().to_vec(),
            kind: SpanKind::Client.into(),
            start_time_unix_nano: asked.recorded,
            end_time_unix_nano: outcome.recorded.max(asked.recorded),
            status: failure.map(|_| error(String::new())),
            ..self.span(asked, &span.onward(), HAS_REMOTE, attributes)
        }
    }

    fn span(
        &self,
        asked: &OpenSpan,
        context: &TraceContext,
        parent: u32,
        attributes: Attributes<'_>,
    ) -> Span {
        Span {
            trace_id: context.trace.bytes().to_vec(),
            id: context.span.bytes().to_vec(),
            flags: flags(context) | parent,
            name: self.name(&asked.story),
            attributes: attributes.list,
            ..Span::default()
        }
    }

    /// `{mcp.method.name} {gen_ai.tool.name}`. Names of tools are the upstream's, and few; those of
    /// prompts are what an agent says.
    fn name(&self, story: &AuditTrace) -> String {
        let method = story.traced.method.map_or(OTHER, KnownMethod::name);
        match tool(story) {
            Some(tool) => format!("{method} {}", self.shown(tool)),
            None => method.to_owned(),
        }
    }

    /// What both spans say.
    fn common(&self, asked: &OpenSpan) -> Attributes<'_> {
        let OpenSpan {
            sighting, story, ..
        } = asked;
        let mut attributes = Attributes::new(&self.redactor);
        let method = story.traced.method;
        attributes.text("mcp.method.name", method.map_or(OTHER, KnownMethod::name));
        let version = story.traced.version.as_ref();
        attributes.some_text("mcp.protocol.version", version.filter(|it| is_revision(it)));
        attributes.some_text("mcp.session.id", sighting.session.as_ref());
        if method == Some(KnownMethod::ToolsCall) {
            attributes.text("gen_ai.operation.name", "execute_tool");
        }
        attributes.some_text("gen_ai.tool.name", tool(story));
        let prompt = story.target.as_ref().filter(|_| {
            method == Some(KnownMethod::PromptsGet) && sighting.decision == Some(Decision::Allow)
        });
        attributes.some_text("gen_ai.prompt.name", prompt);
        attributes.some_text("mcp_protector.upstream", story.upstream.as_ref());
        attributes
    }

    fn failed(&self, last: &OpenSpan) -> Status {
        let code = match last.sighting.decision {
            // The message of an error is the upstream's.
            Some(Decision::Allow) | None => None,
            Some(Decision::Block | Decision::Error) => last.sighting.code.as_ref(),
        };
        error(code.map(|code| self.shown(code)).unwrap_or_default())
    }

    fn shown(&self, text: &Text) -> String {
        shown(&self.redactor, text.as_str())
    }
}

/// This program, as what makes spans and logs.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// This gate.
pub(super) fn resource(service: &str, redactor: &Redactor) -> Resource {
    let mut attributes = Attributes::new(redactor);
    attributes.text("service.name", service);
    attributes.text("service.version", env!("CARGO_PKG_VERSION"));
    Resource {
        attributes: attributes.list,
    }
}

/// The tool that is called, if there is one of that name.
fn tool(story: &AuditTrace) -> Option<&Text> {
    let calls = story.traced.method == Some(KnownMethod::ToolsCall);
    let target = story.target.as_ref();
    target.filter(|_| calls && story.traced.named == TargetStatus::Known)
}

/// Revisions are dates; anything else is a text that a peer chose.
fn is_revision(version: &Text) -> bool {
    let version = version.as_str();
    version.len() == 10
        && version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
}

pub(super) fn flags(context: &TraceContext) -> u32 {
    match context.sampled {
        Sampled::Yes => 1,
        Sampled::No => 0,
    }
}

fn error(message: String) -> Status {
    Status {
        message,
        code: StatusCode::Error.into(),
    }
}

/// Without secrets, characters that act instead of showing, and what is too long.
fn shown(redactor: &Redactor, text: &str) -> String {
    let redacted = redactor.redact(text);
    let mut shown = String::new();
    for c in redacted.chars() {
        if shown.len() + c.len_utf8() > LONGEST {
            shown.push('…');
            break;
        }
        shown.push(if misleads(c) { '\u{fffd}' } else { c });
    }
    shown
}

/// Attributes of one span, finished as they are added.
struct Attributes<'r> {
    redactor: &'r Redactor,
    list: Vec<KeyValue>,
}

impl<'r> Attributes<'r> {
    fn new(redactor: &'r Redactor) -> Self {
        let list = Vec::new();
        Self { redactor, list }
    }

    fn add(&mut self, key: &str, value: Value) {
        self.list.push(KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
        });
    }

    fn text(&mut self, key: &str, text: &str) {
        self.add(key, Value::Text(shown(self.redactor, text)));
    }

    fn some(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    fn some_text(&mut self, key: &str, text: Option<&Text>) {
        self.some(key, text.map(Text::as_str));
    }

    /// What was decided, where, why, and by which policies.
    fn judged(&mut self, prefix: &str, asked: &OpenSpan) {
        let sighting = &asked.sighting;
        let decision = sighting.decision.map(Decision::as_str);
        self.some(&format!("{prefix}.decision"), decision);
        self.some_text(&format!("{prefix}.stage"), sighting.stage.as_ref());
        self.some_text(&format!("{prefix}.reason"), sighting.code.as_ref());
        let policies = asked.story.policies.iter().take(MOST_POLICIES);
        let values: Vec<_> = policies
            .map(|policy| AnyValue {
                value: Some(Value::Text(shown(self.redactor, policy.as_str()))),
            })
            .collect();
        if !values.is_empty() {
            let policies = Value::List(ArrayValue { values });
            self.add(&format!("{prefix}.policies"), policies);
        }
    }
}
