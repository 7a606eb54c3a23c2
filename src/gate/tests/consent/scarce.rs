//! A yes to what there is no memory for.

use super::rounds::{approving, state_of};
use super::servers::of_servers;
use super::within::{ALL, SAMPLE, asked_within, asking, calls, listed};
use super::*;
use crate::gate::tests::scarce::{Rooms, leave, scarce};

const ENOUGH: usize = usize::MAX;

fn of_little(asked: Asked) -> (Asked, Rooms) {
    let Asked { bench, desk } = asked;
    let (bench, rooms) = scarce(bench);
    (Asked { bench, desk }, rooms)
}

/// The agent has its answer under this id, and no place in flight is taken.
fn assert_told(asked: &Asked, id: &str) {
    let told = asked.bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    for part in [&format!(r#""id":{id},"#), "-32603", "limits.max_memory"] {
        assert!(told[0].contains(part), "{part}: {told:?}");
    }
    assert!(
        asked
            .bench
            .talk
            .session
            .state()
            .waiting
            .to_upstream
            .is_empty()
    );
    assert!(asked.bench.talk.session.is_idle());
}

#[tokio::test(start_paused = true)]
async fn an_approved_result_without_memory_is_answered_with_an_error() {
    for (way, rooms_left) in [(Way::Page, 0), (Way::Elicitation, 1)] {
        let asked = listed(Asked::new(of_servers, &[way])).await;
        let (asked, rooms) = of_little(asked);
        asked_within(&asked, ALL, &[SAMPLE]).await;
        let shown = asked.bench.to_agent();
        leave(&rooms, rooms_left);
        if way == Way::Page {
            asked.answer(&asked.latest(), Answer::Approve).await;
            assert_told(&asked, "1");
        } else {
            let yes = approving(&state_of(&shown[0]));
            asked.bench.agent(&calls("2", "more", ALL, &yes)).await;
            assert_told(&asked, "2");
        }
        leave(&rooms, ENOUGH);
        asked.bench.agent(&calls("1", "more", ALL, "")).await;
        assert_eq!(asked.bench.to_upstream().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_whose_request_ends_while_it_waits_for_room_is_no_stray() {
    let mut asked = listed(Asked::new(of_servers, &[Way::Page])).await;
    let memory = crate::memory::Memory::limited(crate::gate::tests::scarce::FOR_ONE, || 0);
    asked.bench.gate = asked.bench.gate.within(memory.clone());
    asked.bench.agent(&calls("1", "more", ALL, "")).await;
    let minted = id_of(&asked.bench.to_upstream()[0]);
    let spaces = " ".repeat(40_000);
    let long = form_answer(&minted, &format!("{spaces}{}", asking(&[SAMPLE])));
    asked.bench.upstream(&long).await;
    let others = memory.room(10_640 << 10, 10_640 << 10).unwrap();
    let ticket = asked.latest();
    let mut answering = Box::pin(asked.answer(&ticket, Answer::Approve));
    tokio::select! {
        biased;
        () = &mut answering => panic!("it does not wait"),
        () = std::future::ready(()) => {}
    }
    asked
        .bench
        .gate
        .upstream_died(&asked.bench.talk)
        .await
        .unwrap();
    asked.bench.to_agent();
    drop(others);
    answering.await;
    assert_eq!(asked.bench.to_agent(), [""; 0]);
    assert_eq!(asked.bench.talk.session.state().connection.stray_replies, 0);
}

#[tokio::test(start_paused = true)]
async fn a_yes_is_not_spent_while_there_is_no_memory_for_its_call() {
    for waits_for_a_list in [false, true] {
        let asked = Asked::session(with_consent, &[Way::Page]).await;
        let (asked, rooms) = of_little(asked);
        let ticket = asked.call("1", "ask").await;
        if waits_for_a_list {
            let news = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            asked.bench.upstream(news).await;
            asked.bench.to_agent();
            asked.answer(&ticket, Answer::Approve).await;
            let id = id_of(&asked.bench.to_upstream()[0]);
            let list = form_answer(
                &id,
                r#"{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}"#,
            );
            leave(&rooms, 1);
            asked.bench.upstream(&list).await;
        } else {
            leave(&rooms, 0);
            asked.answer(&ticket, Answer::Approve).await;
        }
        assert_told(&asked, "1");
        leave(&rooms, ENOUGH);
        asked.bench.agent(&call("2", "ask")).await;
        assert_eq!(asked.bench.to_upstream().len(), 1, "{waits_for_a_list}");
        // Once.
        asked.call("3", "ask").await;
    }
}
