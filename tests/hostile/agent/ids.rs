//! Ids that are none, that repeat, and that look alike.

use super::{attack, none_of};
use crate::hostile::dialogue::Talk;
use crate::hostile::envelope::Envelope;

#[test]
fn an_id_is_a_short_string_or_a_safe_integer() {
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#,
        "x".repeat(257)
    );
    none_of(&[
        attack(
            br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":1e0,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(
            br#"{"jsonrpc":"2.0","id":"a\nb","method":"ping"}"#,
            "null",
            -32600,
        ),
        attack(long.as_bytes(), "null", -32600),
    ]);
}

#[test]
fn equal_ids_of_two_types_in_flight_are_answered_each_with_its_own() {
    // The server takes a tenth of a second for each call, one after the other.
    let mut talk = Talk::with("slow", &[]);
    talk.open();
    talk.ask("\"list\"", r#""tools/list""#);
    for id in ["1", "\"1\"", "\"\\u0031\\u0031\"", "-7"] {
        // The id of the handshake is free again.
        talk.call(id, "safe", &format!("for {}", id.replace(['"', '\\'], "'")));
    }
    for id in ["1", "\"1\"", "\"\\u0031\\u0031\"", "-7"] {
        let answer = talk.gate.receive().unwrap();
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        assert!(answer.starts_with(&start), "{answer}");
    }
    let past = talk.close();
    past.has_decisions_and_outcomes(4);
    let calls = super::received(&past, "tools/call");
    let integers = calls
        .iter()
        .all(|call| Envelope::read(call).id.unwrap().is_u64());
    assert!(integers, "{calls:#?}");
}

#[test]
fn an_id_in_flight_cannot_be_used_again() {
    let mut talk = Talk::with("slow", &[]);
    talk.open();
    talk.ask("\"list\"", r#""tools/list""#);
    talk.call("7", "safe", "first");
    talk.call("7", "safe", "second");
    let refusal = talk.gate.receive().unwrap();
    assert!(
        refusal.starts_with(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"#),
        "{refusal}"
    );
    let answer = talk.gate.receive().unwrap();
    assert_eq!(answer, crate::hostile::dialogue::SAFE_RAN);
    talk.call("7", "safe", "third");
    assert_eq!(
        talk.gate.receive().unwrap(),
        crate::hostile::dialogue::SAFE_RAN
    );
    let past = talk.close();
    past.has_decisions_and_outcomes(3);
    assert!(!past.received.contains("second"), "{}", past.received);
}
