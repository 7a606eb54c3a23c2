//! Bodies that come in chunks.

use std::fmt::Write as _;

use super::agent::{Agent, Request};
use super::rig::{INITIALIZE, Rig, patient};
use crate::agent::http::Settings;

/// `initialize` in the form in which `HttpClient` of .NET writes what the official C# SDK sends: no
/// length, sizes in upper case, and the body in another write than the head.
const DOTNET: &str = include_str!("../../../../fixtures/http/dotnet-initialize.txt");

/// A POST of this body in such chunks.
fn chunked(body: &str, sizes: &[usize]) -> String {
    let mut text = String::from(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    let mut rest = body;
    for size in sizes {
        let (chunk, behind) = rest.split_at(*size);
        write!(text, "{size:x}\r\n{chunk}\r\n").unwrap();
        rest = behind;
    }
    assert_eq!(rest, "");
    text + "0\r\n\r\n"
}

#[tokio::test]
async fn a_message_in_chunks_is_read_wherever_it_is_cut_and_the_next_one_behind_it() {
    let mut rig = Rig::new().await;
    let (head, _) = INITIALIZE.split_at(60);
    let text = chunked(
        INITIALIZE,
        &[1, head.len() - 1, INITIALIZE.len() - head.len()],
    );
    let health = Request::new("GET").path("/health").text();
    let all = format!("{text}{health}");
    for cut in 1..all.len() {
        let mut agent = rig.agent().await;
        let (first, rest) = all.as_bytes().split_at(cut);
        agent.write(first).await;
        tokio::task::yield_now().await;
        agent.write(rest).await;
        let mut gate = rig.arrival().await;
        let (stream, came) = gate.frame().await;
        assert_eq!(came, INITIALIZE, "cut at {cut}");
        let line = super::rig::reply("0", "{}");
        gate.reply(stream, super::rig::RESULT, &line).await;
        assert_eq!(agent.answer().await.status, 200, "cut at {cut}");
        assert_eq!(
            agent.answer().await.body,
            r#"{"status":"ok"}"#,
            "cut at {cut}"
        );
    }
    assert_eq!(rig.refused(), [""; 0]);
}

#[tokio::test]
async fn a_client_that_writes_all_bodies_in_chunks_is_served() {
    let mut rig = Rig::new().await;
    let text = DOTNET.replace("\r\n", "\n").replace('\n', "\r\n");
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut agent = rig.agent().await;
    agent.write(format!("{head}\r\n\r\n").as_bytes()).await;
    tokio::task::yield_now().await;
    agent.write(body.as_bytes()).await;
    let mut gate = rig.arrival().await;
    gate.answer(r#"{"protocolVersion":"2025-06-18"}"#).await;
    let answer = agent.answer().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.header("mcp-session-id").is_some());
}

#[tokio::test]
async fn chunks_are_no_way_to_send_more_than_a_message_may_have() {
    let most = 64 * 1024;
    let mut rig = Rig::with(Settings {
        limits: crate::wire::Limits {
            max_bytes: most,
            ..crate::wire::Limits::default()
        },
        ..patient()
    })
    .await;
    // The chunks never end: an answer shows that the gate does not wait for their end.
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
    let head = chunked("", &[]);
    let head = head.strip_suffix("0\r\n\r\n").unwrap();
    let mut agent = rig.agent().await;
    agent.write(head.as_bytes()).await;
    for _ in 0..17 {
        agent.write(chunk.as_bytes()).await;
    }
    let answer = agent.answer().await;
    assert_eq!((answer.status, rig.refused()), (413, vec!["too_large"]));
    // What is still on its way is taken and thrown away.
    agent.write(b"0\r\n\r\n").await;
    agent.closed().await;
    // As long as may be.
    let longest = chunked(&" ".repeat(most), &[0x4000; 4]);
    let mut agent = rig.agent().await;
    agent.write(longest.as_bytes()).await;
    assert_eq!(
        agent.answer().await.status,
        400,
        "no message, and read as a whole"
    );
    assert_eq!(rig.refused().last(), Some(&"syntax"));
    assert!(rig.arrivals.try_recv().is_err());
}

/// At every path, whether or not the gate reads the body there.
#[tokio::test]
async fn what_follows_broken_chunks_is_never_a_request() {
    let rig = Rig::new().await;
    let evil = Request::new("GET").path("/health").text();
    for line in ["POST /mcp", "GET /health", "POST /nothing", "DELETE /mcp"] {
        for chunks in [
            "1\r\na0\r\n\r\n",
            "0\r\nX: a\r\n\r\n",
            "1 \r\na\r\n0\r\n\r\n",
            "\n",
        ] {
            let head = format!(
                "{line} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            );
            let all = format!("{head}{chunks}{evil}");
            for cut in head.len() - 2..all.len() {
                let mut agent = Agent::connect(rig.address).await;
                let (first, rest) = all.as_bytes().split_at(cut);
                agent.write(first).await;
                tokio::task::yield_now().await;
                agent.write(rest).await;
                let answer = agent.answer().await;
                let is_health = line.ends_with("/health");
                assert_eq!(
                    answer.status == 200,
                    is_health,
                    "{line} {chunks:?} {answer:?}"
                );
                assert_eq!(agent.closed().await, 0, "{line} {chunks:?} cut at {cut}");
            }
        }
    }
}
