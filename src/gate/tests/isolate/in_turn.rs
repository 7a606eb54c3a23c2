//! Several isolated servers, each for a higher level than the one before.

use super::*;
use crate::session::Thresholds;

const INTERNAL: i64 = 1;
const CONFIDENTIAL: i64 = 2;

const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

async fn ready_for_all_levels() -> Bench {
    let bench = Bench::with(open, |settings| {
        settings.thresholds = Thresholds::new([INTERNAL, CONFIDENTIAL, SECRET]);
    });
    bench.shake_hands().await;
    bench.list(&["read"]).await;
    bench
}

impl Bench {
    async fn left_by(&self, instance: Instance, frame: &str) {
        let form = (Stream::MAIN, ArrivalForm::Event);
        let handled = self
            .gate
            .handle_elsewhere(&self.talk, instance, form, frame.as_bytes());
        Box::pin(handled).await.unwrap();
    }
}

#[tokio::test]
async fn each_level_has_a_place_of_its_own_and_no_way_leads_back() {
    let bench = ready_for_all_levels().await;
    for (level, upstream) in [
        (0, "fixture"),
        (INTERNAL, "fixture (isolated)"),
        (CONFIDENTIAL, "fixture (isolated 2)"),
        (INTERNAL, "fixture (isolated 2)"),
        (SECRET, "fixture (isolated 3)"),
        (0, "fixture (isolated 3)"),
    ] {
        bench.raise(level);
        let reached = bench.agent_meanwhile(&call("1", "read"), &["read"]).await;
        bench
            .upstream(&result(&id_of(reached.last().unwrap())))
            .await;
        assert_eq!(bench.to_agent(), [result("1")], "{level}");
        let calls = bench.records_of("tool_call").await;
        assert_eq!(calls.last().unwrap().get(&["upstream"]), upstream);
    }
}

#[tokio::test]
async fn a_session_goes_to_the_place_of_its_level_and_to_none_between() {
    let bench = ready_for_all_levels().await;
    bench.raise(SECRET);
    let reached = bench.agent_meanwhile(&call("1", "read"), &["read"]).await;
    let moves = reached.iter().filter(|line| *line == MOVED).count();
    assert_eq!(moves, 1, "{reached:?}");
    assert_eq!(bench.talk.session.run().instance, Instance::ISOLATED[2]);
}

#[tokio::test]
async fn what_waits_for_a_server_that_was_left_is_given_up_when_the_session_goes_on() {
    let bench = ready_for_all_levels().await;
    bench.agent(&call("1", "read")).await;
    let first = id_of(&bench.to_upstream()[0]);
    bench.raise(INTERNAL);
    let reached = bench.agent_meanwhile(&call("2", "read"), &["read"]).await;
    let second = id_of(reached.last().unwrap());
    assert_eq!(bench.to_agent(), [""; 0], "both replies are waited for");
    bench.raise(CONFIDENTIAL);
    bench.agent_meanwhile(PING, &[]).await;
    let told = bench.to_agent();
    assert!(
        told[0].contains(r#""id":1"#) && told[0].contains("error"),
        "{told:?}"
    );
    // Neither the first server nor the last one can answer for the second.
    bench.left_by(Instance::OPEN, &result(&first)).await;
    bench.left_by(Instance::OPEN, &result(&second)).await;
    bench.upstream(&result(&second)).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.left_by(Instance::ISOLATED[0], &result(&second)).await;
    assert_eq!(bench.to_agent(), [result("2")]);
}

#[tokio::test]
async fn an_agent_is_told_of_other_tools_after_each_move_and_after_two_at_once() {
    let changed = "notifications/tools/list_changed";
    for (levels, tools, is_told) in [
        (&[INTERNAL, SECRET][..], "other", true),
        (&[SECRET][..], "read", false),
    ] {
        let bench = Bench::with(open, |settings| {
            settings.thresholds = Thresholds::new([INTERNAL, CONFIDENTIAL, SECRET]);
        });
        bench.agent(INITIALIZE).await;
        let id = id_of(&bench.to_upstream()[0]);
        let tells = agreed(&id).replace(
            r#""capabilities":{}"#,
            r#""capabilities":{"tools":{"listChanged":true}}"#,
        );
        bench.upstream(&tells).await;
        bench.list(&["read"]).await;
        bench.to_agent();
        for level in levels {
            bench.raise(*level);
            let moving = bench.gate.keep_apart(&bench.talk);
            Box::pin(moving).await.unwrap();
        }
        bench.agent_meanwhile(PING, &[tools]).await;
        let told = bench.to_agent();
        let is_there = told.iter().any(|line| line.contains(changed));
        assert_eq!(is_there, is_told, "{levels:?} {told:?}");
    }
}

proptest! {
    #[test]
    fn the_place_of_a_level_never_falls(
        thresholds in proptest::collection::btree_set(1_i64..4, 0..4),
        one in -5_i64..9,
        other in -5_i64..9,
    ) {
        let places = Thresholds::new(thresholds.iter().copied());
        let (low, high) = (one.min(other), one.max(other));
        prop_assert!(places.instance_at(low) <= places.instance_at(high));
        let reached = thresholds.iter().filter(|least| low >= **least).count();
        prop_assert_eq!(places.instance_at(low).number(), reached);
    }

    #[test]
    fn a_session_only_ever_goes_to_narrower_places(to in proptest::collection::vec(0_usize..4, 0..6)) {
        let bench = bench();
        let session = &bench.talk.session;
        let mut narrowest = Instance::OPEN;
        for to in to {
            let to = Instance::ALL[to];
            prop_assert_eq!(session.leave_for(to).is_some(), to > narrowest);
            narrowest = narrowest.max(to);
            prop_assert_eq!(session.run().instance, narrowest);
        }
    }
}
