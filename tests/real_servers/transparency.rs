//! Whole conversations with real servers, with and without a gate that permits everything.

use serde_json::Value;

use crate::real_servers::real::{
    Call, DUAL, Real, each, everything, filesystem, git, memory, time,
};
use crate::support::setup::ALLOW_ALL;
use crate::support::transcript::Step::{Ask, Hear, Tell};
use crate::support::transcript::{Step, play};

fn check(real: &Real, steps: &[Step<'_>]) {
    let nowhere = real.home().join("nowhere");
    let direct = play(real.direct(), &nowhere, steps);
    let mut setup = real.behind().policies(ALLOW_ALL).agentic();
    // The server is to refuse wrong arguments itself.
    "arguments = \"report\"".clone_into(&mut setup.guards);
    let through = play(setup.gate(), &nowhere, steps);
    through.is_same_as(&direct);
}

/// Members that no typed client would send stand in some of the requests.
fn params(call: &Call, more: &str) -> String {
    let Call { tool, arguments } = call;
    format!(r#""params":{{"name":"{tool}","arguments":{arguments}{more}}}"#)
}

fn broken(call: &Call) -> Call {
    Call {
        tool: call.tool,
        arguments: Value::Object(serde_json::Map::new()),
    }
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn a_session_with_a_real_server_is_the_same_through_the_gate() {
    each(&[filesystem, memory, git, time], |real| {
        let read = params(
            &real.read,
            r#","_meta":{"vendor.example/x":[1.0,1e2]},"x":null"#,
        );
        let calls = [
            format!(r#"{{"jsonrpc":"2.0","id":"one","method":"tools/call",{read}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":-2,"method":"tools/call",{}}}"#,
                params(&broken(&real.read), "")
            ),
            format!(
                r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call",{}}}"#,
                params(&real.refused, "")
            ),
        ];
        check(
            real,
            &[
                Ask(
                    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x-vendor":{}},"clientInfo":{"name":"agent","version":"1","x":1.0}}}"#,
                ),
                Tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
                Ask(r#"{"jsonrpc":"2.0","id":"0","method":"ping"}"#),
                Ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#),
                Ask(&calls[0]),
                Ask(&calls[1]),
                Ask(&calls[2]),
                Ask(r#"{"jsonrpc":"2.0","id":4,"method":"resources/list"}"#),
                Ask(r#"{"jsonrpc":"2.0","id":5,"method":"prompts/list"}"#),
                Ask(
                    r#"{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"nowhere://a/é"}}"#,
                ),
            ],
        );
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn what_a_real_server_asks_and_tells_is_the_same_through_the_gate() {
    each(&[everything], |real| {
        check(
            real,
            &[
                // It says that its list has changed before it answers this.
                Ask(
                    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"agent","version":"1"}}}"#,
                ),
                Tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
                Ask(r#"{"jsonrpc":"2.0","id":"0","method":"ping"}"#),
                Ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
                Ask(
                    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"trigger-sampling-request","arguments":{"prompt":"\u00fe?","maxTokens":10}}}"#,
                ),
                Ask(
                    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"trigger-elicitation-request","arguments":{}}}"#,
                ),
                Tell(
                    r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":0.2,"steps":2},"_meta":{"progressToken":"\u0061"}}}"#,
                ),
                Hear("notifications/progress"),
                Hear(r#""id":4"#),
                Ask(
                    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"get-structured-content","arguments":{"location":"Chicago"}}}"#,
                ),
                Ask(r#"{"jsonrpc":"2.0","id":6,"method":"resources/templates/list"}"#),
                Ask(r#"{"jsonrpc":"2.0","id":7,"method":"prompts/list"}"#),
            ],
        );
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn stateless_requests_to_a_real_server_are_the_same_through_the_gate() {
    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"agent","version":"1"},"x":[1.0]}"#;
    each(DUAL, |real| {
        let requests = [
            format!(
                r#"{{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{{{META}}}}}"#
            ),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":"1","method":"tools/call",{}}}"#,
                params(&real.read, &format!(",{META}"))
            ),
            format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call",{}}}"#,
                params(&broken(&real.read), &format!(",{META}"))
            ),
            format!(r#"{{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{{{META}}}}}"#),
        ];
        let steps: Vec<Step<'_>> = requests.iter().map(|line| Ask(line)).collect();
        check(real, &steps);
    });
}
