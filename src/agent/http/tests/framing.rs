//! What is no request that everybody would read alike: how it is answered, and in whose turn.

use super::agent::{Agent, Request};
use super::rig::{INITIALIZE, Rig};

const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                    Accept: */*\r\n";

/// What would be smuggled in if an end were seen too early.
const EVIL: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Sends bytes on a connection of its own, at once or one after the other, which must be answered so
/// once, recorded once, and followed by nothing.
async fn check(rig: &mut Rig, what: &str, bytes: &str, status: u16, code: &str) {
    for pieces in [bytes.len(), 1] {
        let before = rig.refused().len();
        let mut agent = rig.agent().await;
        for piece in bytes.as_bytes().chunks(pieces) {
            agent.write(piece).await;
            tokio::task::yield_now().await;
        }
        let answer = agent.answer().await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert_eq!(answer.header("connection"), Some("close"), "{what}");
        assert_eq!(agent.closed().await, 0, "{what}");
        assert_eq!(rig.refused()[before..], [code], "{what}");
        assert!(rig.arrivals.try_recv().is_err(), "{what}: something began");
    }
}

#[tokio::test]
async fn a_request_whose_end_two_readers_could_see_at_two_places_is_refused_recorded_and_the_last()
{
    let mut rig = Rig::new().await;
    let ambiguous = (400, "length_ambiguous");
    let malformed = (400, "head_malformed");
    let broken = (400, "body_aborted");
    for (fields, (status, code)) in [
        (
            "Content-Length: 4\r\nContent-Length: 4\r\n\r\n{}{}",
            ambiguous,
        ),
        (
            "Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}{}",
            ambiguous,
        ),
        ("Content-Length: 4, 4\r\n\r\n{}{}", ambiguous),
        ("Content-Length: +4\r\n\r\n{}{}", ambiguous),
        ("Content-Length: 0x4\r\n\r\n{}{}", ambiguous),
        (
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ambiguous,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
            ambiguous,
        ),
        ("Transfer-Encoding: xchunked\r\n\r\n", ambiguous),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
            ambiguous,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n1;a\n{}\r\n0\r\n\r\n",
            broken,
        ),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n", broken),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", broken),
        ("Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n", broken),
        ("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", malformed),
        ("Content-Length : 4\r\n\r\n{}{}", malformed),
        ("X-A: b\r\n c\r\nContent-Length: 4\r\n\r\n{}{}", malformed),
        ("X-A: b\nContent-Length: 4\r\n\r\n{}{}", malformed),
        ("X-A: b\n\n", malformed),
        ("X\rA: b\r\nContent-Length: 4\r\n\r\n{}{}", malformed),
        ("X-A: \0\r\nContent-Length: 4\r\n\r\n{}{}", malformed),
        ("X-A: \u{8}\r\nContent-Length: 4\r\n\r\n{}{}", malformed),
    ] {
        let bytes = format!("{HEAD}{fields}{EVIL}");
        check(&mut rig, fields, &bytes, status, code).await;
    }
    // On every path, and whoever asks.
    let health = "GET /health HTTP/1.1\r\nHost: localhost\nX: a\r\n\r\n";
    check(&mut rig, "health", health, 400, "head_malformed").await;
}

#[tokio::test]
async fn another_version_is_answered_and_not_hung_up_on() {
    let mut rig = Rig::new().await;
    for (bytes, status, code) in [
        (
            "GET http://[::1/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
            400,
            "head_malformed",
        ),
        (
            "POST /mcp HTTP/0.9\r\nHost: localhost\r\n\r\n",
            505,
            "http_version",
        ),
        (
            "POST /mcp HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
            "length_ambiguous",
        ),
        (
            "POST /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n",
            505,
            "http_version",
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version"),
        (
            "POST /mcp\r\nHost: localhost\r\n\r\n",
            400,
            "head_malformed",
        ),
        ("\u{16}\u{3}\u{1}\u{2}", 400, "head_malformed"),
    ] {
        check(&mut rig, bytes, bytes, status, code).await;
    }
}

#[tokio::test]
async fn a_head_behind_a_request_is_read_as_strictly_and_answered_in_its_turn() {
    let mut rig = Rig::new().await;
    let whole = Request::post(INITIALIZE).text();
    let health = Request::new("GET").path("/health").text();
    let evil = "GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n";
    // All at once, or each when the other has come.
    for at_once in [true, false] {
        let mut agent = rig.agent().await;
        let first = format!("{health}{whole}");
        if at_once {
            agent
                .write(format!("{first}{evil}{health}").as_bytes())
                .await;
        } else {
            agent.write(first.as_bytes()).await;
        }
        assert_eq!(agent.answer().await.status, 200, "health");
        let mut gate = rig.arrival().await;
        if !at_once {
            agent.write(format!("{evil}{health}").as_bytes()).await;
        }
        gate.answer("{}").await;
        let answer = agent.answer().await;
        assert_eq!((answer.status, answer.at("/id")), (200, 0.into()));
        assert_eq!(agent.answer().await.status, 400);
        assert_eq!(agent.closed().await, 0, "and nothing behind it");
    }
    assert_eq!(rig.refused(), ["head_malformed"; 2]);
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_their_order_wherever_they_are_cut() {
    let rig = Rig::new().await;
    let health = Request::new("GET").path("/health").text();
    let nothing = Request::post("{}").path("/nothing").text();
    let all = format!("{health}\r\n{nothing}{health}{nothing}");
    let address = rig.address;
    for cut in 1..all.len() {
        let mut agent = Agent::connect(address).await;
        let (first, rest) = all.as_bytes().split_at(cut);
        agent.write(first).await;
        tokio::task::yield_now().await;
        agent.write(rest).await;
        for status in [200, 404, 200, 404] {
            assert_eq!(agent.answer().await.status, status, "cut at {cut}");
        }
    }
}

#[tokio::test]
async fn fields_that_are_lists_may_be_repeated_and_others_may_not() {
    let mut rig = Rig::new().await;
    for (name, values, code) in [
        ("Accept", ["application/json", "text/event-stream"], None),
        ("Accept-Encoding", ["gzip", "br"], None),
        ("Accept-Language", ["en", "de"], None),
        ("Cache-Control", ["no-cache", "no-store"], None),
        ("Via", ["1.1 a", "1.1 b"], None),
        ("X-Forwarded-For", ["192.0.2.1", "192.0.2.2"], None),
        ("Host", ["localhost", "localhost"], Some("header_repeated")),
        ("Origin", ["http://a", "http://b"], Some("header_repeated")),
        (
            "Authorization",
            ["Bearer a", "Bearer a"],
            Some("header_repeated"),
        ),
        (
            "Content-Type",
            ["application/json", "application/json"],
            Some("header_repeated"),
        ),
        (
            "Content-Encoding",
            ["identity", "identity"],
            Some("header_repeated"),
        ),
        ("Mcp-Session-Id", ["a", "a"], Some("header_repeated")),
        ("Last-Event-ID", ["1", "2"], Some("header_repeated")),
    ] {
        let before = rig.refused().len();
        let mut agent = rig.agent().await;
        let request = Request::post(INITIALIZE).instead(name, Some(values[0]));
        agent.send(&request.header(name, values[1])).await;
        if code.is_none() {
            rig.arrival().await.answer("{}").await;
        }
        let answer = agent.answer().await;
        assert_eq!(
            answer.status,
            code.map_or(200, |_| 400),
            "{name}: {answer:?}"
        );
        let refused = rig.refused();
        assert_eq!(refused[before..].first().copied(), code, "{name}");
    }
}
