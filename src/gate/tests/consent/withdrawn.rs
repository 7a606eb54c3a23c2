//! Questions for which there is no use any more, while somebody still waits for the answer.

use super::servers::{SAMPLE, capable, of_servers};
use super::*;
use crate::consent::AnswerError;
use crate::gate::tests::isolate::elsewhere::begin;

/// What makes an answer worth nothing.
#[derive(Debug, Clone, Copy)]
enum Void {
    /// The gate is told to stop.
    Stops,
    /// Other policies are in force.
    Reloads,
}

impl Void {
    const ALL: [Self; 2] = [Self::Stops, Self::Reloads];

    async fn of(self, gate: &Gate, rule: Rule) {
        match self {
            Self::Stops => gate.stop_asking(),
            Self::Reloads => {
                let other = snapshot("another revision", rule);
                gate.publish("test", other, Besides::default())
                    .await
                    .unwrap();
            }
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Stops => "consent_unavailable",
            Self::Reloads => "consent_stale",
        }
    }
}

impl Asked {
    /// Its question has an end, and its call one decision.
    async fn assert_withdrawn(&self, kind: &str, code: &str) {
        assert_eq!(self.desk.pending(), []);
        assert!(self.bench.talk.session.is_idle());
        assert_eq!(self.events().await, ["consent_requested", "cancelled"]);
        let questions = self.bench.records_of("consent").await;
        let of_both = |path: &[&str]| {
            questions
                .iter()
                .all(|it| it.get(path) == questions[0].get(path))
        };
        assert!(of_both(&["reference"]) && of_both(&["consent", "ticket"]));
        assert_eq!(questions[1].get(&["reason", "code"]), code);
        assert!(
            questions[1]
                .text()
                .contains(r#""policies":["wants-consent"]"#)
        );
        let decided = self.bench.records_of(kind).await;
        let [decided] = &*decided else {
            panic!("{decided:?}")
        };
        assert_eq!(decided.get(&["decision"]), "BLOCK");
        assert_eq!(decided.get(&["stage"]), "decide");
        assert_eq!(decided.get(&["reason", "code"]), code);
    }
}

#[tokio::test]
async fn a_call_whose_question_is_void_is_refused_at_once_whoever_was_asked() {
    for (void, way) in Void::ALL
        .into_iter()
        .flat_map(|void| Way::ALL.map(|way| (void, way)))
    {
        let asked = Asked::session(with_consent, &[way]).await;
        let ticket = asked.call("1", "ask").await;
        let forms = asked.bench.to_agent();
        assert_eq!(forms.len(), usize::from(way == Way::Elicitation));
        void.of(&asked.bench.gate, with_consent).await;
        asked.bench.talk.session.until_the_bell_rings().await;
        let by = match way {
            Way::Page => By::page("olga"),
            Way::Elicitation => By::agent_ui("stdio"),
        };
        let late = asked.desk.answer(&ticket, Answer::Approve, by);
        assert_eq!(late, Err(AnswerError::Withdrawn), "{void:?}");
        asked.go_on().await;
        let mut told = asked.bench.to_agent();
        if let [form] = &*forms {
            // It is shown no more.
            let cancels = told.remove(0);
            assert!(cancels.contains("notifications/cancelled"), "{cancels}");
            assert!(cancels.contains(&id_of(form)), "{cancels}");
        }
        assert_refused(&told, "1", void.code());
        assert_eq!(
            told[0].contains("the gate is stopping"),
            matches!(void, Void::Stops)
        );
        assert_eq!(asked.bench.to_upstream(), [""; 0]);
        asked.assert_withdrawn("tool_call", void.code()).await;
    }
}

#[tokio::test]
async fn a_server_whose_question_is_void_is_answered_too() {
    for void in Void::ALL {
        let asked = capable(Asked::new(of_servers, &[Way::Page])).await;
        asked.bench.upstream(SAMPLE).await;
        void.of(&asked.bench.gate, of_servers).await;
        asked.go_on().await;
        let told = asked.bench.to_upstream();
        assert!(
            told[0].contains(r#""id":"s","error":{"code":-32601"#),
            "{told:?}"
        );
        asked.assert_withdrawn("server_request", void.code()).await;
    }
}

#[tokio::test]
async fn a_question_that_is_void_while_it_is_recorded_ends_as_soon_as_it_is() {
    for void in Void::ALL {
        let asked = Asked::recording(with_consent, &[Way::Page]);
        asked.shake_hands().await;
        let call = call("1", "ask");
        let mut asking = Box::pin(asked.bench.agent(&call));
        begin(&asked.bench, &mut asking).await;
        void.of(&asked.bench.gate, with_consent).await;
        asking.await;
        asked.go_on().await;
        assert_refused(&asked.bench.to_agent(), "1", void.code());
        asked.assert_withdrawn("tool_call", void.code()).await;
    }
}

#[tokio::test]
async fn a_gate_that_stops_asks_nobody() {
    let asked = Asked::session(with_consent, &[Way::Page]).await;
    asked.bench.gate.stop_asking();
    asked.bench.agent(&call("1", "ask")).await;
    let told = asked.bench.to_agent();
    assert_refused(&told, "1", "consent_unavailable");
    assert!(told[0].contains("the gate is stopping"), "{told:?}");
    assert_eq!(asked.events().await, [""; 0]);
}

#[tokio::test]
async fn an_answer_that_was_given_before_the_gate_stopped_counts() {
    for (answer, sent) in [(Answer::Approve, 1), (Answer::Deny, 0)] {
        let asked = Asked::session(with_consent, &[Way::Page]).await;
        let ticket = asked.call("1", "ask").await;
        asked
            .desk
            .answer(&ticket, answer, By::page("olga"))
            .unwrap();
        asked.bench.gate.stop_asking();
        asked.go_on().await;
        assert_eq!(asked.bench.to_upstream().len(), sent, "{answer:?}");
    }
}

#[tokio::test]
async fn policies_that_are_what_they_were_leave_questions_as_they_are() {
    let asked = Asked::session(with_consent, &[Way::Page]).await;
    let ticket = asked.call("1", "ask").await;
    let same = snapshot("test", with_consent);
    let revision = same.revision().as_str().to_owned();
    assert_eq!(*asked.bench.gate.revision(), *revision);
    asked
        .bench
        .gate
        .publish("test", same, Besides::default())
        .await
        .unwrap();
    asked.answer(&ticket, Answer::Approve).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
}
