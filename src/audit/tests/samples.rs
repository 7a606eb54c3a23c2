//! Records with every field set, and with none.

use super::super::*;
use crate::wire::{Document, Limits, Sampled, Span, SpanId, TraceContext, TraceId};

/// Every field set; each string is what `text` says next.
pub(in crate::audit) fn full(kind: Kind, mut text: impl FnMut() -> String) -> Record {
    // No `..Record::new(kind)`: a new field has to get a value here, or it would be tested nowhere.
    Record {
        kind,
        reference: Some(text().into()),
        event: Some(Event::Started),
        session_id: Some(text().into()),
        agent: Some(Agent {
            id: text().into(),
            asserted_name: Some(text().into()),
            user: Some(text().into()),
            actors: vec![text().into()],
            roles: vec![text().into(), text().into()],
        }),
        operator: Some(text().into()),
        upstream: Some(text().into()),
        transports: Some(Transports {
            agent: "stdio",
            upstream: "http",
        }),
        bridged: Some(text().into()),
        direction: Some(Direction::AgentToUpstream),
        method: Some(text().into()),
        target: Some(text().into()),
        decision: Some(Decision::Block),
        stage: Some(text().into()),
        policies: vec![text().into(), text().into()],
        reason: Reason {
            code: Some(text().into()),
            advice: Some(text().into()),
            text: Some(text().into()),
        },
        obligations: vec![text().into(), text().into()],
        edits: vec![Edit {
            pointer: text().into(),
            op: EditOp::Remove,
            reason: Some(text().into()),
        }],
        revision: Some(text().into()),
        shadow: Some(Shadow {
            revision: text().into(),
            decision: Decision::Block,
            policies: vec![text().into()],
        }),
        tool: Some(ToolVersion {
            digest: Some(text().into()),
            server_version: Some(text().into()),
        }),
        capabilities: Some(Capabilities {
            needed: vec![text().into()],
            held: vec![text().into(), text().into()],
        }),
        arguments_digest: Some(text().into()),
        arguments: Some(body(&text())),
        result: Some(body(&text())),
        params: Some(body(&text())),
        duration_us: Some(71),
        error_code: Some(-32602),
        error_class: Some(ErrorClass::Fatal),
        correlation: Correlation {
            job_id: Some(text().into()),
            trace_id: Some(text().into()),
            workflow_run_id: Some(text().into()),
            task_id: Some(text().into()),
            session_id: Some(text().into()),
            traceparent: Some(text().into()),
        },
        sensitivity: Some(sensitivity(&mut text)),
        consent: Some(Consent {
            required: true,
            outcome: Some(ConsentOutcome::Denied),
            ticket: Some(text().into()),
            by: Some(text().into()),
        }),
        findings: vec![Finding {
            guard: Guard::Secrets,
            code: text().into(),
            detail: text().into(),
        }],
        redactions: vec![text().into(), text().into()],
        lost: Some(3),
        unconfirmed: Some(SeqRange { first: 7, last: 9 }),
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

fn sensitivity(text: &mut impl FnMut() -> String) -> Sensitivity {
    Sensitivity {
        before: Level::Public,
        after: Level::Secret,
        datasets: vec![text().into()],
        added: vec![text().into()],
        sources: vec![text().into()],
        untrusted_from: vec![text().into()],
    }
}

fn body(text: &str) -> Body {
    let json = serde_json::json!({ "text": text, "number": 1.50 }).to_string();
    let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
    Body::of(document.root())
}

/// The strings that [`full`] asks for.
pub(in crate::audit) const TEXTS: usize = 51;

/// The strings of a record as it was read back, in the order in which [`full`] asks for them.
pub(in crate::audit) fn texts_of(line: &serde_json::Value) -> Vec<String> {
    let pointers = [
        "/reference",
        "/session_id",
        "/agent/id",
        "/agent/asserted_name",
        "/agent/user",
        "/agent/actors/0",
        "/agent/roles/0",
        "/agent/roles/1",
        "/operator",
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
        "/tool/digest",
        "/tool/server_version",
        "/capabilities/needed/0",
        "/capabilities/held/0",
        "/capabilities/held/1",
        "/arguments_digest",
        "/arguments/text",
        "/result/text",
        "/params/text",
        "/correlation/job_id",
        "/correlation/trace_id",
        "/correlation/workflow_run_id",
        "/correlation/task_id",
        "/correlation/session_id",
        "/correlation/traceparent",
        "/sensitivity/datasets/0",
        "/sensitivity/added/0",
        "/sensitivity/sources/0",
        "/sensitivity/untrusted_from/0",
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
        Kind::ToolsList | Kind::ToolCall | Kind::Request => Record {
            correlation: Correlation {
                trace_id: Some("0af7651916cd43dd8448eb211c80319c".into()),
                ..Correlation::default()
            },
            ..of_message(record, Decision::Allow).direction(Direction::AgentToUpstream)
        },
        Kind::ToolResult => Record {
            correlation: Correlation {
                job_id: Some("7".into()),
                ..Correlation::default()
            },
            ..of_message(record, Decision::Error)
        },
        Kind::ServerRequest => {
            of_message(record, Decision::Allow).direction(Direction::UpstreamToAgent)
        }
        Kind::Notification | Kind::GateDecision => of_message(record, Decision::Allow),
        Kind::MalformedMessage => record
            .upstream("files")
            .direction(Direction::AgentToUpstream)
            .decision(Decision::Block, "http")
            .reason(Reason::code("not_found")),
        Kind::AuditGap => record.reason(Reason::code("audit_fault")).lost(1),
        Kind::Consent => Record {
            consent: Some(Consent {
                ticket: Some("1".into()),
                ..Consent::default()
            }),
            ..within(record)
                .reference("r-1")
                .event(Event::ConsentGranted)
                .direction(Direction::AgentToUpstream)
        },
        Kind::EgressConnection => within(record)
            .reference("r-1")
            .target("api.example.com:443")
            .decision(Decision::Allow, "decide"),
        Kind::UpstreamState => within(record).event(Event::Down),
        Kind::PolicyReload => record
            .upstream("files")
            .event(Event::Rejected)
            .decision(Decision::Block, "reload")
            .revision("5feceb66")
            .reason(Reason::text("invalid")),
        Kind::AdminRequest => record.decision(Decision::Allow, "admin_api"),
        Kind::Startup => record.upstream("files").revision("5feceb66"),
        Kind::SessionStart | Kind::SessionEnd => within(record),
        Kind::Shutdown => record.reason(Reason::text("a signal")),
        Kind::Checkpoint => record,
    }
}

fn of_message(record: Record, decision: Decision) -> Record {
    let method = if record.kind == Kind::ToolsList {
        "tools/list"
    } else {
        "tools/call"
    };
    within(record)
        .reference("r-1")
        .method(method)
        .decision(decision, "decide")
        .duration(std::time::Duration::ZERO)
}

fn within(record: Record) -> Record {
    let scope = Scope {
        session_id: "s-1".into(),
        agent: Agent::new("agent-1"),
        upstream: "files".into(),
        transports: Transports {
            agent: "stdio",
            upstream: "http",
        },
        bridged: None,
    };
    record.within(&scope).revision("5feceb66")
}
