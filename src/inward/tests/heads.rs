//! Which heads are taken.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::inward::head::{Limits, Rest, Scanned, Scanner, Targets};
use crate::inward::misframed::Misframed;
use crate::inward::oracle::{LIMITS, laws};

/// The status of a head; 200 if it is taken.
fn status(head: &str) -> u16 {
    match Scanner::new(LIMITS).scan(head.as_bytes()) {
        Ok(Scanned::Whole { .. }) => 200,
        Ok(Scanned::Partial) => 0,
        Err(cause) => cause.status(),
    }
}

/// A POST with further fields, each with its line end.
#[track_caller]
fn check(status_is: u16, fields: &[&str]) {
    for field in fields {
        let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{field}\r\n");
        assert_eq!(status(&head), status_is, "{field:?}");
        laws(head.as_bytes());
    }
}

#[test]
fn a_head_is_taken_only_if_every_reader_sees_the_same_end_of_its_body() {
    check(
        200,
        &[
            "",
            "Content-Length: 0\r\n",
            "Content-Length:4\r\n",
            "content-length: \t 4 \t\r\n",
            "Accept: a\r\nAccept: b\r\n",
            "X: \u{e4}\u{4e00}\r\n",
            "X:\r\n",
            "X-Content-Length: 4, 4\r\n",
            "Transfer-Encoding: chunked\r\n",
            "transfer-encoding:chunked \t\r\n",
        ],
    );
    check(
        400,
        &[
            "Content-Length: 4\r\nContent-Length: 4\r\n",
            "Content-Length: 4\r\ncontent-length: 5\r\n",
            "Content-Length: 4, 4\r\n",
            "Content-Length: 4,\r\n",
            "Content-Length: +4\r\n",
            "Content-Length: -4\r\n",
            "Content-Length: 0x4\r\n",
            "Content-Length: 04\r\n",
            "Content-Length: 4 4\r\n",
            "Content-Length: 4;\r\n",
            "Content-Length:\r\n",
            "Content-Length: 9999999999999999999\r\n",
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\nContent-Length: 4\r\n",
            "Transfer-Encoding : chunked\r\n",
            "Transfer-Encoding\t: chunked\r\n",
            "Transfer-Encoding\r\n : chunked\r\n",
            "Content-Length : 4\r\n",
            " Content-Length: 4\r\n",
            "X: a\r\n b\r\n",
            "X: a\r\n\tb\r\n",
            "X: a\r\n \r\n",
            "X: a\nContent-Length: 4\r\n",
            "X: a\rContent-Length: 4\r\n",
            "X: a\r\r\n",
            "X\rY: a\r\n",
            "X: a\0\r\n",
            "X\0: a\r\n",
            "X: a\u{1}\r\n",
            "X: a\u{7f}\r\n",
            "X\u{b}: a\r\n",
            "X\u{e4}: a\r\n",
            "X(: a\r\n",
            "X\r\n",
            ": a\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nX: a\r\nTransfer-Encoding: identity\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: chunked;a=b\r\n",
            "Transfer-Encoding: \u{b}chunked\r\n",
            "Transfer-Encoding: Chunked\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding:\r\n",
        ],
    );
}

#[test]
fn a_request_line_has_one_form_and_another_version_is_told_so() {
    for (line, expected) in [
        ("GET /mcp HTTP/1.1", 200),
        ("get /mcp?a=%20b HTTP/1.1", 200),
        ("OPTIONS * HTTP/1.1", 200),
        ("GET http://localhost/mcp HTTP/1.1", 200),
        ("GET /mcp HTTP/1.0", 200),
        ("GET /mcp HTTP/0.9", 505),
        ("GET /mcp HTTP/2.0", 505),
        ("GET /mcp HTTP/1.2", 505),
        ("PRI * HTTP/2.0", 505),
        ("GET /mcp", 400),
        ("GET  /mcp HTTP/1.1", 400),
        ("GET /mcp  HTTP/1.1", 400),
        ("GET\t/mcp\tHTTP/1.1", 400),
        (" GET /mcp HTTP/1.1", 400),
        ("GET /mcp HTTP/1.1 ", 400),
        ("GET /mcp http/1.1", 400),
        ("GET /mcp HTTP/11", 400),
        ("GET /mcp HTTP/1.10", 400),
        ("GET mcp HTTP/1.1", 400),
        ("GET localhost:1 HTTP/1.1", 400),
        ("GET /mcp#a HTTP/1.1", 400),
        ("GET /m\\cp HTTP/1.1", 400),
        ("GET /m\u{e4} HTTP/1.1", 400),
        ("G(T /mcp HTTP/1.1", 400),
        ("\u{16}\u{3}\u{1} / HTTP/1.1", 400),
    ] {
        let head = format!("{line}\r\nHost: localhost\r\n\r\n");
        assert_eq!(status(&head), expected, "{line:?}");
        laws(head.as_bytes());
        // RFC 9112 §2.2: one empty line before it, and no more.
        assert_eq!(status(&format!("\r\n{head}")), expected, "{line:?}");
        assert_eq!(status(&format!("\r\n\r\n{head}")), 400, "{line:?}");
        assert_eq!(status(&format!("\n{head}")), 400, "{line:?}");
    }
}

#[test]
fn what_cannot_become_a_head_is_refused_before_its_end() {
    for (head, expected) in [
        ("GET / HTTP/1.1\r\nHost: a", 0),
        ("\u{16}", 400),
        ("GET / HTTP/1.1\r\nHost: a\u{1}", 400),
        ("PRI * HTTP/2.0\r\n", 505),
        ("GET / HTTP/1.1\r\nContent-Length: 4, 4\r\n", 400),
    ] {
        assert_eq!(status(head), expected, "{head:?}");
        laws(head.as_bytes());
    }
}

#[test]
fn the_old_version_has_no_chunks() {
    for (version, expected) in [("1.0", 400), ("1.1", 200)] {
        let head =
            format!("POST /mcp HTTP/{version}\r\nTransfer-Encoding: chunked\r\nHost: a\r\n\r\n");
        assert_eq!(status(&head), expected, "{version}");
        laws(head.as_bytes());
    }
}

#[test]
fn heads_are_bounded_in_bytes_and_in_fields() {
    let mut few = String::from("GET / HTTP/1.1\r\n");
    for _ in 0..LIMITS.fields {
        few.push_str("X: a\r\n");
    }
    assert_eq!(status(&format!("{few}\r\n")), 200);
    assert_eq!(status(&format!("{few}X: a\r\n\r\n")), 431);
    let start = "GET / HTTP/1.1\r\nX: ";
    let fits = "a".repeat(LIMITS.bytes - start.len() - 4);
    assert_eq!(status(&format!("{start}{fits}\r\n\r\n")), 200);
    assert_eq!(status(&format!("{start}{fits}a\r\n\r\n")), 431);
    assert_eq!(status(&format!("{start}{}", "a".repeat(LIMITS.bytes))), 431);
}

#[test]
fn what_follows_a_head_is_no_part_of_it() {
    let head = "POST / HTTP/1.1\r\nContent-Length: 7\r\n\r\n";
    let scanned = Scanner::new(LIMITS).scan(format!("{head}\0\0\n\n").as_bytes());
    let whole = Scanned::Whole {
        head: head.len(),
        body: Rest::Bytes(7),
    };
    assert_eq!(scanned, Ok(whole));
}

/// A proxy takes hosts to connect to, and whatever follows is for the other end.
#[test]
fn only_a_proxy_takes_a_host_to_connect_to_and_nothing_behind_it_is_read() {
    let check = |targets: Targets, head: &str, expected: Result<Rest, u16>| {
        let scanned = Scanner::new(LIMITS).taking(targets).scan(head.as_bytes());
        let scanned = match scanned {
            Ok(Scanned::Whole { body, .. }) => Ok(body),
            Ok(Scanned::Partial) => Err(0),
            Err(cause) => Err(cause.status()),
        };
        assert_eq!(scanned, expected, "{head:?}");
    };
    let connect = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n";
    let whole = format!("{connect}\r\nGET / HTTP/1.1\r\n\0");
    check(Targets::OfProxy, &whole, Ok(Rest::Tunnel));
    check(Targets::OfServer, &whole, Err(400));
    for field in ["Content-Length: 4", "Transfer-Encoding: chunked"] {
        let head = format!("{connect}{field}\r\n\r\n");
        check(Targets::OfProxy, &head, Err(400));
    }
    for target in ["a.example:443", "a.example/#x", "//a b"] {
        let head = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n");
        check(Targets::OfProxy, &head, Err(400));
    }
    let absolute = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n";
    check(Targets::OfProxy, absolute, Ok(Rest::Bytes(0)));
    let mut tunnel = Rest::Tunnel;
    assert_eq!(tunnel.take(b"\r\n\r\nGET / HTTP/1.1"), Ok(None));
}

#[test]
fn every_cause_has_a_word_of_its_own() {
    let causes = [
        Misframed::Malformed("a"),
        Misframed::Ambiguous("a"),
        Misframed::Chunks("a"),
        Misframed::TooLarge,
        Misframed::Version,
    ];
    let codes: std::collections::BTreeSet<_> = causes.iter().map(|it| it.code()).collect();
    assert_eq!(codes.len(), causes.len());
}

#[test]
fn every_seed_of_heads_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/head");
    let mut seeds = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        laws(&fs::read(entry.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 10, "seeds in {}", folder.display());
}

/// Parts of which heads are made, good ones and bad ones.
pub(super) fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => Just("POST /mcp HTTP/1.1"),
        1 => Just("GET http://localhost/a?b HTTP/1.1"),
        1 => Just("HEAD * HTTP/1.1"),
        1 => Just("CONNECT /a HTTP/1.1"),
        1 => Just("GET / HTTP/1.0"),
        1 => Just("\r\nGET / HTTP/1.1"),
        1 => Just("GET  / HTTP/1.1"),
    ];
    let field = prop::sample::select(vec![
        "Host: localhost",
        "Host:\tlocalhost ",
        "Content-Length: 3",
        "content-length: 0",
        "Content-Length: 3, 3",
        "Content-Length: 03",
        "Content-Length : 3",
        "Transfer-Encoding: chunked",
        "transfer-encoding:\tchunked ",
        "Transfer-Encoding: gzip",
        "Expect: 100-continue",
        "Connection: keep-alive",
        "Connection: close",
        "Connection: upgrade",
        "Upgrade: h2c",
        "X: \u{e4}",
        "X:",
        " folded",
        "\tX: a",
        "X\u{0}: a",
        "X: a\rY: b",
        "X: a\nContent-Length: 9",
        "Trailer: X",
    ]);
    let ending =
        prop_oneof![12 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("\r\r\n")];
    let fields = prop::collection::vec((field, ending.clone()), 0..5);
    (line, ending, fields).prop_map(|(line, ending, fields)| {
        let mut head = format!("{line}{ending}");
        for (field, ending) in fields {
            head.push_str(field);
            head.push_str(ending);
        }
        head.push_str("\r\n");
        head.into_bytes()
    })
}

proptest! {
    #[test]
    fn two_readers_see_one_request_in_whatever_is_taken(
        mut head in hostile(),
        at in any::<prop::sample::Index>(),
        byte in any::<Option<u8>>(),
    ) {
        laws(&head);
        let at = at.index(head.len());
        match byte {
            Some(byte) => head[at] = byte,
            None => { head.remove(at); }
        }
        laws(&head);
    }

    #[test]
    fn any_bytes_are_a_head_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        laws(&bytes);
        let tight = Limits { bytes: 64, fields: 2 };
        if let Ok(Scanned::Whole { head, .. }) = Scanner::new(tight).scan(&bytes) {
            prop_assert!(head <= 64);
        }
    }
}
