//! Progress gives a request more time, and not for ever.

use super::*;

async fn asks(bench: &Bench, id: u32, tool: &str) -> String {
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"progressToken":"t{id}"}}}}}}"#
        ))
        .await;
    id_of(&bench.to_upstream()[0])
}

async fn tells(bench: &Bench, id: u32, progress: u32) {
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t{id}","progress":{progress}}}}}"#
        ))
        .await;
}

/// How many progress notifications, one each 40 s, reach the agent before the request times out.
async fn lasts(change: impl FnOnce(&mut Settings), tool: &str) -> usize {
    let bench = Bench::with(open, change);
    bench.shake_hands().await;
    bench.list(&["slow", "quick"]).await;
    asks(&bench, 1, tool).await;
    for step in 0..100 {
        bench.clock.advance(Duration::from_secs(40));
        bench.gate.expire(&bench.talk).await.unwrap();
        let told = bench.to_agent();
        if !told.is_empty() {
            assert!(told[0].contains("did not answer within"), "{told:?}");
            tells(&bench, 1, 100).await;
            assert!(bench.to_agent().is_empty());
            return step;
        }
        tells(&bench, 1, step.try_into().unwrap()).await;
        assert_eq!(bench.to_agent().len(), 1);
    }
    panic!("it lasts for ever")
}

#[tokio::test]
async fn progress_extends_a_request_up_to_the_most_that_it_may_take() {
    // A minute each time, ten in all.
    assert_eq!(lasts(|_| {}, "slow").await, 14);
    assert_eq!(
        lasts(|it| it.terms.progress_extends = None, "slow").await,
        1
    );
    let five = |it: &mut Settings| it.terms.progress_extends = Some(Duration::from_mins(5));
    assert_eq!(lasts(five, "slow").await, 7);
    // Never less than without.
    let none = |it: &mut Settings| it.terms.progress_extends = Some(Duration::ZERO);
    assert_eq!(lasts(none, "slow").await, 1);
    let of_its_own = |it: &mut Settings| {
        it.terms.tool_timeouts = [("quick".to_owned(), Duration::from_secs(39))].into();
    };
    assert_eq!(lasts(of_its_own, "quick").await, 0);
}

#[tokio::test]
async fn progress_of_one_request_gives_no_time_to_another() {
    let bench = Bench::ready(open, &["slow"]).await;
    asks(&bench, 1, "slow").await;
    asks(&bench, 2, "slow").await;
    bench.clock.advance(Duration::from_secs(40));
    tells(&bench, 1, 1).await;
    assert_eq!(bench.to_agent().len(), 1);
    bench.clock.advance(Duration::from_secs(40));
    bench.gate.expire(&bench.talk).await.unwrap();
    let told = bench.to_agent();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with(r#"{"jsonrpc":"2.0","id":2,"#),
        "{told:?}"
    );
}
