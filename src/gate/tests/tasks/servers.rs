//! Which server a task is of, where there is more than one.

use super::*;
use crate::session::Instance;
use crate::session::Place;

const DELIVERED: usize = 1;
const REFUSED: usize = 0;

/// Two servers, each of which all sessions have in common, or each session for itself.
fn bench(are_common: [bool; 2]) -> Bench {
    let [open_is, isolated_is] = are_common;
    Bench::with(open, |settings| {
        settings.thresholds = crate::session::Thresholds::new([3]);
        settings.over_http = OverHttp::from_first([open_is, isolated_is]);
    })
}

/// A conversation of somebody's, with the open server or with the isolated one.
fn talk_of(name: &str, place: Place) -> Talk<Recorder, Recorder> {
    let agent = Agent {
        id: name.to_owned(),
        ..Agent::default()
    };
    let id = SessionId::from_random(name.bytes().map(u128::from).sum());
    let session = Session::new(id, "http", Server::default(), 0);
    let session = session.of(agent).with_ids(Ids::OfStream);
    let talk = Talk::new(session, Recorder::default(), Recorder::default());
    if place == Place::At(Instance::OPEN) {
        offer(&talk);
    } else {
        moves(&talk);
    }
    talk
}

fn moves(talk: &Talk<Recorder, Recorder>) {
    talk.session.leave_for(Instance::ISOLATED[0]).unwrap();
    talk.session.state().connection.upstream = crate::session::Readiness::Up;
    talk.session.arrived();
    offer(talk);
}

/// Sends a request and answers it, if it gets there; yields how many got there, and what the agent gets.
async fn exchange_of(
    bench: &Bench,
    talk: &Talk<Recorder, Recorder>,
    request: &str,
    result: &str,
) -> (usize, String) {
    let stream = crate::wire::Stream::numbered(1);
    let handled = (bench.gate).handle(talk, Side::Agent, stream, request.as_bytes());
    Box::pin(handled).await.unwrap();
    let asked = talk.upstream.take();
    for line in &asked {
        let answer = reply(&id_of(line), result);
        let stream = crate::wire::Stream::MAIN;
        let handled = (bench.gate).handle(talk, Side::Upstream, stream, answer.as_bytes());
        Box::pin(handled).await.unwrap();
    }
    (asked.len(), talk.agent.take().concat())
}

async fn begins(bench: &Bench, talk: &Talk<Recorder, Recorder>) -> String {
    exchange_of(bench, talk, &ask("tools/call", CALL), TASK)
        .await
        .1
}

const ABOUT: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];

/// How many of the requests about the task reach the server of this conversation.
async fn reaches(bench: &Bench, talk: &Talk<Recorder, Recorder>) -> usize {
    let mut reached = Vec::new();
    for method in ABOUT {
        let (count, told) = exchange_of(bench, talk, &about(method), DONE).await;
        assert!(count == 1 || told.contains("-32602"), "{method}: {told}");
        reached.push(count);
    }
    assert!(reached.iter().all(|it| *it == reached[0]), "{reached:?}");
    reached[0]
}

#[tokio::test]
async fn a_task_of_the_open_server_is_none_of_the_isolated_ones_which_has_one_of_the_same_id() {
    let bench = bench([true, true]);
    let alice = talk_of("alice", Place::At(Instance::OPEN));
    let bob = talk_of("bob", Place::At(Instance::ISOLATED[0]));
    assert_eq!(begins(&bench, &alice).await, reply("1", TASK));
    assert_eq!(reaches(&bench, &alice).await, DELIVERED);
    assert_eq!(begins(&bench, &bob).await, reply("1", TASK));
    // What each has at its own server is nobody else's.
    assert_eq!(reaches(&bench, &alice).await, DELIVERED);
    assert_eq!(reaches(&bench, &bob).await, DELIVERED);
    moves(&alice);
    assert_eq!(reaches(&bench, &alice).await, REFUSED);
    // Another session of hers is still with the server that began it.
    let other = talk_of("alice", Place::At(Instance::OPEN));
    assert_eq!(reaches(&bench, &other).await, DELIVERED);
    assert_eq!(reaches(&bench, &bob).await, DELIVERED);
}

#[tokio::test]
async fn an_id_that_one_server_gives_to_two_principals_is_good_for_neither() {
    for place in [Place::At(Instance::OPEN), Place::At(Instance::ISOLATED[0])] {
        let bench = bench([
            place == Place::At(Instance::OPEN),
            place == Place::At(Instance::ISOLATED[0]),
        ]);
        let alice = talk_of("alice", place);
        let bob = talk_of("bob", place);
        assert_eq!(begins(&bench, &alice).await, reply("1", TASK));
        assert_eq!(reaches(&bench, &alice).await, DELIVERED);
        let told = begins(&bench, &bob).await;
        assert!(told.contains("-32603"), "{told}");
        for talk in [&alice, &bob] {
            assert_eq!(reaches(&bench, talk).await, REFUSED);
        }
        // Nor for whoever comes third, nor again for the first, as long as the server keeps it.
        assert!(
            begins(&bench, &talk_of("carol", place))
                .await
                .contains("-32603")
        );
        begins(&bench, &alice).await;
        assert_eq!(reaches(&bench, &alice).await, REFUSED);
        bench.clock.advance(Duration::from_mins(1));
        assert_eq!(begins(&bench, &bob).await, reply("1", TASK));
        assert_eq!(reaches(&bench, &bob).await, DELIVERED);
        assert_eq!(reaches(&bench, &alice).await, REFUSED);
    }
}

#[tokio::test]
async fn servers_that_each_session_has_for_itself_may_give_the_same_ids() {
    for place in [Place::At(Instance::OPEN), Place::At(Instance::ISOLATED[0])] {
        // The other one is common to all.
        let bench = bench([
            place != Place::At(Instance::OPEN),
            place != Place::At(Instance::ISOLATED[0]),
        ]);
        let alice = talk_of("alice", place);
        let bob = talk_of("bob", place);
        for talk in [&alice, &bob, &alice] {
            assert_eq!(begins(&bench, talk).await, reply("1", TASK));
        }
        for talk in [&alice, &bob] {
            assert_eq!(reaches(&bench, talk).await, DELIVERED);
        }
        // It is her own for a server that was started again, too.
        let later = talk_of("alice", place);
        assert_eq!(reaches(&bench, &later).await, DELIVERED);
    }
}

/// A session whose agent has begun the task `t-1` for the server.
async fn lent() -> Bench {
    let bench = Bench::new(open);
    bench
        .agent(&INITIALIZE.replace(
            r#""roots":{}"#,
            r#""sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}"#,
        ))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&reply(&id, AGREED)).await;
    let sample = r#""messages":[],"maxTokens":1,"task":{"ttl":1000}"#;
    let sample = legacy(7, "sampling/createMessage", sample);
    bench.to_agent();
    bench.upstream(&sample).await;
    let asked = id_of(&bench.to_agent()[0]);
    bench.agent(&reply(&asked, LEGACY_TASK)).await;
    bench.to_upstream();
    bench
}

const AGREED: &str =
    r#""protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}"#;

#[tokio::test]
async fn what_the_agent_does_for_a_server_is_not_told_to_the_next_one() {
    for changes in ["nothing", "moves", "is started again"] {
        let bench = lent().await;
        match changes {
            "moves" => moves(&bench.talk),
            "is started again" => {
                Box::pin(bench.gate.upstream_died(&bench.talk))
                    .await
                    .unwrap();
                Box::pin(bench.gate.upstream_restarted(&bench.talk)).await;
                let id = id_of(&bench.to_upstream()[0]);
                bench.upstream(&reply(&id, AGREED)).await;
                bench.to_upstream();
            }
            _ => {}
        }
        bench.to_agent();
        bench
            .upstream(&legacy(8, "tasks/get", r#""taskId":"t-1""#))
            .await;
        let asked = bench.to_agent();
        let is_same = changes == "nothing";
        assert_eq!(asked.len(), usize::from(is_same), "{changes}: {asked:?}");
        let told = bench.to_upstream().concat();
        assert!(is_same || told.contains("-32602"), "{changes}: {told}");
    }
}
