//! A server that uses every feature, in both eras: whole conversations, with and without a gate.
//!
//! Left out is what a gate answers itself, on purpose: calls of tools that do not exist, states that
//! nobody gave, and what becomes of a call after its cancellation (`tests/hostile`).

use std::process::Command;

use crate::support::chain::Way;
use crate::support::fixtures::fixture;
use crate::support::setup::{ALLOW_ALL, Setup};
use crate::support::transcript::Step::{self, Ask, Hear, Tell};
use crate::support::transcript::play;

fn check(steps: &[Step<'_>]) {
    check_on(&[Way::Stdio, Way::Http, Way::Routed, Way::Attached], steps);
}

fn check_on(ways: &[Way], steps: &[Step<'_>]) {
    for way in ways {
        compare(steps, *way);
    }
}

fn compare(steps: &[Step<'_>], way: Way) {
    let server = fixture("everything-server");
    let setup = Setup::of([&server]).policies(ALLOW_ALL).agentic();
    let log = setup.path("direct");
    let mut command = Command::new(&server);
    command.env("FIXTURE_LOG", &log);
    let direct = play(command, &log, steps);

    let log = setup.path("through");
    let setup = setup.env("FIXTURE_LOG", log.to_str().unwrap());
    let chain = way.to(setup);
    let through = play(chain.first, &log, steps);
    through.is_same_as(&direct);
}

#[test]
fn a_session_with_every_feature_is_the_same_through_the_gate() {
    check(&[
        Ask(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}},"clientInfo":{"name":"agent","version":"1"}}}"#,
        ),
        Tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        Ask(r#"{"jsonrpc":"2.0","id":"0","method":"ping"}"#),
        Ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        Ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"page-at-4"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"page-at-8"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"page-at-12"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"page-at-16"}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":"echo","method":"tools/call","params":{"name":"echo","arguments":{"text":"\u0061 é ☃ \ud83d\ude00 \" \\ \/ \u0000"}}}"#,
        ),
        Ask(
            r#"{"jsonrpc":"2.0","id":-9007199254740991,"method":"tools/call","params":{"name":"add","arguments":{"b":1E+2,"a":0.10}}}"#,
        ),
        Ask(
            r#"{"jsonrpc":"2.0","id":9007199254740991,"method":"tools/call","params":{"name":"structured","arguments":{"city":"Ísafjörður"}}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"image"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"audio"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"embed"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"fail"}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"protocol_error"}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo"}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"large","arguments":{"bytes":3000000}}}"#,
        ),
        Ask(
            r#"{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"slow","arguments":{"steps":3,"delay_ms":1},"_meta":{"progressToken":"t-1","x":[1.0]}}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":15,"method":"logging/setLevel","params":{"level":"info"}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":"log","arguments":{"level":"error","message":"m\n"}}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"elicit"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":18,"method":"tools/call","params":{"name":"elicit_twice"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":19,"method":"tools/call","params":{"name":"elicit_url"}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"sample","arguments":{"prompt":"\u00fe?"}}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"roots"}}"#),
        Tell(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#),
        Ask(r#"{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"toggle_tool"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":23,"method":"tools/list","params":{"cursor":"page-at-16"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"extra"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":25,"method":"resources/list"}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":26,"method":"resources/list","params":{"cursor":"page-at-4"}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":27,"method":"resources/templates/list","params":{}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":28,"method":"resources/read","params":{"uri":"everything://blob/pixel"}}"#,
        ),
        Ask(
            r#"{"jsonrpc":"2.0","id":29,"method":"resources/read","params":{"uri":"everything://user/ada"}}"#,
        ),
        Ask(
            r#"{"jsonrpc":"2.0","id":30,"method":"resources/read","params":{"uri":"everything://nowhere"}}"#,
        ),
        Ask(
            r#"{"jsonrpc":"2.0","id":31,"method":"resources/subscribe","params":{"uri":"everything://text/changing"}}"#,
        ),
        // The server sends the news beside the result; after `unsubscribe` the gate lets none pass.
        Ask(r#"{"jsonrpc":"2.0","id":32,"method":"tools/call","params":{"name":"touch"}}"#),
        Hear("notifications/resources/updated"),
        Ask(
            r#"{"jsonrpc":"2.0","id":33,"method":"resources/unsubscribe","params":{"uri":"everything://text/changing"}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":34,"method":"tools/call","params":{"name":"touch"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":35,"method":"prompts/list"}"#),
        Ask(r#"{"jsonrpc":"2.0","id":36,"method":"prompts/list","params":{"cursor":"page-at-4"}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":37,"method":"prompts/get","params":{"name":"greeting","arguments":{"style":"curt","name":"\u0041da"}}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":38,"method":"prompts/get","params":{"name":"greeting"}}"#),
        Ask(r#"{"jsonrpc":"2.0","id":39,"method":"prompts/get","params":{"name":"with_image"}}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":40,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"style","value":""}}}"#,
        ),
        Ask(
            r#"{"jsonrpc":"2.0","id":41,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"everything://user/{name}"},"argument":{"name":"name","value":"a"}}}"#,
        ),
    ]);
}

/// A call before any list waits for the gate's own: still nothing else is different.
#[test]
fn a_call_before_any_list_is_the_same_through_the_gate() {
    check(&[
        Ask(
            r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#,
        ),
        Tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        Ask(
            r#"{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#,
        ),
        Ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"elicit"}}"#),
    ]);
}

/// What each stateless request carries.
const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"agent","version":"1"}"#;

fn stateless(id: &str, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{{{META}}}}}}}"#
    )
}

#[test]
fn stateless_requests_with_every_feature_are_the_same_through_the_gate() {
    let state = r#""requestState":"round.1/of+2=\"x\"\n""#;
    let requests = [
        ("0", "server/discover", ""),
        ("1", "tools/list", ""),
        ("\"2\"", "tools/list", r#""cursor":"page-at-4""#),
        (
            "3",
            "tools/call",
            r#""name":"echo","arguments":{"text":"\u0061 ☃"}"#,
        ),
        ("4", "tools/call", r#""name":"structured""#),
        ("5", "tools/call", r#""name":"fail""#),
        ("6", "tools/call", r#""name":"protocol_error""#),
        ("7", "tools/call", r#""name":"elicit""#),
        (
            "8",
            "tools/call",
            r#""name":"elicit","inputResponses":{"answer":{"action":"accept","content":{"name":"\/"}}}"#,
        ),
        ("9", "tools/call", r#""name":"elicit_twice""#),
        (
            "10",
            "tools/call",
            &format!(
                r#""name":"elicit_twice",{state},"inputResponses":{{"answer":{{"action":"accept","content":{{"name":"Ada"}}}}}}"#
            ),
        ),
        ("12", "tools/call", r#""name":"elicit_url""#),
        ("14", "tools/call", r#""name":"roots""#),
        ("15", "resources/list", ""),
        ("16", "resources/templates/list", ""),
        (
            "17",
            "resources/read",
            r#""uri":"everything://text/static""#,
        ),
        ("18", "resources/read", r#""uri":"everything://nowhere""#),
        ("19", "prompts/list", ""),
        (
            "20",
            "prompts/get",
            r#""name":"greeting","arguments":{"name":"\u0041da"}"#,
        ),
        ("21", "tools/call", r#""name":"toggle_tool""#),
        (
            "22",
            "completion/complete",
            r#""ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"style","value":"f"}"#,
        ),
        // Until it is answered, nothing else is called.
        ("13", "tools/call", r#""name":"sample""#),
    ];
    let requests: Vec<String> = requests
        .iter()
        .map(|(id, method, params)| stateless(id, method, params))
        .collect();
    // What it is told on the stream depends on how soon the server notices the listener: see the
    // corpus, which is told in order.
    let listen = stateless(
        "\"listen\"",
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["everything://text/changing"]}"#,
    );
    let mut steps: Vec<Step<'_>> = requests.iter().map(|line| Ask(line)).collect();
    check(&steps);
    let prompts = stateless("99", "prompts/list", "");
    // Over HTTP a closed connection ends the stream instead of a message: see the corpus.
    steps.extend([
        Tell(&listen),
        Hear("notifications/subscriptions/acknowledged"),
        Tell(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"listen","reason":"\u0065nough"}}"#,
        ),
        Ask(&prompts),
    ]);
    check_on(&[Way::Stdio, Way::Attached], &steps);
}
