//! The second story: a workspace, over HTTP, with sandboxed servers.

use super::failure::DemoFailure;
use super::logs::JsonLine;
use super::story::{
    CALL, DemoChapter, DemoCheck, DemoEvidence, DemoRequest, DemoRow, DemoSetting, DemoStory,
    DemoToken, INITIALIZE, INITIALIZED,
};
use super::traces::RequestTraces;

/// The labels of what the two servers receive.
const PRIMARY: &str = "primary";
const ISOLATED: &str = "isolated";

const FETCH: &str = r#"{"name":"fetch_page","arguments":{"url":"https://docs.example.com/cups"}}"#;
const COUNT: &str = r#"{"name":"count_words","arguments":{"path":"/workspace/plan.txt"}}"#;

pub(super) static WORKSPACE: DemoStory = DemoStory {
    name: "workspace",
    title: "A second story: private data, and no way out for it",
    introduction: "The agent now comes over HTTP with a token, and the kernel confines the server, which works on \
        files, orders and customers. It is there twice: `primary` and `isolated` are what each of the two gets. A \
        port of this machine stands for the network, and the demo shows what arrives there. The gate also asks a \
        server for its tools, before it judges a call of one.",
    drawing: "  agent  ⇄  gate  ⇄  workspace-server  →  network\n                  ⇄  the same, isolated",
    setting: DemoSetting::Sandboxed,
    pack: "policies/private-workspace",
    files: &[
        (
            "gate.toml",
            include_str!("../../../policies/private-workspace/gate.toml"),
        ),
        (
            "agents.toml",
            include_str!("../../../policies/private-workspace/agents.toml"),
        ),
        (
            "roots.toml",
            include_str!("../../../policies/private-workspace/roots.toml"),
        ),
        (
            "tools.toml",
            include_str!("../../../policies/private-workspace/tools.toml"),
        ),
        (
            "work.cedar",
            include_str!("../../../policies/private-workspace/work.cedar"),
        ),
        (
            "limits.cedar",
            include_str!("../../../policies/private-workspace/limits.cedar"),
        ),
    ],
    servers: &[
        (PRIMARY, "primary-received.jsonl"),
        (ISOLATED, "isolated-received.jsonl"),
    ],
    chapters: &[TOKEN, PATH, TRUNCATION, OPEN, CLOSED, MOVED, FATAL],
    logged: &[
        "the session has become too sensitive for its server, and goes on with workspace (isolated)",
    ],
    records: &[
        "tool_call ALLOW write_file",
        "tool_result ALLOW write_file",
        "tool_call BLOCK read_file",
        "tool_call ALLOW list_orders",
        "tool_result ALLOW list_orders",
        "tool_call ALLOW read_file",
        "tool_result ALLOW read_file",
        "tool_call ALLOW fetch_page",
        "tool_result ALLOW fetch_page",
        "tool_call ALLOW count_words",
        "tool_result ALLOW count_words",
        "tool_call ALLOW find_customer",
        "tool_result ALLOW find_customer",
        "tool_call BLOCK fetch_page",
        "tool_call ALLOW count_words",
        "tool_result ALLOW count_words",
        "tool_call ALLOW list_orders",
        "tool_result ALLOW list_orders",
    ],
};

/// A call with what reached the network.
const CONNECTING: DemoRequest = DemoRequest {
    rows: &[
        DemoRow::Decision("tool_call"),
        DemoRow::Messages,
        DemoRow::Network,
    ],
    ..CALL
};

const TOKEN: DemoChapter = DemoChapter {
    title: "Only an agent with a token gets a session",
    introduction: "",
    requests: &[
        DemoRequest {
            method: "initialize",
            params: |_| INITIALIZE.to_owned(),
            token: DemoToken::Missing,
            evidence: DemoEvidence::Answer,
            rows: &[
                DemoRow::Text("gate", |traces| Ok(traces.status())),
                DemoRow::Messages,
            ],
            checks: &[
                DemoCheck(
                    "the gate rejects a request without a token",
                    &["HTTP 401 Unauthorized"],
                    |traces| Ok(vec![traces.status()]),
                ),
                DemoCheck("no server receives it", &[], RequestTraces::received_params),
            ],
            ..CALL
        },
        DemoRequest {
            method: "initialize",
            params: |_| INITIALIZE.to_owned(),
            then: &[INITIALIZED],
            rows: &[
                DemoRow::Text("token", |_| Ok("that of `ada` in gate.toml".to_owned())),
                DemoRow::Decision("request"),
                DemoRow::Text("agent is", |traces| {
                    let agent = traces.record("request")?;
                    let roles = agent.texts("/agent/roles", "").join(", ");
                    Ok(format!(
                        "`{}`, with the role {roles}",
                        agent.text("/agent/id")
                    ))
                }),
                DemoRow::Messages,
            ],
            checks: &[
                DemoCheck("the token says who the agent is", &["ada"], |traces| {
                    traces.recorded("request", "/agent/id")
                }),
                DemoCheck(
                    "the rejected request has a record too",
                    &["token_missing"],
                    |traces| traces.recorded("malformed_message", "/reason/code"),
                ),
                DemoCheck(
                    "the workspace server answers",
                    &["workspace-server"],
                    |traces| Ok(vec![traces.answer.text("/result/serverInfo/name")]),
                ),
            ],
            ..CALL
        },
    ],
};

const PATH: DemoChapter = DemoChapter {
    title: "The agent knows its own directory by a virtual path",
    introduction: "",
    requests: &[
        DemoRequest {
            params: |_| {
                r#"{"name":"write_file","arguments":{"path":"/workspace/plan.txt","text":"Pack the blue cups."}}"#
                    .to_owned()
            },
            checks: &[
                DemoCheck(
                    "the server gets the path in the directory of this session",
                    &["${session}/plan.txt"],
                    own_paths,
                ),
                DemoCheck(
                    "the agent gets the virtual path",
                    &["written: /workspace/plan.txt"],
                    |traces| Ok(traces.content()),
                ),
            ],
            ..CALL
        },
        DemoRequest {
            params: |_| {
                r#"{"name":"read_file","arguments":{"path":"/workspace/../etc/passwd"}}"#.to_owned()
            },
            checks: &[
                DemoCheck(
                    "the gate denies a path outside the workspace",
                    &["workspace-only"],
                    |traces| Ok(traces.record("tool_call")?.texts("/policies", "")),
                ),
                DemoCheck("no server receives the call", &[], |traces| {
                    Ok(traces.called())
                }),
            ],
            ..CALL
        },
    ],
};

const TRUNCATION: DemoChapter = DemoChapter {
    title: "A long result becomes a file in that directory",
    introduction: "",
    requests: &[
        DemoRequest {
            params: |_| r#"{"name":"list_orders","arguments":{"year":"2026"}}"#.to_owned(),
            rows: &[
                DemoRow::Decision("tool_call"),
                DemoRow::Messages,
                DemoRow::Text("in it", |traces| {
                    let text = traces.content().join("");
                    let notice = text.lines().find(|line| line.starts_with("[mcp-protector"));
                    Ok(notice.unwrap_or_default().to_owned())
                }),
            ],
            checks: &[
                DemoCheck("the agent gets an excerpt", &["true"], |traces| {
                    Ok(vec![
                        (traces.content().join("").len() < ORDERS_BYTES).to_string(),
                    ])
                }),
                DemoCheck(
                    "the record has the finding `result_saved`",
                    &["result_saved"],
                    |traces| Ok(traces.record("tool_result")?.texts("/findings", "/code")),
                ),
            ],
            ..CALL
        },
        DemoRequest {
            params: |before| {
                let text = before.texts("/result/content", "/text").join("");
                let saved = saved_file(&text);
                format!(r#"{{"name":"read_file","arguments":{{"path":"{saved}"}}}}"#)
            },
            checks: &[DemoCheck(
                "the agent reads all of it with the server's own tool",
                &["2160 bytes, order 120 at their end"],
                |traces| {
                    let text = traces.content().join("");
                    let last = text.lines().last().unwrap_or_default();
                    let (order, _) = last.split_once(':').unwrap_or_default();
                    Ok(vec![format!("{} bytes, {order} at their end", text.len())])
                },
            )],
            ..CALL
        },
    ],
};

const OPEN: DemoChapter = DemoChapter {
    title: "Nothing private is read yet: the way out is open",
    introduction: "The policies know that `fetch_page` connects. They do not know that `count_words` sends \
        each count to another host.",
    requests: &[
        DemoRequest {
            params: |_| FETCH.to_owned(),
            checks: &[DemoCheck(
                "the page is fetched",
                &["GET https://docs.example.com/cups"],
                |traces| Ok(traces.network.clone()),
            )],
            ..CONNECTING
        },
        DemoRequest {
            params: |_| COUNT.to_owned(),
            checks: &[DemoCheck(
                "the server sends something by itself",
                &["POST https://statistics.example.net/ 4 words"],
                |traces| Ok(traces.network.clone()),
            )],
            ..CONNECTING
        },
    ],
};

const CLOSED: DemoChapter = DemoChapter {
    title: "After private data the gate denies what connects",
    introduction: "tools.toml labels the results of `find_customer` as confidential. The session then is, too.",
    requests: &[
        DemoRequest {
            params: |_| r#"{"name":"find_customer","arguments":{"name":"Ada"}}"#.to_owned(),
            rows: &[
                DemoRow::Decision("tool_call"),
                DemoRow::Messages,
                DemoRow::Text("session", |traces| {
                    let moved = traces.record("upstream_state")?;
                    let (event, server) = (moved.text("/event"), moved.text("/upstream"));
                    Ok(format!("{event}: {server}"))
                }),
            ],
            checks: &[
                DemoCheck("the primary server answers", &[PRIMARY], |traces| {
                    Ok(traces.called())
                }),
                DemoCheck(
                    "the session moves to the isolated server",
                    &["switched_to_isolated"],
                    |traces| traces.recorded("upstream_state", "/event"),
                ),
            ],
            ..CALL
        },
        DemoRequest {
            params: |_| FETCH.to_owned(),
            checks: &[
                DemoCheck(
                    "the gate denies the same call",
                    &["builtin.no_egress"],
                    |traces| Ok(traces.record("tool_call")?.texts("/policies", "")),
                ),
                DemoCheck("no server receives it", &[], |traces| Ok(traces.called())),
                DemoCheck("nothing reaches the network", &[], |traces| {
                    Ok(traces.network.clone())
                }),
            ],
            ..CONNECTING
        },
    ],
};

const MOVED: DemoChapter = DemoChapter {
    title: "The session continues where there is no network",
    introduction: "",
    requests: &[DemoRequest {
        params: |_| COUNT.to_owned(),
        checks: &[
            DemoCheck(
                "the isolated server receives the call",
                &[ISOLATED],
                |traces| Ok(traces.called()),
            ),
            DemoCheck(
                "the audit log says so",
                &["workspace (isolated)"],
                |traces| traces.recorded("tool_call", "/upstream"),
            ),
            DemoCheck(
                "the kernel lets the server send nothing",
                &["4 words (notice not sent: permission denied)"],
                |traces| Ok(traces.content()),
            ),
            DemoCheck("nothing reaches the network", &[], |traces| {
                Ok(traces.network.clone())
            }),
        ],
        ..CONNECTING
    }],
};

const FATAL: DemoChapter = DemoChapter {
    title: "A fatal error ends the session",
    introduction: "",
    requests: &[
        DemoRequest {
            params: |_| r#"{"name":"list_orders","arguments":{"year":"1999"}}"#.to_owned(),
            evidence: DemoEvidence::Answer,
            rows: &[DemoRow::Messages],
            checks: &[DemoCheck(
                "the agent gets the error",
                &["[FATAL] the archive of orders is lost"],
                |traces| Ok(traces.content()),
            )],
            ..CALL
        },
        DemoRequest {
            params: |_| COUNT.to_owned(),
            evidence: DemoEvidence::Answer,
            rows: &[
                DemoRow::Text("gate", |traces| Ok(traces.status())),
                DemoRow::Messages,
            ],
            checks: &[
                DemoCheck("the session has ended", &["HTTP 404 Not Found"], |traces| {
                    Ok(vec![traces.status()])
                }),
                DemoCheck("no server receives the call", &[], |traces| {
                    Ok(traces.called())
                }),
            ],
            ..CALL
        },
        DemoRequest {
            method: "initialize",
            params: |_| INITIALIZE.to_owned(),
            then: &[INITIALIZED],
            rows: &[DemoRow::Decision("request"), DemoRow::Messages],
            checks: &[
                DemoCheck("the log knows the error as fatal", &["fatal"], |traces| {
                    traces.recorded("tool_result", "/error_class")
                }),
                DemoCheck(
                    "a new session has the primary server",
                    &["workspace"],
                    |traces| traces.recorded("request", "/upstream"),
                ),
            ],
            ..CALL
        },
    ],
};

/// The bytes of all orders.
const ORDERS_BYTES: usize = 2160;

/// The paths that servers received, below the directory of all sessions.
fn own_paths(traces: &RequestTraces) -> Result<Vec<String>, DemoFailure> {
    let session = traces.record("tool_call")?.text("/session_id");
    let mut paths = Vec::new();
    for params in traces.received_params()? {
        let path = JsonLine::read(&params)?.text("/arguments/path");
        if let Some((_, own)) = path.split_once("/sessions/") {
            paths.push(own.replace(&session, "${session}"));
        }
    }
    Ok(paths)
}

/// The file that the notice of a truncated result names.
fn saved_file(text: &str) -> &str {
    let named = text.split_once("All of it is the file ");
    let named = named.and_then(|(_, rest)| rest.split_once(']'));
    named.map(|(file, _)| file).unwrap_or_default()
}
