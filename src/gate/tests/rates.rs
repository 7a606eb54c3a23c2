//! What comes too often, and what is beyond a budget.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::*;
use crate::session::{
    Answer, Buckets, Budget, Counted, Empty, Ids, InMemory, Kept, Places, Raised, SessionKey,
    SessionStore, StoreFault, TokenStore, Tokens, Whose,
};

fn a_minute(times: u32) -> Option<Rate> {
    let times = NonZeroU32::new(times).unwrap();
    Some(Rate::new(times, Duration::from_mins(1), times))
}

async fn limited(rule: Rule, rates: Rates, tools: &[&str]) -> Bench {
    let bench = Bench::with(rule, |settings| settings.terms.rates = rates);
    bench.shake_hands().await;
    bench.list(tools).await;
    bench
}

/// What the agent is answered, as code and data.
fn told(answers: &[String]) -> Vec<(Option<i64>, String)> {
    let read = |line: &String| {
        let message = Message::decode(line.as_bytes(), &Limits::default()).unwrap();
        let error = message.error();
        let code = error.and_then(|error| error.get("code")?.as_i64());
        let get = |key| error.and_then(|error| error.at(&["data", key]));
        let text = |key| {
            get(key)
                .and_then(crate::wire::Value::as_str)
                .unwrap_or_default()
        };
        let after = get("retryAfterMs").and_then(crate::wire::Value::as_i64);
        let after = after.map_or(String::new(), |after| after.to_string());
        let data = [
            text("reason").into_owned(),
            text("limit").into_owned(),
            after,
        ];
        (code, data.join(" "))
    };
    answers.iter().map(read).collect()
}

fn ping(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

#[tokio::test]
async fn what_comes_too_often_is_told_when_to_come_back() {
    // The handshake and the list are two of them.
    let rates = Rates {
        principal: a_minute(5),
        tools: [("mail".to_owned(), a_minute(2).unwrap())].into(),
        ..Rates::default()
    };
    let bench = limited(open, rates, &["mail", "safe"]).await;
    for id in 1..=4 {
        bench.agent(&call(&id.to_string(), "mail")).await;
    }
    assert_eq!(bench.to_upstream().len(), 2);
    let tool = (Some(RATE_LIMITED), "rate_limited tool 30000".to_owned());
    assert_eq!(told(&bench.to_agent()), [tool.clone(), tool.clone()]);

    // What the tool's rate refused was not counted otherwise: one is left.
    bench.agent(&call("5", "safe")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    for (id, asked) in [(6, call("6", "safe")), (7, ping(7)), (8, call("8", "mail"))] {
        bench.agent(&asked).await;
        let own = (
            Some(RATE_LIMITED),
            "rate_limited principal 12000".to_owned(),
        );
        assert_eq!(told(&bench.to_agent()), [own], "{id}");
    }
    bench.clock.advance(Duration::from_millis(11_999));
    bench.agent(&ping(9)).await;
    assert_eq!(told(&bench.to_agent())[0].1, "rate_limited principal 1");
    bench.clock.advance(Duration::from_millis(1));
    bench.agent(&ping(10)).await;
    assert_eq!(bench.to_upstream().len(), 1);

    let records = bench.records_of("tool_call").await;
    let said = |it: &Entry| {
        [
            it.get(&["decision"]),
            it.get(&["stage"]),
            it.get(&["reason", "code"]),
        ]
    };
    let refused = ["BLOCK", "limit", "rate_limited"].map(str::to_owned);
    assert_eq!(records.iter().filter(|it| said(it) == refused).count(), 4);
}

#[tokio::test]
async fn what_is_denied_costs_its_principal_and_never_a_tool() {
    let rates = Rates {
        principal: a_minute(10),
        tools: [("denied".to_owned(), a_minute(1).unwrap())].into(),
        ..Rates::default()
    };
    let bench = limited(guarded, rates, &["denied", "safe"]).await;
    for id in 0..8 {
        bench.agent(&call(&id.to_string(), "denied")).await;
    }
    let denied = (Some(DENIED), "  ".to_owned());
    assert_eq!(told(&bench.to_agent()), vec![denied; 8]);
    bench.agent(&call("9", "denied")).await;
    bench.agent(&call("10", "safe")).await;
    let limit = (Some(RATE_LIMITED), "rate_limited principal 6000".to_owned());
    assert_eq!(told(&bench.to_agent()), [limit.clone(), limit]);
}

#[tokio::test]
async fn a_hidden_tool_does_not_show_itself_by_its_rate() {
    let rates = Rates {
        tools: [("hidden".to_owned(), a_minute(1).unwrap())].into(),
        ..Rates::default()
    };
    let bench = limited(guarded, rates, &["hidden", "safe"]).await;
    for id in ["1", "2"] {
        bench.agent(&call(id, "hidden")).await;
        assert_eq!(told(&bench.to_agent()), [(Some(-32_602), "  ".to_owned())]);
    }
}

#[tokio::test]
async fn a_call_that_waits_for_the_list_is_counted_once() {
    let rates = Rates {
        principal: a_minute(2),
        ..Rates::default()
    };
    let bench = Bench::with(open, |settings| settings.terms.rates = rates);
    bench.shake_hands().await;
    bench.agent(&call("1", "safe")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"safe","inputSchema":{{}}}}]}}}}"#
        ))
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
    bench.agent(&call("2", "safe")).await;
    assert_eq!(told(&bench.to_agent())[0].0, Some(RATE_LIMITED));
}

#[tokio::test]
async fn a_call_that_waits_for_the_list_in_vain_costs_its_principal() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for cancelled in [false, true] {
        let bench = Bench::with(open, |settings| {
            settings.terms.rates = Rates {
                principal: a_minute(2),
                ..Rates::default()
            };
            settings.terms.request_timeout = Duration::from_secs(1);
        });
        bench.shake_hands().await;
        bench.agent(&call("1", "safe")).await;
        bench.to_upstream();
        if cancelled {
            bench.agent(cancel).await;
            Box::pin(bench.gate.resume(&bench.talk)).await.unwrap();
        } else {
            bench.clock.advance(Duration::from_secs(1));
            Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
            assert!(bench.to_agent()[0].contains("did not answer"));
        }
        bench.agent(&ping(2)).await;
        assert_eq!(told(&bench.to_agent())[0].0, Some(RATE_LIMITED));
    }
}

#[tokio::test]
async fn notifications_and_what_the_server_sends_are_not_counted() {
    let rates = Rates {
        global: a_minute(3),
        ..Rates::default()
    };
    let bench = limited(open, rates, &["safe"]).await;
    bench.agent(&call("1", "safe")).await;
    let asked = bench.to_upstream();
    bench.upstream(&ping(7)).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
        .await;
    bench.upstream(&result(&id_of(&asked[0]))).await;
    assert_eq!(bench.to_upstream().len(), 1);
    assert_eq!(bench.to_agent().len(), 2);
    bench.agent(&ping(2)).await;
    assert_eq!(told(&bench.to_agent())[0].1, "rate_limited global 20000");
}

#[tokio::test]
async fn a_session_makes_as_many_calls_as_its_budget_has() {
    let rates = Rates {
        calls_per_session: Some(2),
        ..Rates::default()
    };
    let bench = limited(guarded, rates, &["denied", "safe"]).await;
    for id in 1..=4 {
        bench.agent(&call(&id.to_string(), "denied")).await;
        bench.agent(&call(&(10 + id).to_string(), "safe")).await;
    }
    assert_eq!(bench.to_upstream().len(), 2);
    let spent = (Some(RATE_LIMITED), "session_quota_exceeded  ".to_owned());
    let answers = told(&bench.to_agent());
    assert_eq!(answers.iter().filter(|it| **it == spent).count(), 2);
    bench.agent(&ping(20)).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn who_asks_for_denials_as_results_gets_limits_so_too() {
    let rates = Rates {
        tools: [("mail".to_owned(), a_minute(1).unwrap())].into(),
        ..Rates::default()
    };
    let bench = Bench::with(open, |settings| {
        settings.terms.rates = rates;
        settings.terms.denial = DenialForm::ToolResult;
    });
    bench.shake_hands().await;
    bench.list(&["mail"]).await;
    bench.agent(&call("1", "mail")).await;
    bench.agent(&call("2", "mail")).await;
    let answer = bench.to_agent().remove(0);
    assert!(answer.contains(r#""isError":true"#), "{answer}");
    assert!(answer.contains("retry after 60000 ms"), "{answer}");
}

/// One of several sessions that share what is kept, with a budget of three calls.
async fn sharing(store: &Arc<dyn SessionStore>, whose: Whose) -> Bench {
    let mut bench = Bench::with(open, |settings| {
        settings.terms.rates.calls_per_session = Some(3);
    });
    bench.gate = bench.gate.remembering(Arc::clone(store));
    let session = Arc::into_inner(bench.talk.session).unwrap();
    bench.talk.session = Arc::new(session.reading_as(whose));
    bench.shake_hands().await;
    bench.list(&["safe"]).await;
    bench
}

/// How many of so many calls reach the server; the others have to be told that the budget is spent.
async fn passing(bench: &Bench, calls: usize) -> usize {
    for id in 0..calls {
        bench.agent(&call(&id.to_string(), "safe")).await;
    }
    let (sent, told) = (bench.to_upstream().len(), told(&bench.to_agent()));
    let refused = (Some(RATE_LIMITED), "session_quota_exceeded  ".to_owned());
    assert_eq!(told, vec![refused; calls - sent]);
    sent
}

#[tokio::test]
async fn a_session_that_begins_anew_under_its_name_goes_on_with_its_budget() {
    let store: Arc<dyn SessionStore> = Arc::new(InMemory::default());
    let named = |session| Whose::Common(SessionKey::of("ada", session));
    assert_eq!(
        passing(&sharing(&store, named(Some("s"))).await, 2).await,
        2
    );
    assert_eq!(
        passing(&sharing(&store, named(Some("s"))).await, 2).await,
        1
    );
    assert_eq!(
        passing(&sharing(&store, named(Some("s"))).await, 2).await,
        0
    );
    // Another session, what the agent does without one, and another agent's have their own.
    for other in [
        named(Some("t")),
        named(None),
        Whose::Common(SessionKey::of("bob", Some("s"))),
        Whose::OwnAnd(SessionKey::of("ada", None)),
        Whose::Own,
        // Whoever has proved nothing may be anybody: what they have in common is the conversation.
        Whose::Common(SessionKey::of("anonymous", None)),
        Whose::Common(SessionKey::of("anonymous", None)),
    ] {
        assert_eq!(passing(&sharing(&store, other).await, 4).await, 3);
    }
    assert_eq!(passing(&sharing(&store, named(None)).await, 2).await, 0);
    // Where somebody was to name it, and has not, it may be one that has made all of its calls.
    assert_eq!(passing(&sharing(&store, Whose::Unnamed).await, 2).await, 0);
}

#[tokio::test]
async fn what_a_principal_does_without_a_session_has_a_new_budget_after_a_pause() {
    let rest = Duration::from_mins(5);
    let ada = |session| Whose::Common(SessionKey::of("ada", session));
    let check = async |whose: Whose, ids, passes_again: [usize; 2]| {
        let store: Arc<dyn SessionStore> = Arc::new(InMemory::default());
        let mut bench = Bench::with(open, |settings| {
            settings.terms.rates.calls_per_session = Some(2);
            settings.terms.rates.rest = Some(rest);
        })
        .with_ids(ids);
        bench.gate = bench.gate.remembering(Arc::clone(&store));
        let session = Arc::into_inner(bench.talk.session).unwrap();
        bench.talk.session = Arc::new(session.reading_as(whose.clone()));
        bench.shake_hands().await;
        bench.list(&["safe"]).await;
        let passing = async |calls: std::ops::Range<usize>| {
            for id in calls {
                bench.agent(&call(&id.to_string(), "safe")).await;
            }
            bench.to_upstream().len()
        };
        assert_eq!(passing(0..3).await, 2);
        bench.clock.advance(Duration::from_millis(299_999));
        // To ask in vain is no call.
        assert_eq!(passing(3..5).await, 0);
        bench.to_agent();
        bench.clock.advance(Duration::from_millis(1));
        assert_eq!(passing(5..8).await, passes_again[0], "{whose:?}");
        let told = told(&bench.to_agent());
        let again = if passes_again[0] > 0 { "300000" } else { "" };
        let spent = (
            Some(RATE_LIMITED),
            format!("session_quota_exceeded  {again}"),
        );
        assert_eq!(told, vec![spent; 3 - passes_again[0]]);
        // A process that is started after that.
        bench.clock.advance(rest);
        bench.talk.session.state().security.calls = 0;
        assert_eq!(passing(8..9).await, passes_again[1], "{whose:?}");
    };
    check(ada(None), Ids::OfStream, [2, 1]).await;
    // The agent of a process has its budget until that ends.
    check(ada(None), Ids::OfSession, [0, 1]).await;
    // What is named ends under that name.
    check(ada(Some("s")), Ids::OfStream, [0, 0]).await;
    check(ada(Some("s")), Ids::OfSession, [0, 0]).await;
}

#[tokio::test]
async fn a_call_for_which_there_is_no_place_to_count_it_is_told_so() {
    let store: Arc<dyn SessionStore> = Arc::new(InMemory::holding(1));
    let named = |session| Whose::Common(SessionKey::of("ada", Some(session)));
    assert_eq!(passing(&sharing(&store, named("s")).await, 1).await, 1);
    let other = sharing(&store, named("t")).await;
    other.agent(&call("1", "safe")).await;
    assert_eq!(other.to_upstream(), Vec::<String>::new());
    assert_eq!(
        told(&other.to_agent()),
        [(Some(DENIED), "session_store_full  ".to_owned())]
    );
    let record = other.records_of("tool_call").await.pop().unwrap();
    assert_eq!(record.get(&["reason", "code"]), "session_store_full");
}

/// Somebody else makes the last call of the budget between the look and the count, so often.
#[derive(Debug)]
pub(super) struct Overtaken(pub(super) std::sync::atomic::AtomicUsize);

impl SessionStore for Overtaken {
    fn kept<'a>(&'a self, _: &'a SessionKey) -> Answer<'a, Kept> {
        Answer::Now(Ok(Kept::default()))
    }

    fn raise<'a>(
        &'a self,
        _: &'a SessionKey,
        _: &'a crate::policy::SessionSensitivity,
    ) -> Answer<'a, Raised> {
        Answer::Now(Ok(Raised::unchanged(&Arc::default())))
    }

    fn count<'a>(&'a self, _: &'a SessionKey, _: Budget) -> Answer<'a, Counted> {
        let left = self
            .0
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        let counted = left.map_or(Counted::Yes, |_| Counted::Spent);
        Answer::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(counted)
        }))
    }

    fn end<'a>(&'a self, _: &'a SessionKey, _: &'a str) -> Answer<'a, ()> {
        Answer::Now(Ok(()))
    }

    fn places(&self) -> Option<Places> {
        None
    }
}

#[tokio::test]
async fn a_call_that_another_was_faster_than_is_refused_and_leaves_nothing_waiting() {
    let store: Arc<dyn SessionStore> = Arc::new(Overtaken(1.into()));
    let bench = sharing(&store, Whose::Common(SessionKey::of("ada", None))).await;
    assert_eq!(passing(&bench, 1).await, 0);
    assert_eq!(bench.talk.session.state().security.calls, 0);
    assert!(bench.talk.session.is_idle());
    assert_eq!(passing(&bench, 1).await, 1);
}

/// What several gates share, somewhere else: each answer takes its time, and may not come.
#[derive(Debug)]
struct Shared {
    sessions: InMemory,
    tokens: Arc<Afar>,
}

#[derive(Debug)]
struct Afar {
    tokens: Tokens,
    is_gone: AtomicBool,
}

impl TokenStore for Afar {
    fn take<'a>(&'a self, buckets: Buckets<'a>) -> Answer<'a, Result<(), Empty>> {
        Answer::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            if self.is_gone.load(SeqCst) {
                return Err(StoreFault::new("the store does not answer"));
            }
            self.tokens.take(buckets).get().await
        }))
    }

    fn look(&self, _: Buckets<'_>) -> Result<(), Empty> {
        Ok(())
    }
}

impl SessionStore for Shared {
    fn kept<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, Kept> {
        self.sessions.kept(key)
    }

    fn raise<'a>(
        &'a self,
        key: &'a SessionKey,
        by: &'a crate::policy::SessionSensitivity,
    ) -> Answer<'a, Raised> {
        self.sessions.raise(key, by)
    }

    fn count<'a>(&'a self, key: &'a SessionKey, budget: Budget) -> Answer<'a, Counted> {
        self.sessions.count(key, budget)
    }

    fn end<'a>(&'a self, key: &'a SessionKey, tool: &'a str) -> Answer<'a, ()> {
        self.sessions.end(key, tool)
    }

    fn places(&self) -> Option<Places> {
        self.sessions.places()
    }

    fn tokens(&self) -> Option<Arc<dyn TokenStore>> {
        Some(self.tokens.clone())
    }
}

/// Two gates before servers of their own, that share a store, with these rates.
async fn two_gates(rates: &Rates) -> (Arc<Shared>, [Bench; 2]) {
    let store = Arc::new(Shared {
        sessions: InMemory::default(),
        tokens: Arc::new(Afar {
            tokens: Tokens::new(Arc::new(HandClock::default())),
            is_gone: false.into(),
        }),
    });
    let gate = || async {
        let mut bench = Bench::with(open, |settings| settings.terms.rates = rates.clone());
        bench.gate = bench.gate.remembering(store.clone());
        bench.shake_hands().await;
        bench.list(&["mail", "safe"]).await;
        bench
    };
    let gates = [gate().await, gate().await];
    (store, gates)
}

#[tokio::test]
async fn gates_that_share_a_store_let_through_as_much_as_one() {
    // Two handshakes and two lists are four of them.
    let rates = Rates {
        principal: a_minute(9),
        tools: [("mail".to_owned(), a_minute(3).unwrap())].into(),
        ..Rates::default()
    };
    let (_, [one, other]) = two_gates(&rates).await;
    for ids in [["1", "2"], ["3", "4"]] {
        let [first, second] = ids.map(|id| call(id, "mail"));
        tokio::join!(
            Box::pin(one.agent(&first)),
            Box::pin(other.agent(&first)),
            Box::pin(one.agent(&second)),
            Box::pin(other.agent(&second)),
        );
    }
    let sent = [&one, &other].map(|gate| gate.to_upstream().len());
    assert_eq!(sent.iter().sum::<usize>(), 3, "{sent:?}");
    // What did not go out leaves nothing behind, and is told when to come back.
    for (gate, sent) in [&one, &other].into_iter().zip(sent) {
        assert_eq!(
            gate.talk.session.state().security.calls,
            i64::try_from(sent).unwrap()
        );
        let refused = (Some(RATE_LIMITED), "rate_limited tool 20000".to_owned());
        assert_eq!(told(&gate.to_agent()), vec![refused; 4 - sent]);
    }
    // What the tool's rate has refused was not counted otherwise: two are left.
    one.agent(&call("7", "safe")).await;
    other.agent(&call("8", "safe")).await;
    assert_eq!(one.to_agent().len() + other.to_agent().len(), 0);
    other.agent(&call("9", "safe")).await;
    assert_eq!(told(&other.to_agent())[0].1, "rate_limited principal 6667");
}

#[tokio::test]
async fn where_tokens_cannot_be_had_nothing_passes() {
    let rates = Rates {
        tools: [("mail".to_owned(), a_minute(3).unwrap())].into(),
        ..Rates::default()
    };
    let (store, [gate, _]) = two_gates(&rates).await;
    store.tokens.is_gone.store(true, SeqCst);
    gate.agent(&call("1", "mail")).await;
    assert_eq!(gate.to_upstream(), Vec::<String>::new());
    assert_eq!(gate.to_agent().len(), 1);
    let record = gate.records_of("tool_call").await.pop().unwrap();
    let said = [&["decision"][..], &["reason", "code"]].map(|field| record.get(field));
    assert_eq!(said, ["ERROR", "session_store_unavailable"]);
    assert!(gate.talk.session.is_idle());
    store.tokens.is_gone.store(false, SeqCst);
    gate.agent(&call("1", "mail")).await;
    assert_eq!(gate.to_upstream().len(), 1);
}
