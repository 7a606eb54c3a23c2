//! Requests that are JSON, and not what they claim to be.

use super::{attack, dropped, none_of};
use crate::hostile::dialogue::Talk;
use crate::support::fixtures::fixture;
use crate::support::setup::{ALLOW_ALL, Setup};

#[test]
fn a_method_is_decoded_before_it_is_compared_and_then_compared_exactly() {
    none_of(&[
        attack(br#"{"jsonrpc":"2.0","id":1,"method":"tools\u002fcall","params":{"name":"evil"}}"#, "1", -32602),
        attack(br#"{"jsonrpc":"2.0","id":2,"method":"tools\/call","params":{"name":"\u0065vil"}}"#, "2", -32602),
        attack(br#"{"jsonrpc":"2.0","id":3,"m\u0065thod":"tools/call","params":{"n\u0061me":"evil"}}"#, "3", -32602),
        attack(br#"{"jsonrpc":"2.0","id":4,"method":"tools/call ","params":{"name":"evil"}}"#, "4", -32601),
        attack(br#"{"jsonrpc":"2.0","id":5,"method":"Tools/Call","params":{"name":"evil"}}"#, "5", -32601),
        attack(br#"{"jsonrpc":"2.0","id":6,"method":"tools/call\u0000","params":{"name":"evil"}}"#, "6", -32600),
        attack("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools\u{2215}call\",\"params\":{\"name\":\"evil\"}}".as_bytes(), "7", -32601),
        attack(br#"{"jsonrpc":"2.0","id":8,"method":"","params":{"name":"evil"}}"#, "8", -32601),
        attack(br#"{"jsonrpc":"2.0","id":9,"method":7,"params":{"name":"evil"}}"#, "9", -32600),
    ]);
}

#[test]
fn malformed_params_of_a_known_method_are_refused() {
    none_of(&[
        attack(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, "1", -32602),
        attack(br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#, "2", -32602),
        attack(br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"safe","arguments":["denied-payload"]}}"#, "3", -32602),
        attack(br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"safe","arguments":"denied-payload"}}"#, "4", -32602),
        attack(br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"safe","requestState":1}}"#, "5", -32602),
        attack(br#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"safe","inputResponses":[]}}"#, "6", -32602),
        attack(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}"#, "7", -32602),
        attack(br#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":["safe"]}}"#, "8", -32602),
        attack(br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"safe","_meta":1}}"#, "9", -32602),
        attack(br#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":null}}"#, "10", -32602),
        attack(br#"{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{"uri":7}}"#, "11", -32602),
        attack(br#"{"jsonrpc":"2.0","id":12,"method":"prompts/get","params":{"name":"p","arguments":[]}}"#, "12", -32602),
    ]);
}

#[test]
fn positional_params_are_refused() {
    none_of(&[
        attack(
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["evil",{}]}"#,
            "1",
            -32602,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":"evil"}"#,
            "2",
            -32602,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":null}"#,
            "3",
            -32602,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":4,"method":"x/unknown","params":["evil"]}"#,
            "4",
            -32602,
        ),
    ]);
}

#[test]
fn a_call_without_an_id_is_dropped() {
    let past = none_of(&[
        dropped(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"safe"}}"#),
        dropped(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"evil"}}"#),
        dropped(br#"{"jsonrpc":"2.0","method":"initialize","params":{}}"#),
        dropped(br#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{"x":"denied-payload"}}"#),
    ]);
    assert_eq!(past.of_kind("tool_call").count(), 0);
}

#[test]
fn a_message_has_exactly_one_shape() {
    none_of(&[
        attack(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"},"result":{}}"#, "1", -32600),
        attack(br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"},"error":{"code":1,"message":"m"}}"#, "2", -32600),
        // No request: under its id the agent may wait for something else.
        dropped(br#"{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":"m"}}"#),
        attack(br#"{"jsonrpc":"2.0","id":4}"#, "4", -32600),
        attack(br#"{"jsonrpc":"1.0","id":5,"method":"tools/call","params":{"name":"evil"}}"#, "5", -32600),
        attack(br#"{"id":6,"method":"tools/call","params":{"name":"evil"}}"#, "6", -32600),
        attack(br#"{"jsonrpc":2.0,"id":7,"method":"tools/call","params":{"name":"evil"}}"#, "7", -32600),
        dropped(br#"{"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"denied-payload"}]}}"#),
        dropped(br#"{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"denied-payload"}}"#),
        attack(br#"{"jsonrpc":"2.0","id":10,"method":"notifications/initialized"}"#, "10", -32600),
    ]);
}

#[test]
fn a_task_that_did_not_begin_here_is_asked_about_in_vain() {
    none_of(&[
        attack(br#"{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"evil"}}"#, "1", -32602),
        attack(br#"{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"evil"}}"#, "2", -32602),
        attack(br#"{"jsonrpc":"2.0","id":3,"method":"tasks/cancel","params":{"taskId":"evil"}}"#, "3", -32602),
        attack(br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"evil"}}}}"#, "4", -32602),
    ]);
}

#[test]
fn an_unknown_method_is_refused_both_ways() {
    none_of(&[
        attack(br#"{"jsonrpc":"2.0","id":1,"method":"x/anything","params":{"name":"evil"}}"#, "1", -32601),
        attack(br#"{"jsonrpc":"2.0","id":2,"method":"tasks/delete","params":{"taskId":"evil"}}"#, "2", -32601),
        // Of the other era.
        attack(br#"{"jsonrpc":"2.0","id":3,"method":"tasks/update","params":{"taskId":"evil"}}"#, "3", -32601),
        attack(br#"{"jsonrpc":"2.0","id":4,"method":"rpc.discover"}"#, "4", -32601),
        // A server's own requests, from the wrong side.
        attack(br#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#, "5", -32601),
        attack(br#"{"jsonrpc":"2.0","id":6,"method":"roots/list"}"#, "6", -32601),
        dropped(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
        dropped(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"denied-payload"}}"#),
    ]);
}

/// What only sessions have does not exist for an agent that is stateless, even if all is permitted.
#[test]
fn a_method_of_the_other_era_is_unknown() {
    let setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    let mut talk = Talk::through(setup);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let asked = talk.ask("1", &format!(r#""server/discover","params":{{{meta}}}"#));
    assert!(asked.contains(r#""result""#), "{asked}");
    let level = format!(r#""logging/setLevel","params":{{"level":"debug",{meta}}}"#);
    let answer = talk.ask("2", &level);
    assert!(answer.contains(r#""code":-32601,"#), "{answer}");
    let past = talk.end();
    assert!(!past.received.contains("setLevel"), "{}", past.received);
}
