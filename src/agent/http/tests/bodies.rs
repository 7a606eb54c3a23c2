//! How much room bodies take that come in parts, and whose room it is.

use std::time::Duration;

use super::agent::{Agent, Request};
use super::rig::{INITIALIZE, Rig, patient};
use crate::agent::http::Settings;

const KIB: usize = 1024;
const MOST: usize = 256 * KIB;

/// Room for so many bodies of the largest size; one sender's share is a quarter of it.
fn of(bodies: usize) -> Settings {
    Settings {
        max_waiting_bodies: bodies * MOST,
        limits: crate::wire::Limits {
            max_bytes: MOST,
            ..crate::wire::Limits::default()
        },
        ..patient()
    }
}

/// A body of the largest size, that is no message.
fn large() -> Request {
    Request::post(&" ".repeat(MOST))
}

/// Sends the head and so many bytes of the body, in parts that the gate sees as such.
async fn begin(rig: &Rig, request: &Request, bytes: usize) -> Agent {
    let text = request.text();
    let body = text.find("\r\n\r\n").unwrap() + 4;
    let mut agent = rig.agent().await;
    let (head, body) = text.as_bytes().split_at(body);
    let (first, rest) = body[..bytes].split_at(bytes / 2);
    for part in [head, first, rest] {
        agent.write(part).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    agent
}

/// The gate reads the whole body, and then refuses it: it is no message.
async fn is_read(rig: &Rig, request: &Request) {
    let answer = rig.agent().await.ask(request).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(rig.refused().last(), Some(&"syntax"));
}

#[tokio::test]
async fn what_is_announced_and_not_sent_takes_no_room() {
    let rig = Rig::with(of(64)).await;
    let mut slow = Vec::new();
    // As many as a share has places for whole ones, and one more.
    for _ in 0..17 {
        slow.push(begin(&rig, &large(), 20 * KIB).await);
    }
    is_read(&rig, &large()).await;
    for agent in &mut slow {
        assert!(agent.is_held().await, "no connection was closed for it");
    }
}

#[tokio::test]
async fn whoever_fills_its_share_leaves_room_for_others() {
    let mut rig = Rig::of_two_with(of(4)).await;
    let of_alpha = large().token_of("alpha");
    let mut holds = begin(&rig, &of_alpha, 20 * KIB).await;
    let _waits = begin(&rig, &of_alpha, 20 * KIB).await;
    is_read(&rig, &large().token_of("beta")).await;
    assert!(holds.is_held().await);

    // Without names a session, or an address, is a sender.
    rig = Rig::with(of(4)).await;
    let (one, _gate) = rig.session().await;
    let (two, mut gate) = rig.session().await;
    let unknown = large().session("0123456789abcdef0123456789abcdef");
    let mut held = Vec::new();
    for request in [large(), unknown, large().session(&one)] {
        held.push(begin(&rig, &request, 20 * KIB).await);
    }
    let mut other = rig.agent().await;
    other.send(&large().session(&two)).await;
    let (_, read) = gate.frame().await;
    assert_eq!(read.len(), MOST);
    for agent in &mut held {
        assert!(agent.is_held().await);
    }
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_not_waited_for_and_gives_its_room_back() {
    let rig = Rig::with(Settings {
        body_pause: Duration::from_millis(100),
        ..of(4)
    })
    .await;
    let mut stopped = begin(&rig, &large(), 20 * KIB).await;
    let mut drips = begin(&rig, &large(), KIB).await;
    assert_eq!(stopped.answer().await.status, 408);
    // There is something every time, and too little of it.
    for _ in 0..100 {
        drips.write(b" ").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(drips.answer().await.status, 408);
    assert_eq!(rig.refused(), ["body_timeout"; 2]);
    is_read(&rig, &large()).await;
}

#[tokio::test]
async fn bodies_that_come_at_the_same_time_are_all_read_however_little_room_there_is() {
    let rig = Rig::with(of(1)).await;
    let (half, text) = (MOST / 2, large().text());
    let mut agents = Vec::new();
    for _ in 0..8 {
        agents.push(begin(&rig, &large(), half).await);
    }
    let rest = &text.as_bytes()[text.len() - (MOST - half)..];
    for agent in &mut agents {
        agent.write(rest).await;
    }
    for agent in &mut agents {
        assert_eq!(agent.answer().await.status, 400);
    }
    assert_eq!(rig.refused(), ["syntax"; 8]);
    // A message that comes in one part never waits.
    let mut rig = Rig::with(of(1)).await;
    let _holds = begin(&rig, &large(), half).await;
    let mut agent = rig.agent().await;
    agent.send(&Request::post(INITIALIZE)).await;
    rig.arrival().await.answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
}
