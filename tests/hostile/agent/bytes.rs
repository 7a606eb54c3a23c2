//! Frames that are no JSON, too much of it, or JSON that others read differently.

use super::{Attack, attack, none_of, received};
use crate::hostile::dialogue::Talk;

#[test]
fn keys_that_repeat_after_decoding_are_refused_at_any_depth() {
    none_of(&[
        attack(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","name":"evil"}}"#, "1", -32600),
        attack(br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"safe","n\u0061me":"evil"}}"#, "2", -32600),
        attack(br#"{"jsonrpc":"2.0","id":3,"method":"tools/list","method":"tools/call","params":{"name":"evil"}}"#, "3", -32600),
        attack(br#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"safe"},"params":{"name":"evil"}}"#, "4", -32600),
        attack(br#"{"jsonrpc":"2.0","id":5,"id":6,"method":"tools/call","params":{"name":"evil"}}"#, "null", -32600),
        attack(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe","arguments":{"text":"/ok","text":"denied-payload"}}}"#, "7", -32600),
        attack(br#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"safe","arguments":{"a":[{"b":{"c":1,"\u0063":"denied-payload"}}]}}}"#, "8", -32600),
        attack(br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"safe","_meta":{"a":1,"a":"denied-payload"}}}"#, "9", -32600),
        attack(br#"{"jsonrpc":"2.0","id":10,"method":"resources/read","params":{"uri":"a://b","uri":"a://denied-payload"}}"#, "10", -32600),
        attack(br#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"evil"}}"#, "11", -32600),
    ]);
}

#[test]
fn keys_that_a_lenient_reader_takes_for_others_are_refused() {
    none_of(&[
        attack(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","Name":"evil"}}"#, "1", -32600),
        attack(br#"{"jsonrpc":"2.0","id":2,"method":"tools/list","METHOD":"tools/call","params":{"name":"evil"}}"#, "2", -32600),
        attack(br#"{"jsonrpc":"2.0","id":3,"Method":"tools/call","params":{"name":"evil"}}"#, "3", -32600),
        attack("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"safe\"},\"param\u{17f}\":{\"name\":\"evil\"}}".as_bytes(), "4", -32600),
        attack("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"safe\",\"\u{ff4e}ame\":\"evil\"}}".as_bytes(), "5", -32600),
        attack(br#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"safe","name\u0000":"evil"}}"#, "6", -32600),
        attack(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe","\u001fname":"evil"}}"#, "7", -32600),
    ]);
}

#[test]
fn bytes_that_are_not_one_json_document_in_utf8_are_refused() {
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}"#;
    let with = |before: &[u8], after: &[u8]| [before, call, after].concat();
    let utf16: Vec<u8> = call.iter().flat_map(|byte| [*byte, 0]).collect();
    let frames: Vec<Vec<u8>> = vec![
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\xff\"}}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"nam\xc1\xa5\":\"evil\"}}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\xed\xa0\x80\xed\xb0\x80\"}}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\xf5\x80\x80\x80\"}}".to_vec(),
        utf16,
        with(b"\xef\xbb\xbf", b""),
        with(b"\0", b""),
        with(b"", b"\0"),
        with(b"", b"{}"),
        with(b"", b" {\"x\":1}"),
        with(b"", b"]"),
        with(b"/* */", b""),
        with(b")]}',", b""),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil",}}"#.to_vec(),
        br"{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'evil'}}".to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil","arguments":{"n":NaN}}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil","arguments":{"n":01}}}"#.to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\t\"}}".to_vec(),
        b"{\"jsonrpc\":\"2.0\"".to_vec(),
        b"\"evil\"".to_vec(),
    ];
    let last = frames.len() - 1;
    let attacks: Vec<Attack<'_>> = frames
        .iter()
        .enumerate()
        // A text is JSON, only no message.
        .map(|(at, frame)| attack(frame, "null", if at == last { -32600 } else { -32700 }))
        .collect();
    none_of(&attacks);
    // Half a pair of surrogates is a question of the text, not of the syntax: the id was read.
    none_of(&[attack(
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil\ud800"}}"#,
        "1",
        -32700,
    )]);
}

#[test]
fn a_carriage_return_does_not_smuggle_a_second_frame() {
    let mut talk = Talk::with("proper", &[]);
    talk.open();
    talk.gate.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"cr\",\"method\":\"ping\",\"params\":{\"x\":\r{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\",\"arguments\":{}}}\r}}\r\n");
    talk.answer("\"cr\"");
    talk.gate.write(b"\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8\n");
    let answer = talk.gate.receive().unwrap();
    assert!(
        answer.contains(r#""id":null,"error":{"code":-32700,"#),
        "{answer}"
    );
    let past = talk.close();
    assert!(
        !past.received.contains(['\r', '\u{85}', '\u{2028}']),
        "{}",
        past.received
    );
    assert_eq!(received(&past, "tools/call"), [""; 0]);
    let expected = r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil","arguments":{}}}}}"#;
    assert_eq!(received(&past, "ping"), [expected]);
}

#[test]
fn a_batch_is_refused_as_a_whole() {
    none_of(&[
        attack(br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}}]"#, "null", -32600),
        attack(br#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe"}}]"#, "null", -32600),
        attack(b"[]", "null", -32600),
    ]);
}

#[test]
fn deep_and_large_frames_are_refused_in_bounded_memory() {
    let mut many_keys =
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","arguments":{"#
            .to_vec();
    for key in 0..200_000 {
        many_keys.extend(format!("\"{key}\":0,").bytes());
    }
    many_keys.extend(br#""last":0}}}"#);
    let mut deep_arguments = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","arguments":{"a":"#.to_vec();
    deep_arguments.extend([b'['; 100]);
    deep_arguments.extend([b']'; 100]);
    deep_arguments.extend(b"}}}");
    none_of(&[
        attack(&vec![b'['; 100_000], "null", -32700),
        attack(&br#"{"a":"#.repeat(100_000), "null", -32700),
        attack(&deep_arguments, "1", -32700),
        attack(&many_keys, "null", -32700),
        attack(&vec![b'7'; 5 << 20], "null", -32600),
    ]);
}

#[test]
fn a_line_without_end_takes_no_memory_and_the_next_one_works() {
    let mut talk = Talk::with("proper", &[]);
    talk.open();
    for _ in 0..64 {
        talk.gate.write(&vec![b'x'; 1 << 20]);
    }
    // Told as soon as the limit is passed, and once.
    let answer = talk.gate.receive().unwrap();
    assert!(
        answer.contains(r#""id":null,"error":{"code":-32600,"#),
        "{answer}"
    );
    talk.gate.write(b"\n");
    talk.call("7", "safe", "x");
    assert_eq!(
        talk.gate.receive().unwrap(),
        crate::hostile::dialogue::SAFE_RAN
    );
    let growth = talk.growth_kib();
    assert!(growth < 24 << 10, "a limit of 4 MiB, and {growth} KiB more");
    talk.end();
}

#[test]
fn numbers_and_spellings_reach_the_server_as_the_agent_wrote_them() {
    let arguments = r#"{"n":18446744073709551616,"f":1.0,"z":-0,"e":1E400,"t":1e-400,"s":"\u0041\/\ud83d\ude00","":null,"__proto__":{"x":1}}"#;
    let params = format!(r#"{{"name":"s\u0061fe","arguments":{arguments}}}"#);
    // It cannot read such numbers itself, but it writes down what it gets.
    let mut talk = Talk::with("proper", &[r#"tool_timeouts = { safe = "700ms" }"#]);
    talk.open();
    talk.ask("7", &format!(r#""tools\/call","params":{params}"#));
    let past = talk.close();
    let sent = received(&past, "tools/call");
    assert_eq!(sent.len(), 1);
    let expected = format!(r#""method":"tools\/call","params":{params}}}"#);
    assert!(sent[0].ends_with(&expected), "{}", sent[0]);
}
