//! What servers ask of the agent, where a person has to agree to it.

use super::*;
use crate::gate::tests::isolate::elsewhere::{begin, dies};

pub(super) const SAMPLE: &str = r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"_meta":{"progressToken":1},"messages":[{"role":"user","content":{"type":"text","text":"sum it up"}}],"maxTokens":10}}"#;

const FORM: &str = r#"{"jsonrpc":"2.0","id":"s","method":"elicitation/create","params":{"mode":"form","message":"which?","requestedSchema":{"type":"object","properties":{}}}}"#;

const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}"#;

const ROOTS: &str = r#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#;

/// A person has to agree to samples, to forms and to what roots there are.
pub(super) fn of_servers(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let scope = match &facts.action {
        Action::Sample { .. } => "sampling/createMessage",
        Action::Elicit { .. } => "elicitation/create",
        Action::ListRoots => "roots/list",
        _ => return with_consent(facts),
    };
    let consent = &facts.env.consent;
    if consent.granted && consent.scope == scope {
        return Ok(allow());
    }
    Ok(Verdict::Deny {
        reasons: vec![reason("wants-consent", Some(OnDeny::AskConsent))],
    })
}

/// A session whose client samples, shows forms and has roots.
async fn session(ways: &[Way]) -> Asked {
    with(ways, |_| {}).await
}

async fn with(ways: &[Way], change: impl FnOnce(&mut Asking)) -> Asked {
    capable(Asked::with(of_servers, ways, change)).await
}

pub(super) async fn capable(asked: Asked) -> Asked {
    declaring(asked, r#""sampling":{},"roots":{},"elicitation":{}"#).await
}

async fn declaring(asked: Asked, capabilities: &str) -> Asked {
    let capable = INITIALIZE.replace(r#""roots":{}"#, capabilities);
    let bench = &asked.bench;
    bench.agent(&capable).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#)).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    bench.to_upstream();
    bench.to_agent();
    bench.list(&["ask"]).await;
    asked
}

/// The server learns what it would learn if the agent could not do it.
fn assert_unknown(bench: &Bench) {
    let told = bench.to_upstream();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(r#""id":"s","error":{"code":-32601,"message":"Method not found"}"#));
}

#[tokio::test]
async fn a_sample_waits_for_a_yes_and_goes_to_the_agent_as_it_came() {
    let asked = session(&[Way::Page]).await;
    let bench = &asked.bench;
    bench.upstream(SAMPLE).await;
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    let question = Arc::clone(&asked.desk.pending()[0].question);
    assert_eq!(question.method, "sampling/createMessage");
    assert_eq!(question.principal, "stdio");
    assert!(question.arguments.contains(r#""text": "sum it up""#));
    assert!(!question.arguments.contains("_meta"), "not bound");
    assert!(question.message().contains("Asked of: stdio"));
    asked.answer(&asked.latest(), Answer::Approve).await;
    let sent = bench.to_agent();
    let minted = id_of(&sent[0]);
    assert_eq!(sent, [SAMPLE.replace(r#""s""#, &minted)]);
    let answer = r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}"#;
    bench.agent(&form_answer(&minted, answer)).await;
    assert_eq!(bench.to_upstream(), [form_answer(r#""s""#, answer)]);
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted web:olga"]
    );
    let requests = bench.records_of("server_request").await;
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].get(&["decision"]), "ALLOW");
    // For one request.
    bench.upstream(SAMPLE).await;
    assert_eq!(asked.desk.pending().len(), 1);
}

#[tokio::test]
async fn pages_that_an_error_names_wait_for_a_yes() {
    let url = "https://login.example.com/x";
    for (answer, passes) in [(Answer::Approve, true), (Answer::Deny, false)] {
        let asked = Asked::new(of_servers, &[Way::Page]);
        let asked = declaring(asked, r#""elicitation":{"url":{}}"#).await;
        let bench = &asked.bench;
        bench.list(&["free"]).await;
        bench.agent(&call("1", "free")).await;
        let minted = id_of(&bench.to_upstream()[0]);
        let error = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32042,"message":"m","data":{{"elicitations":[{{"mode":"url","elicitationId":"e","url":"{url}","message":"m"}}]}}}}}}"#
            )
        };
        bench.upstream(&error(&minted)).await;
        assert_eq!(bench.to_agent(), Vec::<String>::new());
        let question = Arc::clone(&asked.desk.pending()[0].question);
        assert_eq!(question.method, "elicitation/create");
        assert!(question.arguments.contains(url));
        asked.answer(&asked.latest(), answer).await;
        assert_eq!(bench.to_agent() == [error("1")], passes);
    }
}

#[tokio::test]
async fn a_no_or_silence_is_told_to_the_server_as_if_the_agent_could_not_do_it() {
    for answer in [Some(Answer::Deny), None] {
        for frame in [SAMPLE, FORM, ROOTS] {
            let asked = session(&[Way::Page]).await;
            asked.bench.upstream(frame).await;
            match answer {
                Some(answer) => asked.answer(&asked.latest(), answer).await,
                None => asked.wait(TIMEOUT).await,
            }
            assert_unknown(&asked.bench);
            assert_eq!(asked.bench.to_agent(), Vec::<String>::new());
            let requests = asked.bench.records_of("server_request").await;
            let code = requests[0].get(&["reason", "code"]);
            let expected = ["consent_timeout", "consent_denied"];
            assert_eq!(code, expected[usize::from(answer.is_some())]);
        }
    }
}

#[tokio::test]
async fn the_agents_client_is_asked_about_samples_and_never_about_forms() {
    let asked = session(&[Way::Elicitation]).await;
    let bench = &asked.bench;
    bench.upstream(SAMPLE).await;
    let form = bench.to_agent().remove(0);
    assert!(form.contains("elicitation/create"), "{form}");
    let yes = r#"{"action":"accept","content":{"approve":true}}"#;
    bench.agent(&form_answer(&id_of(&form), yes)).await;
    asked.go_on().await;
    assert!(bench.to_agent()[0].contains("sampling/createMessage"));
    // Whoever would see the server's form must not permit it by another one.
    let asked = session(&[Way::Elicitation]).await;
    asked.bench.upstream(FORM).await;
    assert_unknown(&asked.bench);
    assert_eq!(asked.bench.to_agent(), Vec::<String>::new());
    let requests = asked.bench.records_of("server_request").await;
    let code = requests[0].get(&["reason", "code"]);
    assert_eq!(code, "consent_unavailable");
    let asked = session(&Way::ALL).await;
    asked.bench.upstream(FORM).await;
    assert_eq!(asked.bench.to_agent(), Vec::<String>::new());
    asked.answer(&asked.latest(), Answer::Approve).await;
    assert!(asked.bench.to_agent()[0].contains("which?"));
}

/// What the person is shown who is asked about roots: the words of the question, and the roots that the
/// server was told before.
async fn asked_about_roots(asked: &Asked) -> (String, Vec<String>) {
    asked.bench.upstream(ROOTS).await;
    let question = Arc::clone(&asked.desk.pending()[0].question);
    (question.message(), question.found.told_roots.clone())
}

#[tokio::test]
async fn a_person_is_asked_whether_a_server_may_know_the_roots_and_shown_what_it_was_told_last() {
    let asked = session(&[Way::Page]).await;
    let bench = &asked.bench;
    let (message, told) = asked_about_roots(&asked).await;
    assert!(message.contains("The server asks which roots the agent has."));
    assert!(message.contains("Asked of: stdio"));
    assert_eq!(told, [""; 0], "not known yet");
    asked.answer(&asked.latest(), Answer::Approve).await;
    let minted = id_of(&bench.to_agent()[0]);
    let roots = r#"{"roots":[{"uri":"file:///srv/a\u202e"},{"uri":"file:///srv/b","name":"b"}]}"#;
    bench.agent(&form_answer(&minted, roots)).await;
    assert_eq!(bench.to_upstream(), [form_answer(r#""s""#, roots)]);
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted web:olga"]
    );

    let (message, told) = asked_about_roots(&asked).await;
    assert_eq!(told, [r"file:///srv/a\u202e", "file:///srv/b"]);
    assert!(
        message.contains(r#"Roots that it was told last: "file:///srv/a\u202e", "file:///srv/b""#)
    );
    asked.answer(&asked.latest(), Answer::Deny).await;
    assert_unknown(bench);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    bench.agent(changed).await;
    assert_eq!(asked_about_roots(&asked).await.1, [""; 0], "others by now");
}

#[tokio::test]
async fn of_very_many_roots_none_is_shown_as_all() {
    let asked = session(&[Way::Page]).await;
    let bench = &asked.bench;
    for (many, shown) in [(64, 64), (65, 0)] {
        bench.upstream(ROOTS).await;
        asked.answer(&asked.latest(), Answer::Approve).await;
        let minted = id_of(&bench.to_agent()[0]);
        let roots: Vec<_> = (0..many)
            .map(|it| format!(r#"{{"uri":"file:///{it}"}}"#))
            .collect();
        let roots = format!(r#"{{"roots":[{}]}}"#, roots.join(","));
        bench.agent(&form_answer(&minted, &roots)).await;
        let (_, told) = asked_about_roots(&asked).await;
        assert_eq!(told.len(), shown);
        asked.answer(&asked.latest(), Answer::Deny).await;
    }
}

#[tokio::test]
async fn the_agents_client_is_asked_about_its_roots() {
    let asked = session(&[Way::Elicitation]).await;
    let bench = &asked.bench;
    bench.upstream(ROOTS).await;
    let form = bench.to_agent().remove(0);
    assert!(form.contains("elicitation/create") && form.contains("which roots"));
    let yes = r#"{"action":"accept","content":{"approve":true}}"#;
    bench.agent(&form_answer(&id_of(&form), yes)).await;
    asked.go_on().await;
    assert!(bench.to_agent()[0].contains("roots/list"));
}

#[tokio::test]
async fn a_server_can_take_its_question_back_and_its_end_does() {
    let asked = session(&Way::ALL).await;
    let bench = &asked.bench;
    bench.upstream(SAMPLE).await;
    // While it waits its id is taken.
    bench.upstream(SAMPLE).await;
    assert!(bench.to_upstream()[0].contains("already in flight"));
    // An agent has no part in it.
    bench.agent(CANCEL).await;
    assert_eq!(asked.desk.pending().len(), 1);
    bench.to_agent();
    bench.upstream(CANCEL).await;
    asked.go_on().await;
    assert_eq!(asked.desk.pending(), []);
    assert!(bench.to_agent()[0].contains("notifications/cancelled"));
    assert_eq!(bench.to_upstream(), Vec::<String>::new());

    let asked = session(&[Way::Page]).await;
    let bench = &asked.bench;
    bench.upstream(SAMPLE).await;
    Box::pin(bench.gate.upstream_died(&bench.talk))
        .await
        .unwrap();
    assert_eq!(asked.desk.pending(), []);
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert_eq!(bench.to_agent(), Vec::<String>::new());
}

#[tokio::test]
async fn what_servers_ask_takes_no_place_from_what_agents_do() {
    let asked = with(&[Way::Page], |settings| settings.per_principal = 1).await;
    asked.bench.upstream(SAMPLE).await;
    asked
        .bench
        .upstream(&FORM.replace(r#""s""#, r#""f""#))
        .await;
    assert!(asked.bench.to_upstream()[0].contains("-32601"));
    asked.call("1", "ask").await;
    assert_eq!(asked.desk.pending().len(), 2);
}

#[tokio::test]
async fn a_session_that_leaves_its_server_leaves_its_questions() {
    let mut asked = session(&[Way::Page]).await;
    asked.bench.gate.settings.thresholds = crate::session::Thresholds::new([3]);
    asked.bench.gate.assemble();
    let bench = &asked.bench;
    bench.upstream(SAMPLE).await;
    let ticket = asked.latest();
    bench.raise(3);
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    bench.agent_meanwhile(ping, &[]).await;
    assert_eq!(asked.desk.pending(), []);
    let late = asked
        .desk
        .answer(&ticket, Answer::Approve, By::page("olga"));
    assert!(late.is_err());
    asked.go_on().await;
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    let requests = bench.records_of("server_request").await;
    assert!(
        requests[0]
            .get(&["reason", "text"])
            .contains("another instance")
    );
}

/// What becomes of a server while its question is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Left,
    Died,
}

impl Becomes {
    async fn of(self, bench: &Bench) {
        match self {
            Self::Left => {
                bench.raise(3);
                let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
                bench.agent_meanwhile(ping, &[]).await;
            }
            Self::Died => dies(bench).await,
        }
        bench.to_upstream();
        bench.to_agent();
    }

    /// The one record of the question.
    async fn is_recorded(self, bench: &Bench) {
        let requests = bench.records_of("server_request").await;
        assert_eq!(requests.len(), 1, "{self:?}");
        assert_eq!(requests[0].get(&["decision"]), "ERROR", "{self:?}");
        let text = requests[0].get(&["reason", "text"]);
        let expected = match self {
            Self::Left => "another instance",
            Self::Died => "ended before it answered",
        };
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn what_a_person_answers_while_the_server_goes_reaches_neither_the_agent_nor_another_server()
{
    for becomes in [Becomes::Left, Becomes::Died] {
        for answer in [Answer::Approve, Answer::Deny] {
            let mut asked = capable(Asked::recording(of_servers, &[Way::Page])).await;
            asked.bench.gate.settings.thresholds = crate::session::Thresholds::new([3]);
            asked.bench.gate.assemble();
            let bench = &asked.bench;
            bench.upstream(SAMPLE).await;
            let by = By::page("olga");
            asked.desk.answer(&asked.latest(), answer, by).unwrap();
            let mut going = Box::pin(asked.go_on());
            begin(bench, &mut going).await;
            becomes.of(bench).await;
            going.await;
            assert_eq!(bench.to_agent(), Vec::<String>::new(), "{becomes:?}");
            assert_eq!(bench.to_upstream(), Vec::<String>::new(), "{becomes:?}");
            assert!(bench.talk.session.state().waiting.to_agent.is_empty());
            becomes.is_recorded(bench).await;
        }
    }
}

#[tokio::test]
async fn what_the_gate_says_to_a_question_reaches_no_server_that_did_not_ask_it() {
    for becomes in [Becomes::Left, Becomes::Died] {
        let mut asked = capable(Asked::recording(of_servers, &[Way::Page])).await;
        asked.bench.gate.settings.thresholds = crate::session::Thresholds::new([3]);
        asked.bench.gate.assemble();
        let bench = &asked.bench;
        let unknown = r#"{"jsonrpc":"2.0","id":"s","method":"nothing/such"}"#;
        let mut going = Box::pin(bench.upstream(unknown));
        begin(bench, &mut going).await;
        becomes.of(bench).await;
        going.await;
        assert_eq!(bench.to_upstream(), Vec::<String>::new(), "{becomes:?}");
    }
}
