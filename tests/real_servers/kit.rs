//! The client of the official Rust kit.

use std::fs;

use rmcp::model::{CallToolRequestParams, CallToolResult, Tool};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::{ClientHandler, ServiceExt};
use serde_json::Value;

use crate::real_servers::real::{ALL, Call, Real, each};
use crate::support::json::json;
use crate::support::kit::speaks_to;
use crate::support::peer::Peer;
use crate::support::processes;
use crate::support::setup::Setup;

pub(crate) type Client = RunningService<RoleClient, Named>;

/// A client with a name of its own.
#[derive(Debug, Clone)]
pub(crate) struct Named;

impl ClientHandler for Named {
    fn get_info(&self) -> rmcp::model::ClientConfig {
        let name = rmcp::model::Implementation::new("kit-client", "1");
        rmcp::model::ClientConfig::new(rmcp::model::ClientCapabilities::default(), name)
    }
}

async fn connect(command: std::process::Command) -> Client {
    Named.serve(speaks_to(command)).await.unwrap()
}

pub(crate) async fn call(client: &Client, call: &Call) -> Result<CallToolResult, ServiceError> {
    let arguments = call.arguments.as_object().unwrap().clone();
    client
        .call_tool(CallToolRequestParams::new(call.tool).with_arguments(arguments))
        .await
}

/// What the server says to somebody who asks it without a gate.
pub(crate) async fn direct(real: &Real) -> (Vec<Tool>, CallToolResult) {
    let client = connect(real.direct()).await;
    let tools = client.list_all_tools().await.unwrap();
    let result = call(&client, &real.read).await.unwrap();
    client.cancel().await.unwrap();
    (tools, result)
}

/// A gate whose exit code is written down, since the kit keeps the process to itself.
pub(crate) struct Gate {
    setup: Setup,
    pub(crate) client: Client,
}

impl Gate {
    pub(crate) async fn start(setup: Setup) -> Self {
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", r#""$@"; echo $? >"$0""#])
            .arg(setup.path("exit"))
            .arg(crate::support::setup::GATE)
            .args(setup.arguments())
            .env(crate::support::setup::MARK, setup.mark());
        let client = connect(shell).await;
        Self { setup, client }
    }

    /// The client closes: the gate ends with 0, nothing else is left, and the audit is complete.
    pub(crate) async fn end(self) -> Vec<Value> {
        self.client.cancel().await.unwrap();
        let exit = processes::eventually(|| {
            let exit = fs::read_to_string(self.setup.path("exit")).unwrap_or_default();
            if exit.is_empty() {
                Err("the gate did not end".to_owned())
            } else {
                Ok(exit)
            }
        });
        assert_eq!(exit.trim(), "0");
        processes::all_end(self.setup.mark());
        let audit = self.setup.audit_text();
        audit.lines().map(json).collect()
    }
}

/// The records of one kind: target and decision.
fn decisions<'a>(audit: &'a [Value], kind: &str) -> Vec<[&'a str; 2]> {
    let records = audit.iter().filter(|record| record["kind"] == kind);
    records
        .map(|record| ["target", "decision"].map(|key| record[key].as_str().unwrap_or_default()))
        .collect()
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

#[track_caller]
fn refusal(result: Result<CallToolResult, ServiceError>) -> (i32, String) {
    match result {
        Err(ServiceError::McpError(error)) => (error.code.0, error.message.into_owned()),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn an_allowlist_before_a_real_server_shows_and_permits_what_it_names() {
    each(ALL, |real| {
        block_on(async {
            let (offered, result) = direct(real).await;
            let gate = Gate::start(real.guarded().allow(&real.allow)).await;

            let shown = gate.client.list_all_tools().await.unwrap();
            let is_allowed = |tool: &Tool| real.allow.contains(&&*tool.name);
            let expected: Vec<Tool> = offered
                .iter()
                .filter(|it| is_allowed(it))
                .cloned()
                .collect();
            // All but one of the names are offered.
            assert_eq!(expected.len(), real.allow.len() - 1);
            assert_eq!(shown, expected);

            assert_eq!(call(&gate.client, &real.read).await.unwrap(), result);
            let (code, message) = refusal(call(&gate.client, &real.denied).await);
            let unknown = format!("Unknown tool: {}", real.denied.tool);
            assert_eq!((code, message), (-32602, unknown));
            assert_eq!(call(&gate.client, &real.read).await.unwrap(), result);

            let audit = gate.end().await;
            real.got_only(&real.read);
            let (read, denied) = (real.read.tool, real.denied.tool);
            assert_eq!(
                decisions(&audit, "tool_call"),
                [[read, "ALLOW"], [denied, "BLOCK"], [read, "ALLOW"]]
            );
            assert_eq!(decisions(&audit, "tool_result"), [[read, "ALLOW"]; 2]);
            assert_eq!(decisions(&audit, "tools_list"), [["", "ALLOW"]]);
            let named = audit.iter().filter(|it| it["kind"] == "tool_call");
            for record in named {
                assert_eq!(record["agent"]["asserted_name"], "kit-client");
            }
        });
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_policy_on_arguments_permits_one_call_of_a_real_tool_and_denies_another() {
    each(ALL, |real| {
        block_on(async {
            let (offered, result) = direct(real).await;
            let gate = Gate::start(real.guarded().policies(&real.policy)).await;

            // A tool that some call could be permitted of is shown, and no other.
            let shown = gate.client.list_all_tools().await.unwrap();
            let expected = offered.iter().filter(|tool| tool.name == real.read.tool);
            assert_eq!(shown, expected.cloned().collect::<Vec<_>>());

            assert_eq!(call(&gate.client, &real.read).await.unwrap(), result);
            let (code, message) = refusal(call(&gate.client, &real.refused).await);
            assert_eq!((code, &*message), (4030, "denied by policy"));

            let audit = gate.end().await;
            real.got_only(&real.read);
            let read = real.read.tool;
            assert_eq!(
                decisions(&audit, "tool_call"),
                [[read, "ALLOW"], [read, "BLOCK"]]
            );
            let allowed = audit.iter().find(|it| it["kind"] == "tool_call").unwrap();
            assert_eq!(allowed["policies"], serde_json::json!(["guard"]));
        });
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_hidden_tool_of_a_real_server_is_answered_like_a_missing_one() {
    each(ALL, |real| {
        let setup = real.guarded().allow(&real.allow);
        let mut gate = Peer::start(setup.gate());
        gate.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#);
        gate.receive();
        gate.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        // Denied and there; denied and not there; permitted and not there.
        let mut answers = [real.denied.tool, "missing", "no_such_tool"].map(|tool| {
            gate.send(format!(
                r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"{tool}","arguments":{}}}}}"#,
                real.denied.arguments
            ));
            loop {
                let line = gate.receive().unwrap();
                if line.contains(r#""id":"x""#) {
                    return line.replace(tool, "?");
                }
            }
        });
        answers.sort();
        assert_eq!(answers[0], answers[2]);
        let expected =
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"Unknown tool: ?"}}"#;
        assert_eq!(answers[1], expected);
        assert_eq!(gate.end().code, Some(0));
        processes::all_end(setup.mark());
        assert!(
            !real.received().contains("tools/call"),
            "{}",
            real.received()
        );
    });
}
