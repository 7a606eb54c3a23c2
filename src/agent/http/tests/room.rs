//! Who makes room when all connections are taken.

use super::agent::{Agent, Request};
use super::rig::{INITIALIZE, RESULT, Rig, patient, reply};
use crate::agent::http::Settings;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

fn health() -> Request {
    Request::new("GET").path("/health")
}

async fn of(max_connections: usize) -> Rig {
    Rig::with(Settings {
        max_connections,
        ..patient()
    })
    .await
}

#[tokio::test]
async fn connections_that_bring_no_request_make_room_for_one_that_does() {
    let rig = of(4).await;
    let body = Request::post(INITIALIZE).text();
    let parts = [
        "",
        "P",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
        body.strip_suffix('}').unwrap(),
    ];
    for part in parts {
        let mut holding: Vec<Agent> = Vec::new();
        // Renewed as often as one of them is closed.
        for _ in 0..3 {
            for _ in 0..4 {
                let mut agent = rig.agent().await;
                agent.write(part.as_bytes()).await;
                holding.push(agent);
            }
            assert_eq!(
                rig.agent().await.ask(&health()).await.status,
                200,
                "{part:?}"
            );
        }
    }
    assert_eq!(rig.refused(), [""; 0]);
}

#[tokio::test]
async fn whoever_waits_for_an_answer_is_never_cut_and_the_last_to_come_is_turned_away() {
    let mut rig = of(3).await;
    let (id, mut gate) = rig.session().await;
    let mut listening = rig.agent().await;
    let listen = Request::get().session(&id);
    assert_eq!(listening.ask(&listen).await.status, 200);
    let mut asking = Vec::new();
    for _ in 0..2 {
        let mut agent = rig.agent().await;
        agent.send(&Request::post(PING).session(&id)).await;
        let (stream, _) = gate.frame().await;
        asking.push((agent, stream));
    }
    let mut late = rig.agent().await;
    assert_eq!(late.answer().await.status, 503);
    assert_eq!(rig.refused(), ["too_many_connections"]);
    let (first, stream) = asking.first_mut().unwrap();
    gate.reply(*stream, RESULT, &reply("7", "{}")).await;
    assert_eq!(first.answer().await.status, 200);
    // It rests now, and the others do not.
    let mut newcomer = rig.agent().await;
    assert_eq!(newcomer.ask(&health()).await.status, 200);
    assert_eq!(first.closed().await, 0);
    let (second, stream) = asking.last_mut().unwrap();
    gate.reply(*stream, RESULT, &reply("7", "{}")).await;
    assert_eq!(second.answer().await.status, 200);
}

#[tokio::test]
async fn a_connection_that_is_used_again_and_again_outlives_those_that_are_not() {
    let rig = of(4).await;
    let mut working = rig.agent().await;
    for _ in 0..20 {
        assert_eq!(working.ask(&health()).await.status, 200);
        let _silent = rig.agent().await;
        assert_eq!(rig.agent().await.ask(&health()).await.status, 200);
    }
    assert_eq!(working.ask(&health()).await.status, 200);
}

#[tokio::test]
async fn an_answer_that_is_not_read_to_its_end_yet_is_not_cut_off() {
    let mut rig = of(2).await;
    let (id, mut gate) = rig.session().await;
    let mut slow = rig.agent().await;
    slow.send(&Request::post(PING).session(&id)).await;
    // More than sockets hold.
    let long = "a".repeat(16 * 1024 * 1024);
    gate.answer(&format!("\"{long}\"")).await;
    for _ in 0..10 {
        assert_eq!(rig.agent().await.ask(&health()).await.status, 200);
    }
    let answer = slow.answer().await;
    assert!(answer.body.len() > long.len());
}
