//! Records with every field set, and with none.

use super::super::*;
use crate::wire::{Sampled, Span, SpanId, TraceContext, TraceId};

/// Every field set; each string is what `text` says next.
pub(in crate::audit) fn full(kind: Kind, mut text: impl FnMut() -> String) -> Record {
    let mut next = || Text::from(text());
    // No `..Record::new(kind)`: a new field has to get a value here, or it would be tested nowhere.
    Record {
        kind,
        reference: Some(next()),
        event: Some(Event::Started),
        session_id: Some(next()),
        agent: Some(Agent {
            id: next(),
            asserted_name: Some(next()),
            roles: vec![next(), next()],
        }),
        upstream: Some(next()),
        bridged: Some(next()),
        direction: Some(Direction::AgentToUpstream),
        method: Some(next()),
        target: Some(next()),
        decision: Some(Decision::Block),
        stage: Some(next()),
        policies: vec![next(), next()],
        reason: Reason {
            code: Some(next()),
            advice: Some(next()),
            text: Some(next()),
        },
        obligations: vec![next(), next()],
        edits: vec![Edit {
            pointer: next(),
            op: EditOp::Remove,
            reason: Some(next()),
        }],
        revision: Some(next()),
        shadow: Some(Shadow {
            revision: next(),
            decision: Decision::Block,
            policies: vec![next()],
        }),
        arguments_digest: Some(next()),
        duration_us: Some(71),
        error_code: Some(-32602),
        error_class: Some(ErrorClass::Fatal),
        correlation: Correlation {
            job_id: Some(next()),
            trace_id: Some(next()),
            workflow_run_id: Some(next()),
            task_id: Some(next()),
            session_id: Some(next()),
            traceparent: Some(next()),
        },
        sensitivity: Some(Sensitivity {
            before: Level::Public,
            after: Level::Secret,
        }),
        consent: Some(Consent {
            ticket: next(),
            by: Some(next()),
        }),
        findings: vec![Finding {
            guard: Guard::Secrets,
            code: next(),
            detail: next(),
        }],
        redactions: vec![next(), next()],
        lost: Some(3),
        traced: Some(Box::new(TraceFields {
            span: Span {
                own: TraceContext {
                    trace: TraceId::new([9; 16]).unwrap(),
                    span: SpanId::new([7; 8]).unwrap(),
                    sampled: Sampled::Yes,
                },
                parent: None,
                beside: None,
                onward: SpanId::new([8; 8]).unwrap(),
            },
            method: None,
            version: None,
            named: TargetStatus::Known,
        })),
    }
}

/// The strings that [`full`] asks for.
pub(in crate::audit) const TEXTS: usize = 36;

/// The strings of a record as it was read back, in the order in which [`full`] asks for them.
pub(in crate::audit) fn texts_of(line: &serde_json::Value) -> Vec<String> {
    let pointers = [
        "/reference",
        "/session_id",
        "/agent/id",
        "/agent/asserted_name",
        "/agent/roles/0",
        "/agent/roles/1",
        "/upstream",
        "/bridged",
        "/method",
        "/target",
        "/stage",
        "/policies/0",
        "/policies/1",
        "/reason/code",
        "/reason/advice",
        "/reason/text",
        "/obligations/0",
        "/obligations/1",
        "/edits/0/pointer",
        "/edits/0/reason",
        "/revision",
        "/shadow/revision",
        "/shadow/policies/0",
        "/arguments_digest",
        "/correlation/job_id",
        "/correlation/trace_id",
        "/correlation/workflow_run_id",
        "/correlation/task_id",
        "/correlation/session_id",
        "/correlation/traceparent",
        "/consent/ticket",
        "/consent/by",
        "/findings/0/code",
        "/findings/0/detail",
        "/redactions/0",
        "/redactions/1",
    ];
    let text = |pointer| line.pointer(pointer).and_then(serde_json::Value::as_str);
    pointers
        .map(|pointer| {
            text(pointer)
                .unwrap_or_else(|| panic!("{pointer}"))
                .to_owned()
        })
        .into()
}

/// The least that a record of this kind has.
pub(in crate::audit) fn least(kind: Kind) -> Record {
    let record = Record::new(kind);
    match kind {
        Kind::ToolsList
        | Kind::ToolCall
        | Kind::Request
        | Kind::ServerRequest
        | Kind::Notification
        | Kind::GateDecision => record.decision(Decision::Allow, "decide"),
        Kind::ToolResult => record.decision(Decision::Error, "inspect"),
        Kind::MalformedMessage => record.decision(Decision::Block, "decode"),
        Kind::AuditGap => record.lost(1),
        Kind::Consent => record.event(Event::ConsentGranted),
        Kind::UpstreamState => record.event(Event::Down),
        Kind::PolicyReload => record
            .event(Event::Rejected)
            .decision(Decision::Block, "reload")
            .revision("5feceb66"),
        Kind::Startup
        | Kind::SessionStart
        | Kind::SessionEnd
        | Kind::Shutdown
        | Kind::Checkpoint => record,
    }
}
