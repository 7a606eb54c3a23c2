//! A yes that cannot be made use of at once, and what happens while a question is recorded.

use std::num::NonZeroU32;

use super::rounds::{META, approving, asked_by_result, has_listed, modern};
use super::sessions::once_per_session;
use super::*;
use crate::gate::rates::Pace;
use crate::policy::SessionSensitivity;
use crate::session::{
    Answer as Stored, Buckets, Empty, Ids, Kept, Raised, SessionKey, SessionStore, StoreFault,
    TokenStore, Whose,
};
use crate::wire::{ArrivalForm, Stream};

const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;

const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// One now, and one in half the time of an answer.
fn seldom() -> Rate {
    let one = NonZeroU32::MIN;
    Rate::new(one, TIMEOUT / 2, one)
}

impl Asked {
    /// From now on requests are limited.
    fn limit(&mut self, rates: &Rates) {
        let clock: Arc<dyn crate::clock::Clock> = self.bench.clock.clone();
        self.bench.gate.stores.pace = Arc::new(Pace::new(&clock));
        self.bench.gate.settings.terms.rates = rates.clone();
        self.bench.gate.assemble();
    }

    /// The server lists its tools to the gate, which has asked it to.
    async fn list_to_gate(&self, definition: &str) {
        let asked = self.bench.to_upstream();
        assert!(asked[0].contains("tools/list"), "{asked:?}");
        let id = id_of(&asked[0]);
        self.bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{definition}]}}}}"#
            ))
            .await;
    }
}

#[tokio::test]
async fn a_yes_is_not_spent_while_its_call_comes_too_often() {
    let limits = [
        Rates {
            tools: [("ask".to_owned(), seldom())].into(),
            ..Rates::default()
        },
        Rates {
            principal: Some(seldom()),
            ..Rates::default()
        },
    ];
    for rates in limits {
        let mut asked = Asked::session(with_consent, &[Way::Page]).await;
        let first = asked.call("1", "ask").await;
        let ticket = asked.call("2", "ask").await;
        asked.limit(&rates);
        asked.answer(&first, Answer::Approve).await;
        assert_eq!(asked.bench.to_upstream().len(), 1, "{rates:?}");
        asked.answer(&ticket, Answer::Approve).await;
        assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
        assert!(asked.bench.to_agent()[0].contains("4290"), "{rates:?}");
        asked.bench.clock.advance(TIMEOUT / 2);
        asked.bench.agent(&call("3", "ask")).await;
        assert_eq!(asked.bench.to_upstream().len(), 1, "{rates:?}");
        // Once, and for that call.
        asked.limit(&Rates::default());
        asked.call("4", "ask").await;
        let found = asked.bench.records_of("tool_call").await;
        let found = found
            .iter()
            .filter(|it| it.text().contains(&format!("question {ticket}")));
        assert_eq!(found.count(), 1);
    }
}

#[tokio::test]
async fn a_yes_that_was_put_by_is_for_the_same_call_and_no_younger() {
    let mut asked = Asked::session(with_consent, &[Way::Page]).await;
    let ticket = asked.call("1", "ask").await;
    asked.limit(&Rates {
        calls_per_session: Some(0),
        ..Rates::default()
    });
    asked.answer(&ticket, Answer::Approve).await;
    assert!(asked.bench.to_agent()[0].contains("session_quota_exceeded"));
    asked.limit(&Rates::default());
    let other = call("2", "ask").replace(r#"{"a":1}"#, r#"{"a":2}"#);
    asked.bench.agent(&other).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    asked.bench.clock.advance(TIMEOUT);
    asked.call("3", "ask").await;
}

#[tokio::test]
async fn a_yes_is_put_by_while_the_store_does_not_answer() {
    let mut asked = Asked::session(with_consent, &[Way::Page]).await;
    let ticket = asked.call("1", "ask").await;
    asked.limit(&Rates {
        global: Some(seldom()),
        ..Rates::default()
    });
    let silent = Arc::new(Pace::sharing(Arc::new(Silent)));
    asked.bench.gate.stores.pace = silent;
    asked.bench.gate.assemble();
    asked.answer(&ticket, Answer::Approve).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    assert!(asked.bench.to_agent()[0].contains("-32603"));
    asked.limit(&Rates::default());
    asked.bench.agent(&call("2", "ask")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
}

/// A store that does not answer.
#[derive(Debug)]
struct Silent;

impl TokenStore for Silent {
    fn take<'a>(&'a self, _: Buckets<'a>) -> Stored<'a, Result<(), Empty>> {
        Stored::Now(Err(StoreFault::new("the store does not answer")))
    }

    fn look(&self, _: Buckets<'_>) -> Result<(), Empty> {
        Ok(())
    }
}

#[tokio::test]
async fn a_yes_is_put_by_when_another_call_is_faster_with_the_last_one_of_a_budget() {
    let mut asked = Asked::session(with_consent, &[Way::Page]).await;
    let session = Arc::into_inner(asked.bench.talk.session).unwrap();
    let common = Whose::Common(SessionKey::of("somebody", None));
    asked.bench.talk.session = Arc::new(session.reading_as(common));
    asked.limit(&Rates {
        calls_per_session: Some(9),
        ..Rates::default()
    });
    let store = super::super::rates::Overtaken(1.into());
    asked.bench.gate = asked.bench.gate.remembering(Arc::new(store));
    let ticket = asked.call("1", "ask").await;
    asked.answer(&ticket, Answer::Approve).await;
    assert!(asked.bench.to_agent()[0].contains("session_quota_exceeded"));
    asked.bench.agent(&call("2", "ask")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1, "nobody is asked again");
    asked.bench.agent(&call("3", "ask")).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new(), "once");
}

#[tokio::test]
async fn an_agent_without_a_session_brings_the_same_state_again_when_it_came_too_often() {
    let mut asked = has_listed(Asked::new(with_consent, &[Way::Elicitation])).await;
    let state = asked_by_result(&asked, "1").await;
    let yes = |id: &str| modern(id, "ask", r#"{"a":1}"#, &approving(&state));
    asked.limit(&Rates {
        calls_per_session: Some(0),
        ..Rates::default()
    });
    asked.bench.agent(&yes("2")).await;
    assert!(asked.bench.to_agent()[0].contains("session_quota_exceeded"));
    asked.limit(&Rates::default());
    asked.bench.agent(&yes("3")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted agent_ui:stdio"]
    );
    asked.bench.agent(&yes("4")).await;
    assert_refused(&asked.bench.to_agent(), "4", "consent_already_used");
}

#[tokio::test]
async fn an_agent_without_a_session_that_waited_for_the_page_and_came_too_often_is_not_asked_again()
{
    let bench = Bench::new(with_consent).with_ids(Ids::OfStream);
    let mut asked = has_listed(Asked::before(bench, &[Way::Page], |_| {})).await;
    let frame = |id: &str| modern(id, "ask", r#"{"a":1}"#, "").replace("elicitation", "roots");
    for (id, limit) in [("1", None), ("2", Some(seldom()))] {
        let stream = Stream::numbered(id.parse().unwrap());
        asked.bench.agent_on(stream, &frame(id)).await;
        asked.limit(&Rates {
            principal: limit,
            ..Rates::default()
        });
        if limit.is_some() {
            // The one that may come now.
            asked.bench.agent(&modern("5", "free", "{}", "")).await;
            asked.bench.to_agent();
        }
        asked.answer(&asked.latest(), Answer::Approve).await;
    }
    assert_eq!(asked.bench.to_upstream().len(), 1);
    assert!(asked.bench.to_agent()[0].contains("4290"));
    asked.bench.clock.advance(TIMEOUT / 2);
    asked.bench.agent_on(Stream::numbered(3), &frame("3")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
    // Once.
    asked.limit(&Rates::default());
    asked.bench.agent_on(Stream::numbered(4), &frame("4")).await;
    assert_eq!(asked.bench.to_upstream(), [""; 0]);
    assert_eq!(asked.desk.pending().len(), 1);
}

/// The server asks where to, in the result of the call with this id.
fn asks_where(minted: &str, state: &str) -> String {
    let asks = r#""inputRequests":{"to":{"method":"elicitation/create","params":{"mode":"form","message":"to whom?","requestedSchema":{"type":"object","properties":{}}}}}"#;
    form_answer(
        minted,
        &format!(r#"{{"resultType":"input_required",{asks}{state}}}"#),
    )
}

#[tokio::test]
async fn a_yes_to_answers_for_the_server_that_was_put_by_is_for_no_others() {
    for state in [None, Some("servers")] {
        let mut asked = has_listed(Asked::new(with_consent, &[Way::Page])).await;
        let said = |state: Option<&str>| {
            state.map_or_else(String::new, |it| format!(r#","requestState":"{it}""#))
        };
        let pays = |id: &str, account: &str, state| {
            let to = format!(
                r#""inputResponses":{{"to":{{"action":"accept","content":{{"account":"{account}"}}}}}}{},"#,
                said(state)
            );
            modern(id, "ask", r#"{"a":1}"#, &to)
        };
        asked
            .bench
            .agent(&modern("1", "ask", r#"{"a":1}"#, ""))
            .await;
        asked.answer(&asked.latest(), Answer::Approve).await;
        let minted = id_of(&asked.bench.to_upstream()[0]);
        asked
            .bench
            .upstream(&asks_where(&minted, &said(state)))
            .await;
        asked.bench.to_agent();
        if state.is_some() {
            // With a state the yes to the call goes on, once.
            asked.bench.agent(&pays("2", "a", state)).await;
            assert_eq!(asked.bench.to_upstream().len(), 1);
        }
        asked.bench.agent(&pays("3", "a", state)).await;
        assert_eq!(asked.bench.to_upstream(), [""; 0], "{state:?}");
        let question = Arc::clone(&asked.desk.pending()[0].question);
        assert!(question.arguments.contains(r#""account": "a""#));
        asked.limit(&Rates {
            calls_per_session: Some(0),
            ..Rates::default()
        });
        asked.answer(&asked.latest(), Answer::Approve).await;
        assert!(asked.bench.to_agent()[0].contains("session_quota_exceeded"));
        asked.limit(&Rates::default());
        // With other answers, and with none.
        for other in [
            pays("4", "evil", state),
            modern("5", "ask", r#"{"a":1}"#, ""),
        ] {
            asked.bench.agent(&other).await;
            assert_eq!(asked.bench.to_upstream(), [""; 0], "{other}");
        }
        asked.bench.agent(&pays("6", "a", state)).await;
        let sent = asked.bench.to_upstream();
        assert_eq!(sent.len(), 1, "{state:?} {:?}", asked.bench.to_agent());
        assert!(sent[0].contains(r#""account":"a""#), "{sent:?}");
    }
}

/// Rises for a moment, and the tools are forgotten then.
#[derive(Debug)]
struct Forgetting(Arc<Session>, AtomicU64);

impl Forgetting {
    /// Asked for when a message comes, and then when it raises.
    fn now(&self) -> Arc<SessionSensitivity> {
        let level = i64::from(self.1.fetch_add(1, Ordering::Relaxed) == 1);
        if level > 0 {
            self.0.state().lists.tools.forget();
        }
        Arc::new(SessionSensitivity {
            level,
            ..SessionSensitivity::default()
        })
    }
}

impl SessionStore for Forgetting {
    fn kept<'a>(&'a self, _: &'a SessionKey) -> Stored<'a, Kept> {
        Stored::Now(Ok(Kept::having_read(self.now())))
    }

    fn raise<'a>(&'a self, _: &'a SessionKey, _: &'a SessionSensitivity) -> Stored<'a, Raised> {
        Stored::Now(Ok(Raised::unchanged(&self.now())))
    }

    counts_nothing!();
}

#[tokio::test]
async fn a_round_whose_tool_becomes_unknown_meanwhile_goes_on_with_its_consent() {
    let mut asked = Asked::new(with_consent, &[Way::Elicitation]);
    let session = Arc::into_inner(asked.bench.talk.session).unwrap();
    let common = Whose::Common(SessionKey::of("somebody", None));
    asked.bench.talk.session = Arc::new(session.reading_as(common));
    let asked = has_listed(asked).await;
    let state = asked_by_result(&asked, "1").await;
    let first = modern("2", "ask", r#"{"a":1}"#, &approving(&state));
    asked.bench.agent(&first).await;
    let minted = id_of(&asked.bench.to_upstream()[0]);
    let more = r#"{"resultType":"input_required","requestState":"servers"}"#;
    asked.bench.upstream(&form_answer(&minted, more)).await;
    asked.bench.to_agent();
    let Asked { mut bench, desk } = asked;
    let store = Forgetting(Arc::clone(&bench.talk.session), AtomicU64::new(0));
    bench.gate = bench.gate.remembering(Arc::new(store));
    let asked = Asked { bench, desk };
    let round = modern("3", "ask", r#"{"a":1}"#, r#""requestState":"servers","#);
    asked.bench.agent(&round).await;
    asked
        .list_to_gate(r#"{"name":"ask","inputSchema":{"type":"object"}}"#)
        .await;
    let sent = asked.bench.to_upstream();
    assert_eq!(sent.len(), 1, "{:?}", asked.bench.to_agent());
    assert!(sent[0].contains(r#""requestState":"servers""#));
}

#[tokio::test]
async fn a_round_that_is_sent_twice_and_waits_between_has_one_consent() {
    let mut asked = Asked::new(with_consent, &[Way::Elicitation]);
    let session = Arc::into_inner(asked.bench.talk.session).unwrap();
    let common = Whose::Common(SessionKey::of("somebody", None));
    asked.bench.talk.session = Arc::new(session.reading_as(common));
    // The gate makes the headers, so that it sends a call again that the server has refused for them.
    asked.bench.gate.settings.over_http = OverHttp::from_first([true]);
    asked.bench.gate.assemble();
    let asked = has_listed(asked).await;
    let state = asked_by_result(&asked, "1").await;
    let first = modern("2", "ask", r#"{"a":1}"#, &approving(&state));
    asked.bench.agent(&first).await;
    let minted = id_of(&asked.bench.to_upstream()[0]);
    let more = r#"{"resultType":"input_required","requestState":"servers"}"#;
    asked.bench.upstream(&form_answer(&minted, more)).await;
    asked.bench.to_agent();
    let round = |id| modern(id, "ask", r#"{"a":1}"#, r#""requestState":"servers","#);
    asked.bench.agent(&round("3")).await;
    let minted = id_of(&asked.bench.to_upstream()[0]);
    let Asked { mut bench, desk } = asked;
    // Forgets the tools when the second attempt raises.
    let store = Forgetting(
        Arc::clone(&bench.talk.session),
        AtomicU64::new(u64::MAX - 1),
    );
    bench.gate = bench.gate.remembering(Arc::new(store));
    let asked = Asked { bench, desk };
    let refused = format!(
        r#"{{"jsonrpc":"2.0","id":{minted},"error":{{"code":-32020,"message":"Header mismatch"}}}}"#
    );
    let (gate, talk) = (&asked.bench.gate, &asked.bench.talk);
    let form = ArrivalForm::Rejected;
    let handled = gate.handle_upstreams(talk, Stream::MAIN, form, refused.as_bytes());
    handled.await.unwrap();
    let definition = r#"{"name":"ask","inputSchema":{"type":"object"}}"#;
    asked.list_to_gate(definition).await;
    asked.list_to_gate(definition).await;
    let sent = asked.bench.to_upstream();
    assert_eq!(sent.len(), 1, "{:?}", asked.bench.to_agent());
    assert!(sent[0].contains(r#""requestState":"servers""#));
    // The same round again is another call: a person is asked.
    asked.bench.agent(&round("4")).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
}

#[tokio::test]
async fn a_yes_outlives_a_call_that_has_waited_too_long_for_the_list() {
    let mut asked = Asked::session(with_consent, &[Way::Page]).await;
    asked.bench.gate.settings.terms.request_timeout = TIMEOUT / 4;
    let ticket = asked.call("1", "ask").await;
    asked.bench.upstream(NEWS).await;
    asked.bench.to_agent();
    asked.answer(&ticket, Answer::Approve).await;
    asked.wait(TIMEOUT / 4).await;
    assert!(asked.bench.to_agent()[0].contains(r#""id":1,"error""#));
    asked.bench.to_upstream();
    asked.bench.list(&["ask"]).await;
    asked.bench.agent(&call("2", "ask")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_yes_for_a_tool_that_is_unknown_at_the_moment_waits_for_the_list() {
    let same = r#"{"name":"ask","inputSchema":{"type":"object"}}"#;
    let other = r#"{"name":"ask","description":"now it deletes","inputSchema":{"type":"object"}}"#;
    for (listed, passes) in [(same, true), (other, false)] {
        let asked = Asked::session(with_consent, &[Way::Page]).await;
        let ticket = asked.call("1", "ask").await;
        asked.bench.upstream(NEWS).await;
        asked.bench.to_agent();
        asked.answer(&ticket, Answer::Approve).await;
        assert_eq!(asked.bench.to_agent(), Vec::<String>::new());
        asked.list_to_gate(listed).await;
        let sent = asked.bench.to_upstream();
        assert_eq!(sent.len(), usize::from(passes), "{sent:?}");
        if !passes {
            assert_refused(&asked.bench.to_agent(), "1", "consent_stale");
        }
        assert_eq!(
            asked.events().await,
            ["consent_requested", "consent_granted web:olga"]
        );
        let mut records = asked.bench.records_of("consent").await;
        records.extend(asked.bench.records_of("tool_call").await);
        let first = records[0].get(&["reference"]);
        assert!(records.iter().all(|it| it.get(&["reference"]) == first));
    }
}

#[tokio::test]
async fn what_an_agent_without_a_session_brings_waits_for_the_list_too() {
    let asked = has_listed(Asked::new(with_consent, &[Way::Elicitation])).await;
    let state = asked_by_result(&asked, "1").await;
    asked.bench.talk.session.state().lists.tools.forget();
    asked
        .bench
        .agent(&modern("2", "ask", r#"{"a":1}"#, &approving(&state)))
        .await;
    assert_eq!(asked.bench.to_agent(), Vec::<String>::new());
    asked
        .list_to_gate(r#"{"name":"ask","inputSchema":{"type":"object"}}"#)
        .await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_yes_for_the_session_holds_from_the_call_on_that_passed_with_it() {
    let mut asked = once_per_session().await;
    let ticket = asked.call("1", "ask").await;
    asked.limit(&Rates {
        calls_per_session: Some(0),
        ..Rates::default()
    });
    asked.answer(&ticket, Answer::Approve).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    asked.bench.to_agent();
    asked.limit(&Rates::default());
    let other = |id: &str| call(id, "ask").replace(r#"{"a":1}"#, r#"{"a":2}"#);
    asked.bench.agent(&other("2")).await;
    assert_eq!(
        asked.bench.to_upstream(),
        Vec::<String>::new(),
        "consent_requested"
    );
    asked.bench.agent(&call("3", "ask")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1, "that of before");
    asked.bench.agent(&other("4")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1, "from now on");
}

#[tokio::test]
async fn a_call_that_a_person_is_asked_about_is_paid_for_when_it_is_asked_about() {
    let mut asked = Asked::session(with_consent, &[Way::Page]).await;
    asked.limit(&Rates {
        principal: Some(seldom()),
        ..Rates::default()
    });
    asked.call("1", "ask").await;
    asked.bench.agent(&call("2", "free")).await;
    assert!(asked.bench.to_agent()[0].contains("4290"));
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
}

#[tokio::test]
async fn the_clock_leaves_a_yes_to_whoever_hears_the_bell() {
    let asked = Asked::session(with_consent, &[Way::Page]).await;
    let first = asked.call("1", "ask").await;
    let second = asked.call("2", "ask").await;
    for (ticket, answer) in [(&first, Answer::Approve), (&second, Answer::Deny)] {
        asked.desk.answer(ticket, answer, By::page("olga")).unwrap();
    }
    asked.bench.talk.session.until_the_bell_rings().await;
    // What goes on may have to wait for a time that runs out here.
    asked.wait(Duration::ZERO).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    assert_refused(&asked.bench.to_agent(), "2", "consent_denied");
    asked.bench.talk.session.until_the_bell_rings().await;
    asked.go_on().await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_cancellation_is_heard_while_the_question_is_recorded() {
    for is_modern in [false, true] {
        let ways = [Way::Elicitation, Way::Page];
        let mut asked = Asked::recording(with_consent, &ways);
        let (first, cancel) = if is_modern {
            asked = has_listed(asked).await;
            let meta = format!(r#""requestId":1,{META}"#);
            let cancel = CANCEL.replace(r#""requestId":1"#, &meta);
            (modern("1", "ask", r#"{"a":1}"#, ""), cancel)
        } else {
            asked.shake_hands().await;
            (call("1", "ask"), CANCEL.to_owned())
        };
        let bench = &asked.bench;
        bench.latch.close();
        let written = async { bench.latch.open() };
        tokio::join!(
            biased;
            bench.agent(&first),
            bench.agent(&first),
            bench.agent(&cancel),
            written,
        );
        asked.go_on().await;
        // The second one had the id of one that waits.
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 1, "{is_modern} {answers:?}");
        assert!(answers[0].contains("already in flight"), "{answers:?}");
        assert_eq!(asked.desk.pending(), []);
        assert!(bench.talk.session.is_idle());
        let calls = asked.calls().await;
        assert!(calls.contains(&"ERROR cancelled".to_owned()), "{calls:?}");
    }
}

#[tokio::test]
async fn a_server_that_ends_while_the_question_is_recorded_ends_it_once() {
    let asked = Asked::recording(with_consent, &[Way::Page]);
    asked.shake_hands().await;
    let (bench, asking) = (&asked.bench, call("1", "ask"));
    bench.latch.close();
    let died = async {
        Box::pin(bench.gate.upstream_died(&bench.talk))
            .await
            .unwrap();
    };
    let written = async { bench.latch.open() };
    tokio::join!(biased; bench.agent(&asking), died, written);
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains("ended before it answered"));
    assert_eq!(asked.desk.pending(), []);
}

/// Consent is good for the first call of a session.
fn first_of_all(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let is_first = facts.env.session.calls == 0;
    if facts.env.consent.granted && !is_first {
        return Ok(Verdict::Deny { reasons: vec![] });
    }
    with_consent(facts)
}

#[tokio::test]
async fn what_an_agent_brings_back_is_judged_by_the_calls_that_went_before_it() {
    for overtaken in [false, true] {
        let asked = has_listed(Asked::recording(first_of_all, &[Way::Elicitation])).await;
        let state = asked_by_result(&asked, "1").await;
        let yes = modern("2", "ask", r#"{"a":1}"#, &approving(&state));
        let other = modern("3", "free", "{}", "");
        let bench = &asked.bench;
        bench.talk.session.state().lists.tools.forget();
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{{{META}}}}}"#
            ))
            .await;
        asked
            .list_to_gate(r#"{"name":"ask","inputSchema":{"type":"object"}},{"name":"free","inputSchema":{"type":"object"}}"#)
            .await;
        bench.to_agent();
        bench.latch.close();
        let overtaking = async {
            if overtaken {
                bench.agent(&other).await;
            }
        };
        let written = async { bench.latch.open() };
        tokio::join!(biased; bench.agent(&yes), overtaking, written);
        let passed = bench.to_upstream();
        let passed = passed.iter().any(|line| line.contains(r#""name":"ask""#));
        assert_eq!(passed, !overtaken);
    }
}

#[tokio::test]
async fn of_two_that_go_on_at_once_with_one_consent_one_is_asked_about() {
    let asked = has_listed(Asked::recording(with_consent, &[Way::Elicitation])).await;
    let state = asked_by_result(&asked, "1").await;
    let bench = &asked.bench;
    bench
        .agent(&modern("2", "ask", r#"{"a":1}"#, &approving(&state)))
        .await;
    let minted = id_of(&bench.to_upstream()[0]);
    let asks = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"which?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"servers"}"#;
    bench.upstream(&form_answer(&minted, asks)).await;
    bench.to_agent();
    let answer =
        r#""inputResponses":{"q":{"action":"accept","content":{}}},"requestState":"servers","#;
    let [one, other] = ["3", "4"].map(|id| modern(id, "ask", r#"{"a":1}"#, answer));
    tokio::join!(bench.agent(&one), bench.agent(&other));
    assert_eq!(bench.to_upstream().len(), 1);
    let answers = bench.to_agent();
    assert!(answers[0].contains("mcp-protector.consent"), "{answers:?}");
}
