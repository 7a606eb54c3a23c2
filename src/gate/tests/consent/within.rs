//! What servers ask within their results, where a person has to agree to it.

use super::rounds::{META, approving, has_listed, state_of};
use super::servers::of_servers;
use super::*;
use crate::gate::UpstreamFault;
use crate::gate::tests::isolate::elsewhere::begin;
use crate::policy::SessionSensitivity;
use crate::session::{Answer as Stored, Kept, Raised, SessionKey, SessionStore, Whose};

pub(super) const SAMPLE: &str = r#""s":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"sum it up"}}],"maxTokens":10}}"#;

const FORM: &str = r#""f":{"method":"elicitation/create","params":{"mode":"form","message":"which?","requestedSchema":{"type":"object","properties":{}}}}"#;

const ROOTS: &str = r#""r":{"method":"roots/list"}"#;

/// What an agent can do that shows no forms, and one that does.
const MODEL: &str = r#"{"sampling":{},"roots":{}}"#;
pub(super) const ALL: &str = r#"{"sampling":{},"roots":{},"elicitation":{}}"#;

/// A call, by an agent without a session.
pub(super) fn calls(id: &str, tool: &str, can: &str, more: &str) -> String {
    let meta = META.replace(r#"{"elicitation":{}}"#, can);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":1}},{more}{meta}}}}}"#
    )
}

/// A result that asks.
pub(super) fn asking(requests: &[&str]) -> String {
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}}},"requestState":"servers"}}"#,
        requests.join(",")
    )
}

/// A server asks something in the result of a call. Yields the id by which it knows that.
pub(super) async fn asked_within(asked: &Asked, can: &str, requests: &[&str]) -> String {
    asked.bench.agent(&calls("1", "more", can, "")).await;
    let minted = id_of(&asked.bench.to_upstream()[0]);
    let result = form_answer(&minted, &asking(requests));
    asked.bench.upstream(&result).await;
    minted
}

async fn ready(ways: &[Way]) -> Asked {
    listed(Asked::new(of_servers, ways)).await
}

pub(super) async fn listed(asked: Asked) -> Asked {
    let asked = has_listed(asked).await;
    asked.bench.talk.session.state().lists.tools.forget();
    let list = format!(r#"{{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{{{META}}}}}"#);
    asked.bench.agent(&list).await;
    let id = id_of(&asked.bench.to_upstream()[0]);
    let tools = ["ask", "more"].map(|it| format!(r#"{{"name":"{it}","inputSchema":{{}}}}"#));
    asked
        .bench
        .upstream(&form_answer(
            &id,
            &format!(
                r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{}]}}"#,
                tools.join(",")
            ),
        ))
        .await;
    asked.bench.to_agent();
    asked
}

impl Asked {
    fn assert_nothing_passed(&self) {
        assert_eq!(self.bench.to_agent(), [""; 0]);
        assert_eq!(self.bench.to_upstream(), [""; 0]);
    }

    /// How results were decided, in order.
    async fn results(&self) -> Vec<String> {
        let records = self.bench.records_of("tool_result").await;
        let told = records.iter().map(|it| {
            let (decision, code) = (it.get(&["decision"]), it.get(&["reason", "code"]));
            format!("{decision} {code}").trim_end().to_owned()
        });
        told.collect()
    }
}

#[tokio::test]
async fn a_result_waits_for_a_yes_and_goes_to_the_agent_as_it_came() {
    let cases: [(&[&str], &str); 4] = [
        (&[SAMPLE], "sampling/createMessage"),
        (&[FORM], "elicitation/create"),
        (&[ROOTS], "roots/list"),
        (
            &[FORM, SAMPLE, ROOTS],
            "roots/list, sampling/createMessage, elicitation/create",
        ),
    ];
    for (requests, name) in cases {
        let asked = ready(&[Way::Page]).await;
        asked_within(&asked, ALL, requests).await;
        asked.assert_nothing_passed();
        let question = Arc::clone(&asked.desk.pending()[0].question);
        assert_eq!(question.name, name);
        let message = question.message();
        assert!(message.contains("Asked of: stdio"));
        for (method, said) in [
            ("roots/list", "which roots"),
            ("sampling/createMessage", "a sample"),
            ("elicitation/create", "something of the agent's user"),
        ] {
            assert_eq!(message.contains(said), name.contains(method), "{message}");
        }
        for shown in ["sum it up", "which?"] {
            let is_asked = requests.iter().any(|it| it.contains(shown));
            assert_eq!(question.arguments.contains(shown), is_asked);
        }
        asked.answer(&asked.latest(), Answer::Approve).await;
        assert_eq!(
            asked.bench.to_agent(),
            [form_answer("1", &asking(requests))]
        );
        assert_eq!(
            asked.events().await,
            ["consent_requested", "consent_granted web:olga"]
        );
        assert_eq!(asked.results().await, ["ALLOW"]);
        // What the agent answers goes on with its request.
        let answer = r#""inputResponses":{"s":{},"f":{},"r":{}},"requestState":"servers","#;
        asked.bench.agent(&calls("2", "more", ALL, answer)).await;
        assert_eq!(asked.bench.to_upstream().len(), 1);
    }
}

#[tokio::test]
async fn without_a_yes_the_call_fails_that_the_result_answers() {
    for (answer, code) in [
        (Some(Answer::Deny), "consent_denied"),
        (None, "consent_timeout"),
    ] {
        let asked = ready(&[Way::Page]).await;
        asked_within(&asked, ALL, &[SAMPLE]).await;
        match answer {
            Some(answer) => asked.answer(&asked.latest(), answer).await,
            None => asked.wait(TIMEOUT).await,
        }
        assert_refused(&asked.bench.to_agent(), "1", code);
        assert_eq!(asked.bench.to_upstream(), [""; 0]);
        assert_eq!(asked.results().await, [format!("BLOCK {code}")]);
        assert!(asked.bench.talk.session.is_idle());
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
    }
}

#[tokio::test]
async fn an_agent_that_shows_forms_is_asked_by_a_result_about_a_sample_and_gets_it_when_it_comes_back()
 {
    let asked = ready(&[Way::Elicitation]).await;
    asked_within(&asked, ALL, &[SAMPLE]).await;
    let state = state_of(&asked.bench.to_agent()[0]);
    let yes = |id: &str| calls(id, "more", ALL, &approving(&state));
    asked.bench.agent(&yes("2")).await;
    // The server has answered already.
    assert_eq!(asked.bench.to_upstream(), [""; 0]);
    assert_eq!(
        asked.bench.to_agent(),
        [form_answer("2", &asking(&[SAMPLE]))]
    );
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted agent_ui:stdio"]
    );
    assert_eq!(asked.results().await, ["BLOCK consent_asked", "ALLOW"]);
    let answer = r#""inputResponses":{"s":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}},"requestState":"servers","#;
    asked.bench.agent(&calls("3", "more", ALL, answer)).await;
    let sent = asked.bench.to_upstream();
    assert!(sent[0].contains(r#""inputResponses":{"s":"#), "{sent:?}");
    // Once.
    asked.bench.agent(&yes("4")).await;
    assert_refused(&asked.bench.to_agent(), "4", "consent_already_used");
    assert_eq!(asked.bench.to_upstream(), [""; 0]);
}

#[tokio::test]
async fn an_agent_is_asked_by_a_result_about_its_roots_and_shown_what_the_server_was_told_last() {
    let asked = ready(&[Way::Elicitation]).await;
    asked_within(&asked, ALL, &[ROOTS]).await;
    let form = asked.bench.to_agent().remove(0);
    assert!(form.contains("which roots") && !form.contains("told last"));
    let brought = approving(&state_of(&form));
    asked.bench.agent(&calls("2", "more", ALL, &brought)).await;
    let got = asked.bench.to_agent();
    assert_eq!(got, [form_answer("2", &asking(&[ROOTS]))]);
    let roots =
        r#""inputResponses":{"r":{"roots":[{"uri":"file:///srv/a"}]}},"requestState":"servers","#;
    asked.bench.agent(&calls("3", "more", ALL, roots)).await;
    let sent = asked.bench.to_upstream();
    assert!(sent[0].contains("file:///srv/a"), "{sent:?}");
    let result = form_answer(&id_of(&sent[0]), &asking(&[ROOTS]));
    asked.bench.upstream(&result).await;
    let form = asked.bench.to_agent().remove(0);
    assert!(form.contains(r#"told last: \"file:///srv/a\""#), "{form}");
}

#[tokio::test]
async fn what_is_brought_back_is_for_the_same_request_and_says_yes() {
    let declined = |state: &str| {
        approving(state).replace(
            r#"{"action":"accept","content":{"approve":true}}"#,
            r#"{"action":"decline"}"#,
        )
    };
    let other = |call: &str| call.replace(r#"{"a":1}"#, r#"{"a":2}"#);
    for case in ["declined", "another", "forged"] {
        let asked = ready(&[Way::Elicitation]).await;
        asked_within(&asked, ALL, &[SAMPLE]).await;
        let state = state_of(&asked.bench.to_agent()[0]);
        let frame = match case {
            "declined" => calls("2", "more", ALL, &declined(&state)),
            "another" => other(&calls("2", "more", ALL, &approving(&state))),
            _ => calls("2", "more", ALL, &approving(&format!("{state}0"))),
        };
        asked.bench.agent(&frame).await;
        assert_eq!(asked.bench.to_upstream(), [""; 0], "{case}");
        let told = asked.bench.to_agent();
        if case == "declined" {
            assert_refused(&told, "2", "consent_denied");
        } else {
            assert!(told[0].contains("-32602"), "{case}: {told:?}");
        }
    }
}

/// Any consent will do.
fn any(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    if facts.env.consent.granted {
        return Ok(allow());
    }
    of_servers(facts)
}

/// That a result is received is nobody's to agree to.
fn with_received(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    match &facts.action {
        Action::ReceiveResult { .. } if matches!(facts.resource, Resource::Tool(_)) => {
            Ok(Verdict::Deny {
                reasons: vec![reason("wants-consent", Some(OnDeny::AskConsent))],
            })
        }
        _ => of_servers(facts),
    }
}

/// A rule, the ways, what the agent can do, what is asked of it, and what that comes to.
type InVain = (
    Rule,
    &'static [Way],
    &'static str,
    &'static [&'static str],
    &'static str,
);

#[tokio::test]
async fn nobody_is_asked_where_there_is_no_way_or_where_a_yes_would_not_do() {
    let cases: [InVain; 4] = [
        // Whoever would see the server's form must not permit it by another one.
        (
            of_servers,
            &[Way::Elicitation],
            ALL,
            &[FORM],
            "consent_unavailable",
        ),
        (
            of_servers,
            &[Way::Elicitation],
            ALL,
            &[SAMPLE, FORM],
            "consent_unavailable",
        ),
        (
            of_servers,
            &[Way::Elicitation],
            MODEL,
            &[SAMPLE],
            "consent_unavailable",
        ),
        (
            with_received,
            &Way::ALL,
            ALL,
            &[SAMPLE, ROOTS],
            "consent_required",
        ),
    ];
    for (rule, ways, can, requests, code) in cases {
        let asked = listed(Asked::new(rule, ways)).await;
        asked_within(&asked, can, requests).await;
        assert_eq!(asked.desk.pending(), []);
        let told = asked.bench.to_agent();
        assert!(told[0].contains("4030"), "{told:?}");
        assert_eq!(asked.results().await, [format!("BLOCK {code}")]);
    }
}

#[tokio::test]
async fn a_yes_to_a_call_is_none_to_what_the_server_asks_in_return() {
    let asked = ready(&[Way::Page]).await;
    asked.bench.gate.policy.publish(snapshot("any", any));
    asked.bench.agent(&calls("1", "ask", MODEL, "")).await;
    asked.answer(&asked.latest(), Answer::Approve).await;
    let minted = id_of(&asked.bench.to_upstream()[0]);
    let result = form_answer(&minted, &asking(&[SAMPLE]));
    asked.bench.upstream(&result).await;
    asked.assert_nothing_passed();
    assert_eq!(asked.desk.pending().len(), 1);
}

#[tokio::test]
async fn the_time_that_a_person_takes_is_none_of_the_calls_and_nothing_else_answers_it() {
    let mut asked = ready(&[Way::Page]).await;
    asked.bench.gate.settings.terms.request_timeout = TIMEOUT / 4;
    let minted = asked_within(&asked, MODEL, &[SAMPLE]).await;
    asked.wait(TIMEOUT / 2).await;
    asked.assert_nothing_passed();
    asked.bench.upstream(&result(&minted)).await;
    asked.bench.agent(&calls("1", "more", MODEL, "")).await;
    let told = asked.bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("already in flight"), "{told:?}");
    asked.answer(&asked.latest(), Answer::Approve).await;
    assert_eq!(
        asked.bench.to_agent(),
        [form_answer("1", &asking(&[SAMPLE]))]
    );
}

/// How a call ends whose result waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Cancelled,
    HungUp,
    Died,
    Left,
    Over,
}

impl Ends {
    const ALL: [Self; 5] = [
        Self::Cancelled,
        Self::HungUp,
        Self::Died,
        Self::Left,
        Self::Over,
    ];

    async fn of(self, bench: &Bench) {
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        match self {
            Self::Cancelled => bench.agent(cancel).await,
            Self::HungUp => {
                let stream = crate::wire::Stream::MAIN;
                bench.gate.hung_up(&bench.talk, stream).await.unwrap();
            }
            Self::Died => {
                Box::pin(bench.gate.upstream_died(&bench.talk))
                    .await
                    .unwrap();
            }
            Self::Left => {
                bench.raise(3);
                Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
            }
            Self::Over => {
                Box::pin(
                    bench
                        .gate
                        .conversation_ends(&bench.talk, &UpstreamFault::Died),
                )
                .await
                .unwrap();
            }
        }
    }

    fn assert_told(self, told: &[String]) {
        let expected = match self {
            Self::Cancelled | Self::HungUp => None,
            Self::Died | Self::Over => Some("ended before it answered"),
            Self::Left => Some("another instance"),
        };
        assert_eq!(told.len(), usize::from(expected.is_some()), "{told:?}");
        if let (Some(expected), [told]) = (expected, told) {
            assert!(
                told.contains(expected) && told.contains(r#""id":1"#),
                "{told}"
            );
        }
    }
}

#[tokio::test]
async fn a_call_that_ends_takes_the_question_about_its_result_with_it() {
    for ends in Ends::ALL {
        let mut asked = ready(&[Way::Page]).await;
        asked.bench.gate.settings.thresholds = crate::session::Thresholds::new([3]);
        asked.bench.gate.assemble();
        asked_within(&asked, MODEL, &[SAMPLE]).await;
        let ticket = asked.latest();
        ends.of(&asked.bench).await;
        asked.go_on().await;
        assert_eq!(asked.desk.pending(), [], "{ends:?}");
        let by = By::page("olga");
        assert!(asked.desk.answer(&ticket, Answer::Approve, by).is_err());
        asked.go_on().await;
        ends.assert_told(&asked.bench.to_agent());
        assert_eq!(asked.results().await.len(), 1, "{ends:?}");
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
    }
}

#[tokio::test]
async fn the_same_while_its_question_is_recorded_or_its_answer() {
    for ends in Ends::ALL {
        for answered in [false, true] {
            let mut asked = listed(Asked::recording(of_servers, &[Way::Page])).await;
            asked.bench.gate.settings.thresholds = crate::session::Thresholds::new([3]);
            asked.bench.gate.assemble();
            let bench = &asked.bench;
            bench.agent(&calls("1", "more", MODEL, "")).await;
            let minted = id_of(&bench.to_upstream()[0]);
            let result = form_answer(&minted, &asking(&[SAMPLE]));
            if answered {
                bench.upstream(&result).await;
                let by = By::page("olga");
                asked
                    .desk
                    .answer(&asked.latest(), Answer::Approve, by)
                    .unwrap();
                let mut going = Box::pin(asked.go_on());
                begin(bench, &mut going).await;
                ends.of(bench).await;
                going.await;
            } else {
                let mut going = Box::pin(bench.upstream(&result));
                begin(bench, &mut going).await;
                ends.of(bench).await;
                going.await;
            }
            asked.go_on().await;
            assert_eq!(asked.desk.pending(), [], "{ends:?}");
            ends.assert_told(&bench.to_agent());
            assert!(bench.talk.session.state().waiting.to_upstream.is_empty());
        }
    }
}

#[tokio::test]
async fn a_result_that_waited_is_known_again_on_whatever_stream_its_call_came() {
    for (answer, expected) in [
        (Some(Answer::Approve), None),
        (Some(Answer::Deny), Some("consent_denied")),
        (None, Some("consent_timeout")),
    ] {
        let asked = ready(&[Way::Page]).await;
        let bench = &asked.bench;
        // As over HTTP, where each request has a stream of its own.
        let stream = crate::wire::Stream::numbered(77);
        bench.agent_on(stream, &calls("1", "more", MODEL, "")).await;
        let minted = id_of(&bench.to_upstream()[0]);
        let result = form_answer(&minted, &asking(&[SAMPLE]));
        bench.upstream(&result).await;
        match answer {
            Some(answer) => asked.answer(&asked.latest(), answer).await,
            None => asked.wait(TIMEOUT).await,
        }
        assert_eq!(bench.talk.agent.streams(), [stream], "{answer:?}");
        match expected {
            None => assert_eq!(bench.to_agent(), [form_answer("1", &asking(&[SAMPLE]))]),
            Some(code) => assert_refused(&bench.to_agent(), "1", code),
        }
        assert_eq!(asked.results().await.len(), 1, "{answer:?}");
        assert!(bench.talk.session.state().waiting.to_upstream.is_empty());
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_the_open_server_has_not_finished_when_its_session_moved() {
    for way in [Way::Page, Way::Elicitation] {
        let mut asked = ready(&[way]).await;
        asked.bench.gate.settings.thresholds = crate::session::Thresholds::new([3]);
        asked.bench.gate.assemble();
        let bench = &asked.bench;
        bench.agent(&calls("1", "more", ALL, "")).await;
        let minted = id_of(&bench.to_upstream()[0]);
        bench.raise(3);
        Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
        bench.to_upstream();
        bench.left(&form_answer(&minted, &asking(&[SAMPLE]))).await;
        assert_eq!(asked.desk.pending(), [], "{way:?}");
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("another instance"), "{told:?}");
        assert!(bench.talk.session.state().waiting.to_upstream.is_empty());
    }
}

/// A person agrees to calls, and news of resources need consent as well.
fn and_news(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    match facts.action {
        Action::Subscribe if !facts.env.consent.granted => Ok(Verdict::Deny { reasons: vec![] }),
        _ => with_consent(facts),
    }
}

#[tokio::test]
async fn a_yes_to_the_call_of_a_task_counts_for_no_resource_that_a_listener_names_beside_it() {
    const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let task = r#"{"resultType":"task","taskId":"t","status":"working","ttlMs":60000,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}"#;
    let meta = META.replace(r#"{"elicitation":{}}"#, TASKS);
    for (beside, passes) in [
        ("", true),
        (r#","resourceSubscriptions":["notes://team/a"]"#, false),
    ] {
        let asked = listed(Asked::new(and_news, &[Way::Page])).await;
        let bench = &asked.bench;
        bench.agent(&calls("1", "ask", TASKS, "")).await;
        assert_eq!(bench.to_upstream(), [""; 0]);
        asked.answer(&asked.latest(), Answer::Approve).await;
        let minted = id_of(&bench.to_upstream()[0]);
        bench.upstream(&form_answer(&minted, task)).await;
        assert!(bench.to_agent()[0].contains(r#""taskId":"t""#));
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{{"notifications":{{"taskIds":["t"]{beside}}},{meta}}}}}"#
            ))
            .await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{beside}");
        assert_eq!(bench.to_agent().len(), usize::from(!passes), "{beside}");
    }
}

/// It takes its time.
#[derive(Debug)]
struct Slow;

impl Slow {
    fn later<'a, T: Send + 'a>(answer: T) -> Stored<'a, T> {
        Stored::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(answer)
        }))
    }
}

impl SessionStore for Slow {
    fn kept<'a>(&'a self, _: &'a SessionKey) -> Stored<'a, Kept> {
        Self::later(Kept::default())
    }

    fn raise<'a>(&'a self, _: &'a SessionKey, _: &'a SessionSensitivity) -> Stored<'a, Raised> {
        Self::later(Raised::unchanged(&Arc::default()))
    }

    counts_nothing!();
}

#[tokio::test]
async fn no_other_frame_takes_the_place_of_a_result_that_somebody_agreed_to() {
    let mut bench = Bench::new(of_servers);
    let session = Arc::into_inner(bench.talk.session).unwrap();
    let common = Whose::Common(SessionKey::of("somebody", None));
    bench.talk.session = Arc::new(session.reading_as(common));
    bench.gate = bench.gate.remembering(Arc::new(Slow));
    let asked = listed(Asked::before(bench, &[Way::Page], |_| {})).await;
    let minted = asked_within(&asked, MODEL, &[SAMPLE]).await;
    let by = By::page("olga");
    let ticket = asked.latest();
    asked.desk.answer(&ticket, Answer::Approve, by).unwrap();
    let mut going = Box::pin(asked.go_on());
    tokio::select! {
        biased;
        () = &mut going => panic!("it does not wait"),
        () = std::future::ready(()) => {}
    }
    asked.bench.upstream(&result(&minted)).await;
    assert_eq!(asked.bench.to_agent(), [""; 0]);
    going.await;
    let told = asked.bench.to_agent();
    assert_eq!(told, [form_answer("1", &asking(&[SAMPLE]))]);
}

#[tokio::test]
async fn an_id_is_taken_while_it_is_recorded_that_its_kept_result_goes_on() {
    let asked = listed(Asked::recording(of_servers, &[Way::Elicitation])).await;
    let bench = &asked.bench;
    asked_within(&asked, ALL, &[SAMPLE]).await;
    let brought = approving(&state_of(&bench.to_agent()[0]));
    let again = calls("2", "more", ALL, &brought);
    let mut going = Box::pin(bench.agent(&again));
    begin(bench, &mut going).await;
    bench.agent(&calls("2", "more", ALL, "")).await;
    let told = bench.to_agent();
    assert!(told[0].contains("already in flight"), "{told:?}");
    going.await;
    let told = bench.to_agent();
    assert_eq!(told, [form_answer("2", &asking(&[SAMPLE]))]);
    assert_eq!(bench.to_upstream(), [""; 0]);
    let mut records = bench.records_of("tool_call").await;
    records.extend(bench.records_of("tool_result").await);
    let mut seen = std::collections::HashSet::new();
    for record in &records {
        let of = (record.get(&["kind"]), record.get(&["reference"]));
        assert!(seen.insert(of), "{}", record.text());
    }
}

#[tokio::test]
async fn a_server_that_has_answered_is_not_told_that_nobody_waits() {
    for ends in [Ends::Cancelled, Ends::HungUp] {
        let asked = ready(&[Way::Page]).await;
        asked_within(&asked, MODEL, &[SAMPLE]).await;
        ends.of(&asked.bench).await;
        asked.go_on().await;
        assert_eq!(asked.bench.to_upstream(), [""; 0], "{ends:?}");
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
        assert_eq!(asked.results().await.len(), 1, "{ends:?}");
    }
}

#[tokio::test]
async fn who_wants_to_hear_of_progress_is_told_that_a_person_is_asked_about_a_result_or_without_a_session()
 {
    let with_token =
        |frame: &str| frame.replace(r#""_meta":{"#, r#""_meta":{"progressToken":"p","#);
    let of_server = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":3}}"#;
    // The call itself waits, or its result, of which the server has told something before or not.
    for (tool, told_before, tells) in [
        ("ask", false, true),
        ("more", false, true),
        ("more", true, false),
    ] {
        let asked = ready(&[Way::Page]).await;
        let bench = &asked.bench;
        bench.agent(&with_token(&calls("1", tool, MODEL, ""))).await;
        if tool == "more" {
            let minted = id_of(&bench.to_upstream()[0]);
            if told_before {
                bench.upstream(of_server).await;
                assert_eq!(bench.to_agent().len(), 1);
            }
            let result = form_answer(&minted, &asking(&[SAMPLE]));
            bench.upstream(&result).await;
        }
        asked.wait(Duration::from_secs(5)).await;
        let told = bench.to_agent();
        assert_eq!(told.len(), usize::from(tells), "{tool} {told:?}");
        assert!(!tells || told[0].contains(r#""progressToken":"p","progress":0.001"#));
    }
}
